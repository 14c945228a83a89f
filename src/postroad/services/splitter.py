"""Splitter: an interchange that a partner sends is taken apart, and each of its documents goes on by itself.

Every part of the message is an interchange, or several. Documents go to the service that the splitter's owner has named, and
rules or an exchange take them from there. The partner is told what became of its interchange (997, CONTRL, ACK), where that was
agreed on; what the partner says of ours is written down at the batch that it is about, and goes nowhere. Kept rules: of a message
all is taken or nothing, and what is not taken is a dead letter of the splitter; the partner is told that something was taken only
when that is durable.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.admission.permission import permitted
from postroad.core.interchange.catalogue import Catalogue
from postroad.core.interchange.opening import Opened, opened
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.message import Delivered, MessageType, Part, Property, PropertyType, Status
from postroad.errors import Refused
from postroad.flow.forward import Onward
from postroad.services.interchange_answers import Answering, Reply
from postroad.services.off_loop import off_loop
from postroad.services.service import Returned, Tools
from postroad.services.split_documents import Document, Documents

DOCUMENTS, UNACKNOWLEDGED = "splitter.documents", "splitter.unacknowledged"
UNTOLD_CHARS = 500
ALL_TAKEN = (
    "its documents were taken and sent on, and resending this letter does not send them again; correct the splitter's facts, or "
    "remove answersTo, and resend it"
)

log = logging.getLogger(__name__)

Parts = Sequence[tuple[Part, Opened]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(Returned):
    """What was taken apart, until everything that it became is durable."""

    message: Delivered
    opened: tuple[Opened, ...]
    documents: tuple[Document, ...]


class SplitterService:
    async def work(self, message: Delivered, tools: Tools) -> Returned:
        agreed = _agreed(tools)
        receiver = permitted(tools.service, agreed.sends_to, tools.directory)
        answering = Answering(
            message, agreed, tools
        )  # looks whether the partner could be told, before anything is taken
        size = sum(len(part.data) for part in message.parts)
        parts = await off_loop(size, _opened, message, agreed, tools.standards)
        every = [one for _, one in parts]
        for one in every:
            if one.refusal is not None:
                untold = await answering.give([Reply(opened=one, taken=False) for one in every])
                raise _and_untold(one.refusal, untold)
        documents = Documents(message, tools.service.gcid, receiver.gcid, answering.agreed)
        found = await off_loop(size, documents.of, parts)
        found = await _told_apart(message, found, every, answering, tools)
        forwards = tuple([one.forward for one in found])
        return Taken(message=message, opened=tuple(every), documents=tuple(found), forwards=forwards)

    async def forwarded(self, returned: Returned, onward: Onward, tools: Tools) -> Returned:
        """All documents are on their way: now what the partner says is heard, and the partner is told."""
        if not isinstance(returned, Taken):
            raise TypeError("only what was taken apart goes on")
        answering = Answering(returned.message, _agreed(tools), tools)
        await answering.hear(returned.opened)
        rejected = _rejected(returned.documents, onward)
        untold = await answering.give([Reply(opened=one) for one in returned.opened], rejected)
        log.info(
            "%s took %d documents out of session %s", tools.service.address, onward.copies, returned.message.session
        )
        counted = Property(DOCUMENTS, str(onward.copies), PropertyType.NUMBER)
        if not untold:
            return Returned(parts=(), properties=(counted,))
        if returned.message.type is MessageType.REQUEST:
            return Returned(parts=(), properties=(counted, Property(UNACKNOWLEDGED, untold[:UNTOLD_CHARS])))
        return Returned(status=Status("interchange.unfit", f"{untold[:UNTOLD_CHARS]}; {ALL_TAKEN}"))


def _agreed(tools: Tools) -> Splitting:
    if tools.service.splitting is None:
        raise Refused("configuration.conflict", f"{tools.service.address} has no section splitting; its owner adds one")
    return tools.service.splitting


def _opened(message: Delivered, agreed: Splitting, standards: Catalogue) -> list[tuple[Part, Opened]]:
    if not message.parts:
        raise Refused("interchange.malformed", "The message has no documents, so there is no interchange in it")
    return [(part, opened(part.data, agreed, standards)) for part in message.parts]


async def _told_apart(
    message: Delivered,
    found: list[Document],
    every: Sequence[Opened],
    answering: Answering,
    tools: Tools,
) -> list[Document]:
    """The documents, if none of the interchanges came before; or those of such ones too, marked, where that was agreed on."""
    repeated = await _repeated(message, [one for one in found if one.forward.once], tools)
    if not repeated:
        return found
    if answering.agreed.duplicates_pass:
        return [one.marked() if one.interchange in repeated else one for one in found]
    untold = await answering.give([Reply(opened=one, taken=False) for one in every], repeated=repeated)
    refusal = Refused(
        "interchange.duplicate",
        f"{answering.named(every, repeated)} came before from the same partner; drop it, or let the splitter's facts say "
        "duplicates: pass and resend it",
    )
    raise _and_untold(refusal, untold)


def _and_untold(refusal: Refused, untold: str) -> Refused:
    """A refusal of which the partner cannot be told."""
    return Refused(refusal.code, f"{refusal.detail}; {untold[:UNTOLD_CHARS]}") if untold else refusal


async def _repeated(message: Delivered, first_ones: Sequence[Document], tools: Tools) -> set[int]:
    """Interchanges that came before, with another message or with this one; each is given by its first document."""
    before = await tools.partners.came_before(message, [one.forward for one in first_ones])
    keys = {one.once for one in before}
    repeated: set[int] = set()
    for one in first_ones:
        if one.forward.once in keys:
            repeated.add(one.interchange)
        keys.add(one.forward.once)
    return repeated


def _rejected(documents: Sequence[Document], onward: Onward) -> dict[int, tuple[int, ...]]:
    """Places of documents that could not go on, by interchange."""
    refused = set(onward.refused)
    rejected: dict[int, list[int]] = {}
    for one in documents:
        if one.forward.chosen_by in refused:
            rejected.setdefault(one.interchange, []).append(one.place)
    return {number: tuple(places) for number, places in rejected.items()}
