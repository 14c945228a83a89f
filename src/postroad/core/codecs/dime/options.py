r"""MIME headers of a part in the options of its DIME record.

    options    elements, one behind the other: type (16 bits), length (16 bits), value
    type 5052  header lines of the part, ``Name: value`` each, in UTF-8, ended by LF; filled up with LF to a multiple of 4

DIME defines no element types. Rule: only this one is read and written; values with anything but header lines, and headers
that do not fit, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postroad.core.codecs.buffers import Buffer

HEADERS = 0x5052
MAX_OPTION_BYTES = 60_000  # of header lines; all options of a record have less than 65,536
_ELEMENT_BYTES = 4
_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\r\n]*)")

Lines = tuple[tuple[str, str], ...]


def write_headers(headers: Lines) -> bytes:
    """Return the options with these headers; empty if there are none or they are too long."""
    text = "".join(f"{name}: {value}\n" for name, value in headers).encode()
    if not text or len(text) > MAX_OPTION_BYTES:
        return b""
    text += b"\n" * (-len(text) % 4)
    return HEADERS.to_bytes(2, "big") + len(text).to_bytes(2, "big") + text


def fits(headers: Lines) -> bool:
    """Return True if a record has room for these headers."""
    return not headers or bool(write_headers(headers))


def read_headers_in(options: Buffer) -> Lines:
    """Return the headers in options."""
    for kind, value in elements(bytes(options)):
        if kind == HEADERS:
            try:
                lines = [_LINE.fullmatch(line) for line in value.decode().split("\n") if line]
            except UnicodeDecodeError:
                return ()
            return tuple([(line[1], line[2]) for line in lines if line]) if all(lines) else ()
    return ()


def only_headers(options: Buffer) -> bool:
    """Return True if the options contain only headers."""
    return bool(read_headers_in(options)) and len(list(elements(bytes(options)))) == 1


def elements(options: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the elements of options, up to the first truncated one."""
    at = 0
    while at + _ELEMENT_BYTES <= len(options):
        length = int.from_bytes(options[at + 2 : at + 4], "big")
        end = at + _ELEMENT_BYTES + length
        if end > len(options):
            return
        yield int.from_bytes(options[at : at + 2], "big"), options[at + _ELEMENT_BYTES : end]
        at = end
