"""kill -9 at random moments, again and again, under clients that resend what was not answered.

    make soak-kill [CYCLES=1000] [SEED=N]

Segments, generations and snapshots are tiny, so that rolls, seals and snapshots are under way when it
hits; half of the kills wait for a file that is just being written. After every ROUND kills all that is
without an answer is sent until it has one, the daemon is stopped, and the store is read without its help:
each trade that was answered is there once, under its seq, with its own message, and nothing else is. Then
a new store begins, so that starts stay short. Every decision follows from the seed; how threads and
processes take their turns does not."""

import os
import random
import sqlite3
import subprocess
import sys
import time
import unittest

from daemon import DaemonTest, amount
from ledger import Client, Crowd, HastyClient, Ledger
from stored import Stored, segments

CYCLES = amount("CYCLES", 50, 10)
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
ROUND = 50              # kills of one store
EARLY = 0.2             # of the kills hit the start, ...
EARLY_WITHIN_S = 0.03   # ... so long after the launch
KILL_WITHIN_S = 0.15    # of the first line
HUNT = 0.5              # of the kills wait for a file that is being written, ...
HUNT_S = 0.15           # ... but not longer
CONFIG = {
    "store": {"generation_keys": 256, "segment_rows": 4000, "commit_max_trades": 500},
    "filter": {"capacity": 1000000, "snapshot_rows": 700, "snapshot_interval_s": 1},
}
UNFINISHED = (".db.new", ".keys.new", ".bloom.new")
VERDICTS = ("new", "duplicate", "conflict", "invalid", "ignored", "retry")


class Victim:
    """A daemon with its store and its clients."""

    def __init__(self, daemon, rng, client=Client):
        self.daemon = daemon
        self.random = rng
        self.client = client
        self.ledger = Ledger(rng.randrange(2**32))
        self.found = dict.fromkeys((*UNFINISHED, "two logs", "no start"), 0)  # how many kills left that

    def _names(self):
        return os.listdir(self.daemon.data_dir) if os.path.exists(self.daemon.data_dir) else []

    def _live(self, seconds):
        try:
            code = self.daemon.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
        raise AssertionError(f"tradesieved ended with {code}: {self.daemon.log()}")

    def _kill(self):
        self.daemon.kill()
        names = self._names()
        for kind in UNFINISHED:
            self.found[kind] += any(name.endswith(kind) for name in names)
        self.found["two logs"] += sum(name.endswith(".db-wal") for name in names) > 1
        self.found["no start"] += not os.path.exists(self.daemon.endpoints_file)

    def kill_while_it_starts(self):
        self.daemon.launch()
        self._live(self.random.uniform(0, EARLY_WITHIN_S))
        self._kill()

    def kill_while_it_works(self):
        self.daemon.start()
        crowd = Crowd(self.ledger, self.daemon.address(), self.random, client=self.client)
        self._live(self.random.uniform(0, KILL_WITHIN_S))
        end = time.monotonic() + (HUNT_S if self.random.random() < HUNT else 0)
        while time.monotonic() < end and not any(name.endswith(UNFINISHED) for name in self._names()):
            self._live(0.0005)
        self._kill()
        crowd.rest()

    def work_until_sealed(self):
        """Without a kill, until the first segment is."""
        self.daemon.start()
        crowd = Crowd(self.ledger, self.daemon.address(), self.random)
        self.daemon.wait_for_stats("a seal", lambda stats: stats["segments"][0]["state"] == "sealed")
        crowd.rest()
        self.daemon.stop()

    def kill(self, times):
        for _ in range(times):
            if self.random.random() < EARLY:
                self.kill_while_it_starts()
            else:
                self.kill_while_it_works()

    def settle(self):
        """Sends until everything has its answer, stops it, and returns what is wrong."""
        self.daemon.start()
        while self.ledger.again:
            Crowd(self.ledger, self.daemon.address(), self.random, fresh=False, client=self.client).rest()
        stats = self.daemon.stats()
        code = self.daemon.stop()
        return self._wrong(stats, code) + self.ledger.compare(Stored(self.daemon.data_dir))

    def _wrong(self, stats, code):
        """What the end itself and the statistics before it say."""
        trades = stats["trades"]
        expected = [("exit code", code, 0),
                    ("trades received", trades["received"], sum(trades[verdict] for verdict in VERDICTS)),
                    ("rows", stats["store"]["rows"], len(self.ledger.seqs)),
                    ("false negatives", stats["filter"]["false_negative"], 0)]
        return [f"{what}: {is_} instead of {due}" for what, is_, due in expected if is_ != due]


class Kill(DaemonTest):
    def setUp(self):
        self.random = random.Random(SEED)
        print(f"SEED={SEED}")  # shown when a test fails

    def victim(self, **options):
        return Victim(self.daemon(CONFIG), self.random, **options)

    def test_what_was_answered_survives_every_kill_once_and_whole(self):
        found, trades, began = {}, 0, time.monotonic()
        for done in range(0, CYCLES, ROUND):
            victim = self.victim()
            victim.kill(min(ROUND, CYCLES - done))
            self.assertEqual(victim.settle()[:10], [])
            victim.daemon.close()
            trades += len(victim.ledger.seqs)
            found = {kind: found.get(kind, 0) + n for kind, n in victim.found.items()}
            print(f"\n  SEED={SEED}: {min(done + ROUND, CYCLES)} kills, {trades} trades,"
                  f" {time.monotonic() - began:.0f} s; left behind: {found}",
                  end="", file=sys.__stdout__, flush=True)


class Controls(Kill):
    """What the test above must notice."""

    test_what_was_answered_survives_every_kill_once_and_whole = None

    def noticed(self, victim, expected, harm=lambda data_dir: None):
        for _ in range(10):
            victim.kill_while_it_works()
            harm(victim.daemon.data_dir)
        self.found(expected, victim.settle())

    def found(self, expected, findings):
        self.assertTrue(any(expected in finding for finding in findings), f"not {expected}: {findings[:5]}")

    def test_an_answer_ahead_of_the_commit_is_noticed(self):
        self.noticed(self.victim(client=HastyClient), "is not stored")

    def test_commits_that_do_not_last_are_noticed(self):
        def lose_newest_log(data_dir):
            log = segments(data_dir)[-1] + "-wal"
            if os.path.exists(log):
                os.unlink(log)

        self.noticed(self.victim(), "was new twice", lose_newest_log)

    def test_a_damaged_store_is_noticed(self):
        victim = self.victim()
        victim.work_until_sealed()
        self.assertEqual(victim.settle()[:10], [])
        first, *_, last = segments(victim.daemon.data_dir)
        for path, harm, expected in (
                (first, "UPDATE trade SET message = 'x' WHERE seq = 7", "another message"),
                (first, "DELETE FROM trade WHERE seq = 7", "seq 8 where 7 was due"),
                (last, "INSERT INTO trade SELECT max(seq) + 1, generation + 1, key, received, feed,"
                       " fingerprint, message FROM trade", "stands twice"),
                (first.replace(".db", ".keys"), "DELETE FROM key WHERE seq = 9", "not the keys"),
                (first, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
                        " replace(sql, 'feed TEXT', 'feed INTEGER')", "quick_check")):
            with self.subTest(expected), open(path, "rb") as file:
                whole = file.read()
                database = sqlite3.connect(path)
                database.executescript(harm)
                database.close()
                self.found(expected, victim.ledger.compare(Stored(victim.daemon.data_dir)))
                with open(path, "wb") as restored:
                    restored.write(whole)


if __name__ == "__main__":
    unittest.main()
