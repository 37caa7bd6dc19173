"""config/prometheus: what promtool says of the rules, and of their tests when the rules are broken on purpose."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import daemon
from daemon import DaemonTest, trade

RULES = os.path.join(daemon.ROOT, "config", "prometheus", "tradesieve.rules.yml")
TESTS = os.path.join(daemon.ROOT, "tests", "prometheus")
PROMTOOL_S = 200


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


if __name__ == "__main__":
    unittest.main()
