"""Functional acknowledgments of a splitter: sent to the partner, and recorded from it.

Rules: an acknowledgment that cannot be written (the partner's name is too long …) does not cause a refusal of
accepted documents; a dead letter informs the splitter's owner. Acknowledgments are never acknowledged.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.interchange.agreement import read_agreement
from postroad.core.interchange.interchange_reader import OpenedInterchanges
from postroad.core.interchange.model import InterchangeFault, Split
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.message import Delivered
from postroad.errors import Refused
from postroad.flow.log_fields import describe_delivery
from postroad.flow.stages.partner_acknowledgments import AcknowledgmentToSend, ReceivedAcknowledgments
from postroad.services.service import Tools

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInterchanges:
    """The acknowledgment for all interchanges of one part."""

    opened: OpenedInterchanges
    taken: bool = True


class SplitterPartner:
    """The acknowledgments exchanged with a partner for one message."""

    def __init__(self, message: Delivered, splitting: Splitting, tools: Tools) -> None:
        self._message, self._options, self._tools = message, splitting.options, tools
        self.agreed = read_agreement(dict(splitting.options))
        to = splitting.answers_to
        self._receiver = find_permitted_recipient(tools.service, to, tools.directory).gcid if to else ""

    async def give(
        self,
        replies: Sequence[PartInterchanges],
        rejected: Mapping[int, tuple[int, ...]] | None = None,
        repeated: Collection[int] = (),
    ) -> str:
        """Send the partner an acknowledgment for every interchange; rejected or repeated ones by position.

        Returns which acknowledgments cannot be written and why; empty when all are sent.
        """
        if not self._receiver:
            return ""
        unwritten: list[str] = []
        for number, (reply, found) in enumerate(_each(replies)):
            acknowledgment = AcknowledgmentToSend(
                receiver=self._receiver,
                name=f"{'answer' if reply.taken else 'refusal'} {number + 1}",
                standard=reply.opened.standard,
                found=self._with_agreed_options(found, number in repeated),
                facts=self._options,
                taken=reply.taken,
                rejected=(rejected or {}).get(number, ()),
            )
            try:
                await self._tools.partners.send(self._tools.service, self._message, acknowledgment)
            except Refused as refusal:
                log.warning(
                    "splitter.acknowledgment_failed: %s cannot answer session %s: %s",
                    self._tools.service.address,
                    self._message.session,
                    refusal,
                    extra=describe_delivery(self._tools.service, self._message, refusal),
                )
                unwritten.append(
                    f"the acknowledgment of interchange {found.reference} cannot be written: {refusal.detail}"
                )
        return "; ".join(unwritten)

    async def record_acknowledgments(self, every: Sequence[OpenedInterchanges]) -> None:
        """Record the partner's acknowledgments for interchanges sent to it."""
        received = [
            ReceivedAcknowledgments(
                standard=one.standard.name,
                ours=self.agreed.our_name or found.receiver,
                partner=self.agreed.partner_name or found.sender,
                said=said,
            )
            for one in every
            for found, said in one.said
        ]
        if received:
            await self._tools.partners.record(self._tools.service, self._message, received)

    def describe(self, every: Sequence[OpenedInterchanges], places: Collection[int]) -> str:
        """Return a description of the interchanges for people."""
        found = [one for opened in every for one in opened.found]
        return " and ".join(
            f"interchange {found[place].reference} of {found[place].sender}" for place in sorted(places)
        )

    def _with_agreed_options(self, found: Split, repeated: bool) -> Split:
        """Return the interchange with the options of this message: repeated, and always acknowledged."""
        if repeated:
            fault = InterchangeFault(code=f"{found.standard}.repeated", text="its control number is a duplicate")
            found = replace(found, faults=(*found.faults, fault))
        if self.agreed.always_acknowledged:
            found = replace(found, facts={**found.facts, "acknowledgment": "1"})
        return found


def _each(replies: Sequence[PartInterchanges]) -> Iterator[tuple[PartInterchanges, Split]]:
    for reply in replies:
        for found in reply.opened.found:
            yield reply, found
