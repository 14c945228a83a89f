"""The members of a batch as the organization of its batcher may see them.

Rule: a batcher from which the wider route is hidden sees its messages under pseudonyms, and the service that isolates
it in place of their sender, as in histories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.core.model.batch import BatchMember
from postroad.core.model.contexts import truncate_to_second
from postroad.core.model.delivery import DeliveryState, FoundDelivery
from postroad.core.model.interchange import DocumentPosition
from postroad.core.visibility.batch_membership import KnownBatch, find_verdict
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.viewer import Viewer

NO_POSITION = DocumentPosition(0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedMember:
    """One message of a batch as a viewer may see it; ``number`` is for internal use only."""

    number: int
    id: int  # the delivery's number, or its pseudonym
    session: str
    sender: str  # address
    kind: str
    bytes: int
    state: str
    is_in_it: bool  # it has not left
    since_us: int
    group: str = ""  # control number of its group in the interchange …
    document: str = ""  # … and what its document is called there
    verdict: str = ""  # the partner's status for it
    reasons: tuple[str, ...] = ()


class BatchMemberRedactor:
    """Redacts the members of one batch for one viewer."""

    def __init__(self, viewer: Viewer, pseudonyms: Pseudonyms, known: KnownBatch) -> None:
        self._viewer = viewer
        self._pseudonyms = pseudonyms
        self._answers = known.answers
        filed = known.assembled.filed if known.assembled is not None and known.batch.interchange else ()
        self._filed = {one.delivery: one for one in reversed(filed)}  # the first document of a message stands for it

    def member(self, facts: BatchMember, found: FoundDelivery, since_us: int) -> RedactedMember:
        queued = found.queued
        member = self._open(facts, found, since_us)
        if not queued.shown_sender or self._viewer.owns(queued.shown_sender):
            return member
        return replace(
            member,
            id=self._pseudonyms.number(queued.number),
            session=self._pseudonyms.session(member.session),
            sender=self._viewer.address_of(queued.shown_sender),
            since_us=truncate_to_second(since_us),
        )

    def _open(self, facts: BatchMember, found: FoundDelivery, since_us: int) -> RedactedMember:
        queued, message = found.queued, found.queued.message
        is_in_it = found.state in (DeliveryState.QUEUED, DeliveryState.DELIVERED)
        filed = self._filed.get(queued.number, NO_POSITION) if is_in_it else NO_POSITION
        verdict, reasons = find_verdict(self._answers, queued.number) if is_in_it else ("", ())
        return RedactedMember(
            number=queued.number,
            id=queued.number,
            session=message.session,
            sender=self._viewer.address_of(message.shown_sender or message.sender),
            kind=facts.kind,
            bytes=facts.bytes,
            state=found.state.name.lower(),
            is_in_it=is_in_it,
            since_us=since_us,
            group=filed.group,
            document=filed.reference,
            verdict=verdict,
            reasons=reasons,
        )
