"""tradesieve export: what it writes, against the rows themselves, and what a replay makes of it."""

import collections
import json
import os
import signal
import subprocess
import time
import unittest

import daemon
import segments
from daemon import DEADLINE_S, DaemonTest, trade

TOOL = os.path.join(daemon.BUILD, "tradesieve")
REPLAY = {"listeners": [{"bind": "127.0.0.1:0"}, {"bind": "127.0.0.1:0", "feed": "replay"}]}
SMALL = {"store": {"segment_rows": 16, "generation_keys": 4, "commit_max_trades": 8}}

# Lines whose text is not what a JSON writer would make of them.
ODD = [
    b'{"source":"XNAS","symbol":"A","id":1e0,"id2":1}',  # refused: it must not appear
    b'{"source":"XNAS" ,\t"symbol":"\\u0041BC\\/d","id":18446744073709551616000, "price":1.50e+02,"n":-0.0E-5}',
    b'{"symbol":"%/\\u00e9\\ud83d\\ude00","id":"\\"quoted\\\\","price":"00.10","lone":"\\ud800","nul":"\\u0000"}',
    b'{"source":"XNAS","symbol":"A","id":"deep","x":' + b"[" * 63 + b"]" * 63 + b"}",
    b'{"id":"twice","note":1,"note":2}',
    '{"id":"é\u2028","note":"ü\u007f"}'.encode(),
]


def export(data_dir, *words, code=0):
    done = subprocess.run([TOOL, "export", data_dir, *words], capture_output=True, timeout=DEADLINE_S, check=False)
    if done.returncode != code:
        raise AssertionError(f"export ended with {done.returncode}: {done.stderr.decode()}")
    return done


def verdicts(replies):
    return collections.Counter(part["verdict"] for reply in replies for part in reply.get("trades", [reply]))


