"""Debian's Chromium, headless, for one test: driven through chromedriver, with a profile of its own.

What is not installed skips the test. Nothing but loopback is reached: the profile fetches nothing, and
every other name resolves to nowhere."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from daemon import DEADLINE_S, wait_until

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
STARTED = re.compile(r"started successfully on port (\d+)")


class Browser:
    def __init__(self):
        program = shutil.which("chromedriver")
        chromium = shutil.which("chromium")
        if not program or not chromium:
            raise unittest.SkipTest("chromium is not installed (scripts/packages browser)")
        self.directory = tempfile.mkdtemp(prefix="tradesieve-browser-")
        self.session = None
        self.driver = subprocess.Popen(
            [program, "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=dict(os.environ, HOME=self.directory))
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for line in self.driver.stdout:
            if started := STARTED.search(line):
                self.root = f"http://127.0.0.1:{started[1]}"
                break
        options = {"binary": chromium, "args": [*ARGUMENTS, f"--user-data-dir={self.directory}/profile"]}
        made = self.command("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = made["sessionId"]

    def command(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with self.opener.open(request, timeout=DEADLINE_S) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def ask(self, path, body):
        return self.command("POST", f"/session/{self.session}{path}", body)

    def devtools(self, name, **params):
        return self.ask("/goog/cdp/execute", {"cmd": name, "params": params})

    def open(self, url):
        self.ask("/url", {"url": url})

    def run(self, script, *args):
        """What the script returns; it may return a promise."""
        return self.ask("/execute/sync", {"script": script, "args": list(args)})

    def wait(self, what, script, *args):
        """What the script returns, once that is true."""
        return wait_until(what, lambda: self.run(script, *args))

    def size(self, width, height, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                      mobile=width < 600)

    def prefer(self, **features):
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def screenshot(self, path, whole=True):
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """What the page has put on the console since the last call: errors and refusals of its policy."""
        entries = self.ask("/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def close(self):
        try:
            if self.session:
                self.command("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait(DEADLINE_S)
            self.driver.stdout.close()
            shutil.rmtree(self.directory, ignore_errors=True)
