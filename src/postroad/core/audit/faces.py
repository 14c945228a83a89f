"""The two faces that a message may have for one viewer: open, or as those know it who are kept from the wider route.

Kept rule: the two never stand side by side. Whoever got one copy of a message openly and another as a hidden party sees two
messages, under different sessions, and nothing in one that would tell of the other.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.audit.story import CopyHistory, Event, History, MessageHistory, Stop
from postroad.core.identity.veil import Veil, is_pseudonym
from postroad.core.model.message import MessageType

NETWORK = "network"


class Faces:
    def __init__(self, veil: Veil) -> None:
        self.open: list[MessageHistory] = []
        self.hidden: list[MessageHistory] = []
        self._veil = veil

    def history(self, asked: str, transaction: str) -> History | None:
        """The face that the viewer asks for; one that may see the open face may ask by the other's names too."""
        if any(message.session == asked for message in self.hidden):
            return History(transaction=self._veil.session(transaction), messages=self.hidden, asked=asked)
        real = self._veil.real_session(asked) if is_pseudonym(asked) else asked
        if any(message.session == real for message in self.open):
            return History(transaction=transaction, messages=self.open, asked=real)
        return None

    def disguised(self, story: MessageHistory, sender: str) -> MessageHistory:
        """A message as its hidden receiver knows it: one of whoever isolates it."""
        return replace(
            story,
            seq=0,
            session=self._veil.session(story.session),
            at_us=story.at_us - story.at_us % 1_000_000,
            sender=sender,
            type=_type_for(story),
            handle="",
            form="",
            directory=0,
            came=None,
            wire_size=0,
            expires_at_us=story.expires_at_us - story.expires_at_us % 1_000_000,
            answers="",
            forwards="",
            found_by=(),
            copies=[self._known_by_stops(copy, sender) for copy in story.copies],
        )

    def answer_to_unknown(self, story: MessageHistory, requester: str) -> MessageHistory:
        """One's own response to somebody who is kept from one: where it goes is not for the sender to see."""
        copies = [replace(copy, recipient=requester, route=[requester], stops=[]) for copy in story.copies]
        return replace(story, answers=self._veil.session(story.answers), copies=copies)

    def passing_to_unknown(self, story: MessageHistory, requester: str) -> MessageHistory:
        """The same for a service that it passes on the side of the one who answers."""
        return replace(
            story,
            answers=self._veil.session(story.answers),
            expires_at_us=story.expires_at_us - story.expires_at_us % 1_000_000,
            copies=[replace(copy, recipient=requester) for copy in story.copies],
        )

    def _known_by_stops(self, copy: CopyHistory, sender: str) -> CopyHistory:
        stops = [self._stop(stop, sender) for stop in copy.stops]
        return replace(copy, recipient=stops[-1].service, state=stops[-1].state, stops=stops)

    def _stop(self, stop: Stop, sender: str) -> Stop:
        events = [_as_told(event, stop, sender) for event in stop.events]
        return replace(stop, delivery=self._veil.number(stop.delivery), in_transit=False, events=events)


def _type_for(story: MessageHistory) -> str:
    """Whoever is in transit is asked to answer, whatever the message is to others."""
    in_transit = any(stop.in_transit for copy in story.copies for stop in copy.stops)
    return MessageType.REQUEST.value if in_transit else story.type


def _as_told(event: Event, stop: Stop, sender: str) -> Event:
    """What others did is told as an act of the sender that the viewer knows, and in no more words."""
    if event.by in (stop.service, NETWORK):
        return replace(event, seq=0)
    return replace(event, seq=0, at_us=event.at_us - event.at_us % 1_000_000, by=sender, detail="")


def cut_to(story: MessageHistory, stops: list[Stop]) -> MessageHistory:
    """The message with these stops alone, as far as the viewer goes; how it came stays between its sender and the network."""
    copies = []
    for copy in story.copies:
        seen = [stop for stop in copy.stops if stop in stops]
        if seen:
            copies.append(replace(copy, stops=seen, route=[stop.service for stop in seen]))
    receives = any(not stop.in_transit for stop in stops)
    return replace(story, copies=copies, came=None, forwards="", found_by=story.found_by if receives else ())
