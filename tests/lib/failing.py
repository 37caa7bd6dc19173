"""One failing call and its consequences: the real daemon under tests/fault/failing_calls.c.

A case is a fixed small workload with one failure in it. Afterwards the daemon is started again without
failures, and what it stored is held against what it had answered:

    new, duplicate, conflict    is stored, with its message, where the reply said
    retry                       is not stored, in whatever way the daemon ended
    no answer                   anything; sent again it gets the answer that the store's content demands

Each line carries a note of its own outside its content, so that it is known whose message was stored."""

import ctypes
import errno
import functools
import http.client
import json
import mmap
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
from typing import NamedTuple

from daemon import BUILD, Daemon, trade, wait_until
from stored import Stored, rows, segments

LIBRARY = os.path.join(BUILD, "tests", "fault", "failing_calls.so")
KINDS = {  # in the order of failing_calls.c, with the errors that such a call can meet
    "write": (errno.EIO, errno.ENOSPC),
    "sync": (errno.EIO, errno.ENOSPC),
    "size": (errno.EIO, errno.ENOSPC),
    "open": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EIO, errno.ENOSPC),
    "unlink": (errno.EIO,),
    "map": (errno.ENOMEM,),
    "read": (errno.EIO,),
    "memory": (errno.ENOMEM,),
}
HONEST, UNWRITTEN_WAL = range(2)  # enum trick

# Exits that a failed call may lead to (design: errors from the store). Never 65: nothing is corrupt.
EXITS = {71, 74}
LIMIT_S = 30  # a daemon that neither answers nor ends for so long hangs

CONFIG = {
    "store": {"generation_keys": 8, "segment_rows": 20, "retention_days": 1, "disk_reserve_bytes": 0},
    "filter": {"capacity": 100000, "snapshot_rows": 5},
}
OLD_DAYS = 3  # age of the segments that are to expire
CONNECTIONS = 3
ROUNDS = 4
GROWN_TRADES = 70


class Control:
    """The file that steers the preloaded library and in which it counts."""

    NAMES = ["kind", "nth", "error", "lasting", "trick", "failed"]
    SLOTS = struct.Struct(f"{len(NAMES) + len(KINDS)}q")

    def __init__(self, path):
        with open(path, "wb+") as file:
            file.truncate(self.SLOTS.size)
            self.map = mmap.mmap(file.fileno(), self.SLOTS.size)
        self.path = path

    def _slot(self, index):
        return ctypes.c_int64.from_buffer(self.map, index * 8)

    def __getitem__(self, name):
        return self._slot(self.NAMES.index(name)).value

    def __setitem__(self, name, value):
        self._slot(self.NAMES.index(name)).value = value

    def calls(self, kind):
        return self._slot(len(self.NAMES) + list(KINDS).index(kind)).value


@functools.cache
def sanitizer():
    """The runtime of a daemon built with one, which wants to come first; it keeps memory to itself."""
    needed = subprocess.run(["ldd", os.path.join(BUILD, "tradesieved")], capture_output=True, text=True, check=True)
    return re.findall(r"=> (\S+/lib[at]san\.so\S*)", needed.stdout)


class Failure(NamedTuple):
    """The nth call of a kind fails with an error, or every one from there on. From launch on."""

    scene: str  # "fresh": an empty directory; "grown": one that a killed daemon left
    kind: str
    error: int
    lasting: bool
    nth: int
    trick: int = HONEST

    def __str__(self):
        lasting = "every one from" if self.lasting else "only"
        return f"{self.scene}: {self.kind} fails with {errno.errorcode[self.error]}, {lasting} call {self.nth}"


class Line:
    """One line of the workload, and the reply that it got (None: none yet)."""

    def __init__(self, note, trade_id, price="1"):
        self.key = f"XNAS/AAPL/{trade_id}" if trade_id else None
        self.price = price
        self.note = note
        self.data = trade(trade_id, price=price, note=note)
        self.sent = False
        self.reply = None

    def __str__(self):
        return f"{self.note} ({self.key} at {self.price}) answered {json.dumps(self.reply)}"


def workload():
    """Rounds of one list of lines for each connection: new trades, those of other connections, of other
    rounds and of the grown store again, conflicts and an invalid line."""
    rounds = []
    for turn in range(ROUNDS):
        rounds.append([])
        for peer in range(CONNECTIONS):
            own = [f"{peer}-{turn}-{i}" for i in range(5)]
            ids = own + [own[0], f"all-{turn}", f"0-{max(turn - 1, 0)}-1", f"old-{60 + turn}"]
            lines = [Line(f"n{peer}.{turn}.{i}", trade_id) for i, trade_id in enumerate(ids)]
            lines.append(Line(f"c{peer}.{turn}.0", own[1], price="2"))
            lines.append(Line(f"c{peer}.{turn}.1", f"all-{max(turn - 1, 0)}", price="3"))
            lines.append(Line(f"i{peer}.{turn}", None))
            rounds[-1].append(lines)
    return rounds


