"""A disk that fills up under four clients, and what is told and stored meanwhile.

The data directory lies on a tmpfs; tests are skipped where that cannot be mounted."""

import json
import os
import random
import sys
import time
import unittest

from daemon import DaemonTest, wait_until
from ledger import CLIENTS, Crowd, Ledger
from small_disk import SmallDisk
from stored import Stored

SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
RECOVERY_S = 10
ROUNDS = 3
RESERVE = 256 << 20  # the default
SMALL = {"store": {"generation_keys": 200, "segment_rows": 2000}, "filter": {"capacity": 1000000}}


def tell(figure):
    """Past the buffer that only a failed test empties."""
    print(f"\n  {figure}", end=" ", file=sys.__stdout__, flush=True)


class FullDisk(DaemonTest):
    def setUp(self):
        print(f"SEED={SEED}")  # shown when a test fails
        self.random = random.Random(SEED)
        self.ledger = Ledger(self.random.randrange(2**32))

    def on_disk(self, size, reserve=None):
        """A disk, and a daemon with its data on it that has not been started."""
        self.disk = SmallDisk(size)
        self.addCleanup(self.disk.close)
        config = {**SMALL, "store": dict(SMALL["store"])}
        if reserve is not None:
            config["store"]["disk_reserve_bytes"] = reserve
        return self.daemon(config, data_dir=os.path.join(self.disk.path, "data"))

    def crowd(self, daemon, **options):
        crowd = Crowd(self.ledger, daemon.address(), self.random, **options)
        self.addCleanup(crowd.rest)
        self.addCleanup(daemon.kill)  # first: it may not read
        return crowd

    def wait_for_more(self, daemon, verdict, n, doing=lambda: None):
        """So many more of them, while or after something is done."""
        enough = self.ledger.verdicts[verdict] + n
        doing()
        wait_until(f"{n} times {verdict}", lambda: self.ledger.verdicts[verdict] >= enough
                   or daemon.process.poll() is not None)
        self.assertIsNone(daemon.process.poll(), daemon.log())

    def check_that_it_is_full(self, daemon, reason):
        """What supervisors and people are told."""
        status, body = daemon.get("/readyz")
        self.assertEqual(status, 503)
        self.assertRegex(json.loads(body)["reason"], reason)
        self.assertEqual(daemon.get("/livez")[0], 200)
        self.assertEqual(daemon.stats()["state"], "store_full")

    def recover(self, daemon):
        """Gives the space back; how long it took until a trade was stored and the daemon was ready."""
        began = time.monotonic()
        self.wait_for_more(daemon, "new", 1, self.disk.empty)
        wait_until("readiness", lambda: daemon.get("/readyz")[0] == 200)
        took = time.monotonic() - began
        tell(f"recovered within {took:.2f} s")
        self.assertLess(took, RECOVERY_S)

    def settle(self, daemon):
        """Everything is sent until it has its answer; what the store then holds wrongly."""
        while self.ledger.again:
            self.crowd(daemon, fresh=False).rest()
        self.assertEqual(daemon.stop(), 0)
        return self.ledger.compare(Stored(daemon.data_dir))

    def fill_and_recover(self, daemon, reason, leave):
        daemon.start()
        crowd = self.crowd(daemon)
        for _ in range(ROUNDS):
            self.wait_for_more(daemon, "new", 3000)
            self.wait_for_more(daemon, "retry", 1, lambda: self.disk.fill(leave))
            daemon.wait_for_stats("nobody is read", lambda stats: stats["connections"]["paused"] == CLIENTS)
            self.check_that_it_is_full(daemon, reason)
            self.recover(daemon)
        crowd.rest()
        self.assertEqual(self.settle(daemon)[:10], [])

    def test_below_the_reserve_nothing_is_lost_doubled_or_stored_in_secret(self):
        self.fill_and_recover(self.on_disk(RESERVE + (64 << 20)), "disk_reserve_bytes", RESERVE // 2)

    def test_a_disk_filled_to_the_last_byte_loses_doubles_and_hides_nothing(self):
        self.fill_and_recover(self.on_disk(64 << 20, reserve=0), r"\.db: .*(disk is full|No space left)", 0)

    def opened(self, daemon):
        """Gives the space back to a daemon that was launched without."""
        began = time.monotonic()
        self.disk.empty()
        daemon.wait_for_endpoints(RECOVERY_S)
        tell(f"opened within {time.monotonic() - began:.2f} s")

    def check_that_it_waits(self, daemon):
        """Launches it; where it listens is known from its last run."""
        daemon.config["http"] = daemon.endpoints["http"]
        daemon.launch()
        wait_until("a word", lambda: daemon.log() or daemon.process.poll() is not None)
        self.assertIn("waiting for space: ", daemon.log())
        status, body = daemon.get("/readyz")
        self.assertEqual((status, daemon.get("/livez")[0], daemon.stats()["state"]), (503, 200, "starting"))
        self.assertIn("waiting for space: ", json.loads(body)["reason"])

    def test_a_start_on_a_full_disk_waits_for_space_and_can_be_stopped(self):
        daemon = self.on_disk(64 << 20, reserve=0).start()
        crowd = self.crowd(daemon)
        self.wait_for_more(daemon, "new", 3000)
        daemon.stop()
        crowd.rest()
        self.disk.fill()
        self.check_that_it_waits(daemon)
        self.assertEqual(daemon.stop(), 0, daemon.log())
        self.check_that_it_waits(daemon)
        self.opened(daemon)
        self.assertEqual(self.settle(daemon)[:10], [])

    def test_the_first_start_waits_for_space_too(self):
        daemon = self.on_disk(1 << 20, reserve=0)
        os.mkdir(daemon.data_dir)
        self.disk.fill()
        daemon.launch()
        wait_until("a word", lambda: daemon.log() or daemon.process.poll() is not None)
        self.assertIn("waiting for space: ", daemon.log())
        self.opened(daemon)

    def test_a_kill_on_a_full_disk_loses_nothing(self):
        daemon = self.on_disk(64 << 20, reserve=0).start()
        crowd = self.crowd(daemon)
        self.wait_for_more(daemon, "new", 3000)
        self.wait_for_more(daemon, "retry", 1, self.disk.fill)
        daemon.kill()
        crowd.rest()
        daemon.launch()  # whether the space of its log is enough or not
        wait_until("a word", lambda: daemon.log() or daemon.process.poll() is not None)
        self.opened(daemon)
        self.assertEqual(self.settle(daemon)[:10], [])

    def test_a_roll_that_finds_no_space_half_way_is_taken_back(self):
        daemon = self.on_disk(64 << 20, reserve=0)
        daemon.config["store"].update(generation_keys=10, segment_rows=10)
        peer, number, refused = daemon.start().peer(), 0, 0

        def verdict():
            peer.send(f"{self.ledger.message(number)}\n".encode())
            reply = peer.reply()
            if reply is None:
                self.fail(f"ended with {daemon.wait()}: {daemon.log()[-400:]}")
            return reply["verdict"]

        for leave in range(96 << 10, 416 << 10, 32 << 10):
            self.disk.fill(leave)
            until = number + 11  # one roll
            while number < until and verdict() == "new":
                number += 1
            refused += number < until
            self.disk.empty()
            while verdict() == "retry":
                pass
            number += 1
        self.assertGreater(refused, 0)
        self.assertEqual(daemon.stop(), 0)
        stored = Stored(daemon.data_dir)
        self.assertEqual(stored.findings, [])
        self.assertEqual(set(stored.trades), {self.ledger.key(each) for each in range(number)})

    def test_a_trade_that_is_stored_although_it_was_told_retry_is_noticed(self):
        daemon = self.on_disk(64 << 20, reserve=64 << 20).start()
        crowd = self.crowd(daemon)
        wait_until("a trade that is given up", lambda: self.ledger.given_up)
        daemon.stop()
        crowd.rest()
        daemon.config["store"]["disk_reserve_bytes"] = 0
        number = min(self.ledger.given_up)
        daemon.start().ask(f"{self.ledger.message(number)}\n".encode())
        self.assertIn(f"trade {number} was told seq None and is stored as 1", self.settle(daemon))


if __name__ == "__main__":
    unittest.main()
