"""Segments: finds their ends, parses and writes them.

Rule: a delimiter counts only after the release characters in front of it have been checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from postroad.core.interchange.edifact.delimiters import BLANKS, EdifactDelimiters

Components = Sequence[str]


@lru_cache(maxsize=256)
def control_pattern(marks: EdifactDelimiters) -> re.Pattern[bytes]:
    """Return the pattern of a control segment after a terminator: its tag, and its first two elements if not escaped."""
    special = b"".join(
        re.escape(one) for one in (marks.component, marks.element, marks.release, marks.terminator) if one
    )
    element = re.escape(marks.element) + b"([^" + special + b"]*)"
    # Without the terminator among the blanks, a long run of line ends is passed once and not once from each of its places.
    blanks = re.escape(bytes(byte for byte in BLANKS if byte not in marks.terminator))
    tag = b"[" + blanks + b"]*+(UN[BGHTEZOP])"
    return re.compile(
        re.escape(marks.terminator) + tag + b"(?:" + element + b"(?:" + element + b")?)?(?=[" + special + b"])"
    )


@lru_cache(maxsize=256)
def compile_released_pattern(marks: EdifactDelimiters) -> re.Pattern[bytes]:
    return re.compile(re.escape(marks.release) + rb"([\s\S])")


def is_released(data: bytes, at: int, marks: EdifactDelimiters) -> bool:
    """Return True if an odd number of release characters precedes this position."""
    if not marks.release or data[at - 1 : at] != marks.release:
        return False
    begin, release = at, marks.release[0]
    while begin > 0 and data[begin - 1] == release:
        begin -= 1
    return (at - begin) % 2 == 1


def find_control(data: bytes, at: int, marks: EdifactDelimiters) -> re.Match[bytes] | None:
    search = control_pattern(marks).search
    found = search(data, at)
    while found is not None and is_released(data, found.start(), marks):
        found = search(data, found.start() + 1)
    return found


def find_terminator(data: bytes, at: int, marks: EdifactDelimiters) -> int:
    """Return the end of the segment at this position; -1 if it is not terminated."""
    end = data.find(marks.terminator, at)
    while end >= 0 and is_released(data, end, marks):
        end = data.find(marks.terminator, end + 1)
    return end


def count_segments(data: bytes, begin: int, end: int, marks: EdifactDelimiters) -> int:
    """Return the number of non-empty segments."""
    part = data[begin:end]
    if marks.release and marks.release + marks.terminator in part:
        part = compile_released_pattern(marks).sub(b"", part)
    return sum(1 for one in part.split(marks.terminator) if one.strip(BLANKS))


def parts_of(raw: bytes, separator: bytes, release: bytes) -> list[bytes]:
    """Split at each separator that is not escaped; escaped ones keep their release characters."""
    parts = raw.split(separator)
    if not release or release not in raw:
        return parts
    whole = [parts[0]]
    for part in parts[1:]:
        last = whole[-1]
        if (len(last) - len(last.rstrip(release))) % 2:
            whole[-1] = last + separator + part
        else:
            whole.append(part)
    return whole


def elements_of(raw: bytes, marks: EdifactDelimiters, charset: str = "utf-8") -> list[list[str]]:
    """Return the components of every element, as text; the tag is the first element."""
    return [
        [text_of(unrelease_text(one, marks), charset) for one in parts_of(element, marks.component, marks.release)]
        for element in parts_of(raw, marks.element, marks.release)
    ]


def unrelease_text(raw: bytes, marks: EdifactDelimiters) -> bytes:
    if not marks.release or marks.release not in raw:
        return raw
    return compile_released_pattern(marks).sub(rb"\1", raw)


def text_of(raw: bytes, charset: str = "utf-8") -> str:
    """Decode the bytes; text that is not in the charset is decoded as Latin-1 instead of being refused."""
    try:
        return raw.decode(charset)
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def release_text(raw: bytes, marks: EdifactDelimiters) -> bytes:
    """Return the text with a release character before each delimiter."""
    if not any(one in raw for one in marks.special()):
        return raw
    return re.sub(b"([" + re.escape(marks.special()) + b"])", lambda found: marks.release + found.group(), raw)


def write_segment(marks: EdifactDelimiters, tag: str, *elements: Components | str, charset: str = "utf-8") -> bytes:
    """Write a segment without trailing empty components and elements."""
    written = [tag.encode(), *(_element(one, marks, charset) for one in elements)]
    while not written[-1]:
        written.pop()
    return marks.element.join(written) + marks.terminator + marks.line_end


def _element(components: Components | str, marks: EdifactDelimiters, charset: str) -> bytes:
    texts = [components] if isinstance(components, str) else list(components)
    while texts and not texts[-1]:
        texts.pop()
    return marks.component.join(release_text(one.encode(charset, "replace"), marks) for one in texts)


def find_component(element: Sequence[Components], place: int, inner: int = 0) -> str:
    """Return one component of a segment; empty if it is missing."""
    if place >= len(element) or inner >= len(element[place]):
        return ""
    return element[place][inner]
