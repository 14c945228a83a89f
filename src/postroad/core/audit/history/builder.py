"""Builds the history of a transaction: its messages, copies, stops and events, redacted for the viewer.

Rule: the history is made only from entries, and reduced to what the asking organization may see. A sender sees its
whole message, except for stops that other services isolate. An in-transit service sees the message, its own stops and
those of services that it included. An isolated service sees its isolator in place of the sender. Everyone else sees
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from postroad.core.audit.history.delivery_events import describe_acknowledgement, describe_wait, waits_until_us
from postroad.core.model.contexts import is_requester_hidden
from postroad.core.model.delivery import FINAL, DeliveryState, is_followed
from postroad.core.model.history import (
    UNDER_WAY,
    ArrivalNotes,
    CopyHistory,
    History,
    HistoryEvent,
    InterchangeContents,
    MessageHistory,
    Stop,
)
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    BY_NETWORK,
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    Entry,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.model.part_facts import MessageArrival
from postroad.core.model.route import Hop
from postroad.core.model.sizes import content_size, wire_size
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import FOREIGN_RULE
from postroad.core.routing.layout import Route
from postroad.core.visibility.batch_membership import KnownBatch, describe_contents, describe_membership
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.redact_history import HistoryRedactor, restrict_to_stops
from postroad.core.visibility.viewer import Viewer
from postroad.core.visibility.visible_keys import find_visible_keys

A_PARTY = "another party"
TRANSLATED = "translated"
STATES_IN_BATCH = (
    DeliveryState.QUEUED.name.lower(),
    DeliveryState.DELIVERED.name.lower(),
)  # a member of a batch: it waits, or went with it
NO_BATCHES: Mapping[str, KnownBatch] = MappingProxyType({})


def build_history(
    entries: Iterable[tuple[int, Entry]],
    directory: Directory,
    organization: str | None,
    asked: str,
    pseudonyms: Pseudonyms,
    batches: Mapping[str, KnownBatch] = NO_BATCHES,
    service: str = "",
) -> History | None:
    """Build the history of one transaction from its entries; None if the viewer may see nothing of it.

    ``asked`` is the session that the viewer asks with: the message's own, or the pseudonym by which the viewer knows it.
    ``batches`` are the batches that the entries name, by ID. ``service`` is the GCID of the service that asks; the wider route
    is hidden from it also if a service of its own organization isolates it.
    """
    builder = _HistoryBuilder(directory, organization, batches, service)
    for seq, entry in sorted(entries, key=lambda item: item[0]):
        builder.add_entry(seq, entry)
    return builder.history(asked, pseudonyms)


class _HistoryBuilder:
    def __init__(
        self,
        directory: Directory,
        organization: str | None,
        batches: Mapping[str, KnownBatch] = NO_BATCHES,
        service: str = "",
    ) -> None:
        self._directory = directory
        self._batches = batches
        self._joined: dict[int, str] = {}  # the batch of each delivery that has joined one
        self._viewer = Viewer(directory, organization, service)
        self._messages: dict[int, tuple[MessagePosted, MessageHistory]] = {}
        self._stops: dict[int, Stop] = {}
        self._invokers: dict[int, str] = {}  # of each stop
        self._routes: dict[tuple[int, int], Route] = {}  # of each copy, as it is now
        self._asked_by_unknown: set[int] = set()  # deliveries of responses, on the side that does not know who asked
        self._journeys: dict[int, CopyHistory] = {}
        self._transaction = ""

    def add_entry(self, seq: int, entry: Entry) -> None:
        match entry:
            case MessagePosted():
                self._posted(seq, entry)
            case InvocationReturned():
                self._returned(seq, entry)
            case DeliveriesLeased() | DeliveriesReturned() | DeliveryAttempted() | BatchesChanged():
                told, until_us = describe_wait(entry), waits_until_us(entry)
                for number in entry.deliveries:
                    self._note(
                        number, seq, entry.at_us, told.what, entry.by, told.detail, until_us=until_us, why=told.why
                    )
                if isinstance(entry, BatchesChanged):
                    self._joined |= dict.fromkeys(entry.deliveries, entry.batch)
            case DeliveryTranslated():
                self._note(entry.delivery, seq, entry.at_us, TRANSLATED, BY_NETWORK, self._left_out(entry))
            case DeliveriesAcknowledged():
                self._settled(seq, entry, *describe_acknowledgement(entry), DeliveryState.DELIVERED)
            case DeliveriesEnded():
                self._settled(seq, entry, entry.state, entry.reason, FINAL[entry.state])
            case DeliveryResent():
                self._resent(seq, entry)
            case DeliveriesDropped():
                by, why = self._dealt_by(entry)
                for number in entry.deliveries:
                    self._note(number, seq, entry.at_us, "dropped", by, why)

    def history(self, asked: str, pseudonyms: Pseudonyms) -> History | None:
        redactor = HistoryRedactor(pseudonyms)
        for number, batch in self._joined.items():
            self._gathered(number, batch)
        for entry, story in self._messages.values():
            for copy in story.copies:
                copy.state = copy.state or (copy.stops[-1].state if copy.stops else "")
            self._show(entry, story, redactor)
        return redactor.history(asked, self._transaction)

    def _posted(self, seq: int, entry: MessagePosted) -> None:
        self._transaction = entry.transaction
        story = MessageHistory(
            seq=seq,
            session=entry.session,
            at_us=entry.at_us,
            type=entry.type.value,
            sender=self._viewer.address_of(entry.sender),
            topic=entry.topic,
            handle=entry.handle,
            size=content_size(entry),
            wire_size=wire_size(entry) if self._viewer.owns(entry.sender) else 0,
            form=entry.form,
            directory=entry.directory,
            answers=entry.answers.session if entry.answers else "",
            came=_arrival(entry.arrival) if entry.arrival is not None else None,
            forwards=entry.forwarded.session if entry.forwarded is not None else "",
            contained=self._contained(entry),
            expires_at_us=entry.expires_at_us,
            found_by=find_visible_keys(entry, self._viewer),
        )
        self._messages[seq] = entry, story
        for ordinal, copy in enumerate(entry.copies):
            route = [self._viewer.address_of(hop.service) for hop in copy.hops]
            story.copies.append(
                CopyHistory(
                    recipient=route[-1] if route else copy.named, code=copy.code, detail=copy.detail, route=route
                )
            )
            self._routes[seq, ordinal] = Route(copy.hops, copy.logical)
            if is_followed(entry, ordinal):
                self._journeys[delivery_number(seq, ordinal)] = story.copies[ordinal]
                story.copies[ordinal].state = UNDER_WAY if not copy.code else ""
            if not copy.code:
                self._stop(seq, ordinal, 0, delivery_number(seq, ordinal), content_size(entry))
        if entry.answers is not None and entry.answers.delivery:
            note = f"with session {entry.session}"
            self._note(
                entry.answers.delivery, seq, entry.at_us, "answered", entry.sender, note, state=DeliveryState.DELIVERED
            )
        if entry.forwarded is not None:
            self._note(entry.forwarded.delivery, seq, entry.at_us, "forwarded", entry.sender, self._forwarded_to(entry))
        if entry.ends is not None:
            state = FINAL[entry.ends.state]
            self._note(
                entry.ends.delivery, seq, entry.at_us, entry.ends.state, BY_NETWORK, entry.ends.reason, state=state
            )
            self._journeys_ended((entry.ends.journey,), state)

    def _gathered(self, number: int, batch: str) -> None:
        stop, known = self._stops.get(number), self._batches.get(batch)
        if stop is not None and known is not None:
            stop.gathered = describe_membership(known, number, is_in_it=stop.state in STATES_IN_BATCH)

    def _contained(self, entry: MessagePosted) -> InterchangeContents | None:
        """Describe the contents of an interchange, if the viewer owns the batcher that made it."""
        made = entry.assembled
        if made is None or not self._viewer.owns(entry.sender):
            return None
        return describe_contents(made, self._batches.get(made.batch.id) if made.batch is not None else None)

    def _forwarded_to(self, entry: MessagePosted) -> str:
        """Return how many receivers a message was forwarded to; empty unless the viewer owns the forwarding service."""
        if not self._viewer.owns(entry.sender):
            return ""
        return f"to {sum(not copy.code for copy in entry.copies)}, with session {entry.session}"

    def _returned(self, seq: int, entry: InvocationReturned) -> None:
        """Record that an in-transit service has returned, and the next stop of the copy."""
        told = "the message continues"
        if entry.status is not None:
            told = f"{entry.status.code} {entry.status.text}: ignored, the message continues without it"
        self._note(entry.delivery, seq, entry.at_us, "answered", entry.by, told, state=DeliveryState.DELIVERED)
        if entry.hops:
            self._routes[entry.message, entry.copy] = Route(entry.hops, entry.logical)
            if entry.message in self._messages:
                story = self._messages[entry.message][1].copies[entry.copy]
                story.route = [self._viewer.address_of(hop.service) for hop in entry.hops]
        self._stop(entry.message, entry.copy, entry.hop, delivery_number(seq, 0), content_size(entry))

    def _resent(self, seq: int, entry: DeliveryResent) -> None:
        """Record a new round: the copy is again at the service where it failed."""
        number = delivery_number(seq, 0)
        by, why = self._dealt_by(entry)
        self._note(entry.delivery, seq, entry.at_us, "resent", by, why)
        dead = self._stops.get(entry.delivery)
        self._stop(entry.message, entry.copy, entry.hop, number, dead.size if dead is not None else 0)
        followed = self._followed_by(entry)
        if followed is not None:
            self._journeys[number] = followed
            followed.state = UNDER_WAY

    def _followed_by(self, entry: DeliveryResent) -> CopyHistory | None:
        """Return the copy whose journey the round belongs to: its own, or for a response that of the request."""
        posted = self._messages.get(entry.message)
        if posted is None or not entry.followed:
            return None
        message, story = posted
        if message.answers is not None:
            return self._journeys.get(message.answers.journey)
        return story.copies[entry.copy]

    def _dealt_by(self, entry: DeliveryResent | DeliveriesDropped) -> tuple[str, str]:
        """Return who resent or dropped a dead letter, and why; visible only to that person's organization."""
        person = self._directory.person(entry.by)
        if self._viewer.is_network or (person is not None and self._viewer.knows(person)):
            return entry.by, entry.reason
        return A_PARTY, ""

    def _person_or_party(self, by: str) -> str:
        """Return who changed a batch, by name only for a person of the viewer's organization."""
        person = self._directory.person(by)
        is_foreign = person is not None and not self._viewer.knows(person)
        return A_PARTY if is_foreign else by

    def _left_out(self, entry: DeliveryTranslated) -> str:
        """Return what a translation dropped; parties other than the receiver see only the number of items."""
        told = f"{len(entry.dropped)} omitted"
        if self._viewer.owns(entry.by):
            told = f"omitted: {'; '.join(entry.dropped)}"
        return f"from {entry.form} to {entry.format}; {told}"

    def _settled(
        self, seq: int, entry: DeliveriesAcknowledged | DeliveriesEnded, what: str, why: str, state: DeliveryState
    ) -> None:
        by = entry.by if entry.batch is None else self._person_or_party(entry.by)
        for number in entry.deliveries:
            self._note(number=number, seq=seq, at_us=entry.at_us, what=what, by=by, detail=why, state=state)
        self._journeys_ended(entry.journeys, state)

    def _journeys_ended(self, journeys: tuple[int, ...], state: DeliveryState) -> None:
        for journey in journeys:
            copy = self._journeys.get(journey)
            if copy is not None and copy.state == UNDER_WAY:
                copy.state = state.name.lower()

    def _stop(self, message_seq: int, copy: int, hop: int, number: int, size: int) -> None:
        if message_seq not in self._messages:
            return
        entry, story = self._messages[message_seq]
        hops, logical = self._routes[message_seq, copy]
        if is_requester_hidden(entry, hop, hops, logical):
            self._asked_by_unknown.add(number)
        stop = Stop(
            delivery=number,
            service=self._viewer.address_of(hops[hop].service),
            gcid=hops[hop].service,
            in_transit=hop < len(hops) - 1,
            state=DeliveryState.QUEUED.name.lower(),
            size=size,
            invoker=self._viewer.address_of(hops[hop].invoker),
            rule=self._rule(hops[hop]),
            isolated_by=hops[hop].isolated_by,
        )
        self._stops[number] = stop
        self._invokers[number] = hops[hop].invoker
        story.copies[copy].stops.append(stop)

    def _note(
        self,
        number: int,
        seq: int,
        at_us: int,
        what: str,
        by: str,
        detail: str,
        state: DeliveryState | None = None,
        until_us: int = 0,
        why: str = "",
    ) -> None:
        stop = self._stops.get(number)
        if stop is None:
            return
        by = self._viewer.address_of(by)
        told = HistoryEvent(seq=seq, at_us=at_us, what=what, by=by, detail=detail, until_us=until_us, why=why)
        stop.events.append(told)
        if state is not None and stop.state == DeliveryState.QUEUED.name.lower():
            stop.state = state.name.lower()

    def _show(self, entry: MessagePosted, story: MessageHistory, redactor: HistoryRedactor) -> None:
        """Add the message, redacted for the viewer, to the open or the hidden view."""
        if self._viewer.is_network:
            redactor.open.append(story)
            return
        self._name_recipients(entry, story)
        if self._viewer.is_self(entry.sender):
            self._show_own(entry, story, redactor)
            return
        stops = [stop for copy in story.copies for stop in copy.stops if self._concerns_viewer(stop)]
        hidden = [stop for stop in stops if self._is_isolated(stop)]
        shown = self._shown_requester(entry)
        beside = [stop for stop in stops if shown and stop.delivery in self._asked_by_unknown and stop not in hidden]
        if known := [stop for stop in stops if stop not in hidden and stop not in beside]:
            redactor.open.append(self._from_shown_sender(entry, restrict_to_stops(story, known)))
        if beside:
            cut = self._from_shown_sender(entry, restrict_to_stops(story, beside))
            redactor.hidden.append(redactor.redact_passing_response(cut, self._viewer.address_of(shown)))
        if hidden:
            isolates = self._viewer.address_of(hidden[0].isolated_by)
            redactor.hidden.append(redactor.redact_for_hidden_receiver(restrict_to_stops(story, hidden), isolates))

    def _shown_requester(self, entry: MessagePosted) -> str:
        """Return the intermediary shown as requester of a response; empty if the viewer is that intermediary."""
        shown = entry.answers.shown_requester if entry.answers is not None else ""
        return shown if shown and not self._viewer.is_self(shown) else ""

    def _name_recipients(self, entry: MessagePosted, story: MessageHistory) -> None:
        """Replace recipients hidden from the viewer by the names that the sender used."""
        for ordinal, copy in enumerate(story.copies):
            hops = self._routes[story.seq, ordinal].hops
            if hops and self._viewer.is_hidden(hops[-1].service, hops[-1].isolated_by):
                copy.recipient = self._directory.address_named(entry.copies[ordinal].named)

    def _show_own(self, entry: MessagePosted, story: MessageHistory, redactor: HistoryRedactor) -> None:
        if shown := self._shown_requester(entry):
            redactor.hidden.append(redactor.redact_response_target(story, self._viewer.address_of(shown)))
            return
        for ordinal, copy in enumerate(story.copies):
            copy.stops = [stop for stop in copy.stops if not self._viewer.is_hidden(stop.gcid, stop.isolated_by)]
            ways = self._routes[story.seq, ordinal].hops
            copy.route = [
                self._viewer.address_of(hop.service)
                for hop in ways
                if not self._viewer.is_hidden(hop.service, hop.isolated_by)
            ]
        redactor.open.append(story)

    def _from_shown_sender(self, entry: MessagePosted, story: MessageHistory) -> MessageHistory:
        """Return a response as its receiver sees it, with the intermediary shown as its sender."""
        if not entry.shown_sender or self._viewer.is_self(entry.shown_sender):
            return story
        shown, real = self._viewer.address_of(entry.shown_sender), self._viewer.address_of(entry.sender)
        for stop in (stop for copy in story.copies for stop in copy.stops if stop.invoker == real):
            stop.invoker = shown
        return replace(story, sender=shown)

    def _concerns_viewer(self, stop: Stop) -> bool:
        return self._viewer.is_self(stop.gcid) or self._viewer.is_self(self._invokers[stop.delivery])

    def _is_isolated(self, stop: Stop) -> bool:
        """Whether the viewer has to do with this stop only as one that others isolate."""
        return bool(stop.isolated_by) and not self._viewer.is_self(stop.isolated_by)

    def _rule(self, hop: Hop) -> str:
        """Return the name of the rule that added the service; hidden if the rule belongs to another organization."""
        name = hop.context.rule.partition("/")[2] if hop.context is not None else ""
        may_know = self._viewer.owns(hop.invoker)
        return name if may_know or not name else FOREIGN_RULE


def _arrival(came: MessageArrival) -> ArrivalNotes:
    return ArrivalNotes(notes=list(came.notes), message_id=came.message_id, mic=came.mic, layers=list(came.layers))
