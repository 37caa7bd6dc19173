"""Clients that resend what they have no answer to, and a ledger of what all of them were told.

    ledger = Ledger(seed)
    crowd = Crowd(ledger, address)      four clients begin to send
    crowd.rest()                        they send no more, read the last answers, and are gone;
                                        when the daemon was killed, without some answers
    ledger.compare(Stored(data_dir))    what is not stored as it was told, a line each

Trades are numbers; key and line follow from number and seed. A fifth of the lines repeats an earlier
trade of any client. What was not answered, or answered `retry`, is sent again, by the next crowd if need
be. Every sixteenth trade is timid: never repeated, and given up at its first `retry`, so that it must
not be stored."""

import collections
import json
import random
import socket
import threading

CLIENTS = 4
BURST_MAX = 200  # lines of one send
WINDOW = 400     # lines of one client that wait for their answers
REPEATED = 0.2   # of the lines
TIMID = 16
ANSWER_DEADLINE_S = 60


class Ledger:
    def __init__(self, seed):
        self.seed = seed
        self.lock = threading.Lock()
        self.numbers = 0                  # 0 ... numbers - 1 were sent
        self.seqs = {}                    # number -> seq, of what was told to be stored
        self.new = set()                  # were told to be new
        self.owners = {}                  # seq -> number
        self.again = collections.deque()  # without an answer, or told retry
        self.unknown = set()              # were without an answer once
        self.given_up = set()             # must not be stored
        self.verdicts = collections.Counter()
        self.faults = []                  # answers that cannot be true

    def id(self, number):
        return f"{(number * 0x9E3779B97F4A7C15 + self.seed) % 2**64:016x}"

    def key(self, number):
        return f"XNAS/AAPL/{self.id(number)}"

    def message(self, number):
        return f'{{"source":"XNAS","symbol":"AAPL","id":"{self.id(number)}","price":"{number}","quantity":"2"}}'

    def take(self, n, rng, fresh):
        """The numbers of the next lines, at most n; without fresh only what is to be sent again."""
        with self.lock:
            numbers = [self.again.popleft() for _ in range(min(n, len(self.again)))]
            while fresh and len(numbers) < n:
                number = self.numbers
                if number and rng.random() < REPEATED:
                    number = rng.randrange(number)
                    if number % TIMID == 0:
                        continue
                self.numbers = max(self.numbers, number + 1)
                numbers.append(number)
        return numbers

    def leave_unanswered(self, numbers):
        with self.lock:
            self.unknown.update(numbers)
            self.again.extend(numbers)

    def answer(self, number, reply):
        with self.lock:
            verdict = reply["verdict"]
            self.verdicts[verdict] += 1
            if verdict in ("new", "duplicate"):
                self._note_stored(number, verdict, reply["seq"])
            elif verdict != "retry":
                self.faults.append(f"trade {number} was answered {reply}")
            elif number % TIMID == 0 and number not in self.unknown:
                self.given_up.add(number)
            else:
                self.again.append(number)

    def _note_stored(self, number, verdict, seq):
        if verdict == "new":
            if number in self.new:
                self.faults.append(f"trade {number} was new twice, as seq {self.seqs[number]} and {seq}")
            self.new.add(number)
        if self.seqs.setdefault(number, seq) != seq:
            self.faults.append(f"trade {number} was told seq {self.seqs[number]} and {seq}")
        if self.owners.setdefault(seq, number) != number:
            self.faults.append(f"seq {seq} was told of trades {self.owners[seq]} and {number}")

    def compare(self, stored):
        """Everything that is wrong with a stopped store after every line was answered."""
        findings = self.faults + stored.findings
        for number in range(self.numbers):
            seq, message = stored.trades.get(self.key(number), (None, None))
            if seq != self.seqs.get(number):
                findings.append(f"trade {number} was told seq {self.seqs.get(number)} and is stored as {seq}")
            elif seq is not None and message != self.message(number):
                findings.append(f"trade {number} is stored with another message: {message}")
            elif seq is None and number not in self.given_up:
                findings.append(f"trade {number} is not stored, and nobody was told so")
        if len(stored.trades) != len(self.seqs):
            findings.append(f"{len(stored.trades)} trades are stored, {len(self.seqs)} were told to be")
        return findings


class Client(threading.Thread):
    """One connection, acknowledged line by line."""

    def __init__(self, ledger, address, seed, fresh):
        super().__init__()
        self.ledger = ledger
        self.address = address
        self.random = random.Random(seed)
        self.fresh = fresh                  # False: only what is to be sent again
        self.resting = threading.Event()
        self.waiting = collections.deque()  # numbers of lines without an answer

    def run(self):
        host, port = self.address.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), ANSWER_DEADLINE_S) as connection:
                self._talk(connection, connection.makefile("rb"))
        except OSError:
            pass  # the daemon was killed
        self._leave()

    def _leave(self):
        self.ledger.leave_unanswered(self.waiting)

    def _talk(self, connection, replies):
        while not self.resting.is_set():
            numbers = self.ledger.take(self.random.randint(1, BURST_MAX), self.random, self.fresh)
            if not numbers:
                break
            self.waiting.extend(numbers)
            connection.sendall("".join(self.ledger.message(n) + "\n" for n in numbers).encode())
            self._read(replies, WINDOW)
        connection.shutdown(socket.SHUT_WR)
        self._read(replies, 0)

    def _read(self, replies, leave):
        """Until so few lines wait for their answers; the daemon's end is an OSError."""
        while len(self.waiting) > leave:
            line = replies.readline()
            if not line.endswith(b"\n"):
                raise ConnectionResetError
            self.ledger.answer(self.waiting[0], json.loads(line))
            self.waiting.popleft()


class HastyClient(Client):
    """A negative control, as behind a proxy that answers ahead of the daemon: nothing is without an
    answer, nothing is sent again."""

    def _leave(self):
        pass


class Crowd:
    def __init__(self, ledger, address, rng, fresh=True, client=Client):
        self.clients = [client(ledger, address, rng.random(), fresh) for _ in range(CLIENTS)]
        for each in self.clients:
            each.start()

    def rest(self):
        for each in self.clients:
            each.resting.set()
        for each in self.clients:
            each.join()
