"""tradesieve audit: it names each fault that is planted, and finds none where none is."""

import hashlib
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import daemon
import segments
from daemon import DEADLINE_S, DaemonTest, trade

TOOL = os.path.join(daemon.BUILD, "tradesieve")
SMALL = {"store": {"segment_rows": 40, "generation_keys": 8, "commit_max_trades": 8}}
SUMMARY = re.compile(r"([\d,]+) findings in ([\d,]+) segments, ([\d,]+) trades, ([\d,]+) conflicts, "
                     r"([\d,]+) rejects; .* s")


def audit(data_dir):
    """Exit code, findings, and the counts of the last line."""
    done = subprocess.run([TOOL, "audit", data_dir], capture_output=True, timeout=DEADLINE_S, check=False, text=True)
    if done.returncode not in (0, 1):
        raise AssertionError(f"audit ended with {done.returncode}: {done.stderr}")
    *findings, last = done.stdout.splitlines()
    return done.returncode, findings, [int(n.replace(",", "")) for n in SUMMARY.fullmatch(last).groups()]


def fill(real, first, last):
    for at in range(first, last, 8):
        real.ask(b"".join(trade(str(i)) for i in range(at, min(at + 8, last))))


def wait_for_seals(real):
    real.wait_for_stats("every closed segment to be sealed", lambda stats: all(
        segment["state"] in ("active", "sealed") for segment in stats["segments"]))


class AuditTest(DaemonTest):
    def expect(self, data_dir, *findings):
        """Each is a piece of exactly one line, and there are no other lines."""
        code, found, counts = audit(data_dir)
        self.assertEqual(len(found), len(findings), found)
        for finding in findings:
            self.assertEqual(sum(finding in line for line in found), 1, (finding, found))
        self.assertEqual((code, counts[0]), (1 if findings else 0, len(findings)))
        return counts


class Clean(AuditTest):
    def test_a_fresh_store_has_no_findings(self):
        real = self.started()
        real.stop()
        self.assertEqual(self.expect(real.data_dir), [0, 1, 0, 0, 0])

    def test_a_store_of_sealed_segments_conflicts_and_rejects_has_no_findings(self):
        real = self.started(SMALL)
        fill(real, 0, 130)
        real.ask(trade("3", price="9") + trade("129", price="9") + b"nonsense\n" + trade("3"))
        wait_for_seals(real)
        real.stop()
        self.assertEqual(self.expect(real.data_dir), [0, 4, 130, 2, 1])

    def test_after_a_kill_the_log_is_read_and_nothing_is_touched(self):
        real = self.started(SMALL)
        fill(real, 0, 50)
        real.kill()
        before = segments.image(real.data_dir)
        self.assertTrue(segments.paths(real.data_dir, ".db-wal"))
        self.assertEqual(self.expect(real.data_dir)[2], 50)
        self.assertEqual(segments.image(real.data_dir), before)
        self.assertEqual(real.start().stats()["store"]["rows"], 50)

    def test_after_a_clean_stop_nothing_is_touched(self):
        real = self.started(SMALL)
        fill(real, 0, 50)
        real.stop()
        before = segments.image(real.data_dir)
        self.expect(real.data_dir)
        self.assertEqual(segments.image(real.data_dir), before)

    def test_what_a_crash_may_leave_is_no_finding(self):
        real = self.started(SMALL)
        fill(real, 0, 130)
        wait_for_seals(real)
        real.stop()
        first = segments.paths(real.data_dir)[0].removesuffix(".db")
        os.unlink(first + ".bloom")       # a seal that had not come to it
        for name in (first + ".bloom.new", first + ".keys.new", os.path.join(real.data_dir, "notes.txt")):
            with open(name, "wb"):
                pass
        self.expect(real.data_dir)
        os.unlink(first + ".keys")
        self.expect(real.data_dir)
        os.rename(first + ".db", first + ".expired")
        self.expect(real.data_dir)

    def test_a_store_whose_first_segments_expired_has_no_findings(self):
        real = self.started(SMALL)
        fill(real, 0, 130)
        real.ask(trade("3", price="9"))
        wait_for_seals(real)
        real.stop()
        for path in segments.paths(real.data_dir)[:2]:
            for suffix in (".db", ".keys", ".bloom"):
                os.unlink(path.removesuffix(".db") + suffix)
        self.assertEqual(self.expect(real.data_dir), [0, 2, 50, 1, 0])

    def test_a_name_with_signs_of_a_uri_is_a_name(self):
        real = self.started(data_dir=os.path.join(self.directory(), "a?b%20#c"))
        fill(real, 0, 8)
        real.kill()
        self.assertEqual(self.expect(real.data_dir)[2], 8)
        real.start().stop()
        self.assertEqual(self.expect(real.data_dir)[2], 8)


