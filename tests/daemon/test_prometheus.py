"""config/prometheus and config/grafana: what promtool says of the rules, and of their tests when the rules are
broken on purpose; and a real Prometheus that scrapes daemons, judges them by the rules and answers the dashboard."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import daemon
from daemon import DEADLINE_S, DaemonTest, trade, wait_until

RULES = os.path.join(daemon.ROOT, "config", "prometheus", "tradesieve.rules.yml")
DASHBOARD = os.path.join(daemon.ROOT, "config", "grafana", "tradesieve.json")
TESTS = os.path.join(daemon.ROOT, "tests", "prometheus")
PROMTOOL_S = 200
# Small segments, each with a filter that may use a sixth of a rate that is half: together they say maybe to all.
USELESS = {"store": {"segment_rows": 40, "generation_keys": 8, "commit_max_trades": 8},
           "filter": {"false_positive_rate": 0.5, "capacity": 1}}


def promtool(*words, **options):
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, timeout=PROMTOOL_S,
                          **options)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def alerts_of(rules):
    """Name and text of each alert."""
    return re.findall(r"^      - alert: (\w+)\n((?:(?!      - |  - |      #).*\n)+)", rules, re.M)


@unittest.skipIf(daemon.BUILD.endswith("san"), "no binary of ours takes part: the plain build has run it")
@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian package prometheus)")
class Rules(DaemonTest):
    def complaints(self, rules):
        """What the tests expected and did not get, and what they got instead, when these are the rules."""
        directory = tempfile.mkdtemp(prefix="tradesieve-test-")
        self.addCleanup(shutil.rmtree, directory)
        shutil.copytree(TESTS, os.path.join(directory, "tests", "prometheus"))
        os.makedirs(os.path.join(directory, "config", "prometheus"))
        with open(os.path.join(directory, "config", "prometheus", os.path.basename(RULES)), "w",
                  encoding="utf-8") as file:
            file.write(rules)
        tests = os.path.join(directory, "tests", "prometheus")
        done = promtool("test", "rules", *(os.path.join(tests, name) for name in sorted(os.listdir(tests))))
        return done.returncode, re.findall(r"exp: ?(.*)\n\s+got: ?(.*)", done.stdout + done.stderr)

    def test_the_rules_are_rules_and_each_says_what_to_do(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(alerts_of(read(RULES))), read(RULES).count("- alert:"))
        for name, text in alerts_of(read(RULES)):
            self.assertRegex(text, r"labels: \{ severity: (critical|warning|info) \}", name)
            self.assertRegex(text, r"summary: \".+\"\n +description: >-\n +\S", name)

    def test_each_rule_fires_when_it_should_and_not_otherwise(self):
        self.assertEqual(self.complaints(read(RULES)), (0, []))

    def test_a_rule_that_never_fires_is_missed(self):
        """Control: every rule is made deaf, and the tests must miss each of them."""
        deaf = re.sub(r"(      - alert: .*\n        expr: ).*\n(?: {10,}.*\n)*", r"\1vector(1) > 2" "\n", read(RULES))
        status, complaints = self.complaints(deaf)
        self.assertNotEqual(status, 0)
        missed = {name for expected, _ in complaints for name in re.findall(r'alertname="(\w+)"', expected)}
        self.assertEqual(missed, {name for name, _ in alerts_of(deaf)})

    def test_a_rule_that_does_not_wait_is_noticed(self):
        """Control: whoever has a for: is made hasty, and the tests must object to each of them."""
        patient = {name for name, text in alerts_of(read(RULES)) if "for: " in text}
        status, complaints = self.complaints(re.sub(r"^        for: .*\n", "", read(RULES), flags=re.M))
        self.assertNotEqual(status, 0)
        hasty = {name for expected, got in complaints
                 for name in re.findall(r'alertname="(\w+)", alertstate="firing"', got) if name not in expected}
        self.assertEqual(hasty, patient)


def dashboard_queries():
    """What the panels and the annotations ask for."""
    dashboard = json.loads(read(DASHBOARD))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    return ([target["expr"] for panel in panels for target in panel["targets"]]
            + [annotation["expr"] for annotation in dashboard["annotations"]["list"]])


def unknown_in(text, metrics):
    """Metrics with their label values that the text names and a daemon does not have."""
    series = [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels or "")))
              for name, labels in re.findall(r"^(\w+)(\{.*\})? \S+$", metrics, re.M)]
    unknown = set()
    for name, matchers in re.findall(r"\b((?:tradesieve|process)_\w+)(\{[^}]*\})?", text):
        wanted = [(label, like, value) for label, like, value in re.findall(r'(\w+)=(~?)"([^"]*)"', matchers)
                  if label not in ("job", "instance")]
        values = [value for _, like, value in wanted for value in (value.split("|") if like else [value])]
        if not all(any(name == known and value in labels.values() for known, labels in series) for value in values):
            unknown.add(name + matchers)
        if name not in {known for known, _ in series}:
            unknown.add(name)
    return unknown


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian package prometheus)")
class Metrics(DaemonTest):
    def test_promtool_finds_nothing_wrong_with_a_daemons_metrics(self):
        served = self.started()
        served.ask(trade("1") + trade("1") + trade("1", price="9") + trade(None))
        text = served.get("/metrics")[1]
        done = promtool("check", "metrics", input=text)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        untyped = re.sub(r"# HELP tradesieve_live .*\n", "", text)  # control: it would have found that
        self.assertIn("tradesieve_live", promtool("check", "metrics", input=untyped).stderr)

    def test_rules_and_dashboard_name_only_what_a_daemon_has(self):
        metrics = self.started().get("/metrics")[1]
        queries = "\n".join(dashboard_queries())
        for text in (read(RULES), queries):
            self.assertEqual(unknown_in(text, metrics), set())
            self.assertGreater(text.count("tradesieve_"), 30)
        # control: a metric and a label value that have been renamed
        self.assertEqual(unknown_in(queries, metrics.replace("tradesieve_store_rows", "tradesieve_rows")),
                         {"tradesieve_store_rows"})
        self.assertEqual({name.partition("{")[0] for name in unknown_in(queries, metrics.replace("absent", "no"))},
                         {"tradesieve_screen_total"})


class Prometheus:
    """A server on loopback with a directory of its own; asked over its API."""

    def __init__(self, directory, rules, targets):
        rules_file = os.path.join(directory, "rules.yml")
        config_file = os.path.join(directory, "prometheus.yml")
        with open(rules_file, "w", encoding="utf-8") as file:
            file.write(rules)
        with open(config_file, "w", encoding="utf-8") as file:  # JSON is YAML
            json.dump({"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms",
                                  "evaluation_interval": "500ms"},
                       "rule_files": [rules_file],
                       "scrape_configs": [{"job_name": "tradesieve", "static_configs": [{"targets": targets}]}]}, file)
        self.log_file = os.path.join(directory, "log")
        with open(self.log_file, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config_file}", f"--storage.tsdb.path={directory}/data",
                 "--web.listen-address=127.0.0.1:0"], cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.address = None

    def wait_for_address(self):
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"prometheus ended: {read(self.log_file)}")
            return re.search(r'msg="Listening on" address=(\S+)(?s:.*)msg="Server is ready', read(self.log_file))
        self.address = wait_until("Prometheus to be ready", look)[1]

    def get(self, path, **query):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=DEADLINE_S) as response:
            return json.load(response)["data"]

    def query(self, text):
        return self.get("query", query=text)["result"]

    def firing(self):
        return {(alert["labels"]["alertname"], alert["labels"]["instance"])
                for alert in self.get("alerts")["alerts"] if alert["state"] == "firing"}

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed (Debian package prometheus)")
class Scraped(DaemonTest):
    def setUp(self):
        self.sound, self.useless = self.started(), self.started(USELESS)
        rules = read(RULES)
        service = rules.index("  - name: tradesieve-service")
        # the rules for filters judge at once, the others as they stand
        rules = re.sub(r"^        for: .*\n", "", rules[:service], flags=re.M) + rules[service:]
        self.server = Prometheus(self.directory(), rules,
                                 [self.sound.endpoints["http"], self.useless.endpoints["http"]])
        self.addCleanup(self.server.stop)
        self.server.wait_for_address()
        self.wait_for_scrapes(3)

    def wait_for_scrapes(self, n):
        """That many more of each daemon, and the judgement after."""
        before = {result["metric"]["instance"]: int(result["value"][1])
                  for result in self.server.query("count_over_time(tradesieve_live[1h])")}

        def look():
            counts = self.server.query("count_over_time(tradesieve_live[1h])")
            return len(counts) == 2 and all(
                int(result["value"][1]) >= before.get(result["metric"]["instance"], 0) + n for result in counts)
        wait_until(f"{n} scrapes", look)

    def test_prometheus_fires_the_right_alerts_on_real_daemons_and_no_other(self):
        self.assertEqual(self.server.firing(), set())
        lines = [trade(str(i)) for i in range(400)]
        self.assertEqual({reply["verdict"] for reply in self.sound.ask(b"".join(lines))}, {"new"})
        for at in range(0, 400, 8):
            self.assertEqual({reply["verdict"] for reply in self.useless.ask(b"".join(lines[at:at + 8]))}, {"new"})
        self.sound.ask(b"".join(lines))  # a replay
        self.sound.ask(trade("1", price="9"))
        sound, useless = self.sound.endpoints["http"], self.useless.endpoints["http"]
        expected = {("TradesieveConflicts", sound), ("TradesieveFilterUseless", useless),
                    ("TradesieveOverCapacity", useless)}
        wait_until(f"the alerts {expected}", lambda: self.server.firing() >= expected)
        self.wait_for_scrapes(3)
        self.assertEqual(self.server.firing() - expected, set())
        self.expect_sound_rules()
        self.expect_data_in_every_panel(sound)
        self.assertEqual(self.server.stop(), 0)

    def expect_sound_rules(self):
        for group in self.server.get("rules")["groups"]:
            for rule in group["rules"]:
                self.assertEqual((rule["health"], rule.get("lastError")), ("ok", None), rule)
        for alert in self.server.get("alerts")["alerts"]:
            text = alert["annotations"]["summary"]
            self.assertIn(alert["labels"]["instance"], text)
            self.assertNotRegex(text, "no value|error|{{")

    def expect_data_in_every_panel(self, instance):
        for text in dashboard_queries():
            asked = text.replace("$instance", instance).replace("$__rate_interval", "1m")
            self.assertNotIn("$", asked)
            wait_until(f"data for {asked}", lambda query=asked: self.server.query(query))


if __name__ == "__main__":
    unittest.main()
