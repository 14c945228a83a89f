"""The contents of a message at each stop, and the differences to the stop before, as text.

Rules: a page shows only what the person may see, read through ``flow.administration.messages.contents``, which records the
access. Text is shown as text, cut to the length of a page; of everything else the size is shown. Texts are compared off the
event loop and only for a moment, since their authors determine how hard the comparison is.
"""

from __future__ import annotations

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

import msgspec

from postroad.core.model.caller import Caller
from postroad.core.model.history import MessageHistory, Stop
from postroad.core.model.message import Part
from postroad.errors import Refused
from postroad.flow.administration.messages import contents
from postroad.flow.network import Network

SHOWN_CHARS = 40_000
READ_BYTES = 4 * SHOWN_CHARS + 4  # more than what is shown, however it is written
COMPARED_LINES = 2_000
MAX_STOPS = 20
MAX_PARTS = 50  # shown of one stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    id: str
    content_type: str
    size: int
    text: str  # empty: it is no text
    is_cut: bool
    diff: tuple[tuple[str, str], ...]  # what changed: kind of the line, and the line
    is_same: bool  # as at the stop before, to the last character
    is_respaced: bool  # as at the stop before but for white space


@dataclass(frozen=True, slots=True, kw_only=True)
class StopContents:
    """A stop of the message, with the contents delivered there."""

    where: str
    delivery: int
    parts: tuple[ShownPart, ...] = ()
    more: int = 0  # parts that are not shown
    fault: str = ""


async def load_stop_contents(
    network: Network, caller: Caller, session: str, message: MessageHistory
) -> list[StopContents]:
    looked: list[StopContents] = []
    for copy in message.copies:
        before: dict[str, str] = {}  # each copy is compared with itself
        for stop in copy.stops[: MAX_STOPS - len(looked)]:
            found = await _at(network, caller, session, stop, before)
            if found is not None:
                looked.append(found)
                before = {part.id: part.text for part in found.parts}
    return looked


async def _at(
    network: Network, caller: Caller, session: str, stop: Stop, before: dict[str, str]
) -> StopContents | None:
    delivery = stop.delivery
    try:
        read = await contents.read_parts_at_stop(network, caller, session, delivery)
    except Refused as refusal:
        return (
            None
            if refusal.code == "not-found"
            else StopContents(where=stop.service, delivery=delivery, fault=refusal.detail)
        )
    parts = await asyncio.to_thread(_all_shown, read[:MAX_PARTS], before)
    return StopContents(where=stop.service, delivery=delivery, parts=parts, more=len(read) - len(parts))


def _all_shown(read: list[Part], before: dict[str, str]) -> tuple[ShownPart, ...]:
    return tuple([_shown(part, before.get(part.id)) for part in read])


def _shown(part: Part, before: str | None) -> ShownPart:
    text = _as_text(part.data)
    diff = tuple(_changes(before, text)) if before is not None and text and before != text else ()
    return ShownPart(
        id=part.id,
        content_type=part.content_type,
        size=len(part.data),
        text=text[:SHOWN_CHARS],
        is_cut=len(text) > SHOWN_CHARS or len(part.data) > READ_BYTES,
        diff=diff,
        is_same=bool(text) and len(text) <= SHOWN_CHARS and text == before,
        is_respaced=not diff and bool(before) and bool(text) and before != text and len(text) <= SHOWN_CHARS,
    )


def _as_text(data: bytes) -> str:
    """Return as much text as a page can show; empty for binary data."""
    try:
        text = getincrementaldecoder("utf-8")().decode(data[:READ_BYTES], final=len(data) <= READ_BYTES)
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else text


def _changes(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield removed and added lines. JSON is compared with equal spacing; XML on one line is split by element."""
    old, new = (_lines(text) for text in (_spaced_alike(before), _spaced_alike(after)))
    for line in list(unified_diff(old, new, n=2, lineterm=""))[2:]:
        kind = {"+": "came", "-": "went", "@": "place"}.get(line[:1], "same")
        yield kind, line[1:] if kind != "place" else "…"


def _spaced_alike(text: str) -> str:
    """JSON with one member on each line; any other text, and JSON that was cut, as it is."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        return text


def _lines(text: str) -> list[str]:
    text = text[:SHOWN_CHARS]
    broken = text if text.count("\n") > 2 else text.replace("><", ">\n<").replace(',"', ',\n"')
    return broken.splitlines()[:COMPARED_LINES]
