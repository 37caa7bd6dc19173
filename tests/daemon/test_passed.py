"""Sockets that a service manager holds and passes on: where they go, and that a restart refuses nobody."""

import os
import signal
import socket
import sys
import threading
import unittest

from daemon import DaemonTest, Peer, trade, wait_until

# Puts the descriptors where LISTEN_FDS says they are and becomes the daemon, in the process of LISTEN_PID.
LAUNCHER = """
import fcntl, os, sys
end = sys.argv.index("--")
copies = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1:end]]
for i, copy in enumerate(copies):
    os.dup2(copy, 3 + i)
    os.close(copy)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[end + 1], sys.argv[end + 1:])
"""


def listening(address="127.0.0.1"):
    """A socket on a free port, and its address as the daemon writes it."""
    held = socket.socket()
    held.bind((address, 0))
    held.listen(511)
    return held, f"{address}:{held.getsockname()[1]}"


def is_refused(address):
    try:
        Peer(address).close()
    except ConnectionRefusedError:
        return True
    return False


class Manager:
    """Holds named sockets and passes them to a daemon, as often as that is started."""

    def __init__(self, *named):
        self.named = named

    def adopt(self, daemon):
        numbers = [held.fileno() for _, held in self.named]
        daemon.command = [sys.executable, "-c", LAUNCHER, *map(str, numbers), "--"]
        daemon.inherited = numbers
        daemon.environment["LISTEN_FDS"] = str(len(numbers))
        daemon.environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in self.named)
        return daemon


class Passed(DaemonTest):
    def held(self, *arguments):
        held, address = listening(*arguments)
        self.addCleanup(held.close)
        return held, address

    def adopted(self, config, *named):
        return Manager(*named).adopt(self.daemon(config))

    def refused(self, daemon):
        daemon.launch()
        self.assertEqual(daemon.wait(), 78, daemon.log())
        line = daemon.log().splitlines()[-1]
        self.assertTrue(line.startswith("tradesieved: passed "), line)
        return line

    def test_a_socket_goes_where_its_address_is_configured(self):
        trades, trades_at = self.held()
        http, http_at = self.held()
        daemon = self.adopted({"listeners": [{"bind": "127.0.0.1:0"}, {"bind": trades_at}], "http": http_at},
                              ("tradesieved.socket", http), ("tradesieved.socket", trades)).start()
        self.assertEqual([daemon.address(1), daemon.endpoints["http"]], [trades_at, http_at])
        self.assertNotEqual(daemon.address(0), trades_at)
        for listener in (0, 1):
            self.assertEqual(daemon.ask(trade(f"{listener}"), listener)[0]["verdict"], "new")
        self.assertEqual(daemon.stats()["trades"]["new"], 2)

    def test_a_socket_goes_where_its_name_says_whatever_its_address(self):
        trades, trades_at = self.held()
        http, http_at = self.held()
        daemon = self.adopted({"listeners": [{"bind": "127.0.0.1:0"}, {"bind": "127.0.0.1:0"}]},
                              ("listeners[1]", trades), ("http", http)).start()
        self.assertEqual([daemon.address(1), daemon.endpoints["http"]], [trades_at, http_at])
        self.assertIn(f"listeners[1] takes the socket {trades_at}", daemon.log())

    def test_a_unix_socket_stays_when_the_daemon_goes(self):
        path = os.path.join(self.directory(), "trades")
        held = socket.socket(socket.AF_UNIX)
        self.addCleanup(held.close)
        held.bind(path)
        held.listen()
        daemon = self.adopted({"listeners": [{"bind": f"unix:{path}"}]}, ("any", held)).start()
        self.assertEqual(daemon.ask(trade("1"))[0]["verdict"], "new")
        self.assertEqual(daemon.stop(), 0)
        self.assertTrue(os.path.exists(path))
        self.assertEqual(daemon.start().ask(trade("1"))[0]["verdict"], "duplicate")

    def test_a_socket_that_nobody_would_accept_from_is_refused(self):
        held, address = self.held()
        self.assertIn(address, self.refused(self.adopted({}, ("tradesieved.socket", held))))

    def test_a_second_socket_for_one_listener_is_refused(self):
        (first, _), (second, address) = self.held(), self.held()
        line = self.refused(self.adopted({}, ("listeners[0]", first), ("listeners[0]", second)))
        self.assertIn(f"{address}: listeners[0] has one already", line)

    def test_a_name_does_not_open_to_others_what_is_local(self):
        held, address = self.held("0.0.0.0")
        for name in ("listeners[0]", "http"):
            self.assertIn(f"{address}: not local as {name} is", self.refused(self.adopted({}, (name, held))))

    def test_a_socket_of_another_family_is_refused(self):
        held, _ = self.held()
        path = os.path.join(self.directory(), "trades")
        daemon = self.adopted({"listeners": [{"bind": f"unix:{path}"}]}, ("listeners[0]", held))
        self.assertIn("not of the family of listeners[0]", self.refused(daemon))

    def test_what_does_not_listen_is_refused(self):
        connected, other = socket.socketpair()
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        file = open(os.devnull, "rb")
        for held in (connected, other, datagrams, file):
            self.addCleanup(held.close)
        for held in (connected, datagrams, file):
            self.assertIn("not a listening stream socket", self.refused(self.adopted({}, ("http", held))))

    def test_sockets_for_another_process_are_left_alone(self):
        daemon = self.daemon(environment={"LISTEN_FDS": "1", "LISTEN_PID": "1", "LISTEN_FDNAMES": "http"})
        self.assertEqual(daemon.start().ask(trade("1"))[0]["verdict"], "new")


