"""What stands in a store whose daemon does not run, read with SQLite alone: none of its code, no filter.

    stored = Stored(data_dir)                   from seq 1
    stored = Stored(data_dir, first_seq=None)   from whatever seq: earlier segments have expired
    stored.findings     what must not be, a line each; empty when all is well
    stored.trades       key -> (seq, message)

Wrong are: a file that PRAGMA quick_check refuses, a seq that is missing or stands twice, a key that
stands twice anywhere, sealed keys that are not those of their segment."""

import os
import re
import sqlite3

SEGMENT = re.compile(r"trades-\d{8}-(\d{6,})\.db")


def segments(data_dir):
    """Paths of the segment files, in order."""
    found = ((int(match[1]), name) for name in os.listdir(data_dir) if (match := SEGMENT.fullmatch(name)))
    return [os.path.join(data_dir, name) for _, name in sorted(found)]


def rows(path, query):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


class Stored:
    def __init__(self, data_dir, first_seq=1):
        self.trades = {}
        self.findings = []
        self.next_seq = first_seq
        for path in segments(data_dir):
            try:
                self._read(path)
            except sqlite3.Error as error:
                self.findings.append(f"{path}: {error}")

    def _read(self, path):
        self._check_file(path)
        keys = {}
        for seq, key, message in rows(path, "SELECT seq, key, message FROM trade ORDER BY seq"):
            if self.next_seq not in (None, seq):
                self.findings.append(f"{path}: seq {seq} where {self.next_seq} was due")
            if key in self.trades:
                self.findings.append(f"{path}: {key} stands twice, as {self.trades[key][0]} and {seq}")
            self.next_seq = seq + 1
            self.trades[key] = (seq, message)
            keys[key] = seq
        sealed = path.removesuffix(".db") + ".keys"
        if os.path.exists(sealed):
            self._check_file(sealed)
            if dict(rows(sealed, "SELECT key, seq FROM key")) != keys:
                self.findings.append(f"{sealed}: not the keys of its segment")

    def _check_file(self, path):
        said = rows(path, "PRAGMA quick_check")
        if said != [("ok",)]:
            self.findings.append(f"{path}: quick_check: {said[0][0]}")
