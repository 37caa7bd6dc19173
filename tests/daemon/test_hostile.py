"""Slow and hostile peers: what they cost is bounded, and the others are served.

`make hostile` sets TRADESIEVE_HOSTILE=full: a hundred thousand resets rather than some thousand, two
gibibytes without an end rather than many mebibytes, a thousand slow askers. The storm prints its seed;
TRADESIEVE_SEED replays it. Each check that could be blind has a control that it must catch."""

import os
import random
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from daemon import BUILD, DEADLINE_S, DaemonTest, trade, wait_until

FULL = os.environ.get("TRADESIEVE_HOSTILE") == "full"
SANITIZED = os.path.basename(BUILD) in ("asan", "tsan")  # whose memory says nothing
MIB = 1 << 20


def scaled(full, small):
    return full if FULL else small


def say(text):
    """At full size figures are shown even when all is well."""
    print(text, file=sys.__stdout__ if FULL else None, flush=True)


class Process:
    """What the kernel knows of a process."""

    def __init__(self, pid):
        self.proc = f"/proc/{pid}"

    def descriptors(self):
        return len(os.listdir(f"{self.proc}/fd"))

    def cpu_s(self):
        with open(f"{self.proc}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self):
        with open(f"{self.proc}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def forget_peak(self):
        """The peak is what is resident now; returns it."""
        with open(f"{self.proc}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        return self.peak_bytes()

    def busy(self, during):
        """Which share of a processor it takes while during() lasts."""
        cpu_s, begun = self.cpu_s(), time.monotonic()
        during()
        return (self.cpu_s() - cpu_s) / (time.monotonic() - begun)


def silence_of(sockets, seconds):
    """Nobody hears anything for so long."""
    def listen():
        heard = select.select(sockets, [], [], seconds)[0]
        if heard:
            raise AssertionError(f"{len(heard)} of {len(sockets)} heard something")
    return listen


class Hostile(DaemonTest):
    def start(self, limits=None, warm=True, **options):
        """A daemon, the process, and one good peer that was served before anything happened."""
        daemon = self.started({"limits": limits or {}}, **options)
        self.served = 0
        self.good = daemon.peer()
        for _ in range(100 if warm else 1):
            self.serve()
        return daemon, Process(daemon.process.pid)

    def serve(self):
        self.good.send(trade(f"good-{self.served}"))
        self.assertEqual(self.good.reply()["verdict"], "new")
        self.served += 1


class Memory(Hostile):
    def push(self, daemon, block, most, peers_n, receive_buffer=None):
        """Peers that send the block until they are closed or have sent so much, and read nothing; they
        stay. Others are served meanwhile. Returns what each has sent."""
        sent = [0] * peers_n

        def run(i):
            peer = daemon.peer(receive_buffer=receive_buffer)
            try:
                while sent[i] < most:
                    sent[i] += peer.socket.send(block)
            except OSError:
                pass

        threads = [threading.Thread(target=run, args=(i,)) for i in range(peers_n)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.serve()
        return sent

    def push_without_reading(self, limits, most):
        """Eight peers; returns by how much the daemon grew since."""
        daemon, process = self.start(limits)
        before = process.forget_peak()
        self.push(daemon, b"x\n" * 16384, most, 8, receive_buffer=4096)
        return daemon, lambda: process.peak_bytes() - before

    # 2 * queue_bytes + 8 * (2 * max_line_bytes + ack_backlog_bytes + 128 KiB), and SQLite's cache
    BOUNDED = {"queue_bytes": 4 * MIB, "max_line_bytes": 65536, "ack_backlog_bytes": 65536}
    LIMIT_UNREAD = (2 * 4 + 8 * 5 // 16 + 24) * MIB

    @unittest.skipIf(SANITIZED, "memory is the sanitizer's")
    def test_peers_that_never_read_cost_what_the_limits_say(self):
        daemon, grown = self.push_without_reading({"slow_reader_timeout_s": 1, **self.BOUNDED}, 64 * MIB)
        say(f"grown by {grown() / MIB:.1f} MiB")
        self.assertLess(grown(), self.LIMIT_UNREAD)
        self.assertIn("took no replies", daemon.log())

    @unittest.skipIf(SANITIZED, "memory is the sanitizer's")
    def test_control_without_the_bound_it_is_noticed(self):
        _, grown = self.push_without_reading(
            {**self.BOUNDED, "ack_backlog_bytes": 1 << 30, "queue_bytes": 1 << 40}, MIB // 4)
        wait_until("it has grown too far", lambda: grown() > self.LIMIT_UNREAD)

    def test_who_reads_nothing_goes_when_the_unsent_replies_of_all_are_too_much(self):
        daemon, _ = self.start({"slow_reader_timeout_s": 3600, "ack_backlog_bytes": 4096, "queue_bytes": 65536})
        deaf = [daemon.peer(receive_buffer=4096) for _ in range(4)]

        def push():
            for peer in deaf:
                try:
                    peer.socket.send(b"x\n" * 4096, socket.MSG_DONTWAIT)
                except OSError:
                    pass
            self.serve()
            return "are too much; one was closed" in daemon.log()

        wait_until("one was closed", push)

    LIMIT_ENDLESS = 12 * MIB

    def push_without_end(self, limits, most):
        daemon, process = self.start(limits)
        before = process.forget_peak()
        sent = self.push(daemon, b"a" * MIB, most, 2)
        say(f"sent {[n >> 20 for n in sent]} MiB, grown by {(process.peak_bytes() - before) / MIB:.1f} MiB")
        return sent, process.peak_bytes() - before

    def test_a_line_without_end_is_cut_and_costs_no_memory(self):
        most = scaled(2048, 256) * MIB
        sent, grown = self.push_without_end({}, most)
        self.assertLess(max(sent), 64 * MIB)
        if not SANITIZED:
            self.assertLess(grown, self.LIMIT_ENDLESS)

    @unittest.skipIf(SANITIZED, "memory is the sanitizer's")
    def test_control_a_higher_limit_of_the_line_is_noticed(self):
        _, grown = self.push_without_end({"max_line_bytes": 64 * MIB}, 32 * MIB)
        self.assertGreater(grown, self.LIMIT_ENDLESS)


class Trickle(Hostile):
    def test_a_byte_at_a_time_is_served_and_delays_nobody(self):
        daemon, process = self.start()
        peers = [daemon.peer() for _ in range(scaled(200, 20))]
        lines = [trade(f"slow-{i:03}") for i in range(len(peers))]
        length = len(lines[0])

        def trickle():
            for at in range(length):
                for peer, line in zip(peers, lines):
                    peer.send(line[at:at + 1])
                if FULL and at < length - 1:
                    silence_of([peer.socket for peer in peers], 1)()
                self.serve()

        busy = process.busy(trickle)
        for peer in peers:
            self.assertEqual(peer.reply()["verdict"], "new")
        if FULL:
            say(f"busy {100 * busy:.1f} %")
            self.assertLess(busy, 0.1)


class Storm(Hostile):
    """Peers that connect, send something or a part of it, and go in some way."""

    def send_something(self, peer, i):
        line = trade(f"storm-{i}")
        kind = self.random.randrange(7)
        if kind == 0:
            return False
        if kind == 1:
            peer.send(line[:self.random.randrange(1, len(line))])
        elif kind == 2:
            peer.send(self.random.randbytes(self.random.randrange(1, 300)))
        elif kind == 3:
            peer.send(b'{"tradesieve":{"ack":"%s"}}\n' % self.random.choice((b"each", b"batch", b"none", b"?")) + line)
        elif kind == 4:
            peer.send(line * self.random.randrange(1, 30))
        else:
            peer.send(line)
        return kind == 6

    def go(self, peer):
        if self.random.random() < 0.8:
            peer.reset()
            return
        if self.random.random() < 0.5:
            peer.end()
        peer.close()

    def strike(self, daemon, n):
        """Returns the IDs whose trades were answered."""
        answered = []
        for i in range(n):
            peer = daemon.peer()
            daemon.peers.pop()  # it goes here
            try:
                if self.send_something(peer, i) and self.random.random() < 0.5:
                    self.assertEqual(peer.reply()["verdict"], "new")
                    answered.append(f"storm-{i}")
            except OSError:
                pass  # the daemon was faster
            self.go(peer)
            if i % 1000 == 0:
                self.serve()
        return answered

    def test_random_peers_that_are_reset_leave_nothing_behind(self):
        seed = int(os.environ.get("TRADESIEVE_SEED", random.randrange(1 << 32)))
        say(f"TRADESIEVE_SEED={seed}")
        self.random = random.Random(seed)
        daemon, process = self.start({"max_line_bytes": 65536})
        self.strike(daemon, 0)
        descriptors = process.descriptors()
        before = process.forget_peak()
        begun = time.monotonic()
        n = scaled(100000, 4000)
        answered = self.strike(daemon, n)
        stats = daemon.wait_for_stats("all gone", lambda s: s["connections"]["open"] == 1
                                      and s["trades"]["unanswered"] == 0)
        say(f"{n} peers in {time.monotonic() - begun:.1f} s, {len(answered)} answered, "
              f"grown by {(process.peak_bytes() - before) / MIB:.1f} MiB")
        trades = stats["trades"]
        self.assertEqual(trades["received"], sum(trades[verdict] for verdict in (
            "new", "duplicate", "conflict", "invalid", "ignored", "retry")))
        self.assertEqual(stats["store"]["rows"], trades["new"])
        self.assertEqual(stats["connections"]["accepted"], n + 1)
        wait_until("its descriptors", lambda: process.descriptors() <= descriptors)
        if not SANITIZED:
            self.assertLess(process.peak_bytes() - before, 32 * MIB)
        again = daemon.ask(b"".join(trade(trade_id) for trade_id in answered))
        self.assertEqual({reply["verdict"] for reply in again}, {"duplicate"})
        self.assertGreater(len(answered), n // 50)


class Crowd(Hostile):
    IDLE = 0.2  # of a processor

    def test_control_a_busy_loop_is_noticed_and_sleep_is_not(self):
        def share(code):
            with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                busy = Process(child.pid).busy(silence_of([child.stdout], 0.5))
                child.kill()
            return busy
        self.assertGreater(share("print(flush=True)\nwhile True: pass"), self.IDLE)
        self.assertLess(share("print(flush=True)\ninput()"), self.IDLE)

    def leave_no_descriptors(self, daemon):
        """Lowers the daemon's limit to what it has open now, then fills the gaps."""
        pid = daemon.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_now = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd")]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(open_now) + 1, hard))
        gaps = max(open_now) + 1 - len(open_now)
        for _ in range(gaps):
            peer = daemon.peer()
            peer.send(trade(f"gap-{peer.socket.fileno()}"))
            self.assertEqual(peer.reply()["verdict"], "new")

    def http_peer(self, daemon):
        host, _, port = daemon.endpoints["http"].rpartition(":")
        peer = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        self.addCleanup(peer.close)
        return peer

    def test_out_of_descriptors_it_idles_and_serves_those_inside(self):
        daemon, process = self.start(warm=False)
        self.leave_no_descriptors(daemon)
        outside = [daemon.peer() for _ in range(100)]
        wait_until("a line in the log", lambda: "cannot accept" in daemon.log())
        busy = process.busy(silence_of([peer.socket for peer in outside], 2))
        say(f"busy {100 * busy:.1f} %")
        self.assertLess(busy, self.IDLE)
        self.serve()

    def test_out_of_descriptors_http_idles_too(self):
        daemon, process = self.start(warm=False)
        self.leave_no_descriptors(daemon)
        asking = [self.http_peer(daemon) for _ in range(10)]
        busy = process.busy(silence_of(asking, 2))
        say(f"busy {100 * busy:.1f} %")
        self.assertLess(busy, self.IDLE)
        self.serve()


class Askers(Hostile):
    """HTTP clients that send their headers a byte at a time."""

    ENOUGH_S = 10  # for /livez, however crowded it is

    def asker(self, daemon):
        """Connects without waiting: the daemon takes as many at a time as it likes."""
        host, _, port = daemon.endpoints["http"].rpartition(":")
        asker = socket.socket()
        self.addCleanup(asker.close)
        asker.setblocking(False)
        asker.connect_ex((host, int(port)))
        self.begin(asker)
        return asker

    def begin(self, asker):
        select.select([], [asker], [], DEADLINE_S)
        asker.send(b"GET /stats HTTP/1.1\r\nHost: localhost\r\nX: ")

    def send_a_byte_each(self, askers):
        """Returns those that are still connected."""
        left = []
        for asker in askers:
            try:
                asker.send(b"x")
                left.append(asker)
            except BlockingIOError:
                left.append(asker)
            except OSError:
                asker.close()
        return left

    def seconds_of_livez(self, daemon):
        """None when it takes too long."""
        begun = time.monotonic()
        host, _, port = daemon.endpoints["http"].rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=self.ENOUGH_S) as peer:
                peer.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(peer.recv(4096).split()[1], b"200")
        except TimeoutError:
            return None
        return time.monotonic() - begun

    def test_slow_askers_keep_neither_trades_nor_livez_waiting(self):
        daemon, process = self.start()
        before = process.descriptors()
        askers = [self.asker(daemon) for _ in range(scaled(1000, 300))]
        descriptors, waits, begun = [], [], time.monotonic()
        while askers:
            askers = self.send_a_byte_each(askers)
            self.serve()
            silence_of([self.good.socket], 0.2)()
            descriptors.append(process.descriptors())
            waits.append(self.seconds_of_livez(daemon))
            self.assertIsNotNone(waits[-1])
            self.assertLess(time.monotonic() - begun, DEADLINE_S)
        say(f"all closed after {time.monotonic() - begun:.1f} s; /livez took {max(waits):.2f} s at most; "
              f"{min(descriptors)} to {max(descriptors)} descriptors")
        self.assertGreater(max(descriptors) - before, 32)
        self.assertLessEqual(max(descriptors) - before, 64)

    def test_few_slow_askers_have_the_whole_time(self):
        daemon, _ = self.start()
        askers = [self.asker(daemon) for _ in range(10)]
        begun = time.monotonic()
        while len(self.send_a_byte_each(askers)) == len(askers):
            silence_of([self.good.socket], 0.5)()
        self.assertGreater(time.monotonic() - begun, 9)

    def test_control_a_daemon_that_stands_still_is_noticed(self):
        daemon, _ = self.start()
        self.ENOUGH_S = 1
        self.assertIsNotNone(self.seconds_of_livez(daemon))
        daemon.signal(signal.SIGSTOP)
        self.assertIsNone(self.seconds_of_livez(daemon))


class Log(Hostile):
    def test_a_flood_of_bad_input_leaves_few_lines_and_their_number(self):
        daemon, _ = self.start({"max_connections": 1})
        for _ in range(300):
            self.assertIsNone(daemon.peer().line())
        refused = daemon.stats()["connections"]["refused"]
        self.good.send(b"\x1b[31m\n\xff\xfe{}\n" * 10000)
        self.good.replies(20000)
        self.good.close()
        self.assertEqual(daemon.stop(), 0)
        log = daemon.log()
        shown = log.count("was refused")
        more = re.search(r"(\d+) more about refused connections left out", log)
        self.assertEqual(shown + int(more[1]), refused)
        self.assertEqual((shown, refused), (5, 300))
        self.assertLess(log.count("\n"), 20, log)
        self.assertNotIn("\x1b", log)


if __name__ == "__main__":
    unittest.main()
