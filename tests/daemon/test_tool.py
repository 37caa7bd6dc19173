"""tradesieve, the tool: against the real daemon, and against peers that misbehave on purpose."""

import fcntl
import http.server
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

import daemon
from daemon import DEADLINE_S, DaemonTest, trade

TOOL = os.path.join(daemon.BUILD, "tradesieve")
OPENED = b'{"tradesieve":{"version":"0","ack":"each","feed":"canonical"}}\n'


def run(*words, data=b"", **options):
    return subprocess.run([TOOL, *words], input=data, capture_output=True, timeout=DEADLINE_S,
                          check=False, **options)


def lines(*names):
    return b"".join(trade(name) for name in names)


class Peer:
    """One accepted connection of a FakeDaemon; numbers lines as the daemon does."""

    def __init__(self, connection):
        self.connection = connection
        self.unread = b""
        self.number = 0    # of the line that was read last
        self.received = 0  # lines that came, read or not

    def line(self):
        """The next line, or None at the end."""
        while b"\n" not in self.unread:
            data = self.connection.recv(65536)
            if not data:
                return None
            self.received += data.count(b"\n")
            self.unread += data
        line, _, self.unread = self.unread.partition(b"\n")
        self.number += 1
        return line

    def read(self):
        """The ID of the next trade, or None at the end."""
        line = self.line()
        return json.loads(line)["id"] if line else None

    def write(self, text):
        self.connection.sendall(text)

    def answer(self, verdict, number=None, detail=""):
        self.write(json.dumps({"line": number or self.number, "verdict": verdict,
                               "detail": detail}).encode() + b"\n")

    def close(self):
        self.connection.close()


class FakeDaemon:
    """Answers the opening line, then gives each connection to the next of the handlers, the last of
    which serves all later ones. What a handler returns is kept in results."""

    def __init__(self, test, *handlers, opened=OPENED, small=False):
        self.handlers, self.opened, self.results = list(handlers), opened, []
        self.listener = socket.socket()
        if small:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        test.addCleanup(self.stop)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            handler = self.handlers.pop(0) if len(self.handlers) > 1 else self.handlers[0]
            peer = Peer(connection)
            try:
                peer.line()
                peer.write(self.opened)
                self.results.append(handler(peer))
            except OSError:
                pass
            peer.close()

    def stop(self):
        """Returns the results once no connection is served any more."""
        if self.thread.is_alive():
            self.listener.shutdown(socket.SHUT_RDWR)
            self.thread.join(DEADLINE_S)
        self.listener.close()
        return self.results


def answer_all(peer):
    """Every trade is new; returns their IDs."""
    names = []
    while (name := peer.read()) is not None:
        names.append(name)
        peer.answer("new")
    return names


