"""The layout of a flat file, read from its options.

form             delimited or positional (delimited)
charset          charset of the file, including EBCDIC: cp037, cp273, cp500, cp1047, cp1140 … (utf-8)
member_charset   charset of the members, if it differs (charset of the file)
record_end       crlf, lf, cr, nel (EBCDIC's new line), or none for records of fixed length (lf; nel in EBCDIC)
record_length    bytes of a record in positional files
separator, quote characters of delimited files (, and ")
member_start     prefix of the first record of each member; without it, each record is a member
header, trailer  templates of the records around the members (none)
total            values that the hash total sums: a column number, or first-last byte of a record, from 1
total_records    prefix of the records that are summed (all)

Templates are used for writing and reading::

    HDR{sender:15}{receiver:15}{date}{number:6}        TRL,{records},{total}

A name in braces is a value. A number after a colon is its width in bytes: digits are padded with zeros on the left, text
with blanks on the right. The text before the first brace identifies the record. Rule: a value that is too long is
refused, never cut, except for the hash total, which keeps its last digits, as usual.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from postroad.core.interchange.assembly_errors import unfit_value
from postroad.core.interchange.flat.charsets import EBCDIC, charset_of, encode_text

NUMBERS = frozenset(("number", "records", "all", "members", "total"))
NAMES = NUMBERS | {"sender", "receiver", "date", "time"}
_FIELD = re.compile(r"\{([a-z]+)(?::([0-9]{1,4}))?\}")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    width: int  # 0: variable


class Template:
    """The template of one header or trailer record."""

    def __init__(self, what: str, text: str, codec: str) -> None:
        self._what, self._codec = what, codec
        self._parts: list[bytes | _Field] = []
        at = 0
        for found in _FIELD.finditer(text):
            self._parts += [self._raw(text[at : found.start()]), _Field(found.group(1), int(found.group(2) or 0))]
            at = found.end()
        self._parts.append(self._raw(text[at:]))
        self._check(text)
        self.tag = self._parts[0] if isinstance(self._parts[0], bytes) else b""
        following = [*self._parts[1:], None]
        self._reader = re.compile(b"".join(map(_pattern, self._parts, following)), re.DOTALL)

    def _check(self, text: str) -> None:
        names = [part.name for part in self._parts if isinstance(part, _Field)]
        if unknown := sorted(set(names) - NAMES):
            raise unfit_value(self._what, f"{unknown[0]!r} is not a value; the values are {', '.join(sorted(NAMES))}")
        if len(set(names)) < len(names) or not text or text.startswith("{"):
            raise unfit_value(self._what, "it must begin with an identifying text, and have each value once")
        for field, behind in pairwise(self._parts[:-1]):
            if isinstance(field, _Field) and not field.width and not behind:
                raise unfit_value(self._what, f"{field.name!r} needs a width, or text between it and the next value")

    def write(self, values: Mapping[str, str]) -> bytes:
        return b"".join(
            part if isinstance(part, bytes) else self._written(part, values[part.name]) for part in self._parts
        )

    def _written(self, field: _Field, value: str) -> bytes:
        if field.name == "total" and field.width and len(value) > field.width:
            value = value[-field.width :]
        raw = self._raw(value.zfill(field.width) if field.name in NUMBERS else value)
        if field.width and len(raw) > field.width:
            raise unfit_value(
                field.name, f"{value!r} is longer than the {field.width} bytes that the {self._what} allows"
            )
        return raw + self._raw(" ") * (field.width - len(raw))

    def read(self, record: bytes) -> dict[str, bytes] | None:
        """Return the fields of a record by name; None if it does not match the template."""
        found = self._reader.fullmatch(record)
        return found.groupdict() if found else None

    def width_of(self, name: str) -> int:
        return next((part.width for part in self._parts if isinstance(part, _Field) and part.name == name), 0)

    def _raw(self, text: str) -> bytes:
        try:
            return encode_text(text, self._codec)
        except UnicodeError:
            raise unfit_value(self._what, f"{text!r} cannot be encoded in {self._codec}") from None


def _pattern(part: bytes | _Field, following: bytes | _Field | None) -> bytes:
    """Return the pattern; a value without a width ends at the first byte of the following text, so matching is unambiguous."""
    if isinstance(part, bytes):
        return re.escape(part)
    end = following[:1] if isinstance(following, bytes) else b""
    anything = b"[^%b]*+" % re.escape(end) if end else b".*+"
    return b"(?P<%b>%b)" % (part.name.encode(), b".{%d}" % part.width if part.width else anything)


_ENDS = {"crlf": "\r\n", "lf": "\n", "cr": "\r", "none": ""}
_POSITIONS = re.compile(r"([1-9][0-9]{0,5})-([1-9][0-9]{0,5})")
_MAX_LENGTH = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatLayout:
    charset: str
    member_charset: str
    member_end: str | None  # record end within members; none: that of the file
    record_end: bytes  # empty: records of fixed length
    record_length: int  # 0: any
    separator: bytes
    quote: bytes  # empty: no quoting
    member_start: bytes
    header: Template | None
    trailer: Template | None
    column: int  # summed by the hash total, from 1; 0: none
    positions: tuple[int, int] | None  # summed bytes in positional files
    total_records: bytes

    @property
    def has_total(self) -> bool:
        return self.column > 0 or self.positions is not None

    @property
    def converts(self) -> bool:
        """Return True if members are converted when they are written to the file."""
        return self.charset != self.member_charset or self.member_end is not None


def layout_of(options: Mapping[str, str]) -> FlatLayout:
    """Return the layout that the options describe; refuses invalid options by name."""
    form = options.get("form", "delimited")
    if form not in ("delimited", "positional"):
        raise unfit_value("form", f"{form!r} is neither delimited nor positional")
    codec = charset_of(options.get("charset", "utf-8"))
    delimited = form == "delimited"
    _check_marks(options)
    column, positions = _total(options.get("total", ""), delimited)
    member_codec = charset_of(options["member_charset"]) if options.get("member_charset") else codec
    return FlatLayout(
        charset=codec,
        member_charset=member_codec,
        member_end=_member_end(options, differs=member_codec != codec),
        record_end=_record_end(options, codec, delimited),
        record_length=_length(options, delimited),
        separator=_mark("separator", options.get("separator", ","), codec) if delimited else b"",
        quote=_mark("quote", options.get("quote", '"'), codec) if delimited and options.get("quote", '"') else b"",
        member_start=_encode_option("member_start", options, codec),
        header=_template("header", options, codec),
        trailer=_template("trailer", options, codec),
        column=column,
        positions=positions,
        total_records=_encode_option("total_records", options, codec),
    )


def _record_end(options: Mapping[str, str], codec: str, delimited: bool) -> bytes:
    name = options.get("record_end", "nel" if codec in EBCDIC else "lf")
    if name == "nel":
        return b"\x15" if codec in EBCDIC else encode_text("\x85", codec) if codec == "latin-1" else _no_nel(codec)
    if name not in _ENDS:
        raise unfit_value("record_end", f"{name!r} is not one of {', '.join(_ENDS)}, nel")
    if name == "none" and (delimited or not options.get("record_length")):
        raise unfit_value("record_end", "only positional records with a record_length need no end")
    # EBCDIC has a line feed (0x25) that differs from the new line (0x15) used in text.
    return _ENDS[name].replace("\n", "\x25").encode("latin-1") if codec in EBCDIC else _ENDS[name].encode()


def _member_end(options: Mapping[str, str], *, differs: bool) -> str | None:
    name = options.get("member_end") or ("lf" if differs else "")
    if name and name not in ("crlf", "lf", "cr"):
        raise unfit_value("member_end", f"{name!r} is not one of crlf, lf, cr")
    return _ENDS[name] if name and options.get("record_end") != "none" else None


def _no_nel(codec: str) -> bytes:
    raise unfit_value("record_end", f"{codec} has no new line; use crlf, lf or cr")


def _length(options: Mapping[str, str], delimited: bool) -> int:
    text = options.get("record_length", "")
    if not text:
        return 0
    if delimited or not text.isdecimal() or not 0 < int(text) <= _MAX_LENGTH:
        raise unfit_value("record_length", f"{text!r} is not a length of a positional record")
    return int(text)


def _total(text: str, delimited: bool) -> tuple[int, tuple[int, int] | None]:
    if not text:
        return 0, None
    found = _POSITIONS.fullmatch(text)
    if delimited and text.isdecimal() and 0 < int(text) <= _MAX_LENGTH:
        return int(text), None
    if not delimited and found and int(found[1]) <= int(found[2]):
        return 0, (int(found[1]) - 1, int(found[2]))
    raise unfit_value("total", f"{text!r} is not a {'column' if delimited else 'first-last byte'} of 1 or more")


def _mark(name: str, text: str, codec: str) -> bytes:
    raw = _encoded(name, {"tab": "\t"}.get(text, text), codec)
    if len(raw) != 1 or text.isalnum() or text in "\r\n":
        raise unfit_value(name, f"{text!r} must be one character that is not a letter or digit")
    return raw


def _check_marks(options: Mapping[str, str]) -> None:
    if options.get("separator", ",") == options.get("quote", '"'):
        raise unfit_value("separator", "it is the same as the quote")


def _encode_option(name: str, options: Mapping[str, str], codec: str) -> bytes:
    return _encoded(name, options.get(name, ""), codec)


def _template(name: str, options: Mapping[str, str], codec: str) -> Template | None:
    return Template(name, options[name], codec) if options.get(name) else None


def _encoded(name: str, text: str, codec: str) -> bytes:
    try:
        return encode_text(text, codec)
    except UnicodeError:
        raise unfit_value(name, f"{text!r} cannot be encoded in {codec}") from None
