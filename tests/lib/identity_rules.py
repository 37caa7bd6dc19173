"""What becomes of a message, by the rules of the profile language and of docs/format.md, "Identity",
written down once more over strict_json's tree: slow, and shares nothing with src/.

    rules = Rules(profile, name, limits, source)
    rules.judge(line)     Outcome: the form of the answer and its trades, each a Trade

A Trade's verdict is `ask` (key, fingerprint and message are then those to be stored), `ignored` or
`invalid` with its error."""

import datetime
import re

import strict_json

FIELD_ERRORS = {"id_missing": "field_missing", "id_type": "field_type",
                "id_not_integer": "field_not_integer", "id_control_char": "field_control_char"}
DECIMAL = re.compile(rb"([+-]?)(?=[0-9.]*[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
                  r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))")
DAY_S = 86400


class Refusal(Exception):
    """Of one trade, or of the whole line."""

    def __init__(self, error, detail=None):
        super().__init__(error)
        self.error = error
        self.detail = detail  # only where it says at which byte


class Trade:
    def __init__(self, verdict, error=None, key=None, print_=None, message=None, detail=None):
        self.verdict = verdict
        self.error = error
        self.key = key
        self.print = print_
        self.message = message
        self.detail = detail


class Outcome:
    def __init__(self, trades, several=False):
        self.trades = trades
        self.several = several  # the answer has the trades form


# --- the fingerprint ----------------------------------------------------------------------------


def siphash(data, key=b"tradesieve-print"):
    """SipHash-2-4, 64 bits (Aumasson and Bernstein, 2012)."""
    mask = 2**64 - 1
    k = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    v = [k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
         k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573]

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & mask

    def rounds(n):
        for _ in range(n):
            v[0] = v[0] + v[1] & mask
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = v[2] + v[3] & mask
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = v[0] + v[3] & mask
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = v[2] + v[1] & mask
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at:at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def generalised(text):
    """UTF-8, a lone surrogate as its three bytes."""
    return text.encode("utf-8", "surrogatepass")


def piece(tag, body):
    return tag + len(body).to_bytes(4, "little") + body


def text_piece(value):
    if value is None or value.kind == "null":
        return b"a"
    return piece(b"t", generalised(value.text if value.kind == "string" else value.raw))


def canonical_decimal(text):
    """The canonical form of a decimal, None for what is none."""
    match = DECIMAL.fullmatch(text)
    if not match:
        return None
    sign, whole, fraction, exponent = match.groups()
    fraction = fraction or b""
    digits = (whole + fraction).lstrip(b"0")
    if not digits:
        return b"0"
    power = (exponent or b"0").lstrip(b"+-").lstrip(b"0") or b"0"
    if len(power) > 18:
        return None
    power = int(power) * (-1 if (exponent or b"").startswith(b"-") else 1) - len(fraction)
    stripped = digits.rstrip(b"0")
    power += len(digits) - len(stripped)
    return (b"-" if sign == b"-" else b"") + stripped + b"e%d" % power


def decimal_piece(value):
    if value is not None and value.kind in ("string", "number"):
        decimal = canonical_decimal(generalised(value.text if value.kind == "string" else value.raw))
        if decimal is not None:
            return piece(b"d", decimal)
    return text_piece(value)


# --- paths --------------------------------------------------------------------------------------


def steps_of(pointer):
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


class Found:
    """What a path leads to; value None: nothing. twice: a member on the way stands twice."""

    def __init__(self, value, twice=False):
        self.value = value
        self.twice = twice

    def down(self, step):
        value = self.value
        if value is not None and value.kind == "object":
            same = [member for name, member in value.members if name == step]
            return Found(same[0] if same else None, self.twice or len(same) > 1)
        if value is not None and value.kind == "array" and re.fullmatch("0|[1-9][0-9]{0,8}", step):
            index = int(step)
            return Found(value.items[index] if index < len(value.items) else None, self.twice)
        return Found(None, self.twice)


def follow(value, steps):
    found = Found(value)
    for step in steps:
        found = found.down(step)
    return found


class Place:
    """Where relative paths and `$` paths begin."""

    def __init__(self, message, trade):
        self.message = message
        self.trade = trade

    def find(self, pointer):
        if pointer.startswith("$"):
            return follow(self.message, steps_of(pointer[1:]))
        return follow(self.trade, steps_of(pointer))

    def choose(self, paths, pass_null=False):
        """The first that is there. DUPLICATE on the way is a refusal."""
        null = None
        for pointer in [paths] if isinstance(paths, str) else paths:
            found = self.find(pointer)
            if found.twice:
                raise Refusal("duplicate_member")
            if found.value is not None and found.value.kind == "null" and pass_null:
                null = found.value
            elif found.value is not None:
                return found.value
        return null


