"""The HTTP side: what each path answers, and what is refused."""

import http.client
import json
import math
import os
import select
import socket
import time
import unittest
import urllib.parse

from daemon import DEADLINE_S, ROOT, DaemonTest, trade, wait_until

REQUEST_S = 10  # that a whole request may take
HEADERS = {"Content-Type": "application/json", "Cache-Control": "no-store",
           "X-Content-Type-Options": "nosniff", "Connection": "close"}


class HttpTest(DaemonTest):
    def setUp(self):
        self.served = self.started()

    def connect(self):
        host, _, port = self.served.endpoints["http"].rpartition(":")
        peer = socket.create_connection((host.strip("[]"), int(port)), timeout=DEADLINE_S)
        self.addCleanup(peer.close)
        return peer

    def request(self, target, method="GET", headers=None, body=None):
        """Response (read) and body; the target goes out as it stands here."""
        connection = http.client.HTTPConnection(self.served.endpoints["http"], timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.putrequest(method, target, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response, response.read().decode()

    def json(self, target, status=200, **options):
        response, body = self.request(target, **options)
        self.assertEqual(response.status, status, body)
        return json.loads(body)

    def exchange(self, data):
        """Bytes out, the whole answer back."""
        peer = self.connect()
        peer.sendall(data)
        answer = b""
        while chunk := peer.recv(65536):
            answer += chunk
        return answer


class Answers(HttpTest):
    def test_metrics_say_what_the_statistics_say(self):
        self.served.ask(trade("1") + trade("2") + trade("1"))
        stats = self.json("/stats")
        response, body = self.request("/metrics")
        values = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
        self.assertEqual(response.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        for verdict in ("new", "duplicate", "conflict", "invalid", "ignored", "retry"):
            name = f'tradesieve_trades_total{{feed="canonical",verdict="{verdict}"}}'
            self.assertEqual(int(values[name]), stats["trades"][verdict], name)
        self.assertEqual(int(values["tradesieve_store_rows"]), 2)
        self.assertEqual(int(values['tradesieve_screen_total{answer="maybe"}']), stats["filter"]["maybe"])
        self.assertEqual(int(values["tradesieve_screen_lookups_total"]), 1)

    def test_every_answer_is_json_that_nobody_keeps(self):
        for target in ("/stats", "/livez", "/readyz", "/check?key=a", "/check", "/alerts", "/bits", "/nowhere"):
            with self.subTest(target):
                response, body = self.request(target)
                json.loads(body)
                self.assertEqual({name: response.headers[name] for name in HEADERS}, HEADERS)

    def test_health_is_good_while_it_accepts_trades(self):
        self.assertEqual(self.json("/livez"), {"live": True})
        self.assertEqual(self.json("/readyz"), {"ready": True})

    def test_stats_count_what_was_sent(self):
        self.served.ask(trade("1") + trade("1") + trade("1", price="9") + trade(None) + b"\n")
        stats = self.json("/stats")
        self.assertEqual(stats["state"], "ready")
        self.assertEqual(stats["lines"], {"received": 5, "truncated": 0})
        self.assertEqual(stats["trades"], {"received": 4, "new": 1, "duplicate": 1, "conflict": 1, "invalid": 1,
                                           "ignored": 0, "retry": 0, "unanswered": 0})
        self.assertEqual(stats["feeds"], {"canonical": {"received": 4, "new": 1, "duplicate": 1, "conflict": 1,
                                                        "invalid": 1, "ignored": 0}})
        screen = stats["filter"]
        self.assertEqual((screen["absent"], screen["maybe"], screen["true_positive"], screen["false_positive"],
                          screen["false_negative"], screen["keys"]), (1, 2, 2, 0, 0, 1))
        self.assertEqual((screen["measured_fpr"], screen["false_discovery_rate"]), (0, 0))
        self.assertEqual(screen["bits_set"] / screen["bits"], screen["fill_ratio"])
        self.assertEqual((stats["store"]["rows"], stats["store"]["conflicts"], stats["store"]["rejects"]),
                         (1, 1, 1))
        self.assertRegex(stats["store"]["sqlite_version"], r"^3\.\d+\.\d+$")
        self.assertRegex(stats["store"]["window_start"], r"^\d{4}-\d\d-\d\dT.*Z$")
        self.assertEqual([segment["state"] for segment in stats["segments"]], ["active"])
        self.assertEqual([generation["generation"] for generation in stats["generations"]], [0])

    def test_head_is_the_headers_of_get(self):
        response, body = self.request("/readyz", method="HEAD")
        self.assertEqual((response.status, body), (200, ""))
        self.assertEqual(response.headers["Content-Length"], str(len('{"ready":true}')))

    def test_anything_but_get_and_head_is_405_with_what_is_allowed(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"):
            with self.subTest(method):
                response, body = self.request("/stats", method=method)
                self.assertEqual(response.status, 405)
                self.assertEqual(response.headers["Allow"], "GET, HEAD")
                self.assertIn("error", json.loads(body))

    def test_a_body_is_read_past_and_the_answer_arrives_whole(self):
        body = b"x" * 100000
        response, text = self.request("/stats", method="POST", body=body,
                                      headers={"Content-Length": str(len(body))})
        self.assertEqual((response.status, json.loads(text)), (405, {"error": "GET and HEAD only"}))

    def test_unknown_paths_are_404(self):
        for target in ("/ui/", "/ui/../index.html", "/ui", "//", "/stats/", "/Stats", "/stat", "/%73tats", "//stats", "/stats%00", "*", "/check/x?key=a"):
            with self.subTest(target):
                self.assertIn("error", self.json(target, status=404))

    def test_a_query_does_not_change_other_paths(self):
        self.assertEqual(self.json("/readyz?x=1&y"), {"ready": True})

    def test_http_1_0_without_host_is_answered(self):
        answer = self.exchange(b"GET /readyz HTTP/1.0\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.0 200") or answer.startswith(b"HTTP/1.1 200"), answer)

    def test_what_is_no_http_ends_the_connection_only(self):
        self.exchange(b"\x16\x03\x01nonsense\r\n\r\n")
        self.assertEqual(self.json("/readyz"), {"ready": True})


class Check(HttpTest):
    def check(self, key):
        return self.json("/check?key=" + key)

    def test_a_stored_key_is_maybe_and_present_with_seq_and_time(self):
        self.served.ask(trade("77"))
        answer = self.check("XNAS/AAPL/77")
        self.assertEqual((answer["key"], answer["screen"], answer["exact"], answer["seq"]),
                         ("XNAS/AAPL/77", "maybe", "present", 1))
        self.assertRegex(answer["received"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual([candidate["generation"] for candidate in answer["candidates"]], [0])
        self.assertEqual(len(answer["filters"]), 1)
        filter_ = answer["filters"][0]
        self.assertEqual((filter_["kind"], filter_["zero"]), ("bank", None))
        self.assertEqual(len(filter_["positions"]), filter_["hashes"])
        self.assertTrue(all(0 <= position < filter_["bits"] for position in filter_["positions"]))

    def test_a_stranger_is_absent_and_ruled_out_by_a_position(self):
        self.served.ask(trade("77"))
        answer = self.check("XNAS/AAPL/78")
        self.assertEqual((answer["screen"], answer["exact"], answer["seq"], answer["received"],
                          answer["candidates"]), ("absent", "absent", None, None, []))
        self.assertIn(answer["filters"][0]["zero"], range(answer["filters"][0]["hashes"]))

    def test_the_key_is_percent_decoded_once_and_by_nobody_else(self):
        self.served.ask(trade("a/b") + trade("1+1") + trade("x%y") + trade("\u00e9 z&k=1"))
        for asked, key in (("XNAS/AAPL/a%252Fb", "XNAS/AAPL/a%2Fb"), ("XNAS%2fAAPL%2F1+1", "XNAS/AAPL/1+1"),
                           ("XNAS/AAPL/1%2b1", "XNAS/AAPL/1+1"), ("XNAS/AAPL/x%2525y", "XNAS/AAPL/x%25y"),
                           ("XNAS/AAPL/%C3%A9%20z%26k=1", "XNAS/AAPL/\u00e9 z&k=1")):
            with self.subTest(asked):
                answer = self.check(asked)
                self.assertEqual((answer["key"], answer["exact"]), (key, "present"))
        for asked in ("XNAS/AAPL/1%201", "XNAS/AAPL/a%2Fb", "XNAS/AAPL/1+1%00", "xnas/AAPL/1+1", "XNAS/AAPL/1+1%20"):
            with self.subTest(asked):
                self.assertEqual(self.check(asked)["exact"], "absent")

    def test_a_nul_in_the_key_is_kept_and_equals_nothing(self):
        self.served.ask(trade("1"))
        answer = self.check("XNAS/AAPL/1%00")
        self.assertEqual((answer["key"], answer["exact"]), ("XNAS/AAPL/1\0", "absent"))

    def test_a_hostile_key_comes_back_as_json(self):
        for key, told in (("%22%7D%0A%1B%7F%3C/script%3E", '"}\n\x1b\x7f</script>'), ("%C2%9B%E2%80%A8", "\x9b\u2028")):
            self.assertEqual(self.check(key)["key"], told)
        response, body = self.request("/check?key=%FF%C0%80%ED%A0%80a")
        self.assertEqual(response.status, 200)
        self.assertTrue(json.loads(body)["key"].endswith("a"))

    def test_other_parameters_are_passed_over(self):
        self.assertEqual(self.json("/check?a=b&key=c&keys=d&&")["key"], "c")

    def test_a_question_that_is_none_is_400_with_the_reason(self):
        for query, reason in (("", "no key"), ("?", "no key"), ("?key", "no key"), ("?key=", "no key"),
                              ("?Key=a", "no key"), ("?key=%", "%"), ("?key=%4", "%"), ("?key=%zz", "%"),
                              ("?key=a&key=b", "twice"), ("?key=" + "k" * 8193, "too long")):
            with self.subTest(query[:20]):
                self.assertIn(reason, self.json("/check" + query, status=400)["error"])

    def test_the_longest_key_is_asked_even_when_every_byte_is_escaped(self):
        self.assertEqual(self.check("%6B" * 8192)["key"], "k" * 8192)


class Hosts(DaemonTest):
    def status(self, daemon, *hosts):
        connection = http.client.HTTPConnection(daemon.endpoints["http"], timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.putrequest("GET", "/readyz", skip_host=True)
        for host in hosts:
            connection.putheader("Host", host)
        connection.endheaders()
        return connection.getresponse().status

    def test_addresses_localhost_and_configured_names_pass_and_others_are_403(self):
        daemon = self.started({"http_hosts": ["sieve.example"]})
        for host in ("127.0.0.1", "127.0.0.1:7402", "10.1.2.3", "[::1]", "[::1]:80", "localhost", "LocalHost:1",
                     "sieve.example", "SIEVE.example:7402"):
            with self.subTest(host):
                self.assertEqual(self.status(daemon, host), 200)
        for host in ("evil.example", "sieve.example.evil", "a.sieve.example", "127.0.0.1.evil.example", "[evil]",
                     "[::1", "::1", "localhost:x", "127.0.0.1:80:80", "1.2.3", "[::1]x", "localhost.evil"):
            with self.subTest(host):
                self.assertEqual(self.status(daemon, host), 403)

    def test_of_two_host_headers_none_counts(self):
        daemon = self.started()
        for hosts in (("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost")):
            with self.subTest(hosts):
                self.assertEqual(self.status(daemon, *hosts), 400)


class Bounds(HttpTest):
    def test_headers_beyond_the_memory_of_a_connection_are_refused(self):
        answer = self.exchange(b"GET /stats HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: " + b"a" * 100000 + b"\r\n\r\n")
        self.assertRegex(answer[:16], rb"^(HTTP/1\.\d 4\d\d|$)")
        self.assertEqual(self.json("/readyz"), {"ready": True})

    def test_a_request_that_trickles_is_cut_and_delays_nobody(self):
        peer = self.connect()
        begun = time.monotonic()
        peer.sendall(b"GET /stats HTTP/1.1\r\nHost: localhost\r\n")
        while not select.select([peer], [], [], 0.5)[0]:
            self.assertLess(time.monotonic() - begun, 3 * REQUEST_S)
            peer.sendall(b"X: y\r\n")
            self.assertEqual(self.json("/readyz"), {"ready": True})
        self.assertGreaterEqual(time.monotonic() - begun, REQUEST_S)
        self.assertEqual(self.served.stop(), 0)


class Wall(HttpTest):
    """/bits, /owners, /curve, /sweep against the positions that /check names for each key."""

    KEYS = 200  # 150 of them in a segment that is sealed, 50 in a generation

    def setUp(self):
        self.served = self.started({"store": {"generation_keys": 60, "segment_rows": 150},
                                    "filter": {"capacity": 1000, "false_positive_rate": 0.05}})
        for first in range(0, self.KEYS, 50):  # a batch may overshoot a segment
            self.served.ask(b"".join(trade(str(i)) for i in range(first, first + 50)))
        stats = self.served.wait_for_stats("the seal", lambda stats: stats["segments"][0]["state"] == "sealed")
        self.sealed, self.active = [segment["segment"] for segment in stats["segments"]]

    def bits(self, **query):
        """The filter and its cells."""
        target = "/bits?" + "&".join(f"{name}={value}" for name, value in query.items())
        connection = http.client.HTTPConnection(self.served.endpoints["http"], timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.request("GET", target)
        response = connection.getresponse()
        body = response.read()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "application/octet-stream"), body)
        described = json.loads(response.headers["Tradesieve-Filter"])
        width = len(body) // described["cells"]
        self.assertEqual(len(body), width * described["cells"])
        return described, [int.from_bytes(body[i:i + width], "little") for i in range(0, len(body), width)]

    def trades_of(self, segment, first, last):
        """For each bit of the segment's filter the trades [first, last) that have it, in order."""
        trades = {}
        for i in range(first, last):
            filters = self.json(f"/check?key=XNAS/AAPL/{i}")["filters"]
            for position in set(next(f["positions"] for f in filters if f["segment"] == segment)):
                trades.setdefault(position, []).append(i)
        return trades

    def assert_filter_is_of(self, segment, first, last):
        trades = self.trades_of(segment, first, last)
        described, cells = self.bits(segment=segment)
        self.assertEqual([bit for bit, cell in enumerate(cells) if cell], sorted(trades))
        self.assertEqual(set(cells), {0, 1})
        without_last = {bit for bit, of in trades.items() if of != [last - 1]}
        self.assertLess(len(without_last), sum(cells))  # the control: one trade less would be seen
        self.assertEqual((described["keys"], described["bits_set"], described["bits"], described["cells"],
                          described["first_seq"], described["last_seq"]),
                         (last - first, len(trades), len(cells), len(cells), first + 1, last))
        owners = self.json(f"/owners?segment={segment}&from=0&to={len(cells)}")
        self.assertEqual((owners["keys_read"], owners["complete"], owners["missing"]), (last - first, True, 0))
        self.assertEqual([(o["bit"], o["set"], o["seq"], o["key"], o["trades"]) for o in owners["owners"]],
                         [(bit, True, trades[bit][0] + 1, f"XNAS/AAPL/{trades[bit][0]}", len(trades[bit]))
                          for bit in sorted(trades)])

    def test_bits_and_owners_of_a_growing_filter_are_those_of_its_trades(self):
        self.assert_filter_is_of(self.active, 150, 200)
        self.assertTrue(self.bits()[0]["growing"])

    def test_bits_and_owners_of_a_sealed_filter_are_those_of_its_trades(self):
        self.assert_filter_is_of(self.sealed, 0, 150)
        described = self.bits(segment=self.sealed)[0]
        self.assertEqual((described["generation"], described["growing"]), (None, False))

    def test_cells_count_the_bits_of_their_blocks(self):
        _, single = self.bits(segment=self.sealed)
        for start, end, n in ((0, len(single), 1), (0, len(single), 2), (0, len(single), 7), (3, 700, 5),
                              (1, 257, 1), (1, 256, 1), (64, 128, 64), (len(single) - 1, len(single), 1),
                              (len(single) - 50, 10 ** 18, 3)):
            with self.subTest(start=start, end=end, n=n):
                described, cells = self.bits(segment=self.sealed, **{"from": start, "to": end, "cells": n})
                width = min(end, len(single)) - start
                self.assertEqual((described["from"], described["to"]), (start, start + width))
                edges = [start + i * width // n for i in range(n + 1)]
                self.assertEqual(cells, [sum(single[a:b]) for a, b in zip(edges, edges[1:])])

    def test_a_growing_filter_is_seen_to_grow(self):
        before = self.bits()[0]
        self.served.ask(trade("more"))
        after = wait_until("a newer copy", lambda: (lambda b: b if b["keys"] > before["keys"] else None)(self.bits()[0]))
        self.assertEqual((after["last_seq"], before["last_seq"]), (self.KEYS + 1, self.KEYS))

    def test_a_key_has_a_receipt_for_each_of_its_positions(self):
        self.served.ask(trade("newest"))
        filter_ = self.json("/check?key=XNAS/AAPL/newest")["filters"][-1]
        positions = filter_["positions"]
        owners = self.json("/owners?at=" + ",".join(map(str, positions)))["owners"]
        self.assertEqual([o["bit"] for o in owners], positions)
        self.assertTrue(all(o["set"] and o["seq"] <= self.KEYS + 1 and o["trades"] >= 1 for o in owners))
        filter_ = next(filter_ for filter_ in (self.json(f"/check?key=XNAS/AAPL/stranger{i}")["filters"][-1]
                                               for i in range(20)) if filter_["zero"] is not None)
        owners = self.json("/owners?at=" + "%2C".join(map(str, filter_["positions"])))["owners"]
        self.assertEqual(owners[filter_["zero"]], {"bit": filter_["positions"][filter_["zero"]], "set": False,
                                                   "seq": None, "key": None, "trades": 0})

    def test_hostile_keys_among_owners_stay_text(self):
        stored, owners = set(), set()
        for i in range(8):  # one whose bits were all set before owns none of them
            hostile = f'"</script>\u2028\\<img src=x onerror=alert({i})>'.replace("/", "%2F")
            self.served.ask(trade(hostile.replace("%2F", "/")))
            stored.add("XNAS/AAPL/" + hostile)
            filter_ = self.json("/check?key=XNAS/AAPL/" + urllib.parse.quote(hostile))["filters"][-1]
            response, body = self.request("/owners?at=" + ",".join(map(str, filter_["positions"])))
            self.assertEqual(response.headers["Content-Type"], "application/json")
            owners |= {owner["key"] for owner in json.loads(body)["owners"]}
        self.assertTrue(stored & owners, (stored, owners))

    def test_a_curve_ends_where_the_filter_is(self):
        curve = self.json(f"/curve?segment={self.sealed}")
        points = curve["points"]
        self.assertEqual((curve["keys_read"], curve["complete"], curve["simulated_bits_set"], points[-1]["keys"]),
                         (150, True, curve["bits_set"], 150))
        self.assertEqual([p["keys"] for p in points], sorted({p["keys"] for p in points}))
        k, m = curve["hashes"], curve["bits"]
        for point in points:
            self.assertAlmostEqual(point["predicted"], (1 - math.exp(-k * point["keys"] / m)) ** k, delta=1e-9)
            self.assertEqual(point["measured"], point["maybe"] / curve["strangers"])
            self.assertTrue(point["low"] <= point["measured"] <= point["high"])
            self.assertEqual(point["maybe"] > 0, curve["first_maybe"] is not None and
                             point["keys"] >= curve["first_maybe"])
        # one small filter strays from the mean of all such filters
        self.assertLess(abs(points[-1]["measured"] / points[-1]["predicted"] - 1), 0.5)
        screen = curve["screen"]
        self.assertEqual((screen["keys"], screen["asked"], screen["target"]), (200, 200, 0.05))

    def test_a_sweep_holds_the_filter_in_use_among_the_others(self):
        sweep = self.json(f"/sweep?segment={self.sealed}")
        points = sweep["points"]
        self.assertEqual([p["hashes"] for p in points], list(range(1, len(points) + 1)))
        self.assertGreaterEqual(len(points), 12)
        self.assertEqual([p["hashes"] for p in points if p["in_use"]], [sweep["hashes"]])
        self.assertEqual(points[sweep["hashes"] - 1]["bits_set"], sweep["bits_set"])
        least = min(points, key=lambda p: (p["maybe"], p["hashes"]))
        self.assertEqual(sweep["minimum"]["measured"], least["hashes"])
        self.assertLess(abs(sweep["minimum"]["predicted"] - sweep["optimal_hashes"]), 1)
        last = self.json(f"/curve?segment={self.sealed}")["points"][-1]
        if sweep["strangers"] == self.json(f"/curve?segment={self.sealed}")["strangers"]:
            self.assertEqual(points[sweep["hashes"] - 1]["maybe"], last["maybe"])

    def test_what_is_no_question_is_refused_with_the_reason(self):
        for target, status, reason in (
                ("/bits?segment=x", 404, "no such segment"), ("/bits?generation=7", 404, "no such generation"),
                (f"/bits?segment={self.sealed}&generation=0", 404, "sealed"),
                ("/bits?segment=" + "s" * 40, 400, "longer"), ("/bits?generation=4294967296", 400, "larger"),
                ("/bits?generation=-1", 400, "digits"), ("/bits?from=9&to=9", 400, "below"),
                ("/bits?from=99999999", 400, "below"), ("/bits?cells=0", 400, "cells"),
                ("/bits?cells=65537", 400, "cells"), ("/bits?from=1&to=3&cells=3", 400, "cells"),
                ("/bits?from=1&from=2", 400, "twice"), ("/owners?at=", 400, "list"), ("/owners?at=1,", 400, "list"),
                ("/owners?at=1,,2", 400, "list"), ("/owners?at=99999999", 400, "list"),
                ("/owners?at=" + ",".join("1" * 65), 400, "64"), ("/owners?at=1%002", 400, "list"),
                ("/curve?segment=x", 404, "no such"), ("/sweep?generation=x", 400, "digits")):
            with self.subTest(target):
                self.assertIn(reason, self.json(target, status=status)["error"])


class Empty(HttpTest):
    def test_without_trades_there_is_no_filter_to_show(self):
        for target in ("/bits", "/owners?at=1", "/curve", "/sweep"):
            with self.subTest(target):
                self.assertIn("no trades yet", self.json(target, status=404)["error"])

    def test_alerts_list_every_rule_and_fire_with_a_reason(self):
        alerts = {alert["name"]: alert for alert in self.json("/alerts")["alerts"]}
        self.assertEqual(set(alerts), {"store_failed", "store_full", "false_negative", "self_test", "acks_stalled",
                                       "filter_useless", "rate_high", "over_capacity", "wal_growing", "disk_filling",
                                       "conflicts", "expiry_held"})
        self.assertEqual([name for name, alert in alerts.items() if alert["firing"]], [])
        self.served.ask(trade("1") + trade("1", price="9"))
        told = self.json("/alerts")
        self.assertEqual([(a["name"], a["severity"], a["reason"]) for a in told["alerts"] if a["firing"]],
                         [("conflicts", "warning", "1 trades came again with other content, the last within 15 minutes")])
        self.assertEqual(told["firing"], 1)


class Page(HttpTest):
    POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    FOLDER = os.path.join(ROOT, "src", "page")
    TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
             ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

    def get(self, target, **headers):
        connection = http.client.HTTPConnection(self.served.endpoints["http"], timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
        return response, response.read()

    def test_every_file_of_the_page_is_served_as_it_is_under_a_strict_policy(self):
        for name, target in [("index.html", "/"), *((name, "/ui/" + name) for name in os.listdir(self.FOLDER))]:
            with self.subTest(target), open(os.path.join(self.FOLDER, name), "rb") as file:
                response, body = self.get(target)
                self.assertEqual((response.status, body), (200, file.read()))
                self.assertEqual({name: response.headers[name] for name in
                                  ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy",
                                   "Cache-Control")},
                                 {"Content-Security-Policy": self.POLICY, "X-Content-Type-Options": "nosniff",
                                  "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"})
                self.assertEqual(response.headers["Content-Type"], self.TYPES[os.path.splitext(name)[1]])

    def test_a_file_that_the_browser_has_is_not_sent_again(self):
        tag = self.get("/")[0].headers["ETag"]
        self.assertRegex(tag, '^"[0-9a-f]{16}"$')
        for header in (tag, "W/" + tag, f'"x", {tag}', "*"):
            response, body = self.get("/", **{"If-None-Match": header})
            self.assertEqual((response.status, body, response.headers["ETag"]), (304, b"", tag))
        for header in ('"x"', tag[:-2] + '"', ""):
            self.assertEqual(self.get("/", **{"If-None-Match": header})[0].status, 200)
        self.assertEqual(self.get("/", Host="evil.example", **{"If-None-Match": tag})[0].status, 403)


if __name__ == "__main__":
    unittest.main()
