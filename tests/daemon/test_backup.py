"""docs/operations.md, done: backups of a daemon that runs, restored and judged by audit, export and the daemon."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import unittest

import daemon
import segments
from daemon import DEADLINE_S, DaemonTest, trade

TOOL = os.path.join(daemon.BUILD, "tradesieve")
SMALL = {"store": {"segment_rows": 40, "generation_keys": 8, "commit_max_trades": 8}}


def tool(*words):
    return subprocess.run([TOOL, *words], capture_output=True, timeout=DEADLINE_S, check=False, text=True)


class Backup(DaemonTest):
    def fill(self, real, first, last):
        for at in range(first, last, 8):
            real.ask(b"".join(trade(str(i)) for i in range(at, min(at + 8, last))))

    def backed_up(self, real):
        """The copy as operations.md makes it."""
        copy = os.path.join(self.directory(), "data")
        os.mkdir(copy)
        shutil.copy(os.path.join(real.data_dir, "filter.key"), copy)
        self.copy_segments(segments.paths(real.data_dir), copy)
        return copy

    def copy_segments(self, paths, copy):
        """In order, of one listing: sealed ones as they are, the others by VACUUM INTO."""
        for path in paths:
            target = os.path.join(copy, os.path.basename(path))
            if os.path.exists(path.removesuffix(".db") + ".keys"):
                for suffix in (".db", ".keys"):
                    shutil.copy(path.removesuffix(".db") + suffix, copy)
                with contextlib.suppress(FileNotFoundError):  # it appears a moment after .keys
                    shutil.copy(path.removesuffix(".db") + ".bloom", copy)
                continue
            if os.path.exists(target):
                os.unlink(target)
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
                database.execute("VACUUM INTO ?", (target,))

    def wait_for_seals(self, real):
        real.wait_for_stats("every closed segment to be sealed", lambda stats: all(
            segment["state"] in ("active", "sealed") for segment in stats["segments"]))

    def expect_sound(self, data_dir, trades):
        done = tool("audit", data_dir)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f" {trades} trades, ", done.stdout)

    def verdicts(self, data_dir, first, last):
        """The verdicts of a restored daemon for these trades, and its false negatives."""
        real = self.started(SMALL, data_dir=data_dir)
        replies = real.ask(b"".join(trade(str(i)) for i in range(first, last)))
        self.assertEqual(real.stats()["filter"]["false_negative"], 0)
        self.assertEqual(real.stop(), 0)
        return [reply["verdict"] for reply in replies]

    def test_a_copy_of_a_daemon_that_runs_is_sound_and_knows_its_trades(self):
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        self.wait_for_seals(real)
        copy = self.backed_up(real)
        self.assertEqual(len(segments.paths(copy, ".keys")), 3)
        self.fill(real, 130, 150)  # the original goes on
        self.expect_sound(copy, 130)
        self.assertEqual(self.verdicts(copy, 0, 150), ["duplicate"] * 130 + ["new"] * 20)
        self.expect_sound(copy, 150)

    def test_a_copy_of_segments_that_wait_to_be_sealed_is_sound(self):
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        self.expect_sound(self.backed_up(real), 130)

    def test_a_listing_from_before_a_roll_gives_a_prefix_and_a_later_one_a_gap(self):
        real = self.started(SMALL)
        self.fill(real, 0, 70)
        before = segments.paths(real.data_dir)
        copy = self.backed_up(real)
        self.fill(real, 70, 130)
        self.copy_segments(segments.paths(real.data_dir)[len(before):], copy)
        done = tool("audit", copy)
        self.assertEqual((done.returncode, done.stdout.count("begins with seq")), (1, 1), done.stdout)
        self.copy_segments(segments.paths(real.data_dir)[len(before) - 1:], copy)
        self.expect_sound(copy, 130)

    def test_a_copy_beside_derived_files_of_later_is_not_misled(self):
        """An older segment comes back where newer filters and sealed keys still lie."""
        real = self.started(SMALL)
        self.fill(real, 0, 70)
        copy = self.backed_up(real)
        self.fill(real, 70, 130)
        self.wait_for_seals(real)
        self.assertEqual(real.stop(), 0)
        for suffix in (".keys", ".bloom"):
            for path in segments.paths(real.data_dir, suffix):
                shutil.copy(path, copy)
        self.assertEqual(tool("audit", copy).returncode, 1)  # it names them
        self.assertEqual(self.verdicts(copy, 0, 130), ["duplicate"] * 70 + ["new"] * 60)

    def test_a_newest_of_later_says_that_a_segment_is_lost(self):
        real = self.started(SMALL)
        self.fill(real, 0, 70)
        copy = self.backed_up(real)
        self.fill(real, 70, 130)
        self.assertEqual(real.stop(), 0)
        shutil.copy(os.path.join(real.data_dir, "newest"), copy)
        again = self.daemon(SMALL, data_dir=copy)
        again.launch()
        self.assertEqual(again.wait(), 65)
        self.assertIn("the newest segment, is lost", again.log())
        os.unlink(os.path.join(copy, "newest"))
        self.assertEqual(self.verdicts(copy, 60, 80), ["duplicate"] * 10 + ["new"] * 10)

    def test_a_backup_grows_by_what_is_new(self):
        """Sealed segments are copied as they are, once; the one that is written each time."""
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        copy = self.backed_up(real)
        kept = segments.paths(copy)[:3]
        before = {path: os.stat(path).st_mtime_ns for path in kept}
        self.fill(real, 130, 200)
        self.copy_segments(segments.paths(real.data_dir)[3:], copy)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in kept}, before)
        self.expect_sound(copy, 200)
        self.assertEqual(self.verdicts(copy, 0, 200), ["duplicate"] * 200)

    def test_a_stopped_store_moves_as_a_whole(self):
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        self.assertEqual(real.stop(), 0)
        copy = os.path.join(self.directory(), "data")
        shutil.copytree(real.data_dir, copy)
        self.expect_sound(copy, 130)
        self.assertEqual(self.verdicts(copy, 0, 130), ["duplicate"] * 130)

    def test_without_filter_key_and_derived_files_nothing_is_lost(self):
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        self.wait_for_seals(real)
        copy = self.backed_up(real)
        os.unlink(os.path.join(copy, "filter.key"))
        self.assertEqual(tool("audit", copy).stdout.count("filter.key is missing"), 3)
        for path in segments.paths(copy, ".bloom") + segments.paths(copy, ".keys"):
            os.unlink(path)
        self.expect_sound(copy, 130)
        self.assertEqual(self.verdicts(copy, 0, 130), ["duplicate"] * 130)

    def test_a_newer_version_of_the_schema_is_refused_and_left_alone(self):
        real = self.started(SMALL)
        self.fill(real, 0, 10)
        self.assertEqual(real.stop(), 0)
        path = segments.paths(real.data_dir)[0]
        self.assertEqual(segments.query(path, "PRAGMA user_version"), [(1,)])
        segments.query(path, "PRAGMA user_version = 2")
        before = segments.image(real.data_dir)
        newer = self.daemon(SMALL, data_dir=real.data_dir)
        newer.launch()
        self.assertEqual(newer.wait(), 65)
        self.assertIn("written by a newer tradesieve", newer.log())
        self.assertEqual(segments.image(real.data_dir)[os.path.basename(path)], before[os.path.basename(path)])
        segments.query(path, "PRAGMA user_version = 1")
        self.assertEqual(self.verdicts(real.data_dir, 0, 10), ["duplicate"] * 10)

    def test_what_an_export_brings_back(self):
        real = self.started(SMALL)
        self.fill(real, 0, 130)
        lines = tool("export", real.data_dir).stdout
        copy = self.started(dict(SMALL, listeners=[{"bind": "127.0.0.1:0", "feed": "replay"}]))
        self.assertEqual({reply["verdict"] for reply in copy.ask(lines.encode())}, {"new"})
        self.assertEqual(copy.stop(), 0)
        self.expect_sound(copy.data_dir, 130)
        self.assertEqual(segments.rows(copy.data_dir), segments.rows(real.data_dir))
        self.assertEqual(json.loads(lines.splitlines()[-1])["seq"], 130)


if __name__ == "__main__":
    unittest.main()
