"""A journal of known traffic, written as the flow writes it: configuration, posts with their bodies and explanations, returns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.core.admission.admit import admit
from postroad.core.model.journal import (
    ConfigurationChanged,
    Entry,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
    ObjectChange,
    encode,
)
from postroad.core.model.message import Message, MessageType
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.itinerary import itineraries
from postroad.errors import Refused
from postroad.flow.stages.posting import describe_parts, encode_body
from postroad.ports import NewRecord
from postroad.warehouse.bulk.routing import safest_caller

OCTOBER_US = 1_790_812_800_000_000  # 2026-10-01
DAY_US = 86_400_000_000
SMALL = SegmentSettings(segment_bytes=1 << 20, least_free_bytes=0)


class WrittenJournal:
    """Entries gathered one after the other, then written as one journal; entry numbers are known at once."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.entries: list[tuple[Entry, bytes | None]] = []
        self.configure(directory, *directory.versions)

    def configure(self, directory: Directory, *keys: tuple[str, str]) -> int:
        """These objects are saved as the directory has them."""
        objects = tuple(
            ObjectChange(
                kind, key, directory.object_version(kind, key), msgspec.to_builtins(directory.object(kind, key))
            )
            for kind, key in keys
        )
        return self.add(ConfigurationChanged(OCTOBER_US, "network", "", objects))

    def add(self, entry: Entry, body: bytes | None = None) -> int:
        self.entries.append((entry, body))
        return len(self.entries)

    def post(self, message: Message, at_us: int = OCTOBER_US, form: str = "json", size: int = 1500) -> int:
        """What the accept stage writes down of a post."""
        sender = self.directory.service(message.sender)
        assert sender is not None
        session = f"session-{len(self.entries) + 1}"
        try:
            admitted = admit(message, safest_caller(sender), self.directory, at_us)
            copies, tried = itineraries(admitted, self.directory, form)
        except Refused as refusal:
            return self.add(MessageRefused(at_us, session, sender.gcid, refusal.code, refusal.detail, size, form))
        explanation = pack_tried(tried) if tried else b""
        posted = MessagePosted(
            at_us, session, session, sender.gcid, message.type, message.topic, size, form, admitted.expires_at_us, 1,
            describe_parts(message.parts), copies, message.handle, message.possible_duplicate, message.properties,
            message.status, explained=len(explanation), routing=message.routing,
        )  # fmt: skip
        return self.add(posted, encode_body(message.parts, explanation))

    def respond(self, request: int, size: int = 700) -> int:
        """The recipient of the request's first copy answers."""
        posted = self.posted(request)
        answering = posted.copies[0].hops[-1].service
        copy = Copy(
            "requester", (msgspec.structs.replace(posted.copies[0].hops[0], service=posted.sender, context=None),)
        )
        return self.add(
            MessagePosted(
                posted.at_us + 1,
                f"answer-{request}",
                posted.transaction,
                answering,
                MessageType.RESPONSE,
                "",
                size,
                "json",
                0,
                1,
                (),
                (copy,),
            )
        )

    def pass_on(self, request: int, copy: int = 0, size: int = 2500) -> None:
        """Every in-transit service of a copy returns."""
        posted = self.posted(request)
        hops = posted.copies[copy].hops
        for place, hop in enumerate(hops[:-1]):
            self.add(
                InvocationReturned(
                    posted.at_us + 10 + place,
                    1,
                    f"return-{request}",
                    posted.transaction,
                    hop.service,
                    request,
                    copy,
                    place + 1,
                    hops[place + 1].service,
                    size,
                    0,
                    (),
                )
            )

    def posted(self, seq: int) -> MessagePosted:
        entry = self.entries[seq - 1][0]
        assert isinstance(entry, MessagePosted)
        return entry

    def write(self, data: Path) -> Path:
        """The journal in a data folder; returns where its files lie."""
        folder = data / "journal"
        asyncio.run(self._write(folder))
        return folder

    async def _write(self, folder: Path) -> None:
        journal = SegmentJournal.open(folder, SMALL)
        records = [NewRecord(encode(entry), body) for entry, body in self.entries]
        for start in range(0, len(records), 50):
            await journal.append(records[start : start + 50])
        await journal.close()

    def drop_bodies(self) -> None:
        """As retention would leave the entries: described, without their bytes."""
        self.entries = [(entry, None) for entry, _ in self.entries]


def numbered(entries: list[tuple[Entry, Any]]) -> list[tuple[int, Entry]]:
    return [(seq, entry) for seq, (entry, _) in enumerate(entries, 1)]
