r"""The separators of an HL7 message: given by the first two fields of every header (MSH, BHS, FHS).

    MSH|^~\&|…       field, then component, repetition, escape, subcomponent

Segments end with CR; LF and CR LF are read too, and never written. Rule: text never changes: a separator in it is
written as an escape sequence (``\F\``), and a line break in it as ``\X0A\``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.errors import Refused

LINE_ENDS = b"\r\n"
_AROUND = b"\r\n\x00\x1a\x0b\x1c"  # line ends, end-of-file characters of old systems, and the frame of MLLP
_UTF_8_MARK = b"\xef\xbb\xbf"
NAMES = ("field", "component", "repetition", "escape", "subcomponent")
_LETTERS = b"FSRET"  # letters of the escape sequences
_HEAD = re.compile(rb"(?:MSH|BHS|FHS)([^A-Za-z0-9\s])([^A-Za-z0-9\s]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Separators:
    field: bytes = b"|"
    component: bytes = b"^"
    repetition: bytes = b"~"
    escape: bytes = b"\\"
    subcomponent: bytes = b"&"

    def encoding(self) -> bytes:
        """Return the second field of a header."""
        return self.component + self.repetition + self.escape + self.subcomponent

    def facts(self) -> dict[str, str]:
        return {name: str(getattr(self, name), "latin-1") for name in NAMES}

    def contradict(self) -> bool:
        """Return True if a character has two roles, or a letter, a digit, a blank or a part of a letter has a role."""
        every = self.field + self.encoding()
        unfit = any(one > 126 or one <= 32 or chr(one).isalnum() for one in every)
        return len(every) != len(NAMES) or len(set(every)) < len(every) or unfit


USUAL = Separators()


def separators_of(facts: Mapping[str, str]) -> Separators:
    return Separators(**{name: facts[name].encode("latin-1", "replace") for name in NAMES if name in facts})


def to_readable(data: Buffer) -> tuple[bytes, int, int]:
    """Return the bytes, and the begin and end of the content inside the transport's framing."""
    raw = whole_bytes(data)
    begin, end = len(_UTF_8_MARK) if raw.startswith(_UTF_8_MARK) else 0, len(raw)
    while begin < end and raw[begin] in _AROUND + b" \t":
        begin += 1
    while end > begin and raw[end - 1] in _AROUND:
        end -= 1
    return raw, begin, end


def read_separators(raw: bytes, at: int) -> Separators:
    """Return the separators of the header that begins here; the standard ones for those that it omits."""
    found = _HEAD.match(raw, at)
    if found is None:
        detail = f"HL7 begins with MSH, BHS or FHS and its separators, not with {raw[at : at + 24]!r}"
        raise Refused("interchange.malformed", detail)
    field, told = found.groups()
    if told[-1:] == field:
        told = told[:-1]
    every = told.split(field)[0]
    every += USUAL.encoding()[len(every) :]
    return _made(field, every)


@lru_cache(maxsize=256)
def _made(field: bytes, every: bytes) -> Separators:
    component, repetition, escape, subcomponent = (every[place : place + 1] for place in range(4))
    return Separators(field=field, component=component, repetition=repetition, escape=escape, subcomponent=subcomponent)


def fields_of(segment: bytes, marks: Separators, size: int) -> list[bytes]:
    """Return at least the requested number of fields of a segment; in a header, the first field is the separator."""
    fields = segment.split(marks.field)
    if segment[:3] in (b"MSH", b"BHS", b"FHS"):
        fields.insert(1, marks.field)
    return fields + [b""] * (size + 1 - len(fields))


def text_of(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def escape_text(text: str, marks: Separators) -> bytes:
    """Return the text with escape sequences for separators and segment ends."""
    return _escapes(marks)[0].sub(lambda found: _escapes(marks)[1][found.group()], text.encode())


@lru_cache(maxsize=256)
def _escapes(marks: Separators) -> tuple[re.Pattern[bytes], dict[bytes, bytes]]:
    named: dict[bytes, bytes] = {
        getattr(marks, name): marks.escape + _LETTERS[place : place + 1] + marks.escape
        for place, name in enumerate(NAMES)
    }
    named |= {one: marks.escape + b"X%02X" % ord(one) + marks.escape for one in (b"\r", b"\n")}
    return re.compile(b"[" + re.escape(b"".join(named)) + b"]"), named


class SeparatorRewriting:
    """Converts a message from one set of separators to another, without a change of its text."""

    def __init__(self, old: Separators, new: Separators) -> None:
        self._roles: dict[bytes, bytes] = {getattr(old, name): getattr(new, name) for name in NAMES if name != "escape"}
        self._texts: dict[bytes, bytes] = {
            _LETTERS[place : place + 1]: getattr(old, name) for place, name in enumerate(NAMES)
        }
        self._old, self._new = old, new
        self._special = _escapes(new)[1]
        escape = re.escape(old.escape)
        # Escape sequences contain no separators: a lone escape character (C:\temp|…) is text.
        inside = escape + re.escape(b"".join(self._roles))
        either = re.escape(b"".join(self._roles) + old.escape + new.field + new.encoding())
        self._token = re.compile(escape + rb"([^\r\n" + inside + rb"]*)" + escape + rb"|[" + either + rb"]")

    def of(self, body: bytes) -> bytes:
        return self._token.sub(self._one, body)

    def _one(self, found: re.Match[bytes]) -> bytes:
        token, inner = found.group(), found.group(1)
        if inner is None:
            return self._roles.get(token) or self._special.get(token, token)
        if inner in self._texts:
            text = self._texts[inner]
            return self._special.get(text, text)
        # Any other sequence (\.br\, \H\, \X0D\) keeps its name.
        if any(inner[place : place + 1] in self._special for place in range(len(inner))):
            detail = f"the escape sequence {text_of(token)!r} has a separator of the envelope in it"
            raise Refused("interchange.unfit", detail)
        return self._new.escape + inner + self._new.escape