class Command(AuditTest):
    def test_a_daemon_that_runs_keeps_it_away(self):
        real = self.started()
        done = subprocess.run([TOOL, "audit", real.data_dir], capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (75, b""))
        self.assertIn(b"another tradesieved (pid %d) has it" % real.process.pid, done.stderr)

    def test_what_is_no_data_directory_is_refused_in_one_line(self):
        empty = self.directory()
        for words, code in (((), 64), (("a", "b"), 64), (("--none", empty), 64), ((empty,), 71), (("/nonexistent",), 71)):
            done = subprocess.run([TOOL, "audit", *words], capture_output=True, check=False, timeout=DEADLINE_S)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (code, b"", 1), words)
        self.assertEqual(os.listdir(empty), [])

    def test_a_terminal_shows_progress(self):
        real = self.started()
        real.ask(b"".join(trade(str(i)) for i in range(5000)))
        real.stop()
        terminal, side = pty.openpty()
        done = subprocess.run([TOOL, "audit", real.data_dir], stdout=subprocess.PIPE, stderr=side, check=False,
                              timeout=DEADLINE_S)
        os.close(side)
        shown = os.read(terminal, 1 << 16).decode()
        os.close(terminal)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(shown, r"\[#*\.*\] +\d+ %  0 findings")