class Send(DaemonTest):
    def send(self, fake, data, *words, code=0):
        done = run("send", "--to", fake.address, "--json", *words, data=data)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout), done.stderr.decode()

    def test_verdicts_of_a_generated_feed_equal_its_truth(self):
        real = self.started()
        truth_file = os.path.join(real.directory, "truth.json")
        for seed, ack in (("1", "each"), ("2", "batch")):
            feed = run("gen", "--trades", "20000", "--duplicates", "0.2", "--conflicts", "0.1",
                       "--seed", seed, "--truth", truth_file).stdout
            done = run("send", "--to", real.address(), "--ack", ack, "--json", data=feed)
            with open(truth_file, encoding="utf-8") as file:
                truth = json.load(file)
            summary = json.loads(done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({name: summary[name] for name in truth}, truth)
            self.assertEqual(summary["answered"], 20000)
            self.assertEqual(done.stderr, b"")

    def test_files_are_sent_one_after_the_other_with_blank_and_open_last_lines(self):
        real = self.started()
        paths = [os.path.join(real.directory, name) for name in ("one", "two")]
        with open(paths[0], "wb") as file:
            file.write(b"\xef\xbb\xbf" + trade("1") + b"\r\n \t\n" + trade("2").rstrip())
        with open(paths[1], "wb") as file:
            file.write(b"\xef\xbb\xbf" + trade("3").rstrip() + b"\r\n" + trade("1"))
        done = run("send", "--to", real.address(), "--json", *paths)
        summary = json.loads(done.stdout)
        self.assertEqual((done.returncode, summary["lines"], summary["new"], summary["duplicate"]),
                         (0, 4, 3, 1))

    def test_a_daemon_that_dies_and_comes_back_gets_the_rest(self):
        directory = self.directory()
        real = self.daemon({"listeners": [{"bind": f"unix:{directory}/feed"}]}).start()
        feed = run("gen", "--trades", "4000", "--duplicates", "0").stdout.splitlines(keepends=True)
        with subprocess.Popen([TOOL, "send", "--to", real.address(), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as sender:
            sender.stdin.write(b"".join(feed[:2000]))
            sender.stdin.flush()
            real.wait_for_stats("some trades", lambda stats: stats["trades"]["new"] > 0)
            real.kill()
            real.start()
            out, _ = sender.communicate(b"".join(feed[2000:]), DEADLINE_S)
        summary = json.loads(out)
        self.assertEqual(sender.returncode, 0)
        self.assertEqual(summary["new"] + summary["duplicate"], 4000)
        self.assertGreaterEqual(summary["reconnects"], 1)
        self.assertEqual(real.stats()["store"]["rows"], 4000)

    def test_a_line_that_is_too_long_costs_only_itself(self):
        real = self.started({"limits": {"max_line_bytes": 4096}})
        long_one = trade("2", note="x" * 3000000)
        done = run("send", "--to", real.address(), "--json", "-v", data=trade("1") + long_one + trade("3"))
        summary = json.loads(done.stdout)
        self.assertEqual((done.returncode, summary["new"], summary["invalid"], summary["answered"]),
                         (1, 2, 1, 3))
        self.assertIn(b"line 2: ", done.stderr)

    def test_exactly_what_was_not_acknowledged_is_sent_again_in_order(self):
        def answer_two(peer):
            for _ in range(2):
                peer.read()
                peer.answer("new")
            return peer.read()

        fake = FakeDaemon(self, answer_two, answer_all)
        summary, _ = self.send(fake, lines("a", "b", "c", "d", "e"))
        self.assertEqual(fake.stop(), ["c", ["c", "d", "e"]])
        self.assertEqual((summary["new"], summary["reconnects"], summary["answered"]), (5, 1, 5))

    def test_half_a_reply_is_no_acknowledgement(self):
        def half(peer):
            peer.read()
            peer.write(b'{"line":2,"verdict":"new"')

        fake = FakeDaemon(self, half, answer_all)
        summary, _ = self.send(fake, lines("a"))
        self.assertEqual((summary["new"], summary["resent"]), (1, 1))

    def test_a_retry_is_sent_again_before_anything_new(self):
        def retry_b_once(peer):
            names = []
            while (name := peer.read()) is not None:
                names.append(name)
                peer.answer("retry" if names == ["a", "b"] else "new")
            return names

        fake = FakeDaemon(self, retry_b_once)
        summary, _ = self.send(fake, lines("a", "b", "c"), "--window", "1")
        self.assertEqual(fake.stop(), [["a", "b", "b", "c"]])
        self.assertEqual((summary["new"], summary["retry"], summary["resent"]), (3, 0, 1))

    def test_a_retry_that_stays_is_counted_and_exit_1(self):
        def always(peer):
            while peer.read() is not None:
                peer.answer("retry")

        fake = FakeDaemon(self, always)
        summary, trouble = self.send(fake, lines("a"), "--retries", "2", "-v", code=1)
        self.assertEqual((summary["retry"], summary["answered"], summary["resent"]), (1, 1, 2))
        self.assertEqual(trouble.count("line 1: "), 3)

    def test_batch_acknowledgements_with_a_retry_are_counted_once(self):
        def batches(peer):
            peer.read(), peer.read(), peer.read()
            peer.answer("retry", number=3)
            peer.write(b'{"through":4,"new":1,"duplicate":1,"conflict":0,"invalid":0,"ignored":0,"retry":1}\n')
            peer.read()
            peer.write(b'{"through":5,"new":1,"duplicate":0,"conflict":0,"invalid":0,"ignored":0,"retry":0}\n')
            return peer.read()

        fake = FakeDaemon(self, batches)
        summary, _ = self.send(fake, lines("a", "b", "c"), "--ack", "batch")
        self.assertEqual([summary[name] for name in ("new", "duplicate", "retry", "answered", "resent")],
                         [2, 1, 0, 3, 1])

    def test_the_trades_of_one_line_are_counted_one_by_one(self):
        def many(peer):
            peer.read()
            peer.write(b'{"line":2,"trades":[{"verdict":"new","seq":1},{"verdict":"duplicate","seq":1},'
                       b'{"verdict":"ignored"}]}\n')
            peer.read()

        summary, _ = self.send(FakeDaemon(self, many), lines("a"))
        self.assertEqual([summary[name] for name in ("lines", "new", "duplicate", "ignored")], [1, 1, 1, 1])

    def test_a_hint_is_given_when_every_line_was_ignored(self):
        def ignore(peer):
            while (name := peer.read()) is not None:
                peer.answer("new" if name == "good" else "ignored")

        _, trouble = self.send(FakeDaemon(self, ignore), lines("a", "b"))
        self.assertEqual(trouble, "tradesieve: send: every line was ignored: is this the right listener and feed?\n")
        for feed in (lines("a", "good"), b""):
            self.assertEqual(self.send(FakeDaemon(self, ignore), feed)[1], "")

    def test_no_more_than_the_window_is_unanswered(self):
        def one_at_a_time(peer):
            most = answered = 0
            while answered < 12:
                while peer.number - 1 < min(answered + 5, 12):
                    peer.read()
                most = max(most, peer.received - 1 - answered)
                answered += 1
                peer.answer("new", number=answered + 1)
            return most

        fake = FakeDaemon(self, one_at_a_time)
        summary, _ = self.send(fake, lines(*"abcdefghijkl"), "--window", "5")
        self.assertEqual(summary["new"], 12)
        self.assertEqual(fake.stop(), [5])

    def test_replies_are_read_while_both_sides_are_full(self):
        def wordy(peer):
            peer.connection.settimeout(DEADLINE_S)
            while peer.read() is not None:
                peer.answer("new", detail="x" * 20000)

        feed = b"".join(trade(str(i), note="x" * 20000) for i in range(500))
        summary, _ = self.send(FakeDaemon(self, wordy, small=True), feed)
        self.assertEqual(summary["answered"], 500)

    def test_troubles_are_printed_with_the_line_of_the_input_and_without_control_characters(self):
        def invalid(peer):
            peer.read()
            peer.write(b'{"line":2,"verdict":"invalid","detail":"\x1b[2J"}\n'.replace(b"\x1b", b"\xc2\x9b"))
            peer.read()

        summary, trouble = self.send(FakeDaemon(self, invalid), b"\n\n" + lines("a"), "--verbose", code=1)
        self.assertEqual(summary["invalid"], 1)
        self.assertEqual(trouble, 'line 3: {"line":2,"verdict":"invalid","detail":"\\xc2\\x9b[2J"}\n')

    def test_a_connection_that_keeps_failing_ends_with_what_was_counted(self):
        fake = FakeDaemon(self, lambda peer: peer.read())
        summary, trouble = self.send(fake, lines("a"), "--retries", "2", code=1)
        self.assertEqual((summary["lines"], summary["answered"], summary["reconnects"]), (1, 0, 2))
        self.assertEqual(trouble.count("\n"), 1)
        self.assertIn("gave up", trouble)

    def test_a_peer_that_is_no_tradesieved_is_named_so(self):
        for opened in (b"HTTP/1.1 400 Bad Request\r\n", b'{"line":1,"verdict":"invalid","error":"bad_opening"}\n'):
            _, trouble = self.send(FakeDaemon(self, lambda peer: peer.read(), opened=opened), lines("a"), code=1)
            self.assertIn("does not take the opening line", trouble)

    def test_a_reply_to_a_line_that_is_not_due_ends_it(self):
        def wrong(peer):
            peer.read()
            peer.answer("new", number=9)
            peer.read()

        _, trouble = self.send(FakeDaemon(self, wrong), lines("a"), code=1)
        self.assertIn("not due", trouble)

    def test_an_interrupt_ends_with_the_summary(self):
        read = threading.Event()

        def silent(peer):
            peer.read()
            read.set()
            peer.read()

        fake = FakeDaemon(self, silent)
        with subprocess.Popen([TOOL, "send", "--to", fake.address, "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as sender:
            sender.stdin.write(lines("a"))
            sender.stdin.flush()
            self.assertTrue(read.wait(DEADLINE_S))
            sender.send_signal(signal.SIGINT)
            summary = json.loads(sender.stdout.read())
            self.assertEqual(sender.wait(DEADLINE_S), 1)
        self.assertEqual((summary["lines"], summary["answered"]), (1, 0))

    def test_a_terminal_shows_progress(self):
        fake = FakeDaemon(self, answer_all)
        path = os.path.join(self.directory(), "feed")
        with open(path, "wb") as file:
            file.write(run("gen", "--trades", "1000").stdout)
        terminal, side = pty.openpty()
        done = subprocess.run([TOOL, "send", "--to", fake.address, path], stdout=subprocess.PIPE, stderr=side,
                              timeout=DEADLINE_S, check=False)
        os.close(side)
        shown = os.read(terminal, 1 << 16).decode()
        os.close(terminal)
        self.assertEqual(done.returncode, 0)
        self.assertIn("[########################] 100 %  1,000 trades", shown)
        self.assertRegex(done.stdout.decode(), r"(?m)^new +1,000$")

    def test_nothing_at_the_address_is_one_line_and_exit_71(self):
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))
        self.addCleanup(closed.close)
        address = "127.0.0.1:%d" % closed.getsockname()[1]
        for words in (("send", "--to", address), ("stats", "--from", address), ("check", "--from", address, "k"),
                      ("send", "--to", "unix:/nonexistent/socket"), ("send", "/nonexistent/file")):
            done = run(*words, data=lines("a"))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (71, b"", 1), words)


class Gen(unittest.TestCase):
    def test_the_same_options_give_the_same_bytes(self):
        words = ("gen", "--trades", "3000", "--conflicts", "0.1", "--seed", "5", "--ids", "uuid", "--symbols", "3")
        first = run(*words).stdout
        self.assertEqual(first, run(*words).stdout)
        self.assertEqual(first.count(b"\n"), 3000)
        self.assertNotEqual(first, run(*words, "--seed", "6").stdout)
        self.assertLessEqual(len({json.loads(line)["symbol"] for line in first.splitlines()}), 3)

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "gen"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 74)
        self.assertIn(b"No space left", done.stderr)


class Show(DaemonTest):
    def test_stats_and_check_show_what_the_daemon_says(self):
        real = self.started()
        http = real.endpoints["http"]
        real.ask(lines("1", "2", "a b/%&+#é"))
        page = run("stats", "--from", http)
        self.assertEqual((page.returncode, page.stderr), (0, b""))
        self.assertRegex(page.stdout.decode(), r"(?m)^  new +3$")
        self.assertRegex(page.stdout.decode(), r"(?m)^  lines +3 \(opening lines included\), truncated 0$")
        self.assertRegex(page.stdout.decode(), r"(?m)^  canonical +3 +3 +0 ")
        self.assertEqual(json.loads(run("stats", "--json", "--from", http).stdout)["trades"]["new"], 3)
        present = run("check", "--from", http, "XNAS/AAPL/2")
        self.assertEqual(present.returncode, 0)
        self.assertRegex(present.stdout.decode(), r"(?m)^exact +present$")
        self.assertRegex(present.stdout.decode(), r"(?m)^candidate +trades-\d+-000001, generation 0$")
        self.assertEqual(run("check", "--from", http, "XNAS/AAPL/a b%2F%25&+#é").returncode, 0)
        absent = run("check", "--json", "--from", http, "XNAS/AAPL/3")
        self.assertEqual((absent.returncode, json.loads(absent.stdout)["exact"]), (1, "absent"))
        self.assertEqual(run("check", "--from", http, "--", "-k").returncode, 1)

    def test_a_watch_into_a_pipe_goes_on_until_it_is_interrupted(self):
        real = self.started()
        with subprocess.Popen([TOOL, "stats", "--watch", "--from", real.endpoints["http"]],
                              stdout=subprocess.PIPE) as watch:
            heads = 0
            for line in watch.stdout:
                heads += line.startswith(b"tradesieve ")
                if heads == 2 and line.startswith(b"  received"):
                    self.assertIn(b"0/s", line)
                    watch.send_signal(signal.SIGINT)
            self.assertEqual(watch.wait(DEADLINE_S), 0)


class StatsPeer:
    """Answers GET /stats with what it was given last; with None it hangs up."""

    def __init__(self, test, stats):
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if peer.stats is not None:
                    body = json.dumps(peer.stats).encode()
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.stats = stats
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_port
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(thread.join, DEADLINE_S)
        test.addCleanup(self.server.shutdown)


class Screen:
    """The tool on a terminal of its own, which is its controlling one."""

    def __init__(self, test, *words, columns=80, rows=24, **variables):
        self.master, self.slave = pty.openpty()
        test.addCleanup(os.close, self.master)
        test.addCleanup(os.close, self.slave)
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self.slave)
        self.shown = b""
        self.process = subprocess.Popen(
            [TOOL, *words], stdin=self.slave, stdout=self.slave, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "", **variables})
        test.addCleanup(self.process.stderr.close)
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key):
        os.write(self.master, key)

    def until(self, what, seen):
        """Reads on until seen(all output) holds; then it is forgotten, and returned."""
        deadline = time.monotonic() + DEADLINE_S
        while not seen(self.shown):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"no {what} within {DEADLINE_S} s; last: {self.shown[-3000:]!r}")
            self.shown += os.read(self.master, 65536)
        shown, self.shown = self.shown, b""
        return shown

    def frame(self, what, *needles, accept=lambda page: True):
        """The lines of the first screen that is drawn from now on, has all of the needles and is accepted."""
        found = []

        def seen(shown):
            for part in shown.split(b"\033[H")[1:]:
                page = part.replace(b"\033[K", b"").replace(b"\033[J", b"").decode(errors="replace").split("\r\n")
                if part.endswith(b"\033[J") and all(needle in part for needle in needles) and accept(page):
                    found[:] = page
            return found

        self.until(what, seen)
        return found

    def ended(self):
        """Waits for the end; whether the terminal is as it was before."""
        self.until("leaving", lambda shown: LEAVE in shown)
        self.process.wait(DEADLINE_S)
        return termios.tcgetattr(self.slave) == self.modes


