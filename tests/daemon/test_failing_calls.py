"""Every call of the daemon into the system fails once, or from then on, and no promise is broken.

    LIMIT=n    at most n calls of each kind, spread over all of them; 0: every one. Unset: 1
    SEED=n     where in its stretch each call of a sample lies
    ONLY=...   the scenes and kinds to try: ONLY=grown,write

`make failing-calls` runs every one. A case: tests/lib/failing.py."""

import collections
import concurrent.futures
import errno
import itertools
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import unittest

from failing import CONFIG, KINDS, LIBRARY, UNWRITTEN_WAL, Case, Failure, Violation, grow, sanitizer
from stored import segments

SCENES = ("fresh", "grown")
SAMPLE = int(os.environ.get("LIMIT", "1"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ONLY = set(filter(None, os.environ.get("ONLY", "").split(",")))
WORKERS = 2 * (os.cpu_count() or 1)  # a case waits more than it computes
# Nothing here depends on a disk: the daemon is killed, not the machine.
SCRATCH = os.environ.get("TMPDIR") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
NO_FAILURE = ("write", errno.EIO, False, 0)


def say(text):
    print(text, file=sys.__stdout__, flush=True)


def selected(names):
    return [name for name in names if not ONLY & set(names) or name in ONLY]


class FailingCalls(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(LIBRARY):
            raise unittest.SkipTest(f"{LIBRARY} is not built")
        cls.directory = tempfile.mkdtemp(prefix="tradesieve-test-", dir=SCRATCH)
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.grown = grow(cls.directory)
        cls.random = random.Random(SEED)
        say(f"SEED={SEED} LIMIT={SAMPLE}")

    def attempt(self, failure, kind_of_case=Case, **options):
        """How the daemon took it, or the Violation."""
        with tempfile.TemporaryDirectory(prefix="tradesieve-test-", dir=SCRATCH) as directory:
            case = kind_of_case(failure, directory, self.grown, **options)
            try:
                return case.run(), case.control
            except Violation as violation:
                return violation, case.control

    def count(self, scene):
        """Calls of each kind in a run without failures."""
        outcome, control = self.attempt(Failure(scene, *NO_FAILURE))
        self.assertEqual(outcome, "not reached", str(outcome))
        return {kind: control.calls(kind) for kind in KINDS}

    def spread(self, calls):
        """Which calls fail: all, or one in each of SAMPLE equal stretches."""
        if not SAMPLE or calls <= SAMPLE:
            return range(1, calls + 1)
        return [self.random.randrange(calls * i // SAMPLE, calls * (i + 1) // SAMPLE) + 1 for i in range(SAMPLE)]

    def failures(self):
        for scene in selected(SCENES):
            calls = self.count(scene)
            say(f"{scene}: " + ", ".join(f"{n} {kind}" for kind, n in calls.items()))
            for kind in selected(KINDS):
                for error, lasting in itertools.product(KINDS[kind], (False, True)):
                    for nth in self.spread(calls[kind]):
                        yield Failure(scene, kind, error, lasting, nth)

    def test_no_failing_call_breaks_a_promise(self):
        failures = list(self.failures())
        outcomes = collections.defaultdict(collections.Counter)
        violations = []
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for failure, (outcome, _) in zip(failures, pool.map(self.attempt, failures)):
                if isinstance(outcome, Violation):
                    violations.append(str(outcome))
                    outcome = "VIOLATION"
                outcomes[failure.kind, errno.errorcode[failure.error],
                         "from then on" if failure.lasting else "once"][outcome] += 1
        for (kind, error, lasting), counts in outcomes.items():
            say(f"  {kind:7s} {error:6s} {lasting:12s} " + ", ".join(
                f"{n} {outcome}" for outcome, n in sorted(counts.items())))
        reached = sum(n for counts in outcomes.values() for outcome, n in counts.items()
                      if outcome != "not reached")
        say(f"{reached} of {len(failures)} failures happened")
        self.assertGreater(reached, len(failures) // 2)  # threads: a call may be one more or less
        self.assertEqual(violations, [], f"SEED={SEED}\n" + "\n".join(violations[:20]))

    def test_a_page_that_the_disk_refuses_is_an_io_error_and_no_corruption(self):
        outcome, _ = self.attempt(Failure("grown", "read", errno.EIO, True, 100))
        self.assertEqual(outcome, "exit 74", str(outcome))

    def test_sealed_keys_that_cannot_be_read_are_made_again(self):
        sealed = [os.path.basename(path).replace(".db", ".keys") for path in segments(self.grown)[:-1]]
        outcome, control = self.attempt(Failure("grown", "read", errno.EIO, False, 1), within=sealed[-1])
        self.assertEqual(outcome, "went on", str(outcome))
        self.assertEqual(control["failed"], 1)

    def test_without_memory_to_parse_the_configuration_it_is_not_called_wrong(self):
        if sanitizer():
            self.skipTest("a sanitizer keeps memory to itself")

        class Start(Case):
            def converse(self):
                pass

        for nth in range(10, 44, 4):
            outcome, _ = self.attempt(Failure("fresh", "memory", errno.ENOMEM, False, nth), Start)
            self.assertEqual(outcome, "exit 71", str(outcome))

    def refused(self, *arguments, **options):
        outcome, _ = self.attempt(*arguments, **options)
        self.assertIsInstance(outcome, Violation, f"accepted: {outcome}")
        return str(outcome)

    def test_a_log_that_is_never_written_is_found_as_a_false_acknowledgement(self):
        config = {**CONFIG, "store": {**CONFIG["store"], "segment_rows": 1000}}  # a roll would read the log
        reason = self.refused(Failure("fresh", *NO_FAILURE, UNWRITTEN_WAL), config=config)
        self.assertIn("false acknowledgement: n0.0.0", reason)

    def test_a_retry_for_a_trade_that_is_stored_is_found(self):
        class Liar(Case):
            """Answers retry once where the daemon said new."""

            def judge(self, contents):
                line = next(line for line in self.lines if line.reply["verdict"] == "new")
                line.reply = {"verdict": "retry"}
                super().judge(contents)

        self.assertIn("stored in spite of retry", self.refused(Failure("fresh", *NO_FAILURE), Liar))

    def test_a_trade_that_is_stored_twice_is_found(self):
        class Doubler(Case):
            """Stores a trade once more while the daemon is down."""

            def fail(self):
                outcome = super().fail()
                with sqlite3.connect(segments(self.data_dir)[-1]) as database:
                    database.execute("INSERT INTO trade SELECT (SELECT max(seq) + 1 FROM trade), generation + 1,"
                                     " key, received, feed, fingerprint, message FROM trade LIMIT 1")
                database.close()
                return outcome

        self.assertIn("stands twice", self.refused(Failure("fresh", *NO_FAILURE), Doubler))


if __name__ == "__main__":
    unittest.main()
