"""Redacts a dead letter for one viewer: the sender, or the service where the message failed.

Rules: as in histories, the sender sees where its message failed, unless that service is isolated by another. The
service sees what failed at it; an isolated service sees its isolator in place of the sender, and pseudonyms. Filters
and groups use only these redacted values, so no one can find hidden values by filtering.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.core.delivery.dead_letters import Cause, DeadLetter, cause_of
from postroad.core.model.contexts import truncate_to_second
from postroad.core.model.message import MessageType
from postroad.core.model.sizes import content_size
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.redact_explanation import HIDDEN_NAME
from postroad.core.visibility.viewer import Viewer


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
    is_open: bool  # neither resent nor dropped
    is_hidden: bool = False  # the viewer may not know where and why it failed


class DeadLetterRedactor:
    """Redacts dead letters for one viewer."""

    def __init__(self, viewer: Viewer, pseudonyms: Pseudonyms) -> None:
        self._viewer = viewer
        self._pseudonyms = pseudonyms

    def letter(self, dead: DeadLetter) -> DeadLetterView | None:
        """Return the dead letter as the viewer may see it; None if it does not concern the viewer."""
        queued, message = dead.queued, dead.queued.message
        if self._viewer.owns(message.sender):
            is_hidden = self._viewer.is_hidden(queued.recipient, _isolating_service(dead))
            return self._for_sender(dead) if is_hidden else self._open(dead, message.sender)
        if not self._viewer.owns(queued.recipient):
            return None
        if queued.shown_sender and not self._viewer.owns(queued.shown_sender):
            return self._for_isolated_receiver(dead)
        return self._open(dead, message.shown_sender or message.sender)

    def _open(self, dead: DeadLetter, sender: str) -> DeadLetterView:
        queued, message = dead.queued, dead.queued.message
        return DeadLetterView(
            number=queued.number,
            id=queued.number,
            session=message.session,
            failed_at_us=dead.failed_at_us,
            posted_at_us=message.at_us,
            service=self._viewer.address_of(queued.recipient),
            gcid=queued.recipient,
            sender=self._viewer.address_of(sender),
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

    def _for_isolated_receiver(self, dead: DeadLetter) -> DeadLetterView:
        """Redact for a hidden receiver: the service that isolates it is shown as the sender."""
        queued, message = dead.queued, dead.queued.message
        hop = queued.hops[queued.hop]
        return replace(
            self._open(dead, queued.shown_sender),
            id=self._pseudonyms.number(queued.number),
            session=self._pseudonyms.session(message.session),
            failed_at_us=truncate_to_second(dead.failed_at_us),
            posted_at_us=truncate_to_second(message.at_us),
            type=MessageType.REQUEST.value if queued.in_transit else message.type.value,
            topic=(hop.context.topic if hop.context is not None else "") or message.topic,
            handle="",
        )

    def _for_sender(self, dead: DeadLetter) -> DeadLetterView:
        """Redact for a sender that may not see the failing service; no details of the failure are shown."""
        message = dead.queued.message
        shown = message.answers.shown_requester if message.answers is not None else ""
        named = message.copies[dead.queued.copy].named
        towards = self._viewer.address_of(shown) if shown else named
        return replace(
            self._open(dead, message.sender),
            id=self._pseudonyms.number(dead.queued.number),
            failed_at_us=truncate_to_second(dead.failed_at_us),
            service=towards if shown else HIDDEN_NAME,
            gcid="",
            size=content_size(message),
            attempts=0,
            cause=Cause.KEPT_BACK,
            reason=f"A service on the way to {towards} failed",
            is_hidden=True,
        )


def _isolating_service(dead: DeadLetter) -> str:
    """Return the GCID of the service that isolates the one where the message failed, or an empty string."""
    answers = dead.queued.message.answers
    return dead.queued.shown_sender or (answers.shown_requester if answers is not None else "")
