"""The members of a batch as those may know them whose batcher gathers them.

Kept rule, the same as in histories: a batcher that somebody keeps from the wider route knows its messages under pseudonyms, and
whoever keeps it so in the place of their sender.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from postroad.core.audit.batches import KnownBatch, verdict_on
from postroad.core.identity.veil import Veil
from postroad.core.model.batch import BatchMember
from postroad.core.model.delivery import Found, State
from postroad.core.model.interchange import Filed
from postroad.core.model.snapshot import Directory

SECOND_US = 1_000_000
NOWHERE = Filed(0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is told of one message of a batch; ``number`` is for the network alone."""

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
    verdict: str = ""  # what the partner says of it
    reasons: tuple[str, ...] = ()


class MemberSight:
    """The eyes of one viewer on the members of one batch; ``owns`` None sees all."""

    def __init__(self, directory: Directory, veil: Veil, owns: Callable[[str], bool] | None, known: KnownBatch) -> None:
        self._directory = directory
        self._veil = veil
        self._owns = owns
        self._answers = known.answers
        filed = known.assembled.filed if known.assembled is not None and known.batch.interchange else ()
        self._filed = {one.delivery: one for one in reversed(filed)}  # the first document of a message stands for it

    def member(self, facts: BatchMember, found: Found, since_us: int) -> Member:
        queued = found.queued
        told = self._open(facts, found, since_us)
        if not queued.shown_sender or self._owns is None or self._owns(queued.shown_sender):
            return told
        return replace(
            told,
            id=self._veil.number(queued.number),
            session=self._veil.session(told.session),
            sender=self._address(queued.shown_sender),
            since_us=since_us - since_us % SECOND_US,
        )

    def _open(self, facts: BatchMember, found: Found, since_us: int) -> Member:
        queued, message = found.queued, found.queued.message
        is_in_it = found.state in (State.QUEUED, State.DELIVERED)
        filed = self._filed.get(queued.number, NOWHERE) if is_in_it else NOWHERE
        verdict, reasons = verdict_on(self._answers, queued.number) if is_in_it else ("", ())
        return Member(
            number=queued.number,
            id=queued.number,
            session=message.session,
            sender=self._address(message.shown_sender or message.sender),
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

    def _address(self, gcid: str) -> str:
        service = self._directory.services.get(gcid)
        return service.address if service is not None else gcid