class Planted(AuditTest):
    """130 trades in four segments of 40, three sealed; 2 conflicts, 1 reject."""

    @classmethod
    def setUpClass(cls):
        cls.sound = tempfile.mkdtemp(prefix="tradesieve-test-")
        cls.addClassCleanup(shutil.rmtree, cls.sound)
        real = daemon.Daemon(SMALL, directory=cls.sound)
        cls.addClassCleanup(real.close)
        real.start()
        fill(real, 0, 130)
        real.ask(trade("3", price="9") + trade("129", price="9") + b"nonsense\n")
        wait_for_seals(real)
        real.stop()

    def setUp(self):
        self.data_dir = os.path.join(self.directory(), "data")
        shutil.copytree(os.path.join(self.sound, "data"), self.data_dir)
        self.paths = segments.paths(self.data_dir)
        self.assertEqual(len(self.paths), 4)
        self.assertEqual(len(segments.paths(self.data_dir, ".keys")), 3)

    def sql(self, segment, statement, *values, suffix=".db"):
        segments.query(self.beside(segment, suffix), statement, *values)

    def beside(self, segment, suffix):
        return self.paths[segment].removesuffix(".db") + suffix

    def name(self, segment, suffix=".db"):
        return os.path.basename(self.beside(segment, suffix))

    def key(self, seq):
        return f"XNAS/AAPL/{seq - 1}"

    def bits(self, segment, change):
        """Changes the bytes of a filter before its checksum, and sums it anew."""
        path = self.beside(segment, ".bloom")
        with open(path, "rb") as file:
            content = bytearray(file.read()[:-32])
        change(content)
        with open(path, "wb") as file:
            file.write(content + hashlib.blake2b(content, digest_size=32).digest())

    def expect_lines(self, *findings):
        self.expect(self.data_dir, *findings)

    def test_nothing(self):
        self.expect_lines()

    def test_a_row_deleted(self):
        self.sql(0, "DELETE FROM trade WHERE seq = 17")
        self.expect_lines(f"{self.name(0)}: row 17 is missing",
                          f"{self.name(0, '.keys')}: {self.key(17)}, row 17, has no such row")

    def test_rows_deleted_from_the_segment_that_is_written(self):
        self.sql(3, "DELETE FROM trade WHERE seq IN (125, 126)")
        self.expect_lines(f"{self.name(3)}: rows 125 to 126 are missing")

    def test_the_last_row_of_a_sealed_segment_deleted(self):
        self.sql(1, "DELETE FROM trade WHERE seq = 80")
        self.expect_lines(f"{self.name(2)}: begins with seq 81, but {self.name(1)} ends with 79",
                          f"{self.name(1, '.bloom')}: made for rows up to 80, the last is 79",
                          f"{self.name(1, '.keys')}: made of 40 rows, the segment has 39",
                          f"{self.name(1, '.keys')}: {self.key(80)}, row 80, has no such row")

    def test_the_last_row_of_all_deleted(self):
        self.sql(3, "DELETE FROM conflict WHERE seq = 130")
        self.sql(3, "DELETE FROM trade WHERE seq = 130")
        self.expect_lines(f"{self.name(3, '.bloom')}: made for rows up to 130, the last is 129")

    def test_a_row_doubled_in_another_segment(self):
        self.sql(3, "UPDATE trade SET key = ? WHERE seq = 127", self.key(5))
        code, found, _ = audit(self.data_dir)
        self.assertEqual(code, 1)
        self.assertIn(f"{self.key(5)} stands twice: row 5 of {self.name(0, '')} and row 127 of {self.name(3, '')}", found)

    def test_a_row_doubled_in_another_generation_of_one_segment(self):
        self.sql(3, "UPDATE trade SET key = ? WHERE seq = 122", self.key(130))
        _, found, _ = audit(self.data_dir)
        self.assertIn(f"{self.key(130)} stands twice: row 122 of {self.name(3, '')} and row 130 of {self.name(3, '')}", found)

    def test_a_key_changed_in_place(self):
        self.sql(1, "UPDATE trade SET key = 'XNAS/AAPL/new' WHERE seq = 50")
        self.expect_lines(f"{self.name(1, '.bloom')}: says absent of row 50, XNAS/AAPL/new",
                          f"{self.name(1, '.keys')}: {self.key(50)}, row 50, has no such row",
                          f"{self.name(1, '.keys')}: XNAS/AAPL/new, row 50, is not in it")

    def test_a_key_changed_to_none(self):
        self.sql(3, "UPDATE trade SET key = 'a' || char(10) WHERE seq = 123")
        self.expect_lines(f"{self.name(3)}: row 123: a\\x0a is no key",
                          f"{self.name(3, '.bloom')}: says absent of row 123, a\\x0a")

    def test_a_generation_out_of_order(self):
        self.sql(3, "UPDATE trade SET generation = 7 WHERE seq = 121")
        _, found, _ = audit(self.data_dir)
        self.assertIn(f"{self.name(3)}: row 122 is of generation 0, after one of 7", found)

    def test_a_sealed_key_missing(self):
        self.sql(0, "DELETE FROM key WHERE seq = 9", suffix=".keys")
        self.expect_lines(f"{self.name(0, '.keys')}: {self.key(9)}, row 9, is not in it")

    def test_a_sealed_key_of_another_row(self):
        self.sql(0, "UPDATE key SET seq = 11 WHERE seq = 9", suffix=".keys")
        self.expect_lines(f"{self.name(0, '.keys')}: {self.key(9)} is row 9, not 11")

    def test_sealed_keys_of_another_segment(self):
        shutil.copy(self.beside(0, ".keys"), self.beside(1, ".keys"))
        self.expect_lines(f"{self.name(1, '.keys')}: not the sealed keys of this segment")

    def test_sealed_keys_lost(self):
        os.unlink(self.beside(1, ".keys"))
        self.expect_lines(f"{self.name(1, '.keys')}: is not there")

    def test_sealed_keys_of_a_segment_that_is_written(self):
        shutil.copy(self.beside(0, ".keys"), self.beside(3, ".keys"))
        self.expect_lines(f"{self.name(3, '.keys')}: sealed keys of the segment that is written",
                          f"{self.name(3, '.keys')}: not the sealed keys of this segment")

    def test_a_bit_cleared_in_a_sealed_filter(self):
        def clear_one(content):
            at = next(i for i in range(len(content) - 1, 0, -1) if content[i])
            content[at] &= content[at] - 1
        self.bits(0, clear_one)
        _, found, _ = audit(self.data_dir)
        self.assertTrue(found)
        for line in found:
            self.assertRegex(line, re.escape(self.name(0, ".bloom")) + r": says absent of row \d+, XNAS/AAPL/\d+")

    def test_a_bank_emptied(self):
        def clear(content):
            content[-256:] = bytes(256)
        self.bits(3, clear)
        _, found, _ = audit(self.data_dir)
        self.assertTrue(any("says absent of row" in line for line in found), found)
        self.assertTrue(all(self.name(3, ".bloom") in line for line in found), found)

    def test_a_filter_whose_bytes_changed(self):
        with open(self.beside(2, ".bloom"), "r+b") as file:
            file.seek(150)
            byte = file.read(1)
            file.seek(150)
            file.write(bytes([byte[0] ^ 1]))
        self.expect_lines(f"{self.name(2, '.bloom')}: damaged")

    def test_a_filter_cut_short(self):
        os.truncate(self.beside(3, ".bloom"), 200)
        self.expect_lines(f"{self.name(3, '.bloom')}: damaged or cut short")

    def test_a_snapshot_of_another_segment(self):
        shutil.copy(self.beside(0, ".bloom"), self.beside(1, ".bloom"))
        self.expect_lines(f"{self.name(1, '.bloom')}: of another segment")

    def test_a_snapshot_of_another_run(self):
        self.sql(3, "UPDATE run SET token = token + 1")
        self.expect_lines(f"{self.name(3, '.bloom')}: of a run that the segment does not know")

    def test_a_snapshot_of_other_rows(self):
        def another_hash(content):
            struct.pack_into("=Q", content, 48, struct.unpack_from("=Q", content, 48)[0] ^ 1)
        self.bits(2, another_hash)
        self.expect_lines(f"{self.name(2, '.bloom')}: of other rows: row 120 is not its last")

    def test_a_lost_secret(self):
        os.unlink(os.path.join(self.data_dir, "filter.key"))
        self.expect_lines(*(f"{self.name(i, '.bloom')}: cannot be read, filter.key is missing" for i in range(4)))

    def test_a_segment_lost(self):
        os.unlink(self.paths[1])
        self.expect_lines(f"{self.name(1, '.keys')}: its segment is not there",
                          f"{self.name(1, '.bloom')}: its segment is not there",
                          f"{self.name(2)}: begins with seq 81, but {self.name(0)} ends with 40")

    def test_the_newest_segment_lost(self):
        for suffix in (".db", ".bloom"):
            os.unlink(self.beside(3, suffix))
        self.expect_lines(f"{self.name(3)}: the newest segment is not there",
                          f"{self.name(2, '.keys')}: sealed keys of the segment that is written")

    def test_a_torn_file(self):
        os.truncate(self.paths[1], 3 * 16384)
        _, found, _ = audit(self.data_dir)
        self.assertTrue(any(line.startswith(self.name(1) + ": ") for line in found), found)

    def test_a_page_overwritten(self):
        with open(self.paths[2], "r+b") as file:
            file.seek(-16384, os.SEEK_END)
            file.write(b"\xa5" * 16384)
        _, found, counts = audit(self.data_dir)
        self.assertTrue(any(line.startswith(self.name(2) + ": ") for line in found), found)
        self.assertEqual(counts[1], 4)

    def test_an_index_that_lacks_a_row(self):
        """A row that SQLite is made to overlook: the index no longer names it."""
        self.sql(1, "CREATE TABLE other (generation, key)")
        root = segments.query(self.paths[1], "SELECT rootpage FROM sqlite_schema WHERE name LIKE 'sqlite_auto%trade%'")
        with open(self.paths[1], "r+b") as file:
            file.seek((root[0][0] - 1) * 16384 + 3)
            cells = struct.unpack(">H", file.read(2))[0]
            file.seek(-2, os.SEEK_CUR)
            file.write(struct.pack(">H", cells - 1))
        _, found, _ = audit(self.data_dir)
        self.assertTrue(any("missing from index" in line or "wrong # of entries" in line for line in found), found)
        self.assertTrue(any(".keys: " in line and "has no such row" in line for line in found), found)

    def test_a_foreign_file(self):
        self.sql(2, "PRAGMA application_id = 1")
        _, found, _ = audit(self.data_dir)
        self.assertIn(f"{self.name(2)}: not a tradesieve segment (application_id 1)", found)

    def test_a_newer_version(self):
        self.sql(3, "PRAGMA user_version = 99")
        self.expect_lines(f"{self.name(3)}: written by a newer tradesieve")

    def test_a_file_of_a_name_that_nobody_gives(self):
        with open(os.path.join(self.data_dir, "trades-20261201-000001.db~"), "wb"):
            pass
        self.expect_lines("trades-20261201-000001.db~: no file of tradesieve")

    def test_a_conflict_without_a_trade(self):
        self.sql(3, "UPDATE conflict SET seq = 131 WHERE seq = 130")
        self.expect_lines(f"{self.name(3)}: a conflict names row 131, {self.key(130)}, which is not there")

    def test_a_conflict_with_the_key_of_another_trade(self):
        self.sql(3, "UPDATE conflict SET seq = 5 WHERE seq = 4")
        self.expect_lines(f"{self.name(3)}: a conflict names row 5, whose key is not {self.key(4)}")

    def test_a_conflict_with_the_content_of_its_trade(self):
        fingerprint = segments.query(self.paths[3], "SELECT fingerprint FROM trade WHERE seq = 130")[0][0]
        self.sql(3, "UPDATE conflict SET fingerprint = ? WHERE seq = 130", fingerprint)
        self.expect_lines(f"{self.name(3)}: a conflict with row 130, {self.key(130)}, has its fingerprint")

    def test_a_reject_for_no_reason(self):
        self.sql(3, "UPDATE reject SET error = 'because'")
        self.expect_lines(f"{self.name(3)}: a reject of feed \"canonical\" with the error \"because\"")

    def test_many_findings_are_counted_and_not_all_written(self):
        self.sql(3, "WITH RECURSIVE n(i) AS (SELECT 200 UNION ALL SELECT i + 2 FROM n WHERE i < 500)"
                    " INSERT INTO trade SELECT i, 1000, 'k' || i, 0, 'f', 0, NULL FROM n")
        code, found, counts = audit(self.data_dir)
        self.assertEqual(code, 1)
        self.assertEqual(counts[0] - 100, int(re.fullmatch(r"\S+: (\d+) findings more, .*", found[100])[1]))


if __name__ == "__main__":
    unittest.main()