ENTER, LEAVE = b"\033[?1049h\033[?25l", b"\033[?25h\033[?1049l"
SHOWN = {"name": "tradesieve", "version": "9", "state": "ready", "uptime_s": 5,
         "trades": {"received": 1000, "new": 900, "duplicate": 100},
         "feeds": {"canonical": {"received": 1000}}}


class Watch(DaemonTest):
    def test_a_screen_shows_the_real_daemon_and_gives_the_terminal_back(self):
        real = self.started()
        real.ask(lines("1", "2", "2"))
        for key in (b"q", b"\003"):
            screen = Screen(self, "stats", "--watch", "--from", real.endpoints["http"], NO_COLOR="1")
            screen.until("screen", lambda shown: ENTER in shown)
            page = screen.frame("page", b"ready", b"received")
            self.assertRegex("\n".join(page), r"(?m)^received +3 +(-|0)$")
            self.assertRegex("\n".join(page), r"(?m)^duplicate +1 .* 33 %$")
            self.assertRegex("\n".join(page), r"(?m)^canonical +(-|0) +3 +2 +1 +0 +0 +0$")
            screen.press(key)
            self.assertTrue(screen.ended())
            self.assertEqual((screen.process.returncode, screen.process.stderr.read()), (0, b""))

    def test_the_screen_follows_the_size_of_its_terminal(self):
        peer = StatsPeer(self, SHOWN)
        screen = Screen(self, "stats", "--watch", "--from", peer.address, NO_COLOR="1")
        for columns, rows, least in ((80, 24, 70), (60, 24, 50), (160, 45, 100), (20, 5, 19), (1, 1, 1), (80, 24, 70)):
            screen.resize(columns, rows)
            screen.frame(f"screen of {columns} x {rows}", accept=lambda page, width=max(columns, 2), rows=rows,
                         least=least: least <= max(map(len, page)) < width and len(page) <= rows)
        screen.press(b"q")
        self.assertTrue(screen.ended())

    def test_a_daemon_that_is_gone_is_said_and_one_that_is_back_is_shown(self):
        peer = StatsPeer(self, SHOWN)
        screen = Screen(self, "stats", "--watch", "--from", peer.address)
        screen.frame("daemon", b"\033[32mready")
        peer.stats = None
        page = screen.frame("silence", b"NO ANSWER", b"! no answer for ")
        self.assertRegex("\n".join(page), r"(?m)^received +1,000 +-$")
        peer.stats = {**SHOWN, "uptime_s": 1, "trades": {"received": 7}}
        page = screen.frame("daemon that was started anew", b"ready", b"  7  ")
        self.assertRegex("\n".join(page), r"(?m)^received +7 +-$")
        peer.stats = {**SHOWN, "uptime_s": 2, "trades": {"received": 1007}}
        page = screen.frame("rate", b"1,007 ")
        self.assertNotRegex("\n".join(page), r"(?m)^received +1,007 +(-|0)$")
        screen.process.send_signal(signal.SIGTERM)
        self.assertTrue(screen.ended())
        self.assertEqual(screen.process.returncode, 0)

    def test_a_stopped_watch_gives_the_terminal_back_until_it_goes_on(self):
        screen = Screen(self, "stats", "--watch", "--from", StatsPeer(self, SHOWN).address)
        screen.frame("screen", b"ready")
        screen.press(b"\032")
        screen.until("leaving", lambda shown: LEAVE in shown)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(screen.process.pid, os.WUNTRACED)[1]))
        self.assertEqual(termios.tcgetattr(screen.slave), screen.modes)
        screen.process.send_signal(signal.SIGCONT)
        screen.until("coming back", lambda shown: ENTER in shown and b"ready" in shown)
        screen.press(b"q")
        self.assertTrue(screen.ended())

    def test_a_dumb_terminal_gets_pages_without_sequences(self):
        screen = Screen(self, "stats", "--watch", "--from", StatsPeer(self, SHOWN).address, TERM="dumb")
        shown = screen.until("two pages", lambda shown: shown.count(b"Trades") == 2)
        self.assertNotIn(b"\033", shown)
        screen.press(b"\003")
        self.assertEqual(screen.process.wait(DEADLINE_S), 0)