class Feeder(threading.Thread):
    """Sends its trades in lots, each over a connection of its own, until every one has an answer."""

    LOT = 50

    def __init__(self, address, name, until):
        super().__init__()
        self.address, self.prefix, self.until = address, name, until
        self.sent = self.refused = self.cut_off = 0
        self.verdicts = []

    def ask(self, ids):
        """The verdicts of those that were answered."""
        verdicts = []
        peer = Peer(self.address)
        try:
            peer.send(b"".join(trade(trade_id) for trade_id in ids))
            peer.end()
            while (reply := peer.reply()) is not None:
                verdicts.append(reply["verdict"])
        except OSError:
            pass  # of a daemon that was killed: no answer, unknown
        finally:
            peer.close()
        return verdicts

    def send_lot(self):
        ids = [f"{self.prefix}-{self.sent + i}" for i in range(self.LOT)]
        while ids:
            try:
                verdicts = self.ask(ids)
            except ConnectionRefusedError:
                self.refused += 1
                continue
            self.cut_off += len(verdicts) < len(ids)
            self.verdicts += verdicts
            ids = ids[len(verdicts):]
        self.sent += self.LOT

    def run(self):
        while not self.until.is_set():
            self.send_lot()


class RestartUnderLoad(DaemonTest):
    FEEDERS = 4
    # Not the address that connections to loopback come from: who is refused again and again at a port of the
    # ephemeral range would otherwise once be connected with himself.
    ADDRESS = "127.0.0.2"
    ENDS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)

    def restart(self, daemon, address, number, feeders):
        """Returns whether somebody who came in between was refused."""
        before = sum(feeder.sent for feeder in feeders)
        wait_until("load", lambda: sum(feeder.sent for feeder in feeders) > before + 20 * Feeder.LOT)
        daemon.signal(number)
        daemon.wait()
        refused = is_refused(address)
        daemon.start()
        return refused

    def run_through_restarts(self, daemon, address):
        """Returns how many connections were refused; nothing is lost, nothing stored twice."""
        daemon.start()
        over = threading.Event()
        feeders = [Feeder(address, f"f{i}", over) for i in range(self.FEEDERS)]
        try:
            for feeder in feeders:
                feeder.start()
            between = [self.restart(daemon, address, number, feeders) for number in self.ENDS]
        finally:
            over.set()
        for feeder in feeders:
            feeder.join()
        sent = sum(feeder.sent for feeder in feeders)
        verdicts = [verdict for feeder in feeders for verdict in feeder.verdicts]
        self.assertEqual(len(verdicts), sent)
        self.assertLessEqual(set(verdicts), {"new", "duplicate"})
        self.assertEqual(daemon.stats()["store"]["rows"], sent)
        return sum(between) + sum(feeder.refused for feeder in feeders)

    def test_nobody_is_refused_and_nothing_lost_while_sockets_are_held(self):
        held, address = listening(self.ADDRESS)
        self.addCleanup(held.close)
        daemon = Manager(("tradesieved.socket", held)).adopt(self.daemon({"listeners": [{"bind": address}]}))
        self.assertEqual(self.run_through_restarts(daemon, address), 0)

    def test_control_a_daemon_with_sockets_of_its_own_refuses_in_between(self):
        held, address = listening(self.ADDRESS)
        held.close()
        daemon = self.daemon({"listeners": [{"bind": address}]})
        self.assertGreaterEqual(self.run_through_restarts(daemon, address), len(self.ENDS))


if __name__ == "__main__":
    unittest.main()