# ---- the grown store ---------------------------------------------------------------------------


def age(path):
    """Makes a closed segment's trades OLD_DAYS older, so that it is due to expire."""
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE trade SET received = received - {OLD_DAYS} * 86400000000")
    database.close()


def grow(directory):
    """A data directory with segments that are due to expire, sealed, and active, left by a kill."""
    daemon = Daemon(CONFIG, directory=directory)
    try:
        daemon.start()
        for i in range(0, GROWN_TRADES, 10):
            daemon.ask(b"".join(trade(f"old-{n}", note=f"old-{n}") for n in range(i, i + 10)))
        daemon.wait_for_stats("every closed segment sealed", lambda stats: all(
            segment["state"] in ("active", "sealed") for segment in stats["segments"]))
    finally:
        daemon.close()
    for path in segments(daemon.data_dir)[:2]:
        age(path)
    return daemon.data_dir


# ---- one case ----------------------------------------------------------------------------------


class Violation(AssertionError):
    """A promise that was not kept."""


class Case:
    """Runs in `directory`, which is the caller's to remove; `grown` is what grow() returned; `within` names one
    file, when calls are to fail on it alone."""

    def __init__(self, failure, directory, grown, config=None, within=""):
        self.failure = failure
        self.control = Control(os.path.join(directory, "control"))
        self.data_dir = os.path.join(directory, "data")
        if failure.scene == "grown":
            shutil.copytree(grown, self.data_dir)
        self.control["kind"] = list(KINDS).index(failure.kind)
        for name in ("nth", "error", "lasting"):
            self.control[name] = getattr(failure, name)
        self.daemon = Daemon(config or CONFIG, directory=directory, environment={
            "LD_PRELOAD": " ".join([*sanitizer(), LIBRARY]), "FAILING_CALLS": self.control.path,
            "FAILING_CALLS_IN": os.path.join(self.data_dir, within).rstrip("/")})
        self.rounds = workload()
        self.lines = [line for turn in self.rounds for lines in turn for line in lines]

    def run(self):
        """How the daemon took it: "went on", "retry" (and went on), "waited for space", "exit 74", ...
        or "not reached"."""
        try:
            outcome = self.fail()
            for name in ("LD_PRELOAD", "FAILING_CALLS", "FAILING_CALLS_IN"):
                self.daemon.environment.pop(name)
            self.daemon.start()
            self.judge(Contents(self.data_dir))
            self.send_again(Contents(self.data_dir))
            self.check_end()
            return outcome
        except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired, sqlite3.Error) as error:
            raise Violation(f"{self.failure}: {error or type(error).__name__}\n{self.log()}") from error
        finally:
            self.daemon.close()

    def log(self):
        return "".join(f"    | {line}\n" for line in self.daemon.log().splitlines()[-12:])

    # -- the failure

    def ended(self):
        return self.daemon.process.poll() is not None

    def fail(self):
        self.daemon.launch()
        self.wait_for("the start", lambda: self.has_started() or self.waits_for_space())
        waited = not self.ended() and not self.has_started()
        if not self.ended() and not waited:
            with open(self.daemon.endpoints_file, encoding="utf-8") as file:
                self.daemon.endpoints = json.load(file)
            self.converse()
            self.wait_for("the end, or that it goes on", self.goes_on)
        code = self.end()
        if code is not None:
            return f"exit {code}"
        if not self.control["failed"] and self.failure.trick != UNWRITTEN_WAL:
            return "not reached"
        if waited:
            return "waited for space"
        return "retry" if "retry" in self.verdicts() else "went on"

    def has_started(self):
        return os.path.exists(self.daemon.endpoints_file)

    def waits_for_space(self):
        """A start on a disk that stays full goes on when there is space."""
        return (self.failure.lasting and self.failure.error == errno.ENOSPC
                and "waiting for space" in self.daemon.log())

    def converse(self):
        """Every round but the last; then, when what goes on behind is done, the last."""
        self.control["trick"] = self.failure.trick
        peers = [self.connect() for _ in range(CONNECTIONS)]
        for turn in self.rounds[:-1]:
            self.exchange(peers, turn)
        self.settle()
        self.exchange(peers, self.rounds[-1])
        for peer in peers:
            if peer:
                peer.close()

    def connect(self):
        try:
            return self.daemon.peer(timeout_s=LIMIT_S)
        except ConnectionError:
            return None

    def exchange(self, peers, turn):
        """One list of lines for each connection; what a connection that ends leaves open has no reply."""
        for i, lines in enumerate(turn):
            if peers[i]:
                for line in lines:
                    line.sent = True
                try:
                    peers[i].send(b"".join(line.data for line in lines))
                except ConnectionError:
                    peers[i] = None
        for i, lines in enumerate(turn):
            for line in lines if peers[i] else ():
                line.reply = self.reply_of(peers[i])
                if line.reply is None:
                    peers[i] = None
                    break

    @staticmethod
    def reply_of(peer):
        try:
            return peer.reply()
        except ConnectionError:
            return None

    def settle(self):
        """Until all is sealed or the failure has happened; and ready again, when it was full only once."""
        self.wait_for("every closed segment sealed", lambda: self.control["failed"] or self.is_sealed())
        if not self.failure.lasting and "retry" in self.verdicts():
            self.wait_for("ready again", lambda: self.daemon.stats()["state"] == "ready")

    def is_sealed(self):
        """Asks the directory: asking the daemon makes it call."""
        return all(os.path.exists(path.removesuffix(".db") + ".keys") for path in segments(self.data_dir)[:-1])

    def verdicts(self):
        return {line.reply["verdict"] for line in self.lines if line.reply}

    def goes_on(self):
        return self.daemon.stats()["state"] in ("ready", "store_full")

    def wait_for(self, what, predicate):
        """Waits for the predicate or the daemon's end. One that ends, or has no memory for HTTP, does not
        answer."""
        def look():
            try:
                return self.ended() or predicate()
            except (OSError, http.client.HTTPException, ValueError):
                return self.failure.kind == "memory" and self.control["failed"]

        wait_until(what, look, LIMIT_S)

    def end(self):
        """Ends it, by a kill or by asking; the exit code when it ended with an error of its own."""
        process = self.daemon.process
        if not self.ended():
            self.daemon.signal(signal.SIGKILL if self.is_killed() else signal.SIGTERM)
        code = process.wait(LIMIT_S)
        if code in (0, -signal.SIGKILL):
            return None
        no_memory_to_read = code == 78 and os.strerror(errno.ENOMEM) in self.daemon.log()
        if code not in EXITS and not no_memory_to_read:  # of the configuration
            raise Violation(f"ended with {code}")
        if not self.daemon.log():
            raise Violation(f"ended with {code} and said nothing")
        return code

    def is_killed(self):
        return self.failure.trick != HONEST or self.failure.nth % 2

    # -- what is left of it

    def judge(self, contents):
        for line in self.lines:
            verdict = line.reply["verdict"] if line.reply else None
            if verdict in ("new", "duplicate", "conflict"):
                self.judge_acknowledged(line, verdict, contents)
            elif verdict == "retry" and line.note in contents.notes:
                raise Violation(f"stored in spite of retry: {line}")
            elif (verdict == "invalid") != (line.key is None) and verdict not in (None, "retry"):
                raise Violation(f"wrong answer: {line}")

    @staticmethod
    def judge_acknowledged(line, verdict, contents):
        row = contents.rows.get(line.key)
        if not row or row.seq != line.reply["seq"]:
            raise Violation(f"false acknowledgement: {line}, stored is {row}")
        if (verdict == "new") != (row.note == line.note) or (verdict == "conflict") != (row.price != line.price):
            raise Violation(f"wrong answer: {line}, stored is {row}")
        if verdict == "conflict" and (line.key, line.price) not in contents.conflicts:
            raise Violation(f"a conflicting version is lost: {line}")

    def send_again(self, contents):
        """Everything again, on one connection, against the store's content."""
        replies = self.daemon.ask(b"".join(line.data for line in self.lines))
        prices = {key: row.price for key, row in contents.rows.items()}
        for line, reply in zip(self.lines, replies, strict=True):
            if line.key is None:
                expected = "invalid"
            elif line.key not in prices:
                expected = "new"
                prices[line.key] = line.price
            else:
                expected = "duplicate" if prices[line.key] == line.price else "conflict"
            if reply["verdict"] != expected:
                raise Violation(f"sent again, {json.dumps(reply)} where {expected} is right: {line}")

    def check_end(self):
        """A clean stop; whole files, no gap in seq, nothing twice, sealed keys as they should be."""
        code = self.daemon.stop()
        if code != 0:
            raise Violation(f"the stop after it ended with {code}")
        Contents(self.data_dir)


class Row(NamedTuple):
    seq: int
    note: str
    price: str


class Contents:
    """What stands in every live segment; also beside a running daemon."""

    def __init__(self, data_dir):
        stored = Stored(data_dir, first_seq=None)
        if stored.findings:
            raise Violation("\n".join(stored.findings))
        messages = {key: (seq, json.loads(message)) for key, (seq, message) in stored.trades.items()}
        versions = [(key, json.loads(message)) for path in segments(data_dir)
                    for key, message in rows(path, "SELECT key, message FROM conflict")]
        self.rows = {key: Row(seq, message["note"], message["price"]) for key, (seq, message) in messages.items()}
        self.conflicts = {(key, message["price"]) for key, message in versions}
        self.notes = ({row.note for row in self.rows.values()} | {message["note"] for _, message in versions})