# --- conditions ---------------------------------------------------------------------------------


def number_text(number):
    return strict_json.Value("number", raw=number)


def shape_holds(shape, value):
    if "present" in shape and shape["present"] != (value is not None):
        return False
    if "starts" not in shape and "ends" not in shape:
        return True
    if value is None or value.kind not in ("string", "number"):
        return False
    text = value.text if value.kind == "string" else value.raw
    return text.startswith(shape.get("starts", "")) and text.endswith(shape.get("ends", ""))


def test_holds(test, value):
    kind = value.kind if value is not None else None
    if isinstance(test, bool):
        return kind == ("true" if test else "false")
    if isinstance(test, str):
        return kind == "string" and value.text == test
    if isinstance(test, dict):
        return shape_holds(test, value)
    return kind == "number" and decimal_piece(value) == decimal_piece(number_text(repr(test)))


def conditions_hold(conditions, place):
    for pointer, tests in conditions:
        found = place.find(pointer)
        if found.twice:
            raise Refusal("duplicate_member")
        if not any(test_holds(test, found.value) for test in (tests if isinstance(tests, list) else [tests])):
            return False
    return True


# --- key parts ----------------------------------------------------------------------------------


def escape(text):
    return text.replace("%", "%25").replace("/", "%2F")


def check(text):
    for char in text:
        if char < " " or char == "\x7f":
            raise Refusal("id_control_char")
        if "\ud800" <= char <= "\udfff":
            raise Refusal("bad_utf8")
    return escape(text)


def is_integer(raw):
    return re.fullmatch("0|-?[1-9][0-9]*", raw) is not None


def bare_text(value):
    if value is None or value.kind == "null":
        raise Refusal("id_missing")
    if value.kind == "string":
        return value.text
    if value.kind != "number":
        raise Refusal("id_type")
    if not is_integer(value.raw):
        raise Refusal("id_not_integer")
    return value.raw


def prefix_of(text, length):
    data = generalised(text)
    if len(data) < length:
        raise Refusal("id_missing")
    if length < len(data) and data[length] & 0xc0 == 0x80:
        raise Refusal("id_type")
    return data[:length].decode("utf-8", "surrogatepass")