class Maths(DaemonTest):
    def test_sizes_are_those_of_the_textbook_as_table_and_as_objects(self):
        words = ("size", "--keys", "1000,100k", "--fpr", "1%", "--fpr", "0.001")
        page = run(*words).stdout.decode()
        self.assertRegex(page, r"(?m)^ *1,000 +1.00 % +9,586 +7 +9.59 +1.20 KB +1.00 %$")
        self.assertRegex(page, r"(?m)^ *100,000 +1.00 % +958,506 +7 +9.59 +120 KB ")
        self.assertRegex(page, r"(?m)^ *100,000 +0.100 % +1,437,759 +10 +14.38 +180 KB ")
        rows = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
        self.assertEqual([(row["keys"], row["fpr"], row["hashes"]) for row in rows],
                         [(1000, 0.01, 7), (100000, 0.01, 7), (1000, 0.001, 10), (100000, 0.001, 10)])

    def test_what_the_daemon_cannot_be_configured_for_is_left_out_and_said(self):
        words = ("size", "--keys", "1000", "--fpr", "1%,1e-9")
        self.assertIn(b"\nleft out: 1 beyond what the daemon", run(*words).stdout)
        objects = [json.loads(line)["daemon"] for line in run(*words, "--json").stdout.splitlines()]
        self.assertEqual([member is None for member in objects], [False, True])

    def test_the_daemon_takes_the_memory_that_size_says(self):
        for words, config in (((), {}), (("--segment-rows", "1M", "--generation-keys", "10k"),
                                         {"segment_rows": 1000000, "generation_keys": 10000})):
            said = json.loads(run("size", "--keys", "5M", "--fpr", "0.2%", "--json", *words).stdout)
            real = self.started({"filter": {"capacity": 5000000, "false_positive_rate": 0.002}, "store": config})
            real.ask(trade("1"))
            stats = real.stats()["filter"]
            self.assertEqual((said["daemon"]["active"]["bytes"], said["daemon"]["active"]["hashes"]),
                             (stats["memory_bytes"], stats["hashes"]))

    def test_a_simulation_shows_rates_members_and_the_best_number_of_positions(self):
        words = ("simulate", "--bits", "512", "--hashes", "3", "--insert", "180", "--probe", "500", "--sweep")
        page = run(*words)
        self.assertEqual((page.returncode, page.stderr), (0, b""))
        self.assertRegex(page.stdout.decode(), r"(?m)^ *180 +65.\d % +27.7 % ")
        self.assertRegex(page.stdout.decode(), r"(?m)^ *118 .* <- sized for$")
        self.assertRegex(page.stdout.decode(), r"(?m)^ +2 .* <- best$")
        self.assertEqual(page.stdout, run(*words).stdout)
        self.assertNotEqual(page.stdout, run(*words, "--seed", "2").stdout)
        said = json.loads(run(*words, "--json").stdout)
        self.assertEqual((said["sized_for"], said["best_hashes"], len(said["sweep"])), (118, 2, 12))
        self.assertEqual(said["members_maybe"], said["members_asked"])
        self.assertEqual(said["steps"][-1]["measured_fpr"], said["measured_fpr"])
        tiny = run("simulate", "--bits", "10", "--hashes", "2", "--insert", "2").stdout.decode()
        self.assertIn("(1 - e^(-kn/m))^k = 0.108688872\n", tiny)


