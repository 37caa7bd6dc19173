"""The command line and the configuration file as the service manager and the operator meet them."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from daemon import BUILD, DEADLINE_S, ROOT, Daemon, DaemonTest, trade


def run(*arguments):
    """Runs tradesieved to its end: exit code, stdout, stderr."""
    done = subprocess.run([os.path.join(BUILD, "tradesieved"), *arguments], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stdout, done.stderr


class Bare(Daemon):
    """A daemon with exactly these arguments, besides --endpoints-file."""

    def __init__(self, arguments, directory):
        super().__init__(directory=directory)
        self.arguments = arguments

    def launch(self):
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tradesieved"), *self.arguments, "--endpoints-file", self.endpoints_file],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.stderr)


class CommandLine(DaemonTest):
    def assert_refused(self, arguments, code, *words):
        """One line on stderr that holds all words, nothing on stdout."""
        status, out, err = run(*arguments)
        self.assertEqual((status, out), (code, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in words:
            self.assertIn(word, err)

    def test_version_and_help_are_printed_and_end_well(self):
        self.assertEqual(run("--version"), (0, "tradesieved 0.1.0\n", ""))
        status, out, err = run("--help")
        self.assertEqual((status, err), (0, ""))
        for option in ("--config", "--data-dir", "--listen", "--http", "--endpoints-file",
                       "--check-config", "--version", "--help"):
            self.assertIn(option, out)

    def test_bad_usage_is_64_in_one_line(self):
        for arguments, word in ((["--nonsense"], "--nonsense"), (["--config"], "--config"),
                                (["stray"], "stray"), (["--listen", "here"], "here"),
                                (["-z"], "-z"), (["--http", "unix:/x"], "unix:/x")):
            with self.subTest(arguments):
                self.assert_refused(arguments, 64, word)

    def test_a_bad_configuration_is_78_with_file_and_path(self):
        path = os.path.join(self.directory(), "mine.json")
        for text, word in (('{"limits": {"max_connections": 0}}', "limits.max_connections: 0 is not within"),
                           ('{"limit": {}}', "limit: unknown key"),
                           ('{"http": "0.0.0.0:0"}', "http_allow_remote"),
                           ('{"listeners": [{"bind": "0.0.0.0:0"}]}', "listeners[0].bind"),
                           ('{"listeners": [{"feed": "nowhere"}]}', "nowhere"),
                           ("{", "not JSON"),
                           ('{"http": "127.0.0.1:7401"}', "http: 127.0.0.1:7401 is listeners[0]'s already")):
            with self.subTest(text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assert_refused(["--config", path], 78, path, word)
                self.assert_refused(["--config", path, "--check-config"], 78, path, word)

    def test_a_missing_configuration_is_78(self):
        path = os.path.join(self.directory(), "missing.json")
        self.assert_refused(["--config", path], 78, path, "No such file")

    def test_a_remote_address_on_the_command_line_is_78(self):
        self.assert_refused(["--listen", "0.0.0.0:0"], 78, "--listen", "0.0.0.0:0")
        self.assert_refused(["--http", "0.0.0.0:0"], 78, "--http", "0.0.0.0:0")

    def test_check_config_prints_one_line_and_starts_nothing(self):
        directory = self.directory()
        path = os.path.join(directory, "mine.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"data_dir": "data"}, file)
        status, out, err = run("--config", path, "--check-config")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("\n"), 1)
        self.assertIn(path, out)
        self.assertEqual(os.listdir(directory), ["mine.json"])

    def test_the_sample_with_every_profile_is_in_order(self):
        status, out, err = run("--check-config", "--config", os.path.join(ROOT, "config", "tradesieve.json"))
        self.assertEqual((status, err), (0, ""))
        profiles = [name for name in os.listdir(os.path.join(ROOT, "config", "feeds"))
                    if name.endswith(".json")]
        self.assertIn(f"in order, 1 listener, {len(profiles)} profiles and 2 built-in feeds\n", out)


class Started(DaemonTest):
    def test_an_http_port_in_use_is_71_with_address_and_reason(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            daemon = self.daemon({"http": address})
            daemon.launch()
            self.assertEqual(daemon.wait(), 71)
        self.assertIn(f"http {address}: address already in use", daemon.log())

    def started_with(self, directory, config, *arguments):
        """A daemon with these arguments, the configuration that stands in directory, and no others."""
        path = os.path.join(directory, "mine.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        daemon = Bare(["--config", path, *arguments], directory)
        self.addCleanup(daemon.close)
        return daemon.start()

    def test_options_replace_listeners_and_http(self):
        directory = self.directory()
        config = {"listeners": [{"bind": "127.0.0.1:1", "feed": "replay"}], "http": "127.0.0.1:2"}
        daemon = self.started_with(directory, config, "--listen", "[::1]:0", "--http", "127.0.0.1:0",
                                   "--data-dir", os.path.join(directory, "data"))
        self.assertEqual([listener["feed"] for listener in daemon.endpoints["listeners"]], ["canonical"])
        self.assertRegex(daemon.address(), r"^\[::1\]:\d+$")
        self.assertEqual([reply["verdict"] for reply in daemon.ask(trade("1"))], ["new"])
        self.assertEqual(daemon.get("/readyz")[0], 200)
        daemon.signal(signal.SIGINT)
        self.assertEqual(daemon.wait(), 0)

    def test_the_data_directory_of_the_file_is_beside_it(self):
        directory = self.directory()
        self.started_with(directory, {"data_dir": "mine"}, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        self.assertTrue(os.path.isdir(os.path.join(directory, "mine")))

    def test_the_log_says_where_data_and_feeds_are_and_which_source_is_idle(self):
        directory = os.path.realpath(self.directory())
        os.mkdir(os.path.join(directory, "feeds"))
        daemon = self.started_with(directory, {"listeners": [{"bind": "127.0.0.1:0", "source": "X"}],
                                               "http": "127.0.0.1:0", "data_dir": "mine"})
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assertIn(f"ready: data directory {directory}/mine, feeds from {directory}/feeds\n", daemon.log())
        self.assertIn("warning: listener 127.0.0.1:0: its feed canonical takes no source\n", daemon.log())

    def test_without_profiles_the_log_says_that_feeds_are_built_in(self):
        daemon = self.started_with(self.directory(), {"listeners": [{"bind": "127.0.0.1:0"}],
                                                      "http": "127.0.0.1:0", "data_dir": "mine"})
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assertIn(", feeds built-in only\n", daemon.log())
        self.assertNotIn("takes no source", daemon.log())


if __name__ == "__main__":
    unittest.main()
