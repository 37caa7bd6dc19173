"""Random profiles of the profile language, and random messages for them: as a venue might send them, then
spoilt in all the ways that somebody might. Everything comes from the random.Random that is given."""

import json

NAMES = ["id", "s", "t", "p", "a", "data", "side", "", "a/b", "~", "0"]
UNITS = ["s", "ms", "us", "ns", "rfc3339"]
INTEGERS = ["0", "-0", "1", "-7", "42", "9007199254740993", "123456789012345678901234567890", "1700000000000"]
NUMBERS = INTEGERS + ["0.0", "1.50", "1.5", "15e-1", "-0.5", "1e5", "1E+5", "100000", "1e-999999999999999999",
                      "0e9999999999999999999999", "1e1234567890123456789", "0.10e1", "12.0"]
TEXTS = ["", "1", "42", "0042", "ABC", "A/B", "50%", "%2F", "buy", "BUY", "trade", "aggTrade", "1.50", "1.5e0",
         "+1.5", ".5", "5.", ".", "1e", "é", "日本", "😀x", "2026-12-01T14:30:00Z", "2026-12-01 00:00:00.5+23:59",
         "2024-02-30T00:00:00Z", "2024-02-29t23:59:60z", "0000-12-31T23:00:00-01:00", "9999-12-31T23:30:00-00:30",
         "1700000000", "-1", "9223372036854775807", "9223372036854775808", "x" * 40]
ODD = ["\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\n", "\\u0000", "\\u007f", "\\/", "\\\"", "\\\\"]
SPLINTERS = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"\\u", b"\\ud800", b"null",
             b"tru", b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
             b"\xef\xbb\xbf", b"\r", b" ", b"\t", b"//", b"/**/", b"01", b"1.", b"NaN", b"'", b"[" * 65, b'{"":' * 64]


class Object:
    """An object that may hold a member twice."""

    def __init__(self, members=()):
        self.members = list(members)

    def set(self, name, value):
        self.members = [one for one in self.members if one[0] != name] + [(name, value)]

    def get(self, name):
        return next((value for one, value in self.members if one == name), None)


class Raw(str):
    """A scalar as it is written."""


# --- profiles -----------------------------------------------------------------------------------


def escape_step(name):
    return name.replace("~", "~0").replace("/", "~1")


def pointer(rng, root=False):
    steps = [rng.choice(NAMES) for _ in range(rng.choice([1, 1, 1, 2]))]
    return ("$" if root else "") + "".join("/" + escape_step(step) for step in steps)


def paths(rng):
    """A path, or a list of paths."""
    def one():
        return pointer(rng, root=rng.random() < 0.15)
    return one() if rng.random() < 0.7 else [one() for _ in range(rng.randint(1, 3))]


def part(rng, last):
    kind = rng.random()
    if kind < 0.45 or last and kind < 0.7:
        return paths(rng)
    if not last and kind < 0.6:
        return {"const": rng.choice(["", "X", "A/B", "%"])}
    if not last and kind < 0.7:
        return [pointer(rng), {"const": rng.choice(["", "none"])}]
    if not last and kind < 0.78:
        return {"source": True}
    if kind < 0.88:
        return {"prefix": paths(rng), "length": rng.randint(1, 5)}
    day = {"utc_day": paths(rng), "unit": rng.choice(UNITS)}
    if rng.random() < 0.5:
        day["shift_h"] = rng.randint(-24, 24)
    return day


def scalar_test(rng):
    return rng.choice([rng.choice(TEXTS), 1.5, 0, 100000, -7, True, False])


def condition(rng):
    if rng.random() < 0.3:
        return {"starts": rng.choice(["", "t", "agg", "1"]), **({"ends": "e"} if rng.random() < 0.5 else {})}
    if rng.random() < 0.3:
        return {"present": rng.random() < 0.6}
    return scalar_test(rng) if rng.random() < 0.5 else [scalar_test(rng) for _ in range(rng.randint(1, 4))]


def conditions(rng):
    return {pointer(rng, root=rng.random() < 0.4): condition(rng) for _ in range(rng.randint(0, 2))}


def trades(rng):
    return rng.choice(["/data/*", "/data/*/a/*", "/*", "/data", "/a~1b/*", "/data/0", "", ["/data/*", ""],
                       ["/a/*/*", "/data/*", "/*"]])


def profile(rng):
    made = {"key": [part(rng, False) for _ in range(rng.randint(0, 3))] + [part(rng, True)]}
    if rng.random() < 0.6:
        made["trades"] = trades(rng)
    if rng.random() < 0.25:
        made["unwrap"] = rng.choice(["/data", "/s", ["/data", "/a"]])
    if rng.random() < 0.4:
        made["match"] = conditions(rng) if rng.random() < 0.5 else [conditions(rng) for _ in range(rng.randint(1, 3))]
    made["content"] = [{"decimal": paths(rng)} if rng.random() < 0.5 else paths(rng)
                       for _ in range(rng.randint(0, 3))]
    return made


# --- messages -----------------------------------------------------------------------------------


def spelt(rng, text):
    """A string that is read as this text, or sometimes holds something odd too."""
    body = "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 and rng.random() < 0.1 else
                   json.dumps(char, ensure_ascii=False)[1:-1] for char in text)
    if rng.random() < 0.06:
        at = rng.randint(0, len(text)) if "\\" not in body else 0
        body = body[:at] + rng.choice(ODD) + body[at:]
    return f'"{body}"'


