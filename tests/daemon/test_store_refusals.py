"""What the store refuses to work on, in one line that says what, where and why, and leaves as it was."""

import hashlib
import os
import shutil
import sqlite3
import unittest

from daemon import DaemonTest, trade, wait_until
from stored import Stored, segments

WAL_LIMIT = 64 << 20  # what one reader may keep from being moved: STORE_WAL_LIMIT_BYTES
SEGMENT = "trades-20260101-000001.db"


def contents(directory):
    """Every segment file and log, and what it is byte for byte; an empty log is none."""
    found = {name: read(os.path.join(directory, name))
             for name in os.listdir(directory) if name.endswith((".db", ".db-wal"))}
    return {name: hashlib.sha256(data).hexdigest() for name, data in found.items()
            if data or name.endswith(".db")}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def store_of(script):
    """A file that SQLite made, its log beside it as a kill leaves it."""
    def make(path):
        with sqlite3.connect(path + ".made") as database:
            database.executescript(script)
            for suffix in ("", "-wal"):
                if os.path.exists(path + ".made" + suffix):
                    shutil.copy(path + ".made" + suffix, path + suffix)
        database.close()
        os.unlink(path + ".made")
    return make


def bytes_of(data):
    def make(path):
        with open(path, "wb") as file:
            file.write(data)
    return make


class Files(DaemonTest):
    def refused(self, daemon, code, *words):
        """One line with these words, and nothing touched."""
        before = contents(daemon.data_dir)
        daemon.launch()
        self.assertEqual(daemon.wait(), code, daemon.log())
        self.assertEqual(daemon.log().count("\n"), 1, daemon.log())
        for word in words:
            self.assertIn(word, daemon.log())
        self.assertEqual(contents(daemon.data_dir), before)

    def test_files_that_are_not_ours_are_refused_and_left_as_they_are(self):
        for title, make, why in (
                ("text", bytes_of(b"not a database" * 2000), "not a database"),
                ("nothing", bytes_of(b""), "not a tradesieve segment"),
                ("another program's", store_of("CREATE TABLE t (a)"), "not a tradesieve segment"),
                ("another program's with a log",
                 store_of("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (a)"),
                 "not a tradesieve segment"),
                ("a newer tradesieve's",
                 store_of("PRAGMA application_id=0x54535631; PRAGMA user_version=2; CREATE TABLE t (a)"),
                 "written by a newer tradesieve"),
                ("ours without tables",
                 store_of("PRAGMA application_id=0x54535631; PRAGMA user_version=1; CREATE TABLE t (a)"),
                 "no such table")):
            with self.subTest(title):
                daemon = self.daemon()
                os.mkdir(daemon.data_dir)
                make(os.path.join(daemon.data_dir, SEGMENT))
                self.refused(daemon, 65, SEGMENT, why)

    def test_a_damaged_store_is_refused_and_left_as_it_is(self):
        daemon = self.started()
        daemon.ask(b"".join(trade(i) for i in range(3000)))
        daemon.stop()
        name, = contents(daemon.data_dir)
        path = os.path.join(daemon.data_dir, name)
        whole = read(path)
        for title, damaged in (("header", b"\xff" * 100 + whole[100:]), ("cut", whole[:16384]),
                               ("tables", whole[:16384] + b"\xff" * (len(whole) - 16384))):
            with self.subTest(title):
                bytes_of(damaged)(path)
                self.refused(daemon, 65, name)

    def test_a_directory_that_may_not_be_written_is_refused(self):
        daemon = self.daemon()
        os.mkdir(daemon.data_dir)
        os.chmod(daemon.data_dir, 0o500)
        if os.geteuid() == 0:
            daemon.command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        self.refused(daemon, 71, daemon.data_dir, "Permission denied")


class Reader(DaemonTest):
    """Somebody holds a read transaction open on the segment that is written."""

    def hold(self, daemon):
        database = sqlite3.connect(f"file:{segments(daemon.data_dir)[-1]}?mode=ro", uri=True)
        self.addCleanup(database.close)
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM trade").fetchall()
        return database

    def state_of_first(self, daemon):
        return daemon.stats()["segments"][0]["state"]

    def test_a_reader_that_stays_makes_the_segment_roll_and_go_on_to_its_seal_without_it(self):
        daemon = self.started({"store": {"generation_keys": 4096}, "filter": {"capacity": 1000000}})
        daemon.ask(trade("first"))
        reader = self.hold(daemon)
        log = segments(daemon.data_dir)[0] + "-wal"
        peak, sent = 0, 1
        while len(segments(daemon.data_dir)) == 1:
            replies = daemon.ask(b"".join(trade(f"{sent + i}", note="x" * 2000) for i in range(1000)))
            self.assertEqual({reply["verdict"] for reply in replies}, {"new"})
            sent += len(replies)
            peak = max(peak, os.path.getsize(log))
            self.assertLess(peak, 2 * WAL_LIMIT)
        self.assertGreater(peak, WAL_LIMIT)  # it was the reader's doing
        self.assertEqual(self.state_of_first(daemon), "draining")

        daemon.kill()  # the reader stays; the next start drains
        daemon.start()
        sent += len(daemon.ask(trade("after the kill")))
        self.assertEqual(daemon.stats()["store"]["rows"], sent)
        self.assertEqual(self.state_of_first(daemon), "draining")
        reader.close()
        wait_until("the seal", lambda: self.state_of_first(daemon) == "sealed")
        self.assertFalse(os.path.exists(log))
        daemon.stop()
        stored = Stored(daemon.data_dir)
        self.assertEqual(stored.findings, [])
        self.assertEqual(len(stored.trades), sent)


if __name__ == "__main__":
    unittest.main()
