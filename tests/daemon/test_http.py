"""The HTTP side: what each path answers, and what is refused."""

import http.client
import json
import select
import socket
import time
import unittest

from daemon import DEADLINE_S, DaemonTest, trade

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


if __name__ == "__main__":
    unittest.main()