class Export(DaemonTest):
    def stopped(self, lines, config=None, batch=16):
        """A data directory with these lines in it: segments of 16 trades, unless batches are larger."""
        real = self.started(dict(SMALL, **(config or {})))
        lines = list(lines)
        for i in range(0, len(lines), batch):
            real.ask(b"".join(lines[i:i + batch]))
        self.assertEqual(real.stop(), 0)
        return real.data_dir

    def replayed(self, lines, data_dir=None, listener=1):
        """The verdicts that a daemon gives to lines, and its directory."""
        real = self.started(REPLAY, data_dir=data_dir)
        counts = verdicts(real.ask(lines, listener))
        self.assertEqual(real.stop(), 0)
        return counts, real.data_dir

    def sent(self, lines, address):
        """What `tradesieve send` counts."""
        done = subprocess.run([TOOL, "send", "--to", address, "--json"], input=lines, capture_output=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_line_says_what_the_row_says(self):
        data_dir = self.stopped(trade(str(i)) for i in range(100))
        lines = [json.loads(line) for line in export(data_dir).stdout.splitlines()]
        self.assertGreater(len(segments.paths(data_dir)), 5)
        self.assertEqual(list(lines[0]), ["seq", "key", "feed", "fingerprint", "received", "message"])
        self.assertEqual([(line["seq"], line["key"], line["feed"], line["fingerprint"]) for line in lines],
                         [(seq, key, feed, f"{fingerprint & 2**64 - 1:016x}")
                          for seq, key, feed, fingerprint, _ in segments.rows(data_dir)])
        stamp = segments.rows(data_dir, columns="received")[0][0]
        self.assertEqual(lines[0]["received"], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stamp // 10**6))
                         + f".{stamp % 10**6:06d}Z")

    def test_messages_come_back_byte_for_byte(self):
        data_dir = self.stopped([b"  " + line + b" \r\n" for line in ODD])
        self.assertEqual(export(data_dir, "--messages").stdout.splitlines(), ODD[1:])
        for line, sent in zip(export(data_dir).stdout.splitlines(), ODD[1:], strict=True):
            self.assertTrue(line.endswith(b'"message":' + sent + b"}"), line)

    def test_a_replay_into_an_empty_store_gives_the_same_store(self):
        data_dir = self.stopped([line + b"\n" for line in ODD] + [trade(str(i)) for i in range(50)])
        counts, copy = self.replayed(export(data_dir).stdout)
        self.assertEqual(counts, {"new": 55})
        self.assertEqual(segments.rows(copy), segments.rows(data_dir))
        self.assertEqual(len(segments.rows(copy)), 55)
        self.assertEqual([line.partition(b'"received"')[0] for line in export(copy).stdout.splitlines()],
                         [line.partition(b'"received"')[0] for line in export(data_dir).stdout.splitlines()])

    def test_a_replay_into_the_same_store_gives_duplicates_only(self):
        data_dir = self.stopped(trade(str(i)) for i in range(50))
        lines, messages = export(data_dir).stdout, export(data_dir, "--messages").stdout
        self.assertEqual(self.replayed(lines, data_dir)[0], {"duplicate": 50})
        self.assertEqual(self.replayed(messages, data_dir, listener=0)[0], {"duplicate": 50})
        digits = json.loads(lines.splitlines()[0])["fingerprint"]
        other = lines.replace(digits.encode(), (digits[1:] + digits[0]).encode(), 1)
        self.assertEqual(self.replayed(other, data_dir)[0], {"duplicate": 49, "conflict": 1})

    def test_the_trades_of_a_batch_message_are_exported_one_by_one(self):
        match = {"type": "match", "product_id": "BTC-USD", "price": "1.5", "size": "2", "side": "buy"}
        feed = {"trades": "/trades/*", "key": ["/product_id", "/trade_id"], "content": [{"decimal": "/price"}]}
        directory = self.directory()
        with open(os.path.join(directory, "many.json"), "w", encoding="utf-8") as file:
            json.dump(feed, file)
        line = json.dumps({"trades": [dict(match, trade_id=i) for i in range(20)]}).encode() + b"\n"
        data_dir = self.stopped([line], {"feeds_dir": directory, "listeners": [{"bind": "127.0.0.1:0", "feed": "many"}]})
        counts, copy = self.replayed(export(data_dir).stdout)
        self.assertEqual(counts, {"new": 20})
        self.assertEqual(segments.rows(copy), segments.rows(data_dir))
        self.assertEqual(segments.rows(copy)[3][1:3], ("BTC-USD/3", "many"))

    def test_a_message_as_long_as_a_line_may_be_can_be_replayed(self):
        limits = {"limits": {"max_line_bytes": 4096, "max_key_bytes": 64}}
        line = trade("1", note="")
        line = trade("1", note="x" * (4097 - len(line)))
        self.assertEqual(len(line), 4097)
        data_dir = self.stopped([line], limits)
        real = self.started(dict(REPLAY, **limits))
        self.assertEqual(verdicts(real.ask(export(data_dir).stdout, 1)), {"new": 1})
        self.assertEqual(verdicts(real.ask(line.replace(b"x", b"xx", 1), 0)), {"invalid": 1})

    def test_from_and_to_bound_what_is_written(self):
        data_dir = self.stopped(trade(str(i)) for i in range(60))
        for words, expected in ((("--from", "20"), range(20, 61)), (("--to", "33"), range(1, 34)),
                                (("--from", "16", "--to", "17"), (16, 17)), (("--from", "61"), ())):
            lines = export(data_dir, *words).stdout.splitlines()
            self.assertEqual([json.loads(line)["seq"] for line in lines], list(expected), words)

    def test_conflicts_are_written_apart_and_can_be_replayed(self):
        data_dir = self.stopped([trade(str(i)) for i in range(40)] + [trade("3", price="2"), trade("3", price="3"),
                                                                      trade("39", price="2")])
        self.assertEqual(len(export(data_dir).stdout.splitlines()), 40)
        conflicts = export(data_dir, "--conflicts").stdout
        self.assertEqual([json.loads(line)["message"]["id"] for line in conflicts.splitlines()], ["3", "3", "39"])
        self.assertEqual(export(data_dir, "--conflicts", "--from", "5").stdout, conflicts.splitlines(True)[2])
        counts, copy = self.replayed(export(data_dir).stdout + conflicts)
        self.assertEqual(counts, {"new": 40, "conflict": 3})
        self.assertEqual(segments.rows(copy, "conflict"), segments.rows(data_dir, "conflict"))

    def test_trades_without_a_message_say_null(self):
        data_dir = self.stopped([trade("1")], {"store": {"keep_message": False}})
        self.assertTrue(export(data_dir).stdout.endswith(b'"message":null}\n'))
        done = export(data_dir, "--messages")
        self.assertEqual((done.stdout, done.stderr.count(b"1 trades were stored without")), (b"", 1))
        counts, copy = self.replayed(export(data_dir).stdout)
        self.assertEqual((counts, segments.rows(copy)), ({"new": 1}, segments.rows(data_dir)))

    def test_after_a_kill_the_log_is_read_and_nothing_is_touched(self):
        real = self.started()
        real.ask(b"".join(trade(str(i)) for i in range(3000)))
        real.kill()
        self.assertGreater(os.path.getsize(segments.paths(real.data_dir, ".db-wal")[0]), 0)
        before = segments.image(real.data_dir)
        self.assertEqual(len(export(real.data_dir).stdout.splitlines()), 3000)
        self.assertEqual(segments.image(real.data_dir), before)
        self.assertEqual(real.start().stats()["store"]["rows"], 3000)

    def test_after_a_clean_stop_nothing_is_touched(self):
        data_dir = self.stopped(trade(str(i)) for i in range(40))
        before = segments.image(data_dir)
        self.assertEqual(len(export(data_dir).stdout.splitlines()), 40)
        self.assertEqual(segments.image(data_dir), before)

    def test_a_daemon_that_runs_is_exported_while_it_stores(self):
        real = self.started(SMALL)
        real.ask(b"".join(trade(str(i)) for i in range(200)))
        peer = real.peer()
        with subprocess.Popen([TOOL, "export", real.data_dir], stdout=subprocess.PIPE) as reader:
            for i in range(200, 400):
                peer.send(trade(str(i)))
                self.assertEqual(peer.reply()["verdict"], "new")
            out, _ = reader.communicate(timeout=DEADLINE_S)
        seqs = [json.loads(line)["seq"] for line in out.splitlines()]
        self.assertEqual(reader.returncode, 0)
        self.assertGreaterEqual(len(seqs), 200)
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))

    def test_a_daemon_that_starts_meanwhile_is_told_who_reads(self):
        data_dir = self.stopped((trade(str(i)) for i in range(20000)), {"store": {}}, 20000)
        with subprocess.Popen([TOOL, "export", data_dir], stdout=subprocess.PIPE) as reader:
            reader.stdout.readline()  # the rest does not fit into the pipe
            real = self.daemon(data_dir=data_dir)
            real.launch()
            self.assertEqual(real.wait(), 75)
            self.assertIn("a tradesieve audit or export reads it", real.log())
            reader.stdout.close()
        self.assertEqual(real.start().stop(), 0)

    def test_missing_trades_are_counted(self):
        data_dir = self.stopped(trade(str(i)) for i in range(40))
        segments.query(segments.paths(data_dir)[0], "DELETE FROM trade WHERE seq IN (3, 4)")
        os.unlink(segments.paths(data_dir)[1])
        done = export(data_dir, code=65)
        self.assertEqual(done.stderr, b"tradesieve: export: 18 trades are missing, the first is 3\n")
        self.assertEqual(len(done.stdout.splitlines()), 22)

    def test_a_pipe_that_nobody_reads_ends_it(self):
        data_dir = self.stopped((trade(str(i)) for i in range(20000)), {"store": {}}, 20000)
        for ignore, ends in ((False, -signal.SIGPIPE), (True, 74)):
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([TOOL, "export", data_dir], stdout=write, stderr=subprocess.PIPE, check=False,
                                  restore_signals=not ignore, timeout=DEADLINE_S)
            os.close(write)
            self.assertEqual(done.returncode, ends)
            self.assertEqual(done.stderr, b"tradesieve: export: standard output: Broken pipe\n" if ignore else b"")

    def test_what_is_no_data_directory_is_refused_in_one_line(self):
        empty = self.directory()
        for words, code in (((), 64), (("a", "b"), 64), (("--from", "0", empty), 64), (("--none", empty), 64),
                            ((empty,), 71), (("/nonexistent",), 71)):
            done = subprocess.run([TOOL, "export", *words], capture_output=True, check=False, timeout=DEADLINE_S)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (code, b"", 1), words)
        self.assertEqual(os.listdir(empty), [])

    def test_200000_trades_come_back_whole(self):
        feed = subprocess.run([TOOL, "gen", "--trades", "200000", "--duplicates", "0"], capture_output=True,
                              check=True, timeout=DEADLINE_S).stdout
        real = self.started()
        self.assertEqual(self.sent(feed, real.address())["new"], 200000)
        self.assertEqual(real.stop(), 0)
        begin = time.monotonic()
        lines = export(real.data_dir).stdout
        print(f"exported at {200000 / (time.monotonic() - begin):,.0f} trades a second")
        self.assertEqual(export(real.data_dir, "--messages").stdout, feed)
        copy = self.started(REPLAY)
        summary = self.sent(lines, copy.address(1))
        print(f"replayed at {summary['trades_per_s']:,.0f} trades a second")
        self.assertEqual(summary["new"], 200000)
        self.assertEqual(self.sent(lines, copy.address(1))["duplicate"], 200000)
        self.assertEqual(copy.stop(), 0)
        self.assertEqual(segments.rows(copy.data_dir), segments.rows(real.data_dir))


if __name__ == "__main__":
    unittest.main()
