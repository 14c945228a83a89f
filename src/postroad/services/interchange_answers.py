"""What a partner is told of what it sent, and what it says of ours: both at one delivery of a splitter.

Kept rules: an acknowledgment that cannot be written (the partner's name is too long …) is no reason to refuse what was taken; the
splitter's owner is told by a dead letter. An answer is never answered.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from postroad.core.admission.permission import permitted
from postroad.core.interchange.agreeing import agreed
from postroad.core.interchange.nouns import Fault, Split
from postroad.core.interchange.opening import Opened
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.message import Delivered
from postroad.errors import Refused
from postroad.flow.partners import Hearing, Telling
from postroad.services.service import Tools

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is said of all interchanges of one part."""

    opened: Opened
    taken: bool = True


class Answering:
    """Between a splitter and the partner of whom it has one message at hand."""

    def __init__(self, message: Delivered, splitting: Splitting, tools: Tools) -> None:
        self._message, self._facts, self._tools = message, splitting.facts, tools
        self.agreed = agreed(dict(splitting.facts))
        to = splitting.answers_to
        self._receiver = permitted(tools.service, to, tools.directory).gcid if to else ""

    async def give(
        self,
        replies: Sequence[Reply],
        rejected: Mapping[int, tuple[int, ...]] | None = None,
        repeated: Collection[int] = (),
    ) -> str:
        """Tell the partner of every interchange; those that are rejected or repeated are given by their place in the message.

        Returns which acknowledgments cannot be written and why; empty when all are sent.
        """
        if not self._receiver:
            return ""
        unwritten: list[str] = []
        for number, (reply, found) in enumerate(_each(replies)):
            telling = Telling(
                receiver=self._receiver,
                name=f"{'answer' if reply.taken else 'refusal'} {number + 1}",
                standard=reply.opened.standard,
                found=self._as_told(found, number in repeated),
                facts=self._facts,
                taken=reply.taken,
                rejected=(rejected or {}).get(number, ()),
            )
            try:
                await self._tools.partners.tell(self._tools.service, self._message, telling)
            except Refused as refusal:
                log.warning(
                    "%s cannot answer session %s: %s", self._tools.service.address, self._message.session, refusal
                )
                unwritten.append(
                    f"the acknowledgment of interchange {found.reference} cannot be written: {refusal.detail}"
                )
        return "; ".join(unwritten)

    async def hear(self, every: Sequence[Opened]) -> None:
        """Write down what the partner says of interchanges that went to it."""
        hearings = [
            Hearing(
                standard=one.standard.name,
                ours=self.agreed.our_name or found.receiver,
                partner=self.agreed.partner_name or found.sender,
                said=said,
            )
            for one in every
            for found, said in one.said
        ]
        if hearings:
            await self._tools.partners.hear(self._tools.service, self._message, hearings)

    def named(self, every: Sequence[Opened], places: Collection[int]) -> str:
        """Interchanges, for people."""
        found = [one for opened in every for one in opened.found]
        return " and ".join(
            f"interchange {found[place].reference} of {found[place].sender}" for place in sorted(places)
        )

    def _as_told(self, found: Split, repeated: bool) -> Split:
        """With what the room cannot know: that it came before, and that the partner is always told."""
        if repeated:
            fault = Fault(code=f"{found.standard}.repeated", text="its control number came before")
            found = replace(found, faults=(*found.faults, fault))
        if self.agreed.always_acknowledged:
            found = replace(found, facts={**found.facts, "acknowledgment": "1"})
        return found


def _each(replies: Sequence[Reply]) -> Iterator[tuple[Reply, Split]]:
    for reply in replies:
        for found in reply.opened.found:
            yield reply, found