def scalar(rng):
    kind = rng.random()
    if kind < 0.45:
        return Raw(rng.choice(NUMBERS if kind < 0.2 else INTEGERS))
    if kind < 0.93:
        return Raw(spelt(rng, rng.choice(TEXTS)))
    return Raw(rng.choice(["null", "true", "false"]))


def anything(rng, depth=3):
    kind = rng.random()
    if depth == 0 or kind < 0.6:
        return scalar(rng)
    if kind < 0.75:
        return [anything(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    return Object((rng.choice(NAMES), anything(rng, depth - 1)) for _ in range(rng.randint(0, 5)))


def put(tree, steps, value):
    """Makes the value stand at these steps of an object, whatever was in the way."""
    for step in steps[:-1]:
        below = tree.get(step)
        if not isinstance(below, Object):
            below = Object()
            tree.set(step, below)
        tree = below
    if steps:
        tree.set(steps[-1], value)


def steps_of(path):
    return [step.replace("~1", "/").replace("~0", "~") for step in path.lstrip("$").split("/")[1:]]


def all_paths(value):
    """Every path that a part of a profile names."""
    if isinstance(value, str):
        return [value] if value[:1] in ("/", "$") else []
    if isinstance(value, dict):
        return [path for name, below in value.items() if name not in ("const", "unit") for path in all_paths(below)]
    return [path for below in value for path in all_paths(below)] if isinstance(value, list) else []


def fitting(rng, part_):
    """What a venue would send there: mostly something that makes a key."""
    if rng.random() < 0.1:
        return scalar(rng)
    unit = part_.get("unit") if isinstance(part_, dict) else None
    if unit == "rfc3339":
        return Raw(spelt(rng, f"20{rng.randint(0, 99):02d}-12-{rng.randint(1, 31):02d}T14:30:00.{rng.randint(0, 9)}Z"))
    if unit:
        return Raw(str(rng.randint(-10, 10**9) * 1000 ** UNITS.index(unit)))
    number = str(rng.randint(10000, 10300))
    return Raw(number) if rng.random() < 0.5 else Raw(spelt(rng, rng.choice(["", "", "A/", "é%"]) + number))


def a_trade(rng, made):
    tree = Object()
    for part_ in made["content"] + made["key"]:
        for path in all_paths(part_):
            if rng.random() < 0.97:
                put(tree, steps_of(path), fitting(rng, part_))
    return tree


def nest(rng, steps, made):
    """Trades where a trades path wants them."""
    if not steps:
        return a_trade(rng, made)
    if steps[0] == "*":
        return [nest(rng, steps[1:], made) if rng.random() < 0.9 else anything(rng, 1)
                for _ in range(rng.randint(0, 5))]
    tree = Object()
    tree.set(steps[0], nest(rng, steps[1:], made))
    return tree


def a_message(rng, made):
    where = made.get("trades", "")
    tree = nest(rng, steps_of(where if isinstance(where, str) else rng.choice(where)), made)
    matches = made.get("match", {})
    for match in matches if isinstance(matches, list) else [matches]:
        for path, test in match.items():
            if isinstance(tree, Object) and rng.random() < 0.8:
                test = rng.choice(test) if isinstance(test, list) else test
                value = scalar(rng) if isinstance(test, dict) else Raw(json.dumps(test, ensure_ascii=False))
                put(tree, steps_of(path), value)
    unwrap = made.get("unwrap")
    if unwrap and rng.random() < 0.8:
        outer = Object()
        put(outer, steps_of(unwrap if isinstance(unwrap, str) else rng.choice(unwrap)), tree)
        return outer
    return tree


def written(rng, value):
    gap = rng.choice(["", "", "", " ", "\t"])
    if isinstance(value, Raw):
        return value
    if isinstance(value, list):
        return f"[{gap}" + f",{gap}".join(written(rng, item) for item in value) + "]"
    members = list(value.members)
    if members and rng.random() < 0.04:
        members.append((rng.choice(members)[0], scalar(rng)))
    return "{" + f"{gap},".join(f"{gap}{spelt(rng, name)}:{gap}{written(rng, item)}" for name, item in members) + "}"


def spoil(rng, line):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randint(0, len(line))
        end = min(len(line), at + rng.randint(0, 4))
        kind = rng.random()
        if kind < 0.4:
            line = line[:at] + rng.choice(SPLINTERS) + line[at:]
        elif kind < 0.6:
            line = line[:at] + line[end:]
        elif kind < 0.8 and at < len(line):
            line = line[:at] + bytes([line[at] ^ 1 << rng.randrange(8)]) + line[at + 1:]
        else:
            other = rng.randint(0, len(line))
            line = line[:at] + line[other:other + rng.randint(0, 30)] + line[at:]
    return line


def document(rng, made, spoilt=0.3):
    """The bytes of a line, without line feeds."""
    value = a_message(rng, made) if rng.random() < 0.85 else anything(rng)
    line = written(rng, value).encode("utf-8")
    if rng.random() < spoilt:
        line = spoil(rng, line)
    return line.replace(b"\n", b" ")
