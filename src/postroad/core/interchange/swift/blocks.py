"""The blocks of a FIN message: {1:…}{2:…}{3:{108:…}}{4:…-}{5:{CHK:…}}.

Rule: only braces and block numbers are parsed, so texts of all types are found, including unknown ones. A text block (4)
ends with a hyphen at the beginning of a line; the text block of a service message (F21) has tags in braces, like all
other blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

NEXT = b"{1:"  # start of a message; texts contain no braces, so the previous message has no end
_BRACES = re.compile(rb"[{}]")
_TEXT_END = re.compile(rb"[\r\n]-\}")
_TAG = re.compile(rb"\{([0-9A-Z]{1,3}):([^{}]*)\}")
_REFERENCE = re.compile(rb"[\r\n]:20:([^\r\n]*)")
_LONGEST_REFERENCE = 64  # shown; a field has 16
_DEEPEST = 8


class Block(NamedTuple):
    name: bytes
    begin: int  # of its content
    end: int  # of its content; what follows begins at ``after``
    after: int


def block_at(data: bytes, at: int, stop: int) -> Block | None:
    """Return the block that begins here; None if it has no end."""
    colon = data.find(b":", at, at + 4)
    if data[at : at + 1] != b"{" or colon <= at + 1:
        return None
    name, begin = data[at + 1 : colon], colon + 1
    if name == b"4" and data[begin : begin + 1] in (b"\r", b"\n"):
        found = _TEXT_END.search(data, begin, stop)
        if found is None or data.find(NEXT, begin, found.start()) >= 0:
            return None
        return Block(name, begin, found.end() - 2, found.end())
    end = _closing(data, begin, stop)
    return Block(name, begin, end, end + 1) if end >= 0 else None


def _closing(data: bytes, at: int, stop: int) -> int:
    depth = 1
    for brace in _BRACES.finditer(data, at, stop):
        depth += 1 if brace.group() == b"{" else -1
        if depth == 0:
            return brace.start()
        if depth > _DEEPEST:
            return -1
    return -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """The values of one message's headers."""

    service: str  # 01 for FIN, 21 for an acknowledgment
    kind: str  # 103, 940 …; "ack" for an acknowledgment alone
    sender: str
    receiver: str
    reference: str  # :20:, or else the message user reference
    facts: dict[str, str]


def read_headers(data: bytes, blocks: list[Block]) -> Headers:
    """Return the headers of a message; for an acknowledgment with a copy of the message, those of the copy."""
    own = blocks
    firsts = [place for place, block in enumerate(blocks) if block.name == b"1"]
    if len(firsts) > 1:
        own = blocks[firsts[-1] :]
    named = {block.name: data[block.begin : block.end] for block in own}
    basic, application = _text(named.get(b"1", b"")), _text(named.get(b"2", b""))
    facts = {"terminal": basic[3:15], "session": basic[15:19], "sequence": basic[19:25]}
    facts |= _user_facts(named.get(b"3", b"")) | _acknowledgement(data, blocks)
    sender, receiver = _parties(basic, application)
    facts |= _application_facts(application)
    kind = application[1:4] if application else ("ack" if "acknowledged" in facts else "")
    reference = _reference(named.get(b"4", b"")) or facts.get("user_reference", "")
    return Headers(service=basic[1:3], kind=kind, sender=sender, receiver=receiver, reference=reference, facts=facts)


def _parties(basic: str, application: str) -> tuple[str, str]:
    """Return sender and receiver. An input message goes from block 1 to block 2, an output message the other way."""
    terminal = basic[3:15]
    if application.startswith("I"):
        return terminal, application[4:16]
    return (application[14:26], terminal) if application.startswith("O") else (terminal, "")


def _application_facts(application: str) -> dict[str, str]:
    if application.startswith("O"):
        return {"direction": "output", "mir": application[8:36]}
    return {"direction": "input"} if application else {}


def _user_facts(block: bytes) -> dict[str, str]:
    names = {b"108": "user_reference", b"121": "uetr", b"119": "validation", b"113": "priority", b"111": "service_type"}
    return {names[tag]: _text(value) for tag, value in _TAG.findall(block) if tag in names}


def _acknowledgement(data: bytes, blocks: list[Block]) -> dict[str, str]:
    """Return the facts of an F21: field 451 is 0 for accepted, 405 is the reason, 177 the time."""
    for first, second in pairwise(blocks):
        if first.name == b"1" and second.name == b"4" and data.startswith(b"F21", first.begin):
            tags = dict(_TAG.findall(data[second.begin : second.end]))
            said = {"acknowledged": "accepted" if tags.get(b"451") == b"0" else "rejected"}
            names = {b"405": "acknowledged_reason", b"177": "acknowledged_at", b"108": "acknowledged_reference"}
            said |= {"acknowledged_sequence": _text(data[first.begin + 15 : first.begin + 25])}
            return said | {names[tag]: _text(value) for tag, value in tags.items() if tag in names}
    return {}


def _reference(text: bytes) -> str:
    found = _REFERENCE.search(text)
    return _text(found.group(1)[:_LONGEST_REFERENCE]).strip() if found else ""


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")
