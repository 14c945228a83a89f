"""Splitter service: splits a partner's interchange into documents and acknowledges it.

Every part of the message contains one or more interchanges. Documents go to the service that the splitter's owner has
named, and its rules or an exchange route them further. The partner receives an acknowledgment of its interchange
(997, CONTRL, ACK), if the partnership requires it. The partner's acknowledgments of our interchanges are recorded at their
batch and not forwarded. Rules: a message is accepted completely or not at all, and a refused message becomes a dead
letter of the splitter. An acceptance is reported to the partner only when it is durable.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.interchange.interchange_reader import OpenedInterchanges, open_interchanges
from postroad.core.interchange.standard import StandardCatalogue
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.message import Delivered, MessageType, Part, Property, PropertyType, Status
from postroad.errors import Refused
from postroad.flow.log_fields import describe_delivery
from postroad.flow.stages.forward import ForwardResult
from postroad.services.hosting.off_loop import run_off_loop
from postroad.services.service import ServiceResult, Tools
from postroad.services.splitter.documents import SplitDocument, SplitDocuments
from postroad.services.splitter.partner_acknowledgments import PartInterchanges, SplitterPartner

DOCUMENTS, UNACKNOWLEDGED = "splitter.documents", "splitter.unacknowledged"
UNTOLD_CHARS = 500
ALL_TAKEN = (
    "its documents were accepted and sent, and resending this dead letter does not send them again; correct the "
    "splitter's options, or remove answersTo, and resend it"
)

log = logging.getLogger(__name__)

Parts = Sequence[tuple[Part, OpenedInterchanges]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult(ServiceResult):
    """A split message whose documents are not all durable yet."""

    message: Delivered
    opened: tuple[OpenedInterchanges, ...]
    documents: tuple[SplitDocument, ...]


class SplitterService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        agreed = _agreed(tools)
        receiver = find_permitted_recipient(tools.service, agreed.sends_to, tools.directory)
        answering = SplitterPartner(
            message, agreed, tools
        )  # checks that an acknowledgment can be written, before anything is accepted
        size = sum(len(part.data) for part in message.parts)
        parts = await run_off_loop(size, _opened, message, agreed, tools.standards)
        every = [one for _, one in parts]
        for one in every:
            if one.refusal is not None:
                unsent = await answering.give([PartInterchanges(opened=one, taken=False) for one in every])
                raise _add_unsent(one.refusal, unsent)
        documents = SplitDocuments(message, tools.service.gcid, receiver.gcid, answering.agreed)
        found = await run_off_loop(size, documents.of, parts)
        found = await _refuse_or_mark_repeated(message, found, every, answering, tools)
        forwards = tuple([one.forward for one in found])
        return SplitResult(message=message, opened=tuple(every), documents=tuple(found), forwards=forwards)

    async def finish_forward(self, returned: ServiceResult, onward: ForwardResult, tools: Tools) -> ServiceResult:
        """Acknowledge the interchanges once all documents are forwarded, and record the partner's acknowledgments."""
        if not isinstance(returned, SplitResult):
            raise TypeError("only split documents continue")
        answering = SplitterPartner(returned.message, _agreed(tools), tools)
        await answering.record_acknowledgments(returned.opened)
        rejected = _rejected(returned.documents, onward)
        unsent = await answering.give([PartInterchanges(opened=one) for one in returned.opened], rejected)
        log.info(
            "splitter.split: %s split %d documents from session %s",
            tools.service.address,
            onward.copies,
            returned.message.session,
            extra=describe_delivery(tools.service, returned.message),
        )
        counted = Property(DOCUMENTS, str(onward.copies), PropertyType.NUMBER)
        if not unsent:
            return ServiceResult(parts=(), properties=(counted,))
        if returned.message.type is MessageType.REQUEST:
            return ServiceResult(parts=(), properties=(counted, Property(UNACKNOWLEDGED, unsent[:UNTOLD_CHARS])))
        return ServiceResult(status=Status("interchange.unfit", f"{unsent[:UNTOLD_CHARS]}; {ALL_TAKEN}"))


def _agreed(tools: Tools) -> Splitting:
    if tools.service.splitting is None:
        raise Refused(
            "configuration.conflict", f"{tools.service.address} has no section splitting; its owner must add one"
        )
    return tools.service.splitting


def _opened(
    message: Delivered, agreed: Splitting, standards: StandardCatalogue
) -> list[tuple[Part, OpenedInterchanges]]:
    if not message.parts:
        raise Refused("interchange.malformed", "The message has no documents, so there is no interchange in it")
    return [(part, open_interchanges(part.data, agreed, standards)) for part in message.parts]


async def _refuse_or_mark_repeated(
    message: Delivered,
    found: list[SplitDocument],
    every: Sequence[OpenedInterchanges],
    answering: SplitterPartner,
    tools: Tools,
) -> list[SplitDocument]:
    """Return the documents; those of repeated interchanges are refused, or marked if the profile allows it."""
    repeated = await _repeated(message, [one for one in found if one.forward.once], tools)
    if not repeated:
        return found
    if answering.agreed.duplicates_pass:
        return [one.mark_repeated() if one.interchange in repeated else one for one in found]
    unsent = await answering.give([PartInterchanges(opened=one, taken=False) for one in every], repeated=repeated)
    refusal = Refused(
        "interchange.duplicate",
        f"{answering.describe(every, repeated)} was received before from the same partner; drop it, or set the splitter's option "
        "duplicates: pass and resend it",
    )
    raise _add_unsent(refusal, unsent)


def _add_unsent(refusal: Refused, unsent: str) -> Refused:
    """Return the refusal with the note that the partner cannot be informed."""
    return Refused(refusal.code, f"{refusal.detail}; {unsent[:UNTOLD_CHARS]}") if unsent else refusal


async def _repeated(message: Delivered, first_ones: Sequence[SplitDocument], tools: Tools) -> set[int]:
    """Return the indexes of interchanges that were received before, by their first documents."""
    before = await tools.partners.came_before(message, [one.forward for one in first_ones])
    keys = {one.once for one in before}
    repeated: set[int] = set()
    for one in first_ones:
        if one.forward.once in keys:
            repeated.add(one.interchange)
        keys.add(one.forward.once)
    return repeated


def _rejected(documents: Sequence[SplitDocument], onward: ForwardResult) -> dict[int, tuple[int, ...]]:
    """Return the positions of documents that could not be forwarded, by interchange."""
    refused = set(onward.refused)
    rejected: dict[int, list[int]] = {}
    for one in documents:
        if one.forward.chosen_by in refused:
            rejected.setdefault(one.interchange, []).append(one.place)
    return {number: tuple(places) for number, places in rejected.items()}