def seconds_of_time(text):
    match = TIME.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(field) for field in match.groups()[:6])
    offset = 0
    if match[7]:
        if int(match[8]) > 23 or int(match[9]) > 59:
            return None
        offset = (int(match[8]) * 3600 + int(match[9]) * 60) * (-1 if match[7] == "-" else 1)
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:  # years repeat after 400, and there is a year 0 here
        days = datetime.date(year % 400 + 400, month, day).toordinal() + (year // 400 - 1) * 146097
    except ValueError:
        return None
    return days * DAY_S + hour * 3600 + minute * 60 + min(second, 59) - offset


def seconds_of_integer(text, unit):
    if not re.fullmatch("-?[0-9]+", text) or abs(int(text)) >= 2**63:
        return None
    epoch = datetime.date(1970, 1, 1).toordinal() * DAY_S
    return epoch + int(text) // {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def day_of(value, unit, shift_h):
    text = bare_text(value)
    if unit == "rfc3339":
        seconds = seconds_of_time(text) if value.kind == "string" else None
    else:
        seconds = seconds_of_integer(text, unit)
    if seconds is None:
        raise Refusal("id_type")
    try:
        return datetime.date.fromordinal((seconds + shift_h * 3600) // DAY_S).isoformat()
    except (ValueError, OverflowError):
        raise Refusal("id_type") from None


# --- the whole ----------------------------------------------------------------------------------


class Rules:
    def __init__(self, profile, name, limits, source=None):
        self.profile = profile
        self.name = name
        self.limits = limits
        self.source = source
        trades = profile.get("trades", "")
        self.trades = trades if isinstance(trades, list) else [trades]
        match = profile.get("match", [])
        self.alternatives = [list(one.items()) for one in (match if isinstance(match, list) else [match])]
        self.stars = any("*" in steps_of(path) for path in self.trades)

    def judge(self, line):
        """Of a line without its end."""
        try:
            return self._judge(line)
        except strict_json.Fault as fault:
            words = {"bad_json": "not JSON", "bad_utf8": "not UTF-8", "too_deep": "more than 64 levels deep"}
            return Outcome([Trade("invalid", fault.error, detail=f"{words[fault.error]} at byte {fault.at}")])
        except Refusal as refusal:
            return Outcome([Trade("invalid", refusal.error)])

    def _judge(self, line):
        message = self._message(strict_json.read(line))
        place = Place(message, message)
        alive = [one for one in self.alternatives if self._holds(one, place, True)]
        if self.alternatives and not alive:
            return Outcome([Trade("ignored")])
        path, found = self._where(message)
        if found is None:
            if self.stars or any(self.alternatives):
                return Outcome([Trade("ignored")])
            raise Refusal("not_a_trade_object")
        trades = []
        for element in self._elements(found, path):
            if len(trades) == self.limits["max_trades_per_line"]:
                raise Refusal("too_many_trades")
            trades.append(self._judge_trade(element, message, alive))
        return Outcome(trades, self.stars) if trades else Outcome([Trade("ignored")])

    def _message(self, root):
        unwrap = self.profile.get("unwrap")
        inner = Place(root, root).choose(unwrap) if unwrap is not None else None
        return root if inner is None else inner

    @staticmethod
    def _holds(alternative, place, of_message):
        return conditions_hold([one for one in alternative if one[0].startswith("$") == of_message], place)

    def _where(self, message):
        """The first trades path that is there, as its steps behind the first star, and what stands there."""
        for pointer in self.trades:
            steps = steps_of(pointer)
            star = steps.index("*") if "*" in steps else None
            found = follow(message, steps if star is None else steps[:star])
            if found.twice:
                raise Refusal("duplicate_member")
            if found.value is not None and (star is None or found.value.kind == "array"):
                return (None if star is None else steps[star + 1:]), found.value
        return None, None

    def _elements(self, value, steps):
        """steps: behind a star, or None: the value itself is the trade."""
        if steps is None:
            yield value
            return
        star = steps.index("*") if "*" in steps else len(steps)
        for item in value.items:
            found = follow(item, steps[:star])
            if found.twice:
                raise Refusal("duplicate_member")
            if found.value is None:
                continue
            if star == len(steps):
                yield found.value
            elif found.value.kind == "array":
                yield from self._elements(found.value, steps[star + 1:])

    def _judge_trade(self, trade, message, alive):
        place = Place(message, trade)
        try:
            if self.alternatives and not any(self._holds(one, place, False) for one in alive):
                return Trade("ignored")
            if trade.kind not in ("object", "array"):
                raise Refusal("not_a_trade_object")
            return Trade("ask", key=self._key(place), print_=self._print(place), message=trade.raw)
        except Refusal as refusal:
            return Trade("invalid", refusal.error)

    def _key(self, place):
        parts = self.profile["key"]
        texts = []
        for number, part in enumerate(parts, 1):
            try:
                texts.append(self._part(part, place))
                if number == len(parts) and not texts[-1]:
                    raise Refusal("id_missing")
            except Refusal as refusal:
                last = number == len(parts)
                raise Refusal(refusal.error if last else FIELD_ERRORS.get(refusal.error, refusal.error)) from None
        key = "/".join(texts)
        if len(key.encode()) > self.limits["max_key_bytes"]:
            raise Refusal("id_too_long")
        return key

    def _part(self, part, place):
        if isinstance(part, str):
            part = [part]
        if isinstance(part, list):
            constant = part[-1]["const"] if isinstance(part[-1], dict) else None
            value = place.choose([path for path in part if isinstance(path, str)], pass_null=True)
            missing = value is None or value.kind == "null"
            return check(constant if missing and constant is not None else bare_text(value))
        if "const" in part:
            return check(part["const"])
        if "source" in part:
            return check(self.source)
        if "prefix" in part:
            return check(prefix_of(bare_text(place.choose(part["prefix"], pass_null=True)), part["length"]))
        return day_of(place.choose(part["utc_day"], pass_null=True), part["unit"], part.get("shift_h", 0))

    def _print(self, place):
        pieces = []
        for content in self.profile.get("content", []):
            decimal = isinstance(content, dict)
            value = place.choose(content["decimal"] if decimal else content)
            pieces.append(decimal_piece(value) if decimal else text_piece(value))
        return siphash(b"".join(pieces))
