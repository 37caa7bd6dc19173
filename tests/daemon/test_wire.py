"""The ingest protocol as a client sees it, form by form."""

import json
import os
import random
import resource
import socket
import stat
import threading
import unittest

from daemon import DaemonTest, trade, wait_until

OPENING = b'{"tradesieve":{"ack":"%s"}}\n'
NOTHING = {"new": 0, "duplicate": 0, "conflict": 0, "invalid": 0, "ignored": 0, "retry": 0}


def verdicts(replies):
    return [reply.get("verdict") for reply in replies]


def progress(through, **counts):
    return {"through": through, **NOTHING, **counts}


class Each(DaemonTest):
    def test_every_verdict_has_its_reply_line(self):
        daemon = self.started()
        lines = trade("1") + trade("1", price="1.00") + trade("1", price="3") + trade(None)
        new, duplicate, conflict, invalid = daemon.ask(lines)
        self.assertEqual(new, {"line": 1, "verdict": "new", "seq": 1, "screen": "absent"})
        received = duplicate.pop("received")
        self.assertRegex(received, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual(duplicate, {"line": 2, "verdict": "duplicate", "seq": 1, "screen": "maybe"})
        self.assertEqual(conflict, {"line": 3, "verdict": "conflict", "seq": 1, "received": received,
                                    "screen": "maybe"})
        self.assertEqual((invalid["line"], invalid["verdict"], invalid["error"]),
                         (4, "invalid", "id_missing"))

    def test_members_of_a_reply_stand_in_their_order(self):
        peer = self.started().peer()
        peer.send(trade("1") + trade("1"))
        self.assertEqual(peer.line(), '{"line":1,"verdict":"new","seq":1,"screen":"absent"}')
        self.assertRegex(peer.line(), r'^\{"line":2,"verdict":"duplicate","seq":1,'
                                      r'"received":"[^"]*","screen":"maybe"\}$')

    def test_a_message_of_several_trades_has_one_reply_line(self):
        daemon = self.started({"listeners": [{"bind": "127.0.0.1:0", "feed": "kraken"}]})
        message = {"channel": "trade", "type": "update", "data": [
            {"symbol": "BTC/USD", "side": "buy", "price": 1.5, "qty": 1, "trade_id": 1},
            {"symbol": "BTC/USD", "side": "buy", "price": 1.5, "qty": 1, "trade_id": 1.5},
            {"symbol": "BTC/USD", "side": "buy", "price": 1.5, "qty": 1, "trade_id": 1}]}
        heartbeat = {"channel": "heartbeat"}
        lines = (json.dumps(message) + "\n" + json.dumps(heartbeat) + "\n").encode()
        first, second = daemon.ask(lines)
        self.assertEqual(first["line"], 1)
        self.assertEqual(verdicts(first["trades"]), ["new", "invalid", "duplicate"])
        self.assertEqual(first["trades"][1]["error"], "id_not_integer")
        self.assertEqual(second, {"line": 2, "verdict": "ignored"})

    def test_one_bad_line_does_not_spoil_its_neighbours(self):
        replies = self.started().ask(trade("1") + b"{\n" + b"\xff\n" + b"[" * 65 + b"\n" + trade("2"))
        self.assertEqual(verdicts(replies), ["new", "invalid", "invalid", "invalid", "new"])
        self.assertEqual([reply.get("error") for reply in replies[1:4]],
                         ["bad_json", "bad_utf8", "too_deep"])

    def test_a_thousand_lines_are_answered_in_order(self):
        replies = self.started().ask(b"".join(trade(i) for i in range(1000)))
        self.assertEqual([reply["line"] for reply in replies], list(range(1, 1001)))
        self.assertEqual([reply["seq"] for reply in replies], list(range(1, 1001)))


class Lines(DaemonTest):
    def test_crlf_a_byte_order_mark_and_blank_lines_are_no_part_of_messages(self):
        daemon = self.started()
        data = b"\xef\xbb\xbf\r\n" + trade("1")[:-1] + b"\r\n \t\n\n" + trade("2")
        self.assertEqual([(reply["line"], reply["verdict"]) for reply in daemon.ask(data)],
                         [(2, "new"), (5, "new")])
        self.assertEqual(daemon.stats()["lines"], {"received": 5, "truncated": 0})

    def test_a_complete_last_line_without_end_counts(self):
        daemon = self.started()
        self.assertEqual(verdicts(daemon.ask(trade("1") + trade("2")[:-1])), ["new", "new"])
        self.assertEqual(daemon.stats()["lines"], {"received": 2, "truncated": 0})

    def test_a_last_line_that_was_cut_off_is_bad_json_and_counted_as_truncated(self):
        daemon = self.started()
        replies = daemon.ask(trade("1") + trade("2")[:-3])
        self.assertEqual(verdicts(replies), ["new", "invalid"])
        self.assertEqual(replies[1]["error"], "bad_json")
        self.assertEqual(daemon.stats()["lines"], {"received": 2, "truncated": 1})

    def test_a_last_line_that_was_cut_inside_a_character_is_bad_json(self):
        replies = self.started().ask('{"id":"\u00e9'.encode()[:-1])
        self.assertEqual(replies[0]["error"], "bad_json")

    def test_a_replayed_last_line_that_was_cut_off_below_64_levels_is_truncated_too(self):
        daemon = self.started({"listeners": [{"bind": "127.0.0.1:0", "feed": "replay"}]})
        self.assertEqual(daemon.ask(b'{"message":' + b"[" * 64)[0]["error"], "bad_json")
        self.assertEqual(daemon.stats()["lines"], {"received": 1, "truncated": 1})

    def test_a_complete_last_line_that_is_no_trade_is_answered_as_with_its_end(self):
        daemon = self.started()
        lines = [rb'{"id":"\ud800"}', rb'{"id":""}', b"5", b"[" * 65 + b"]" * 65]
        for line in lines:
            self.assertEqual(daemon.ask(line), daemon.ask(line + b"\n"))
        self.assertEqual([daemon.ask(line)[0]["error"] for line in lines],
                         ["bad_utf8", "id_missing", "not_a_trade_object", "too_deep"])
        self.assertEqual(daemon.stats()["lines"], {"received": 12, "truncated": 0})

    def test_an_opening_line_may_be_the_last_and_have_no_end(self):
        daemon = self.started()
        self.assertEqual(len(daemon.ask((OPENING % b"each")[:-1])), 1)
        self.assertEqual(daemon.ask((OPENING % b"all")[:-1])[0]["error"], "bad_opening")
        self.assertEqual(daemon.stats()["lines"], {"received": 2, "truncated": 0})

    def test_nothing_at_all_gets_no_reply(self):
        daemon = self.started()
        self.assertEqual(daemon.ask(b""), [])
        self.assertEqual(daemon.ask(b"\n\r\n  "), [])

    def test_the_same_bytes_on_any_split_give_the_same_replies(self):
        daemon = self.started()
        generator = random.Random(1)
        lines = [trade(str(i % 7)) for i in range(20)] + [b"\r\n", b"{\r\n", b"nonsense\n", trade("")]
        generator.shuffle(lines)
        stream = b"\xef\xbb\xbf" + b"".join(lines)[:-1]
        daemon.ask(stream)  # from now on each trade is a duplicate, with the same reply
        expected = daemon.ask(stream)
        for _ in range(20):
            self.assertEqual(self.ask_in_pieces(daemon, stream, generator), expected)

    def ask_in_pieces(self, daemon, stream, generator):
        peer = daemon.peer()
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = 0
        while at < len(stream):
            size = generator.choice([1, 2, 3, 10, 100, 1000])
            peer.send(stream[at:at + size])
            at += size
        peer.end()
        return peer.rest()


class TooLong(DaemonTest):
    CONFIG = {"limits": {"max_line_bytes": 256}}

    def test_a_line_of_exactly_the_limit_is_fine(self):
        line = trade("1", note="")[:-1]
        line = trade("1", note="x" * (256 - len(line)))
        self.assertEqual(len(line), 257)
        self.assertEqual(verdicts(self.started(self.CONFIG).ask(line)), ["new"])

    def test_a_longer_line_is_answered_after_its_predecessors_and_ends_the_connection(self):
        daemon = self.started(self.CONFIG)
        peer = daemon.peer()
        peer.send(trade("1") + b"x" * 257 + b"\n" + trade("2"))
        replies = peer.rest()
        self.assertEqual(verdicts(replies), ["new", "invalid"])
        self.assertEqual((replies[1]["line"], replies[1]["error"]), (2, "line_too_long"))
        stats = daemon.stats()
        self.assertEqual((stats["trades"]["received"], stats["trades"]["invalid"]), (2, 1))

    def test_the_reply_can_be_read_by_a_peer_that_still_sends(self):
        peer = self.started(self.CONFIG).peer()
        peer.send(b"x" * 4_000_000)
        self.assertEqual([reply["error"] for reply in peer.rest()], ["line_too_long"])

    def test_a_line_that_never_ends_needs_no_end_to_be_refused(self):
        peer = self.started(self.CONFIG).peer()
        peer.send(b"x" * 257)
        self.assertEqual(peer.reply()["error"], "line_too_long")
        self.assertIsNone(peer.reply())


class Opening(DaemonTest):
    def test_each_mode_is_confirmed_with_version_and_feed(self):
        daemon = self.started()
        for mode in ("each", "batch"):
            peer = daemon.peer()
            peer.send(OPENING % mode.encode())
            reply = peer.reply()["tradesieve"]
            self.assertEqual((reply["ack"], reply["feed"]), (mode, "canonical"))
            self.assertRegex(reply["version"], r"^\d+\.\d+\.\d+$")

    def test_it_replaces_the_listeners_mode_for_this_connection_alone(self):
        daemon = self.started({"listeners": [{"bind": "127.0.0.1:0", "ack": "none"}]})
        self.assertEqual(verdicts(daemon.ask(OPENING % b"each" + trade("1"))), [None, "new"])
        self.assertEqual(daemon.ask(trade("2")), [])

    def test_it_has_a_line_number_and_is_no_trade(self):
        daemon = self.started()
        replies = daemon.ask(b"\n" + OPENING % b"each" + trade("1"))
        self.assertEqual(replies[1]["line"], 3)
        stats = daemon.stats()
        self.assertEqual((stats["lines"]["received"], stats["trades"]["received"]), (3, 1))

    def test_anywhere_else_it_is_a_message_like_any_other(self):
        replies = self.started().ask(trade("1") + OPENING % b"none" + trade("2"))
        self.assertEqual(verdicts(replies), ["new", "invalid", "new"])
        self.assertEqual(replies[1]["error"], "id_missing")

    def test_with_another_member_beside_it_it_is_a_message(self):
        replies = self.started().ask(b'{"tradesieve":{"ack":"none"},"id":"1"}\n')
        self.assertEqual(verdicts(replies), ["new"])

    def test_a_bad_value_is_answered_and_ends_the_connection(self):
        daemon = self.started()
        peer = daemon.peer()
        peer.send(OPENING % b"all" + trade("1"))
        reply = peer.reply()
        self.assertEqual((reply["line"], reply["verdict"], reply["error"]), (1, "invalid", "bad_opening"))
        self.assertIsNone(peer.reply())
        self.assertEqual(daemon.stats()["trades"]["received"], 0)

    def test_a_bad_value_on_a_listener_that_acknowledges_nothing_is_met_with_silence(self):
        daemon = self.started({"listeners": [{"bind": "127.0.0.1:0", "ack": "none"}]})
        peer = daemon.peer()
        peer.send(OPENING % b"all")
        self.assertIsNone(peer.reply())


class Batch(DaemonTest):
    def test_progress_adds_up_and_what_went_wrong_is_shown(self):
        daemon = self.started({"listeners": [{"bind": "127.0.0.1:0", "ack": "batch"}]})
        lines = trade("1") + trade("2") + b"\n" + trade("1") + trade("1", price="9") + trade("")
        replies = daemon.ask(lines)
        shown = [reply for reply in replies if "through" not in reply]
        self.assertEqual(verdicts(shown), ["conflict", "invalid"])
        self.assertEqual([reply["line"] for reply in shown], [5, 6])
        total = dict(NOTHING)
        for reply in replies:
            for name in total:
                total[name] += reply.get(name, 0)
        self.assertEqual(total, {**NOTHING, "new": 2, "duplicate": 1, "conflict": 1, "invalid": 1})
        self.assertEqual(replies[-1]["through"], 6)

    def test_a_batch_of_one_read_has_one_line(self):
        daemon = self.started()
        peer = daemon.peer()
        peer.send(OPENING % b"batch" + trade("1") + trade("1"))
        self.assertEqual(peer.replies(2)[1], progress(3, new=1, duplicate=1))
        peer.send(trade("2"))
        self.assertEqual(peer.reply(), progress(4, new=1))


class Silent(DaemonTest):
    def test_none_writes_nothing_and_stores_everything(self):
        daemon = self.started()
        self.assertEqual(daemon.ask(OPENING % b"none" + trade("1") + b"{\n" + trade("2")), [])
        stats = daemon.wait_for_stats("two trades", lambda s: s["trades"]["new"] == 2)
        self.assertEqual(stats["trades"]["invalid"], 1)


class Listeners(DaemonTest):
    def test_several_have_their_own_feeds_and_modes(self):
        daemon = self.started({"listeners": [
            {"bind": "127.0.0.1:0"},
            {"bind": "127.0.0.1:0", "feed": "kraken", "ack": "batch"}]})
        self.assertEqual([listener["feed"] for listener in daemon.endpoints["listeners"]],
                         ["canonical", "kraken"])
        self.assertNotEqual(daemon.address(0), daemon.address(1))
        self.assertEqual(verdicts(daemon.ask(trade("1"))), ["new"])
        self.assertEqual(daemon.ask(trade("1"), listener=1), [progress(1, ignored=1)])

    def test_an_ipv6_address_works(self):
        if not os.path.exists("/proc/net/if_inet6"):
            self.skipTest("no IPv6 here")
        daemon = self.started({"listeners": [{"bind": "[::1]:0"}]})
        self.assertRegex(daemon.address(), r"^\[::1\]:\d+$")
        self.assertEqual(verdicts(daemon.ask(trade("1"))), ["new"])

    def test_a_unix_socket_has_its_mode_and_goes_with_the_daemon(self):
        path = os.path.join(self.directory(), "trades.sock")
        daemon = self.started({"listeners": [{"bind": f"unix:{path}", "mode": "0620"}]})
        self.assertEqual(daemon.address(), f"unix:{path}")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o620)
        self.assertEqual(verdicts(daemon.ask(trade("1"))), ["new"])
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_a_unix_socket_that_a_dead_daemon_left_is_replaced(self):
        path = os.path.join(self.directory(), "trades.sock")
        config = {"listeners": [{"bind": f"unix:{path}"}]}
        daemon = self.started(config)
        daemon.kill()
        self.assertTrue(os.path.exists(path))
        self.assertEqual(verdicts(self.started(config).ask(trade("1"))), ["new"])

    def test_a_unix_socket_that_is_in_use_is_refused(self):
        path = os.path.join(self.directory(), "trades.sock")
        config = {"listeners": [{"bind": f"unix:{path}"}]}
        first = self.started(config)
        second = self.daemon(config)
        second.launch()
        self.assertEqual(second.wait(), 71)
        self.assertIn(path, second.log())
        self.assertEqual(verdicts(first.ask(trade("1"))), ["new"])

    def test_a_file_in_the_place_of_a_unix_socket_is_left_alone(self):
        path = os.path.join(self.directory(), "precious")
        with open(path, "w", encoding="utf-8") as file:
            file.write("data")
        daemon = self.daemon({"listeners": [{"bind": f"unix:{path}"}]})
        daemon.launch()
        self.assertEqual(daemon.wait(), 71)
        self.assertTrue(os.path.isfile(path))


