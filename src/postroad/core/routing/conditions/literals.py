"""The literals of a condition: values, element content and patterns, parsed when the rule is compiled.

Patterns use RE2: matching takes time linear in the text, whatever the pattern is. Compiling takes time linear in the
size of the program, which a few repetition counts can make large; so a pattern is compiled with little memory first,
and RE2 stops as soon as the program does not fit. Unicode properties write hundreds of ranges before that, so they
are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import escape
from typing import Any

import re2  # type: ignore[import-untyped]  # has no types

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.xml import parse
from postroad.core.model.rule import ValueLocation, ValueType
from postroad.core.routing.conditions.canonical_content import json_content, xml_content
from postroad.core.routing.conditions.json_reader import read_json
from postroad.core.routing.conditions.values import READERS, Comparable
from postroad.errors import Refused

VALUE_CHARS = 4_096
CONTENT_CHARS = 10_000
PATTERN_CHARS = 1_000
PATTERN_SIZE = 2_000  # of the compiled pattern; larger ones do not run in RE2's fast engine
PATTERN_MEMORY = 1 << 19  # bytes; allows 5,461 RE2 instructions, more than PATTERN_SIZE needs, in about 4 ms
PATTERN_PROPERTIES = 16  # each takes up to 0.2 ms to read
_WRITTEN = {
    ValueType.NUMBER: "a number such as -12.50",
    ValueType.DATE: "a date such as 2026-11-15 or 2026-11-15T10:00:00Z",
}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LIMITS = WireLimits(body_bytes=1 << 20, xml_depth=64)

Search = Callable[[str], Any]


def literal_of(text: str, kind: ValueType) -> Comparable:
    """Return the value of a literal; raises Refused if the text is not of this type."""
    if len(text) > VALUE_CHARS:
        raise Refused("rule.invalid", f"the value has {len(text)} characters; at most {VALUE_CHARS} are allowed")
    value = READERS[kind](text)
    if value is None:
        raise Refused("rule.invalid", f"{text[:40]!r} is not {_WRITTEN[kind]}")
    return value


def content_of(content: str, place: ValueLocation) -> str:
    """Return the canonical form of element content, as XML or JSON depending on the location."""
    if len(content) > CONTENT_CHARS:
        raise Refused("rule.invalid", f"the content has {len(content)} characters; at most {CONTENT_CHARS} are allowed")
    if place.path.startswith("/"):
        return _xml_content(content, place)
    if place.path.startswith("$"):
        return _json_content(content)
    raise Refused("rule.invalid", "header fields have no element content; compare with a value")


def _xml_content(content: str, place: ValueLocation) -> str:
    declared = "".join(f' xmlns:{prefix}="{escape(uri)}"' for prefix, uri in place.namespaces if prefix != "xml")
    try:
        element = parse(f"<content{declared}>{content}</content>".encode(), _LIMITS)
    except (Refused, UnicodeEncodeError) as fault:
        detail = fault.detail if isinstance(fault, Refused) else "it has invalid characters"
        raise Refused("rule.invalid", f"the content cannot be read: {detail}") from None
    if len(element) == 0:
        raise Refused("rule.invalid", "the content has no elements; compare character data with a value")
    return xml_content(element, 10 * CONTENT_CHARS)


def _json_content(content: str) -> str:
    try:
        value: object = read_json(content.encode())
    except (Refused, UnicodeEncodeError) as fault:
        detail = fault.detail if isinstance(fault, Refused) else "it has invalid characters"
        raise Refused("rule.invalid", f"the content cannot be read: {detail}") from None
    if not isinstance(value, (dict, list)):
        raise Refused("rule.invalid", "the content is neither an object nor an array; compare it with a value")
    return json_content(value, 10 * CONTENT_CHARS)


@lru_cache(maxsize=10_000)
def pattern_of(pattern: str) -> Search:
    """Return a function that searches a text for the pattern; raises Refused if RE2 does not accept the pattern."""
    if len(pattern) > PATTERN_CHARS:
        raise Refused("rule.invalid", f"the pattern has {len(pattern)} characters; at most {PATTERN_CHARS} are allowed")
    properties = sum(1 for escaped in _ESCAPED.finditer(pattern) if escaped[1] in "pP")
    if properties > PATTERN_PROPERTIES:
        raise Refused(
            "rule.invalid",
            f"the pattern has {properties} Unicode properties such as \\p{{L}}; at most {PATTERN_PROPERTIES} are allowed",
        )
    try:
        size = re2.compile(pattern, _options(PATTERN_MEMORY)).programsize
    except (re2.error, UnicodeEncodeError) as fault:
        if _OUT_OF_MEMORY in _plainly(fault):
            raise _too_large() from None
        raise Refused("rule.invalid", f"the pattern is not a regular expression of RE2: {_plainly(fault)}") from None
    if size > PATTERN_SIZE:
        raise _too_large()
    search: Search = re2.compile(pattern, _options()).search  # with the default memory, which the fast engine uses
    return search


def _options(memory: int = 0) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    if memory:
        options.max_mem = memory
    return options


_OUT_OF_MEMORY = "pattern too large"  # RE2's error text


def _too_large() -> Refused:
    return Refused("rule.invalid", "the pattern is too large when written out; use smaller counts of repetition")


def _plainly(fault: Exception) -> str:
    said = fault.args[0] if fault.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(fault)
