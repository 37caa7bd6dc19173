"""The daemon as a service: start, refusals, clean stop, what systemd is told."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import unittest

from daemon import BUILD, ROOT, DaemonTest, trade, wait_until

DAEMON = os.path.join(BUILD, "tradesieved")
UNIT = os.path.join(ROOT, "systemd", "tradesieved.service.in")

# Runs it as systemd does with StandardError=journal: the variable names what stderr is.
IN_THE_JOURNAL = [sys.executable, "-c", """
import os, sys
stderr = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{stderr.st_dev}:{stderr.st_ino}"
os.execv(sys.argv[1], sys.argv[1:])
"""]


class Manager:
    """Stands in for systemd at the other end of NOTIFY_SOCKET."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)

    def lines(self):
        """The lines of the next message."""
        return self.socket.recv(4096).decode().splitlines()

    def wait_for(self, line):
        """Reads on until a message holds the line; returns that message's lines."""
        while True:
            lines = self.lines()
            if line in lines:
                return lines

    def forget(self):
        """Drops what has come so far."""
        self.socket.setblocking(False)
        try:
            while self.socket.recv(4096):
                pass
        except BlockingIOError:
            self.socket.settimeout(60)


class Refusals(DaemonTest):
    def refused(self, daemon):
        """Exit code and the one line on stderr."""
        daemon.launch()
        code = daemon.wait()
        log = daemon.log()
        self.assertEqual(log.count("\n"), 1, log)
        return code, log

    def test_a_second_daemon_on_the_data_directory_names_the_first(self):
        first = self.started()
        code, log = self.refused(self.daemon(data_dir=first.data_dir))
        self.assertEqual(code, 75)
        self.assertIn(first.data_dir, log)
        self.assertIn(f"pid {first.process.pid}", log)

    def test_the_lock_of_a_killed_daemon_binds_nobody(self):
        first = self.started()
        first.kill()
        self.started(data_dir=first.data_dir)

    def test_a_used_port_is_named_with_the_reason(self):
        address = self.started().address()
        code, log = self.refused(self.daemon({"listeners": [{"bind": address}]}))
        self.assertEqual(code, 71)
        self.assertIn(f"listener {address}: address already in use", log)

    def test_a_used_http_port_is_named_with_the_reason(self):
        http = self.started().endpoints["http"]
        code, log = self.refused(self.daemon({"http": http}))
        self.assertEqual(code, 71)
        self.assertIn(http, log)

    def test_a_data_directory_without_a_parent_is_not_created(self):
        path = os.path.join(self.directory(), "missing", "data")
        code, log = self.refused(self.daemon(data_dir=path))
        self.assertEqual(code, 71)
        self.assertIn(path, log)

    def test_a_bad_configuration_is_78(self):
        code, log = self.refused(self.daemon({"listeners": [{"bind": "localhost:1"}]}))
        self.assertEqual(code, 78)
        self.assertIn("localhost:1", log)

    def test_an_unknown_option_is_64(self):
        done = subprocess.run([DAEMON, "--nonsense"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--nonsense", done.stderr)

    def test_a_foreign_store_is_65(self):
        daemon = self.daemon()
        os.mkdir(daemon.data_dir)
        path = os.path.join(daemon.data_dir, "trades-20260101-000001.db")
        with open(path, "wb") as file:
            file.write(b"not a database" * 1000)
        code, log = self.refused(daemon)
        self.assertEqual(code, 65)
        self.assertIn("trades-20260101-000001", log)
        self.assertTrue(os.path.exists(path))

    def test_the_unit_starts_nothing_again_that_a_start_would_not_mend(self):
        """The codes of usage, a foreign store, another daemon, configuration, as they are refused above."""
        with open(UNIT, encoding="utf-8") as file:
            unit = dict(line.strip().split("=", 1) for line in file if "=" in line and line[0] != "#")
        self.assertEqual(unit["Restart"], "on-failure")
        self.assertEqual(unit["RestartPreventExitStatus"].split(), ["64", "65", "75", "78"])

    def test_an_endpoints_file_that_cannot_be_written_is_71(self):
        daemon = self.daemon()
        daemon.endpoints_file = os.path.join(daemon.directory, "missing", "endpoints.json")
        daemon.launch()
        self.assertEqual(daemon.wait(), 71)
        self.assertIn(daemon.endpoints_file, daemon.log())


class Start(DaemonTest):
    def test_the_endpoints_file_says_where_everything_listens_and_goes_with_the_daemon(self):
        daemon = self.started()
        self.assertEqual(list(daemon.endpoints), ["listeners", "http"])
        self.assertRegex(daemon.address(), r"^127\.0\.0\.1:[1-9]\d*$")
        self.assertEqual(daemon.get("/readyz")[0], 200)
        daemon.stop()
        self.assertFalse(os.path.exists(daemon.endpoints_file))

    def test_the_data_directory_is_created_for_us_alone_and_our_group(self):
        daemon = self.started()
        self.assertEqual(os.stat(daemon.data_dir).st_mode & 0o027, 0)

    def test_the_log_carries_levels_for_journald(self):
        daemon = self.daemon()
        daemon.command = IN_THE_JOURNAL
        daemon.start()
        self.assertRegex(daemon.log(), r"(?m)^<6>listening on 127\.0\.0\.1:\d+ for feed canonical$")

    def test_a_refusal_carries_its_level_for_journald(self):
        daemon = self.daemon({"listeners": [{"bind": "localhost:1"}]})
        daemon.command = IN_THE_JOURNAL
        daemon.launch()
        self.assertEqual(daemon.wait(), 78)
        self.assertRegex(daemon.log(), r"^<3>tradesieved: .*localhost:1")

    def test_a_log_that_goes_elsewhere_than_the_journal_carries_no_levels(self):
        daemon = self.started(environment={"JOURNAL_STREAM": "8:1"})
        self.assertNotIn("<6>", daemon.log())
        self.assertIn(" info: listening on ", daemon.log())

    def test_the_log_carries_time_and_level_for_people(self):
        daemon = self.started(environment={"JOURNAL_STREAM": ""})
        del daemon.environment["JOURNAL_STREAM"]
        daemon.stop()
        log = daemon.start().log()
        self.assertRegex(log, r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z info: listening on ")

    def test_the_log_level_holds_back_what_is_less(self):
        self.assertEqual(self.started({"log_level": "warning"}).log(), "")


    def test_few_descriptors_lower_the_connections_and_the_log_says_so(self):
        listeners = [{"bind": "127.0.0.1:0"}, {"bind": "127.0.0.1:0"}]
        for descriptors, connections in ((300, 42), (200, 1)):
            daemon = self.started({"listeners": listeners}, descriptors=descriptors)
            self.assertIn(f"limits.max_connections is lowered to {connections}: RLIMIT_NOFILE is "
                          f"{descriptors}\n", daemon.log())
            self.assertEqual([reply["verdict"] for reply in daemon.ask(trade("1"))], ["new"])

    def test_enough_descriptors_are_taken_without_a_word(self):
        daemon = self.started({"limits": {"max_connections": 43}}, descriptors=300)
        self.assertNotIn("max_connections", daemon.log())


class Stop(DaemonTest):
    def test_sigterm_and_sigint_end_it_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.started()
            daemon.signal(number)
            self.assertEqual(daemon.wait(), 0)

    def test_a_peer_that_is_idle_sees_the_end(self):
        daemon = self.started()
        peer = daemon.peer()
        peer.send(trade("1"))
        peer.reply()
        daemon.signal(signal.SIGTERM)
        self.assertIsNone(peer.reply())
        peer.close()
        self.assertEqual(daemon.wait(), 0)

    def test_a_peer_that_never_closes_does_not_hold_it_up(self):
        daemon = self.started()
        peer = daemon.peer()
        peer.send(trade("1") + b'{"id":')
        peer.reply()
        self.assertEqual(daemon.stop(), 0)

    def stream_until_it_ends(self, daemon, prefix):
        """Sends trades as fast as they are taken while it is stopped; returns the replies."""
        peer = daemon.peer()
        under_way = threading.Event()

        def send():
            n = 0
            try:
                while True:
                    peer.send(b"".join(trade(f"{prefix}{n + i}") for i in range(100)))
                    n += 100
                    if n == 5000:
                        under_way.set()
            except OSError:
                under_way.set()

        replies = []

        def receive():
            try:
                while (reply := peer.reply()) is not None:
                    replies.append(reply)
            except OSError:
                pass

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        return under_way, threads, replies

    def check_everything_read_was_answered(self, signals):
        daemon = self.started()
        under_way, threads, replies = self.stream_until_it_ends(daemon, "t")
        under_way.wait()
        for number in signals:
            daemon.signal(number)
        self.assertEqual(daemon.wait(), 0)
        for thread in threads:
            thread.join()
        n = len(replies)
        self.assertGreater(n, 0)
        self.assertEqual([reply["line"] for reply in replies], list(range(1, n + 1)))
        daemon.start()
        self.assertEqual(daemon.stats()["store"]["rows"], n)
        again = daemon.ask(b"".join(trade(f"t{i}") for i in range(n + 1)))
        self.assertEqual([reply["verdict"] for reply in again], ["duplicate"] * n + ["new"])

    def test_what_was_read_is_committed_and_answered(self):
        self.check_everything_read_was_answered([signal.SIGTERM])

    def test_a_second_signal_loses_nothing(self):
        self.check_everything_read_was_answered([signal.SIGTERM, signal.SIGINT, signal.SIGTERM])

    def test_nothing_that_was_answered_is_lost_by_a_kill(self):
        daemon = self.started()
        under_way, threads, replies = self.stream_until_it_ends(daemon, "k")
        under_way.wait()
        wait_until("replies", lambda: len(replies) > 1000)
        daemon.kill()
        for thread in threads:
            thread.join()
        daemon.start()
        again = daemon.ask(b"".join(trade(f"k{i}") for i in range(len(replies))))
        self.assertEqual({reply["verdict"] for reply in again}, {"duplicate"})


class Failure(DaemonTest):
    def test_a_store_that_fails_ends_it_with_74_and_no_answer(self):
        daemon = self.started()
        peer = daemon.peer()
        peer.send(trade("1"))
        self.assertEqual(peer.reply()["verdict"], "new")
        wal = [os.path.join(daemon.data_dir, name) for name in os.listdir(daemon.data_dir) if name.endswith("-wal")]
        size = os.path.getsize(wal[0])  # the next frame is one too many
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (size, size))
        peer.send(b"".join(trade(f"2-{i}") for i in range(5000)))
        try:
            self.assertIsNone(peer.reply())
        except ConnectionResetError:
            pass
        self.assertEqual(daemon.wait(), 74)
        self.assertRegex(daemon.log().splitlines()[-1], "^tradesieved: .*trades-")


class Notify(DaemonTest):
    def test_ready_comes_when_trades_are_accepted_and_stopping_when_they_are_not(self):
        manager = Manager(self.directory())
        self.addCleanup(manager.socket.close)
        daemon = self.started(environment={"NOTIFY_SOCKET": manager.path})
        self.assertIn("STATUS=ready", manager.wait_for("READY=1"))
        peer = daemon.peer()
        peer.send(trade("1"))
        self.assertEqual(peer.reply()["verdict"], "new")
        daemon.signal(signal.SIGTERM)
        stopping = manager.wait_for("STOPPING=1")
        self.assertTrue(any(line.startswith("STATUS=stopping") for line in stopping))
        peer.close()
        self.assertEqual(daemon.wait(), 0)

    EXTENSION = "EXTEND_TIMEOUT_USEC=60000000"

    def held_up_in_its_start(self, **environment):
        """A daemon whose store waits for filter.key, which is a pipe; what it says; how it goes on."""
        manager = Manager(self.directory())
        self.addCleanup(manager.socket.close)
        daemon = self.started(environment={"NOTIFY_SOCKET": manager.path})
        manager.wait_for("READY=1")
        self.assertEqual(daemon.ask(trade("1"))[0]["verdict"], "new")
        self.assertEqual(daemon.stop(), 0)
        manager.forget()
        path = os.path.join(daemon.data_dir, "filter.key")
        with open(path, "rb") as file:
            secret = file.read()
        os.unlink(path)
        os.mkfifo(path)

        def go_on():
            with open(path, "wb") as file:
                file.write(secret)

        daemon.environment.update(environment)
        daemon.launch()
        return daemon, manager, go_on

    def test_a_long_start_asks_for_time_and_says_what_it_is_at(self):
        daemon, manager, go_on = self.held_up_in_its_start()
        manager.wait_for(self.EXTENSION)
        manager.wait_for("STATUS=starting: the store is being opened; 0 keys read into filters")
        manager.wait_for(self.EXTENSION)
        go_on()
        manager.wait_for("READY=1")
        self.assertEqual(daemon.stop(), 0)

    def test_a_long_stop_asks_for_time_and_says_what_it_is_at(self):
        daemon, manager, go_on = self.held_up_in_its_start()
        manager.wait_for(self.EXTENSION)
        daemon.signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
        manager.wait_for("STATUS=stopping: the store saves its filters and closes")
        for _ in range(2):
            manager.wait_for(self.EXTENSION)
        daemon.signal(signal.SIGTERM)
        go_on()
        self.assertEqual(daemon.wait(), 0)
        self.assertEqual([name for name in os.listdir(daemon.data_dir) if name.endswith("-wal")], [])

    def test_a_start_that_stands_still_is_given_no_more_time(self):
        _, manager, _ = self.held_up_in_its_start(WATCHDOG_USEC="900000")  # looked at every 300 ms
        manager.wait_for(self.EXTENSION)
        manager.socket.settimeout(3)
        with self.assertRaises(TimeoutError):
            for _ in range(30):
                manager.lines()

    def test_the_watchdog_is_fed_while_all_is_well(self):
        manager = Manager(self.directory())
        self.addCleanup(manager.socket.close)
        daemon = self.started(environment={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "3000000"})
        manager.wait_for("READY=1")
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        self.assertEqual(daemon.stop(), 0)

    def test_without_a_watchdog_nothing_is_fed(self):
        manager = Manager(self.directory())
        self.addCleanup(manager.socket.close)
        daemon = self.started(environment={"NOTIFY_SOCKET": manager.path})
        manager.wait_for("READY=1")
        daemon.stop()
        seen = []
        while "STOPPING=1" not in seen:
            seen = manager.lines()
            self.assertNotIn("WATCHDOG=1", seen)


if __name__ == "__main__":
    unittest.main()
