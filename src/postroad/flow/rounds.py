"""Rounds of a copy after the first: whose journey one is, which is the newest, and by what a receiver knows it again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from postroad.core.identity.veil import Veil
from postroad.core.model import ids
from postroad.core.model.delivery import Queued, Resent, is_followed
from postroad.core.model.journal import DeliveryResent, MessagePosted, decode
from postroad.core.model.message import Delivered
from postroad.core.projection.tables import TABLES
from postroad.ports import IndexReader, Journal, Record

READ_BYTES = 256 << 10  # of the journal at a time, for entries that may lie near each other
ROUND = {column: place for place, column in enumerate(TABLES["round"])}


class Traveller(NamedTuple):
    """The message that began a journey, and which of its copies is on it."""

    message: MessagePosted
    copy: int


class Round(NamedTuple):
    """The delivery that a round began with, and its journey; 0 when the delivery is all there is to it."""

    delivery: int
    journey: int


def as_resent(delivered: Delivered, queued: Queued, veil: Veil) -> Resent:
    """A delivery of a later round with the number that its receiver knows the first one by."""
    origin = veil.number(queued.origin) if queued.shown_sender else queued.origin
    return Resent(**{name: getattr(delivered, name) for name in delivered.__struct_fields__}, origin=origin)


async def traveller(journal: Journal, journey: int) -> Traveller | None:
    """Whose journey this is. A later round's is that of the message it is a round of; a response's, that of its request."""
    while True:
        seq, ordinal = ids.delivery_origin(journey)
        batch = await journal.read(seq - 1, 1)
        entry = decode(batch.records[0].facts) if batch.records else None
        if isinstance(entry, MessagePosted):
            return Traveller(entry, ordinal)
        if not isinstance(entry, DeliveryResent):
            return None
        if not entry.answer:
            journey = ids.delivery_number(entry.message, entry.copy)
            continue
        batch = await journal.read(entry.message - 1, 1)
        response = decode(batch.records[0].facts)
        if not isinstance(response, MessagePosted) or response.answers is None:
            return None
        journey = response.answers.journey


async def travellers(journal: Journal, journeys: Collection[int]) -> dict[int, Traveller]:
    """Whose journeys these are, as ``traveller`` finds one; entries that lie near each other are read together."""
    found: dict[int, Traveller] = {}
    records: Sequence[Record] = ()
    for journey in sorted(set(journeys)):
        seq, ordinal = ids.delivery_origin(journey)
        if not records or seq > records[-1].seq:
            records = (await journal.read(seq - 1, READ_BYTES)).records
        entry = decode(records[seq - records[0].seq].facts) if records else None
        if isinstance(entry, MessagePosted):
            found[journey] = Traveller(entry, ordinal)
        elif (one := await traveller(journal, journey)) is not None:
            found[journey] = one
    return found


async def newest_round(index: IndexReader, seq: int, message: MessagePosted, copy: int) -> Round:
    """Where to look for a copy: the index must have caught up before."""
    rows = [row for row in await index.query("message_rounds", seq) if row[ROUND["copy"]] == copy]
    if rows:
        return Round(ids.delivery_number(rows[-1][ROUND["seq"]], 0), rows[-1][ROUND["journey"]])
    first = ids.delivery_number(seq, copy)
    return Round(first, first if is_followed(message, copy) else 0)
