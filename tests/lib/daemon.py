"""A real tradesieved on loopback for one test: own directory, own free ports, gone afterwards.

TRADESIEVE_BUILD names the build directory (build). Waiting means asking again until a deadline that is
far beyond what a healthy daemon needs; nothing here relies on how fast anything is."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("TRADESIEVE_BUILD", "build"))
DEADLINE_S = 60  # a test that waits longer has failed


def amount(name, full, brief):
    """What the environment variable asks for; else full, or brief under TRADESIEVE_BRIEF, which
    scripts/run-tests sets for the sanitizers."""
    return int(os.environ.get(name) or (brief if "TRADESIEVE_BRIEF" in os.environ else full))


def data_file(name):
    """A captured file, or None: TRADESIEVE_DATA, else ../shared/data beside the project."""
    directory = os.environ.get("TRADESIEVE_DATA", os.path.join(ROOT, "..", "shared", "data"))
    path = os.path.join(directory, name)
    return path if os.path.exists(path) else None


def wait_until(what, predicate, deadline_s=DEADLINE_S):
    """Returns what the predicate returns once that is true."""
    end = time.monotonic() + deadline_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s in vain: {what}")
        time.sleep(0.01)


def trade(trade_id, **members):
    """A canonical trade line, LF included."""
    message = {"source": "XNAS", "symbol": "AAPL", "id": trade_id, "price": "1", "quantity": "2"}
    message.update(members)
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class Peer:
    """One connection, used as a transcript: send this, expect that."""

    def __init__(self, address, timeout_s=DEADLINE_S, receive_buffer=None):
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            target = address[len("unix:"):]
        else:
            host, _, port = address.rpartition(":")
            host = host.strip("[]")
            self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            target = (host, int(port))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout_s)
        self.socket.connect(target)
        self.unread = b""

    def send(self, data):
        self.socket.sendall(data)

    def end(self):
        """Closes the sending side; replies still come."""
        self.socket.shutdown(socket.SHUT_WR)

    def line(self):
        """The next reply line as text, without its LF; None when the daemon has closed."""
        while b"\n" not in self.unread:
            data = self.socket.recv(65536)
            if not data:
                if self.unread:
                    raise AssertionError(f"half a reply line: {self.unread!r}")
                return None
            self.unread += data
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def reply(self):
        line = self.line()
        return None if line is None else json.loads(line)

    def replies(self, n):
        return [self.reply() for _ in range(n)]

    def rest(self):
        """Every reply up to the daemon's end."""
        parts = [self.unread]
        while True:
            data = self.socket.recv(1 << 20)
            if not data:
                break
            parts.append(data)
        self.unread = b""
        return [json.loads(line) for line in b"".join(parts).splitlines()]

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes so that the other side sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class Daemon:
    """config is what the configuration file says, with directories and ports filled in."""

    def __init__(self, config=None, directory=None, data_dir=None, environment=None, descriptors=None):
        self.descriptors = descriptors  # the hard limit, None: ours
        self.command = []  # what runs it: a program and its arguments
        self.inherited = ()  # descriptors that it gets from us
        self.own_directory = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="tradesieve-test-")
        self.data_dir = data_dir or os.path.join(self.directory, "data")
        self.endpoints_file = os.path.join(self.directory, "endpoints.json")
        self.config = {"listeners": [{"bind": "127.0.0.1:0"}], "http": "127.0.0.1:0",
                       "feeds_dir": os.path.join(ROOT, "config", "feeds")}
        self.config.update(config or {})
        self.environment = dict(os.environ, **(environment or {}))
        self.process = None
        self.endpoints = None
        self.stderr = None
        self.peers = []

    def launch(self):
        """Starts the process and returns at once."""
        path = os.path.join(self.directory, "tradesieve.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.config, file)
        if os.path.exists(self.endpoints_file):
            os.unlink(self.endpoints_file)  # of the one that was killed
        if self.stderr:
            self.stderr.close()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*self.command, os.path.join(BUILD, "tradesieved"), "--config", path, "--data-dir", self.data_dir,
             "--endpoints-file", self.endpoints_file],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.stderr,
            env=self.environment, pass_fds=self.inherited,
            preexec_fn=self._limit_descriptors if self.descriptors else None)

    def _limit_descriptors(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

    def _read_endpoints(self):
        if self.process.poll() is not None:
            raise AssertionError(f"tradesieved ended with {self.process.returncode}: {self.log()}")
        try:
            with open(self.endpoints_file, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def wait_for_endpoints(self, deadline_s=DEADLINE_S):
        """Until the store is open and everything listens."""
        self.endpoints = wait_until("the endpoints file", self._read_endpoints, deadline_s)

    def start(self):
        self.launch()
        self.wait_for_endpoints()
        return self

    def log(self):
        """What it has said on stderr so far."""
        size = os.fstat(self.stderr.fileno()).st_size
        return os.pread(self.stderr.fileno(), size, 0).decode(errors="replace")

    def address(self, listener=0):
        return self.endpoints["listeners"][listener]["bind"]

    def peer(self, listener=0, **options):
        peer = Peer(self.address(listener), **options)
        self.peers.append(peer)
        return peer

    def ask(self, data, listener=0):
        """Sends all, ends, and returns every reply; reads while it sends."""
        peer = self.peer(listener)

        def send():
            peer.send(data)
            peer.end()

        sender = threading.Thread(target=send)
        sender.start()
        try:
            return peer.rest()
        finally:
            sender.join()
            peer.close()

    def get(self, path):
        """Status and body of an HTTP GET."""
        url = f"http://{self.endpoints['http']}{path}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=DEADLINE_S) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stats(self):
        return json.loads(self.get("/stats")[1])

    def wait_for_stats(self, what, predicate):
        def look():
            stats = self.stats()
            return stats if predicate(stats) else None
        return wait_until(what, look)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """Its exit code, once it has ended by itself."""
        return self.process.wait(DEADLINE_S)

    def stop(self):
        """A clean stop; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self):
        for peer in self.peers:
            peer.close()
        self.kill()
        if self.stderr:
            self.stderr.close()
        if self.own_directory:
            shutil.rmtree(self.directory, ignore_errors=True)


class DaemonTest(unittest.TestCase):
    """A test with daemons that end with it."""

    maxDiff = None

    def directory(self):
        directory = tempfile.mkdtemp(prefix="tradesieve-test-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        return directory

    def daemon(self, config=None, **options):
        """A daemon that has not been started."""
        daemon = Daemon(config, **options)
        self.addCleanup(daemon.close)
        return daemon

    def started(self, config=None, **options):
        return self.daemon(config, **options).start()
