"""A reader of JSON that accepts exactly RFC 8259 in valid UTF-8, down to 64 levels. Written for tests that
hold the scanner against it; shares nothing with it, nor with Python's json, which accepts more.

    read(line)   the Value of the bytes, or raises Fault: .error is bad_json, bad_utf8 or too_deep, .at the
                 offset of the first byte that cannot stand there

Strings are decoded, a lone surrogate stays one. Numbers are never more than their text."""

LEVELS_MAX = 64
SPACE = " \t\r\n"
DIGITS = "0123456789"
HEX = DIGITS + "abcdefABCDEF"
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Fault(Exception):
    def __init__(self, error, at):
        super().__init__(f"{error} at {at}")
        self.error = error
        self.at = at


class Value:
    """kind: null, true, false, number, string, array or object; raw: as it stands, text."""
    __slots__ = ("kind", "raw", "text", "items", "members")

    def __init__(self, kind, raw="", text=None, items=None, members=None):
        self.kind = kind
        self.raw = raw
        self.text = text        # of a string
        self.items = items      # of an array
        self.members = members  # of an object: (name, Value), in order


class Reader:
    def __init__(self, text):
        self.text = text + "\0"  # no text may hold it outside a string, and no string either
        self.end = len(text)
        self.at = 0
        self.level = 0

    def fail(self, error="bad_json"):
        raise Fault(error, self.at)

    def next_is(self, chars):
        return self.at < self.end and self.text[self.at] in chars

    def skip(self, chars):
        while self.next_is(chars):
            self.at += 1

    def take(self, chars):
        if not self.next_is(chars):
            self.fail()
        self.at += 1
        return self.text[self.at - 1]

    def word(self, word):
        for char in word:
            self.take(char)

    def digits(self):
        self.take(DIGITS)
        self.skip(DIGITS)

    def whole_part(self):
        if self.next_is("0"):
            self.at += 1
        else:
            self.digits()

    def number(self):
        if self.next_is("-"):
            self.at += 1
        self.whole_part()
        if self.next_is("."):
            self.at += 1
            self.digits()
        if self.next_is("eE"):
            self.at += 1
            if self.next_is("+-"):
                self.at += 1
            self.digits()

    def string(self):
        out = []
        self.take('"')
        while not self.next_is('"'):
            if self.at == self.end or self.text[self.at] < " ":
                self.fail()
            char = self.text[self.at]
            self.at += 1
            if char != "\\":
                out.append(char)
            elif self.next_is("u"):
                self.at += 1
                out.append(chr(int("".join(self.take(HEX) for _ in range(4)), 16)))
            else:
                out.append(ESCAPES[self.take("".join(ESCAPES))])
        self.at += 1
        joined = "".join(out)
        # Two halves beside each other become one character.
        return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def items(self, closing, item):
        if self.level == LEVELS_MAX:
            self.fail("too_deep")
        self.level += 1
        self.at += 1
        found = []
        self.skip(SPACE)
        while not self.next_is(closing) or found:
            self.skip(SPACE)
            found.append(item())
            self.skip(SPACE)
            if self.next_is(closing):
                break
            self.take(",")
        self.at += 1
        self.level -= 1
        return found

    def member(self):
        name = self.string()
        self.skip(SPACE)
        self.take(":")
        self.skip(SPACE)
        return name, self.value()

    def value(self):
        start = self.at
        first = self.text[start]
        if first == "{":
            value = Value("object", members=self.items("}", self.member))
        elif first == "[":
            value = Value("array", items=self.items("]", self.value))
        elif first == '"':
            value = Value("string", text=self.string())
        elif first in "tfn":
            word = {"t": "true", "f": "false", "n": "null"}[first]
            self.word(word)
            value = Value(word)
        else:
            self.number()
            value = Value("number")
        value.raw = self.text[start:self.at]
        return value

    def document(self):
        self.skip(SPACE)
        value = self.value()
        self.skip(SPACE)
        if self.at != self.end:
            self.fail()
        return value


def read(line):
    try:
        text, malformed = line.decode("utf-8"), False
    except UnicodeDecodeError as error:
        text, malformed = line[:error.start].decode("utf-8"), True
    reader = Reader(text)
    try:
        value = reader.document()
        if malformed:
            raise Fault("bad_utf8", reader.end)
        return value
    except Fault as fault:
        # What ran into the malformed byte failed because of it.
        error = "bad_utf8" if malformed and fault.at == reader.end else fault.error
        raise Fault(error, len(text[:fault.at].encode("utf-8"))) from None
