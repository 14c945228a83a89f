"""Other ways to ask what a case asks, so that more of the suite goes through the shared tree.

Most cases carry their values in the query. Here they are put into the message, where they are just as untyped, and the query
finds them by a path. Conditions are asked negated, too.

Rule: the expected answer follows from the case's own. A value changes its place only where nothing but its text counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from tests.interop.qt3_cases import NO_DOCUMENT, Case
from tests.interop.qt3_expected import NO, YES

_STRING = r"""(?:"(?:[^"]|"")*"|'(?:[^']|'')*')"""
_ELEMENT = r"<(?:a|b|e|f)>[^<>{}&]*</(?:a|b|e|f)>"
_OF_A_SEQUENCE = re.compile(rf"\(\s*{_ELEMENT}(?:\s*,\s*{_ELEMENT})*\s*\)|{_ELEMENT}")
_UNTYPED = re.compile(rf"xs:untypedAtomic\(\s*({_STRING})\s*\)")
_TOKENS = re.compile(rf"tokenize\(({_STRING}), ','\)")
_TESTED = re.compile(rf"((?:matches|contains|starts-with|ends-with)\s*\(\s*)({_STRING})(?=\s*,)")
_COMPARED = re.compile(rf"()({_STRING})(?=\s*(?:=|!=|<=?|>=?|eq|ne|lt|le|gt|ge)\s*{_STRING}\s*\Z)")
_TYPE_COUNTS = re.compile(r"\b(?:instance of|castable|cast as|treat as|typeswitch|is|declare)\b|<<|>>")
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|(lt|gt|amp|quot|apos));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_PROLOG = re.compile(r"\s*(?:\(:.*?:\)\s*)*(?:declare|import|xquery|module)\b", re.DOTALL)


def variants(case: Case) -> Iterator[Case]:
    for one in (case, *_with_its_values_in_the_message(case)):
        yield one
        if case.is_condition and not _PROLOG.match(one.query):
            opposite = NO if one.permitted == YES else YES
            yield one.but(suffix=" negated", query=f"not(\n{one.query}\n)", permitted=opposite)


def _with_its_values_in_the_message(case: Case) -> Iterator[Case]:
    if case.document != NO_DOCUMENT or not case.is_condition or _TYPE_COUNTS.search(case.query):
        return
    message = _Message()
    query = _of_texts(case.query, message)
    if case.name.startswith(("prod-GeneralComp", "prod-ValueComp")):
        query = _UNTYPED.sub(lambda found: message.path_to([_value(found[1])]), query)
        query = _OF_A_SEQUENCE.sub(lambda found: message.path_to(re.findall(r">([^<]*)</", found[0])), query)
    if query != case.query:
        yield case.but(suffix=" in the message", query=query, document=message.content, permitted=case.permitted)


def _of_texts(query: str, message: _Message) -> str:
    query = _TOKENS.sub(lambda found: message.path_to(_split(_value(found[1]))), query)
    for text in (_TESTED, _COMPARED):
        query = text.sub(lambda found: found[1] + message.path_to([_value(found[2])]), query, count=1)
    return query


def _split(text: str) -> list[str]:
    return text.split(",") if text else []


def _value(literal: str) -> str:
    quote = literal[0]
    return _REFERENCE.sub(_character, literal[1:-1].replace(quote * 2, quote))


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    return _ENTITIES[name] if name else chr(int(hexadecimal, 16) if hexadecimal else int(decimal))


class _Message:
    def __init__(self) -> None:
        self._parts: list[str] = []

    def path_to(self, values: Sequence[str]) -> str:
        """Puts them in, and says where they stand."""
        name = f"part{len(self._parts) + 1}"
        inside = "".join(f"<value>{escape(value, {chr(13): '&#13;'})}</value>" for value in values)
        self._parts.append(f"<{name}>{inside}</{name}>")
        return f"/message/{name}/value"

    @property
    def content(self) -> bytes:
        return f"<message>{''.join(self._parts)}</message>".encode()
