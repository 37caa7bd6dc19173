"""Random profiles and random documents, through the daemon and through the rules of tests/lib written down
once more: every answer, and every stored key, fingerprint and message must be the same.

    make differential [DOCUMENTS=200000] [SEED=N]

SEED repeats a run; it is printed."""

import json
import os
import random
import socket
import threading
import unittest
from unittest import mock

import documents
import identity_rules
import segments
import strict_json
from daemon import DEADLINE_S, DaemonTest, amount

SEED = int(os.environ.get("SEED") or random.randrange(2**32))
ROUND = 2000  # documents for one daemon
DOCUMENTS = amount("DOCUMENTS", ROUND, 500)
FEEDS = 20
LIMITS = {"max_key_bytes": 64, "max_trades_per_line": 8}
SOURCE = "S/1%"
PIECES_BYTES = 20000  # of a stream, sent a few bytes at a time


class Round:
    """Profiles, the stream for each, and what came of them in a daemon."""

    def __init__(self, seed, n):
        self.rng = random.Random(seed)
        self.profiles = {f"feed-{i:02d}": documents.profile(self.rng) for i in range(FEEDS)}
        self.streams = {name: self._stream(profile, n // FEEDS) for name, profile in self.profiles.items()}
        self.replies = {}
        self.stored = []

    def _stream(self, profile, n):
        lines = []
        for _ in range(n):
            if lines and self.rng.random() < 0.2:
                lines.append(self.rng.choice(lines))
            else:
                lines.append(documents.document(self.rng, profile))
        return b"".join(line + self.rng.choice([b"\n", b"\n", b"\n", b"\r\n"]) for line in lines)

    def run(self, test):
        feeds = test.directory()
        for name, profile in self.profiles.items():
            with open(os.path.join(feeds, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(profile, file)
        daemon = test.started({"feeds_dir": feeds, "limits": LIMITS, "listeners": [
            {"bind": "127.0.0.1:0", "feed": name, "source": SOURCE} for name in self.profiles]})
        for listener, (name, stream) in enumerate(self.streams.items()):
            self.replies[name] = self._converse(daemon.address(listener), stream)
        test.assertEqual(daemon.stop(), 0)
        self.stored = segments.rows(daemon.data_dir)

    def _converse(self, address, stream):
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), DEADLINE_S) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sender = threading.Thread(target=self._send, args=(peer, stream))
            sender.start()
            answers = b"".join(iter(lambda: peer.recv(1 << 16), b""))
            sender.join()
        return [json.loads(line) for line in answers.splitlines()]

    def _send(self, peer, stream):
        at = 0
        while at < len(stream):
            n = self.rng.randint(1, 40 if at < PIECES_BYTES else 20000)
            peer.sendall(stream[at:at + n])
            at += n
        peer.shutdown(socket.SHUT_WR)


def lines_of(stream):
    """Number and bytes of every line that is to be answered."""
    for number, line in enumerate(stream[:-1].split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if line.strip(b" \t"):
            yield number, line


class Model:
    """What should have come of a round, and how that differs from what did."""

    def __init__(self, played):
        self.keys = {}  # key -> seq, fingerprint
        self.rows = []
        self.differences = []
        self.verdicts = dict.fromkeys(["new", "duplicate", "conflict", "invalid", "ignored"], 0)
        self.errors = set()
        for name, stream in played.streams.items():
            self._compare_feed(name, played.profiles[name], stream, played.replies[name])
        self._compare_rows(played.stored)

    def _compare_feed(self, name, profile, stream, replies):
        rules = identity_rules.Rules(profile, name, LIMITS, SOURCE)
        lines = list(lines_of(stream))
        if len(lines) != len(replies):
            self.differences.append(f"{name}: {len(lines)} lines, {len(replies)} replies")
        for (number, line), reply in zip(lines, replies):
            expected = self._expect(rules.judge(line), name)
            expected["line"] = number
            if expected != self._stripped(reply, expected):
                self.differences.append(f"{name}: {json.dumps(profile)}\n  {line!r}\n  expected {expected}"
                                        f"\n  replied  {reply}")

    def _expect(self, outcome, feed):
        trades = [self._settle(trade, feed) for trade in outcome.trades]
        return {"trades": trades} if outcome.several else trades[0]

    def _settle(self, trade, feed):
        """The reply that a trade should have, once the store has spoken."""
        if trade.verdict != "ask":
            reply = {"verdict": trade.verdict}
            if trade.error:
                reply["error"] = trade.error
                self.errors.add(trade.error)
            if trade.detail:
                reply["detail"] = trade.detail
        elif trade.key not in self.keys:
            self.keys[trade.key] = len(self.keys) + 1, trade.print
            self.rows.append((len(self.keys), trade.key, feed, trade.print, trade.message))
            reply = {"verdict": "new", "seq": len(self.keys)}
        else:
            seq, print_ = self.keys[trade.key]
            reply = {"verdict": "duplicate" if print_ == trade.print else "conflict", "seq": seq}
        self.verdicts[reply["verdict"]] += 1
        return reply

    def _stripped(self, reply, expected):
        """Without what nobody can know: arrival times, the screen's answers, words for people."""
        if "trades" in reply:
            return {"line": reply["line"], "trades": [
                self._stripped(one, other) for one, other in zip(reply["trades"], expected.get("trades", []))]
                + reply["trades"][len(expected.get("trades", [])):]}
        left_out = {"received", "screen"} | ({"detail"} - set(expected))
        return {name: value for name, value in reply.items() if name not in left_out}

    def _compare_rows(self, stored):
        stored = [(seq, key, feed, print_ % 2**64, message) for seq, key, feed, print_, message in stored]
        if len(stored) != len(self.rows):
            self.differences.append(f"{len(self.rows)} rows expected, {len(stored)} stored")
        self.differences += [f"expected {expected}\n  stored   {row}"
                             for expected, row in zip(self.rows, stored) if expected != row]


class Differential(DaemonTest):
    def played(self, n, seed=SEED):
        print(f"SEED={seed} DOCUMENTS={n}")
        played = Round(seed, n)
        played.run(self)
        return played

    def assert_same(self, model):
        self.assertFalse(model.differences, "\n" + "\n".join(model.differences[:5]))

    def test_every_answer_and_every_row_is_what_the_rules_say(self):
        rounds = max(1, DOCUMENTS // ROUND)
        total = 0
        for number in range(rounds):
            model = Model(self.played(DOCUMENTS // rounds, SEED + number))
            self.assert_same(model)
            self.assertGreater(model.verdicts["new"], 0)
            total += sum(model.verdicts.values())
        print(f"{rounds * (DOCUMENTS // rounds)} documents, {total} trades in the answers,"
              f" the last round: {model.verdicts}, {sorted(model.errors)}")

    def test_a_rule_that_is_read_wrongly_shows(self):
        played = self.played(1000, seed=1)
        self.assert_same(Model(played))
        wrong = {
            "01 is JSON": mock.patch.object(strict_json.Reader, "whole_part", strict_json.Reader.digits),
            "65 levels are not too deep": mock.patch.object(strict_json, "LEVELS_MAX", 65),
            "a % is no %25": mock.patch.object(identity_rules, "escape", lambda text: text.replace("/", "%2F")),
            "-0 is an integer": mock.patch.object(identity_rules, "is_integer", lambda raw: raw.isdigit() or raw == "-0"),
            "1.0 is not 1": mock.patch.object(identity_rules, "decimal_piece", identity_rules.text_piece),
            "a CR before the LF belongs to the line": mock.patch(
                f"{__name__}.lines_of", lambda stream: enumerate(stream[:-1].split(b"\n"), 1)),
        }
        for what, patch in wrong.items():
            with self.subTest(what), patch:
                self.assertTrue(Model(played).differences, "nobody noticed")


if __name__ == "__main__":
    unittest.main()