class Usage(unittest.TestCase):
    def test_a_wrong_command_line_is_one_line_and_exit_64(self):
        for words in ((), ("none",), ("--none",), ("send", "--none"), ("send", "--window", "0"),
                      ("send", "--ack", "none"), ("send", "--to", "localhost"), ("gen", "x"), ("gen", "--trades", "0"),
                      ("gen", "--duplicates", "1"), ("gen", "--duplicates", "0.5", "--conflicts", "0.5"),
                      ("gen", "--ids", "x"), ("gen", "--symbols", "0"), ("stats", "x"), ("stats", "--from", "x"),
                      ("stats", "--from", "unix:/x"), ("check",), ("check", "a", "b"), ("check", ""),
                      ("size",), ("size", "--keys", "1"), ("size", "--fpr", "0.1"), ("size", "x"),
                      ("size", "--keys", "0", "--fpr", "1%"), ("size", "--keys", "1", "--fpr", "0"),
                      ("size", "--keys", "1", "--fpr", "0.51"),
                      ("size", "--keys", "1", "--fpr", "1%", "--segment-rows", "1G", "--generation-keys", "1k"),
                      ("simulate",), ("simulate", "--bits", "9", "--hashes", "1"), ("simulate", "x"),
                      ("simulate", "--bits", "9", "--hashes", "65", "--insert", "1"),
                      ("simulate", "--bits", "0", "--hashes", "1", "--insert", "1")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (64, b"", 1), words)

    def test_help_and_version_are_answered_everywhere(self):
        for words in ((), ("send",), ("gen",), ("stats",), ("check",), ("size",), ("simulate",), ("audit",), ("export",)):
            done = run(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, b""), words)
            self.assertIn(" ".join(("tradesieve", *words)).encode(), done.stdout)
            self.assertRegex(run(*words, "--version").stdout, rb"^tradesieve \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
