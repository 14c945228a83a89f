"""Finds the segments that matter for the envelope, without parsing the others.

Rules: one search over the bytes stops at control segments only. A binary segment (BIN, BDS) is as long as it
declares, whatever it contains. Every search goes forward, so that hostile bytes cost no more than honest ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from postroad.core.interchange.x12.delimiters import BLANKS, X12Delimiters, texts_of
from postroad.errors import Refused

BINARY = (b"BIN", b"BDS")
_LENGTH_AT = {b"BIN": 1, b"BDS": 2}  # which element says how long the last one is
_LONGEST_NAMED = 99  # bytes of an element of a control segment, which has at most 35
_LONGEST_LENGTH = 15  # digits, as the standard has it


class Binary(NamedTuple):
    """Bytes of a binary segment in which delimiters mean nothing."""

    begin: int
    end: int  # where its terminator begins


@lru_cache(maxsize=64)
def control_pattern(delimiters: X12Delimiters) -> re.Pattern[bytes]:
    """A terminator, and behind it the tag of a segment that the walk must stop at, and its first three elements."""
    terminator, element, text = re.escape(delimiters.terminator), re.escape(delimiters.element), _text(delimiters)
    tag = b"(S[TE]|G[SE]|BIN|BDS|ISA|IEA)"
    more = b"(?:" + element + text + b"|)"  # quicker than a group with "?"
    return re.compile(terminator + b"[" + _blanks(delimiters) + b"]*+" + tag + element + text + more + more)


@lru_cache(maxsize=64)
def turn_pattern(delimiters: X12Delimiters) -> re.Pattern[bytes]:
    """Where a set ends, and mostly the next begins: SE01, SE02, and ST01, ST02, ST03 if ST follows as segments do here.

    Without any of them: somewhere else the walk must look closer. It stops too often rather than too seldom, because one look
    at the first letter (most segments are left there) costs a third less than a look at each tag."""
    terminator, element, text = re.escape(delimiters.terminator), re.escape(delimiters.element), _text(delimiters)
    blanks, line_end = _blanks(delimiters), re.escape(delimiters.line_end)
    first = b"[" + blanks + b"]*+[SGBI]" if line_end else b"[SGBI" + blanks + b"]"
    trailer = b"E(?<=SE)" + (element + text) * 2 + terminator
    header = line_end + b"ST" + (element + text) * 2 + b"(?:" + element + text + b"|)"
    others = b"(?:[TES]|IN|DS|SA|EA)" + element + b"|(?<=[" + blanks + b"])"
    return re.compile(terminator + first + b"(?:" + trailer + b"(?:" + header + b"|)|" + others + b")")


def _blanks(delimiters: X12Delimiters) -> bytes:
    """Without the terminator among them, a long run of line ends is passed once and not once from each of its places."""
    return re.escape(bytes(byte for byte in BLANKS if byte not in delimiters.terminator))


def _text(delimiters: X12Delimiters) -> bytes:
    """What an element may be, as a group."""
    terminator, element = re.escape(delimiters.terminator), re.escape(delimiters.element)
    if len(delimiters.element + delimiters.terminator) > 2:  # a class knows single bytes only, and a group costs memory
        return b"((?:(?!" + element + b"|" + terminator + b")[\\x00-\\xff]){0,%d})" % _LONGEST_NAMED
    return b"([^" + element + terminator + b"]*+)"


def elements_of(segment: bytes, delimiters: X12Delimiters) -> list[str]:
    return texts_of(segment, delimiters.element)


def binary_at(data: bytes, at: int, delimiters: X12Delimiters) -> Binary:
    """The content of the binary segment that begins here."""
    tag, element = data[at : at + 3], delimiters.element
    edges = [at + 3]
    for _ in range(_LENGTH_AT[tag]):
        edges.append(data.find(element, edges[-1] + 1))
    said = data[edges[-2] + 1 : edges[-1]] if edges[-1] > 0 else b""
    if not said.isdigit() or len(said) > _LONGEST_LENGTH:
        raise Refused("interchange.malformed", f"byte {at}: the length of {tag.decode()} is not a number")
    begin = edges[-1] + 1
    end = begin + int(said)
    if not data.startswith(delimiters.terminator, end):
        raise Refused(
            "interchange.malformed",
            f"byte {at}: {tag.decode()} specifies {int(said)} bytes, but does not end there",
        )
    return Binary(begin, end)


def count_segments(data: bytes, begin: int, end: int, delimiters: X12Delimiters, binaries: Sequence[Binary]) -> int:
    """Counts segments by their terminators; those in binary content do not count."""
    terminator = delimiters.terminator
    count = data.count(terminator, begin, end)
    return count - sum(data.count(terminator, one.begin, one.end) for one in binaries) if binaries else count


def count_filled_segments(
    data: bytes, begin: int, end: int, delimiters: X12Delimiters, binaries: Sequence[Binary]
) -> int:
    """Counts segments that are not empty: two terminators in a row, or a blank line, do not count."""
    kept, at = [], begin
    for one in binaries:
        kept.append(data[at : one.begin])
        at = one.end
    kept.append(data[at:end])
    return sum(1 for segment in b"".join(kept).split(delimiters.terminator) if segment.strip(BLANKS))
