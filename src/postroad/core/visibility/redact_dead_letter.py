"""Redacts a dead letter for one viewer: the sender, or the service where the message failed.

Rules: as in histories, the sender sees where its message failed, unless that service is isolated by another. The
service sees what failed at it; an isolated service sees its isolator in place of the sender, and pseudonyms. Filters
and groups use only these redacted values, so no one can find hidden values by filtering.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from postroad.core.delivery.dead_letters import Cause, DeadLetter, cause_of
from postroad.core.model.message import MessageType
from postroad.core.model.sizes import content_size
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.redact_explanation import HIDDEN_NAME

Owns = Callable[[str], bool]  # told a GCID
SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterView:
    """A dead letter as a viewer may see it; ``number`` is for internal use only."""

    number: int
    id: int  # the delivery's number, or its pseudonym
    session: str
    failed_at_us: int
    posted_at_us: int
    service: str  # address of the service at which it failed
    gcid: str  # its GCID; empty where it is kept from the viewer
    sender: str  # address
    sender_gcid: str
    type: str
    topic: str
    handle: str
    size: int
    attempts: int
    cause: Cause
    reason: str
    resent: bool  # a later round, not the first
    is_open: bool  # no one has dealt with it
    is_kept: bool = False  # the viewer may not know where and why it failed


class DeadLetterViewer:
    """Redacts dead letters for one viewer; with ``owns`` None nothing is hidden."""

    def __init__(self, directory: Directory, veil: Pseudonyms, owns: Owns | None) -> None:
        self._directory = directory
        self._veil = veil
        self._owns = owns

    def letter(self, dead: DeadLetter) -> DeadLetterView | None:
        """Return the dead letter as the viewer may see it; None if it does not concern the viewer."""
        queued, message = dead.queued, dead.queued.message
        is_sender, is_receiver = self._is_own(message.sender), self._is_own(queued.recipient)
        if is_sender:
            return self._kept_back(dead) if self._is_kept(dead) else self._open(dead, message.sender)
        if not is_receiver:
            return None
        if queued.shown_sender and not self._is_own(queued.shown_sender):
            return self._disguised(dead)
        return self._open(dead, message.shown_sender or message.sender)

    def _is_own(self, gcid: str) -> bool:
        return self._owns is None or self._owns(gcid)

    def _is_kept(self, dead: DeadLetter) -> bool:
        """True if the failing service is isolated by a third party, so the sender may not see it."""
        answers = dead.queued.message.answers
        keeping = dead.queued.shown_sender or (answers.shown_requester if answers is not None else "")
        return bool(keeping) and not self._is_own(keeping) and not self._is_own(dead.queued.recipient)

    def _open(self, dead: DeadLetter, sender: str) -> DeadLetterView:
        queued, message = dead.queued, dead.queued.message
        return DeadLetterView(
            number=queued.number,
            id=queued.number,
            session=message.session,
            failed_at_us=dead.failed_at_us,
            posted_at_us=message.at_us,
            service=self._directory.address_of(queued.recipient),
            gcid=queued.recipient,
            sender=self._directory.address_of(sender),
            sender_gcid=sender,
            type=message.type.value,
            topic=message.topic,
            handle=message.handle,
            size=sum(part.size for part in queued.content.parts),
            attempts=queued.attempt,
            cause=cause_of(dead.reason_code, dead.reason),
            reason=dead.reason,
            resent=queued.origin > 0,
            is_open=dead.dealt_seq == 0,
        )

    def _disguised(self, dead: DeadLetter) -> DeadLetterView:
        """Redact for a hidden receiver: the service that isolates it is shown as the sender."""
        queued, message = dead.queued, dead.queued.message
        hop = queued.hops[queued.hop]
        return replace(
            self._open(dead, queued.shown_sender),
            id=self._veil.number(queued.number),
            session=self._veil.session(message.session),
            failed_at_us=dead.failed_at_us - dead.failed_at_us % SECOND_US,
            posted_at_us=message.at_us - message.at_us % SECOND_US,
            type=MessageType.REQUEST.value if queued.in_transit else message.type.value,
            topic=(hop.context.topic if hop.context is not None else "") or message.topic,
            handle="",
        )

    def _kept_back(self, dead: DeadLetter) -> DeadLetterView:
        """Redact for a sender that may not see the failing service; no details of the failure are shown."""
        message = dead.queued.message
        shown = message.answers.shown_requester if message.answers is not None else ""
        named = message.copies[dead.queued.copy].named
        towards = self._directory.address_of(shown) if shown else named
        return replace(
            self._open(dead, message.sender),
            id=self._veil.number(dead.queued.number),
            failed_at_us=dead.failed_at_us - dead.failed_at_us % SECOND_US,
            service=towards if shown else HIDDEN_NAME,
            gcid="",
            size=content_size(message),
            attempts=0,
            cause=Cause.KEPT_BACK,
            reason=f"A service on the way to {towards} failed",
            is_kept=True,
        )
