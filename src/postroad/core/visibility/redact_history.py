"""Redacts a message in a history for a party from which the wider route is hidden.

Rule: the open and the redacted message are never linked. A party that received one copy of a message openly and
another as a hidden party sees two messages, under different sessions, and neither reveals the other.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.model.contexts import truncate_to_second
from postroad.core.model.history import CopyHistory, History, HistoryEvent, MessageHistory, Stop
from postroad.core.model.journal import BY_NETWORK
from postroad.core.model.message import MessageType
from postroad.core.visibility.pseudonyms import Pseudonyms, is_pseudonym


class HistoryRedactor:
    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self.open: list[MessageHistory] = []
        self.hidden: list[MessageHistory] = []
        self._pseudonyms = pseudonyms

    def history(self, asked: str, transaction: str) -> History | None:
        """Return the view that the viewer asks for; a viewer of the open view may also ask by pseudonym."""
        if any(message.session == asked for message in self.hidden):
            return History(transaction=self._pseudonyms.session(transaction), messages=self.hidden, asked=asked)
        real = self._pseudonyms.real_session(asked) if is_pseudonym(asked) else asked
        if any(message.session == real for message in self.open):
            return History(transaction=transaction, messages=self.open, asked=real)
        return None

    def redact_for_hidden_receiver(self, story: MessageHistory, sender: str) -> MessageHistory:
        """Redact a message for a hidden receiver: the service that isolates it is shown as the sender."""
        return replace(
            story,
            seq=0,
            session=self._pseudonyms.session(story.session),
            at_us=truncate_to_second(story.at_us),
            sender=sender,
            type=_type_for(story),
            handle="",
            form="",
            directory=0,
            came=None,
            wire_size=0,
            expires_at_us=truncate_to_second(story.expires_at_us),
            answers="",
            forwards="",
            found_by=(),
            copies=[self._known_by_stops(copy, sender) for copy in story.copies],
        )

    def redact_response_target(self, story: MessageHistory, requester: str) -> MessageHistory:
        """Redact the viewer's own response to a hidden requester: its route is removed."""
        copies = [replace(copy, recipient=requester, route=[requester], stops=[]) for copy in story.copies]
        return replace(story, answers=self._pseudonyms.session(story.answers), copies=copies)

    def redact_passing_response(self, story: MessageHistory, requester: str) -> MessageHistory:
        """Redact a response to a hidden requester for an in-transit service on the responder's side."""
        return replace(
            story,
            answers=self._pseudonyms.session(story.answers),
            expires_at_us=truncate_to_second(story.expires_at_us),
            copies=[replace(copy, recipient=requester) for copy in story.copies],
        )

    def _known_by_stops(self, copy: CopyHistory, sender: str) -> CopyHistory:
        stops = [self._stop(stop, sender) for stop in copy.stops]
        return replace(copy, recipient=stops[-1].service, state=stops[-1].state, stops=stops)

    def _stop(self, stop: Stop, sender: str) -> Stop:
        events = [_redact_event(event, stop, sender) for event in stop.events]
        return replace(stop, delivery=self._pseudonyms.number(stop.delivery), in_transit=False, events=events)


def _type_for(story: MessageHistory) -> str:
    """Return the message type to show: an in-transit service always sees a request."""
    in_transit = any(stop.in_transit for copy in story.copies for stop in copy.stops)
    return MessageType.REQUEST.value if in_transit else story.type


def _redact_event(event: HistoryEvent, stop: Stop, sender: str) -> HistoryEvent:
    """Redact an event caused by a hidden party: it is shown as the known sender's, without details."""
    if event.by in (stop.service, BY_NETWORK):
        return replace(event, seq=0)
    return replace(event, seq=0, at_us=truncate_to_second(event.at_us), by=sender, detail="", why="")


def restrict_to_stops(story: MessageHistory, stops: list[Stop]) -> MessageHistory:
    """Return the message with these stops only, without how it arrived."""
    copies = []
    for copy in story.copies:
        seen = [stop for stop in copy.stops if stop in stops]
        if seen:
            copies.append(replace(copy, stops=seen, route=[stop.service for stop in seen]))
    receives = any(not stop.in_transit for stop in stops)
    return replace(story, copies=copies, came=None, forwards="", found_by=story.found_by if receives else ())