class Bounds(DaemonTest):
    def test_connections_beyond_the_limit_are_closed_and_counted(self):
        daemon = self.started({"limits": {"max_connections": 2}})
        peers = [daemon.peer(), daemon.peer()]
        for i, peer in enumerate(peers):
            peer.send(trade(str(i)))
            self.assertEqual(peer.reply()["verdict"], "new")
        self.assertIsNone(daemon.peer().line())
        counts = daemon.stats()["connections"]
        self.assertEqual((counts["open"], counts["accepted"], counts["refused"]), (2, 2, 1))
        peers[0].close()
        daemon.wait_for_stats("a free place", lambda s: s["connections"]["open"] == 1)
        self.assertEqual(verdicts(daemon.ask(trade("3"))), ["new"])

    def test_out_of_descriptors_others_are_served_and_newcomers_wait_their_turn(self):
        daemon = self.started()
        first = daemon.peer()
        first.send(trade("1"))
        self.assertEqual(first.reply()["verdict"], "new")
        self.leave_no_descriptors(daemon)
        waiting = daemon.peer()
        waiting.send(trade("2"))
        first.send(trade("3"))
        self.assertEqual(first.reply()["verdict"], "new")
        wait_until("a line in the log", lambda: "cannot accept" in daemon.log())
        first.close()
        self.assertEqual(waiting.reply()["verdict"], "new")

    def leave_no_descriptors(self, daemon):
        """Lowers the daemon's limit to what it has open now."""
        open_now = [int(fd) for fd in os.listdir(f"/proc/{daemon.process.pid}/fd")]
        if len(open_now) != max(open_now) + 1:
            self.skipTest("the daemon's descriptors have gaps")
        _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (len(open_now), hard))

    def test_a_peer_that_reads_nothing_is_closed_while_another_goes_on(self):
        daemon = self.started({"limits": {"slow_reader_timeout_s": 1, "ack_backlog_bytes": 4096}})
        closed = threading.Event()
        deaf = daemon.peer(receive_buffer=4096)

        def send_without_reading():
            try:
                while True:
                    deaf.send(b"x\n" * 10000)
            except OSError:
                closed.set()

        sender = threading.Thread(target=send_without_reading)
        sender.start()
        good = daemon.peer()
        n = 0
        while not closed.is_set():
            good.send(trade(str(n)))
            self.assertEqual(good.reply()["verdict"], "new")
            n += 1
        sender.join()
        self.assertIn("took no replies", daemon.log())
        daemon.wait_for_stats("the deaf one is gone", lambda s: s["connections"]["open"] == 1)

    def test_a_peer_that_reads_late_is_paused_and_loses_nothing(self):
        daemon = self.started({"limits": {"ack_backlog_bytes": 4096}})
        peer = daemon.peer(receive_buffer=65536)
        paused = threading.Event()
        sent = []

        def send():
            while not paused.is_set():
                peer.send((b"x" * 63 + b"\n") * 1000)
                sent.append(1000)
            peer.end()

        sender = threading.Thread(target=send)
        sender.start()
        daemon.wait_for_stats("a pause although the store has nothing to do",
                              lambda s: s["connections"]["paused"] == 1
                              and s["trades"]["received"] > 0 and s["trades"]["unanswered"] == 0)
        paused.set()
        replies = peer.rest()
        sender.join()
        self.assertEqual([reply["line"] for reply in replies], list(range(1, sum(sent) + 1)))

    def test_many_peers_share_a_small_queue(self):
        daemon = self.started({"limits": {"queue_bytes": 65536}})
        results = {}

        def run(i):
            results[i] = daemon.ask(b"".join(trade(f"{i}-{j}") for j in range(500)))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for replies in results.values():
            self.assertEqual([reply["line"] for reply in replies], list(range(1, 501)))
        self.assertEqual(sum(map(len, results.values())), 10000)
        stats = daemon.stats()
        self.assertEqual((stats["trades"]["new"], stats["trades"]["unanswered"]), (10000, 0))
        self.assertEqual(stats["connections"]["paused"], 0)

    def test_trades_of_a_peer_that_was_reset_are_counted_all_the_same(self):
        daemon = self.started()
        for i in range(20):
            peer = daemon.peer()
            peer.send(b"".join(trade(f"{i}-{j}") for j in range(50)))
            peer.reply()
            peer.reset()
        stats = daemon.wait_for_stats("all gone", lambda s: s["connections"]["open"] == 0
                                      and s["trades"]["unanswered"] == 0)
        trades = stats["trades"]
        self.assertEqual(trades["received"], trades["new"])
        self.assertEqual(stats["store"]["rows"], trades["new"])


if __name__ == "__main__":
    unittest.main()
