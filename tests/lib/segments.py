"""What lies in a data directory, read with Python's own SQLite: the truth that tools are held against."""

import contextlib
import hashlib
import os
import sqlite3

from stored import segments


def paths(data_dir, suffix=".db"):
    """The files with a suffix of the segments that have one, in order."""
    found = (path.removesuffix(".db") + suffix for path in segments(data_dir))
    return [path for path in found if os.path.exists(path)]


def query(path, sql, *values):
    """The rows of a query; what it changes is committed."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        rows = database.execute(sql, values).fetchall()
        database.commit()
    return rows


def rows(data_dir, table="trade", columns="seq, key, feed, fingerprint, message"):
    return [row for path in paths(data_dir) for row in query(path, f"SELECT {columns} FROM {table} ORDER BY seq")]


def image(data_dir):
    """Name, time and content of every file: equal images, an untouched directory."""
    found = {}
    for name in sorted(os.listdir(data_dir)):
        path = os.path.join(data_dir, name)
        with open(path, "rb") as file:
            found[name] = (os.stat(path).st_mtime_ns, hashlib.sha256(file.read()).hexdigest())
    return found
