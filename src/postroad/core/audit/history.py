"""The history of a transaction: its messages, their copies, every stop of each copy and everything that happened there.

Kept rule: made of entries and nothing else, and cut to what the asking organization may see: a sender sees its message whole, but
for the stops that others keep to themselves; a service on the way sees the message, its own stops and those that it brought in;
one that is isolated sees whoever isolates it in the sender's place; and nobody else sees that there is anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from postroad.core.audit.batches import KnownBatch, contained, gathered
from postroad.core.audit.faces import NETWORK, Faces, cut_to
from postroad.core.audit.known_keys import keys_told
from postroad.core.audit.moves import move, taken, until_us
from postroad.core.audit.passing import isolating
from postroad.core.audit.story import UNDER_WAY, Arrival, Contained, CopyHistory, Event, History, MessageHistory, Stop
from postroad.core.identity.veil import Veil
from postroad.core.model.delivery import FINAL, State, is_followed
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
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
    Hop,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.model.part_facts import Came
from postroad.core.model.sizes import content_size, wire_size
from postroad.core.model.snapshot import Directory
from postroad.core.routing.contexts import is_asker_hidden
from postroad.core.routing.explanation import OF_ANOTHER
from postroad.core.routing.layout import Route

A_PARTY = "another party"
TRANSLATED = "translated"
STILL_IN_IT = (
    State.QUEUED.name.lower(),
    State.DELIVERED.name.lower(),
)  # a member of a batch: it waits, or went with it
NO_BATCHES: Mapping[str, KnownBatch] = MappingProxyType({})


def tell(
    entries: Iterable[tuple[int, Entry]],
    directory: Directory,
    organization: str | None,
    asked: str,
    veil: Veil,
    batches: Mapping[str, KnownBatch] = NO_BATCHES,
    service: str = "",
) -> History | None:
    """The history that these entries of one transaction tell; ``organization`` None sees all. None when nothing may be seen.

    ``asked`` is the session that somebody asks with: its own name of a message, or the pseudonym by which it knows it.
    ``batches`` are those that the entries speak of, by their ids. ``service``: the GCID of the service that asks, which is kept
    from the wider route also where a service of its own organization isolates it.
    """
    teller = _Teller(directory, organization, batches, service)
    for seq, entry in sorted(entries, key=lambda item: item[0]):
        teller.hear(seq, entry)
    return teller.history(asked, veil)


class _Teller:
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
        self._viewer = organization.casefold() if organization is not None else None
        self._viewing_service = service
        self._messages: dict[int, tuple[MessagePosted, MessageHistory]] = {}
        self._stops: dict[int, Stop] = {}
        self._invokers: dict[int, str] = {}  # of each stop
        self._routes: dict[tuple[int, int], Route] = {}  # of each copy, as it is now
        self._asked_by_unknown: set[int] = set()  # deliveries of responses, on the side that does not know who asked
        self._journeys: dict[int, CopyHistory] = {}
        self._transaction = ""

    def hear(self, seq: int, entry: Entry) -> None:
        match entry:
            case MessagePosted():
                self._posted(seq, entry)
            case InvocationReturned():
                self._returned(seq, entry)
            case DeliveriesLeased() | DeliveriesReturned() | DeliveryAttempted() | BatchesChanged():
                what, told = move(entry)
                for number in entry.deliveries:
                    self._note(number, seq, entry.at_us, what, entry.by, told, until_us=until_us(entry))
                if isinstance(entry, BatchesChanged):
                    self._joined |= dict.fromkeys(entry.deliveries, entry.batch)
            case DeliveryTranslated():
                self._note(entry.delivery, seq, entry.at_us, TRANSLATED, NETWORK, self._left_out(entry))
            case DeliveriesAcknowledged():
                self._settled(seq, entry, *taken(entry), State.DELIVERED)
            case DeliveriesEnded():
                self._settled(seq, entry, entry.state, entry.reason, FINAL[entry.state])
            case DeliveryResent():
                self._resent(seq, entry)
            case DeliveriesDropped():
                by, why = self._dealt_by(entry)
                for number in entry.deliveries:
                    self._note(number, seq, entry.at_us, "dropped", by, why)

    def history(self, asked: str, veil: Veil) -> History | None:
        faces = Faces(veil)
        for number, batch in self._joined.items():
            self._gathered(number, batch)
        for entry, story in self._messages.values():
            for copy in story.copies:
                copy.state = copy.state or (copy.stops[-1].state if copy.stops else "")
            self._show(entry, story, faces)
        return faces.history(asked, self._transaction)

    def _posted(self, seq: int, entry: MessagePosted) -> None:
        self._transaction = entry.transaction
        story = MessageHistory(
            seq=seq,
            session=entry.session,
            at_us=entry.at_us,
            type=entry.type.value,
            sender=self._address(entry.sender),
            topic=entry.topic,
            handle=entry.handle,
            size=content_size(entry),
            wire_size=wire_size(entry) if self._viewer in (None, self._owner(entry.sender)) else 0,
            form=entry.form,
            directory=entry.directory,
            answers=entry.answers.session if entry.answers else "",
            came=_arrival(entry.came) if entry.came is not None else None,
            forwards=entry.forwarded.session if entry.forwarded is not None else "",
            contained=self._contained(entry),
            expires_at_us=entry.expires_at_us,
            found_by=keys_told(entry, self._owns, self._directory),
        )
        self._messages[seq] = entry, story
        for ordinal, copy in enumerate(entry.copies):
            route = [self._address(hop.service) for hop in copy.hops]
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
            self._note(entry.answers.delivery, seq, entry.at_us, "answered", entry.sender, note, State.DELIVERED)
        if entry.forwarded is not None:
            self._note(entry.forwarded.delivery, seq, entry.at_us, "forwarded", entry.sender, self._forwarded_to(entry))
        if entry.ends is not None:
            state = FINAL[entry.ends.state]
            self._note(entry.ends.delivery, seq, entry.at_us, entry.ends.state, NETWORK, entry.ends.reason, state)
            self._journeys_ended((entry.ends.journey,), state)

    def _gathered(self, number: int, batch: str) -> None:
        stop, known = self._stops.get(number), self._batches.get(batch)
        if stop is not None and known is not None:
            stop.gathered = gathered(known, number, is_in_it=stop.state in STILL_IN_IT)

    def _contained(self, entry: MessagePosted) -> Contained | None:
        """What an interchange was made of: for those to know whose batcher made it."""
        made = entry.assembled
        if made is None or self._viewer not in (None, self._owner(entry.sender)):
            return None
        return contained(made, self._batches.get(made.batch.id) if made.batch is not None else None)

    def _forwarded_to(self, entry: MessagePosted) -> str:
        """How many an exchange or model has forwarded a message to: for those to know whose it is."""
        if self._viewer is not None and self._owner(entry.sender) != self._viewer:
            return ""
        return f"to {sum(not copy.code for copy in entry.copies)}, with session {entry.session}"

    def _returned(self, seq: int, entry: InvocationReturned) -> None:
        told = "the message goes on"
        if entry.status is not None:
            told = f"{entry.status.code} {entry.status.text}: absorbed, the message goes on without it"
        self._note(entry.delivery, seq, entry.at_us, "answered", entry.by, told, State.DELIVERED)
        if entry.hops:
            self._routes[entry.message, entry.copy] = Route(entry.hops, entry.logical)
            if entry.message in self._messages:
                story = self._messages[entry.message][1].copies[entry.copy]
                story.route = [self._address(hop.service) for hop in entry.hops]
        self._stop(entry.message, entry.copy, entry.hop, delivery_number(seq, 0), content_size(entry))

    def _resent(self, seq: int, entry: DeliveryResent) -> None:
        """A new round: the copy is at the service again at which it failed, and under way where it is followed."""
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
        """The copy whose journey the round is: its own, or where it is a response, that of its request."""
        posted = self._messages.get(entry.message)
        if posted is None or not entry.followed:
            return None
        message, story = posted
        if message.answers is not None:
            return self._journeys.get(message.answers.journey)
        return story.copies[entry.copy]

    def _dealt_by(self, entry: DeliveryResent | DeliveriesDropped) -> tuple[str, str]:
        """Who resent or dropped a dead letter, and why: for their own organization to know, not for the other parties."""
        person = self._directory.person(entry.by)
        if self._viewer is None or (person is not None and person.organization.casefold() == self._viewer):
            return entry.by, entry.reason
        return A_PARTY, ""

    def _person_or_party(self, by: str) -> str:
        """Who did something to a batch, by name only where that is a person of the viewer's own organization."""
        person = self._directory.person(by)
        is_foreign = person is not None and self._viewer not in (None, person.organization.casefold())
        return A_PARTY if is_foreign else by

    def _left_out(self, entry: DeliveryTranslated) -> str:
        """What a translation has left out: for the receiver to know; the other parties are told how much it was."""
        told = f"{len(entry.dropped)} left out"
        if self._viewer is None or self._owner(entry.by) == self._viewer:
            told = f"left out: {'; '.join(entry.dropped)}"
        return f"from {entry.form} to {entry.format}; {told}"

    def _settled(
        self, seq: int, entry: DeliveriesAcknowledged | DeliveriesEnded, what: str, why: str, state: State
    ) -> None:
        by = entry.by if entry.batch is None else self._person_or_party(entry.by)
        for number in entry.deliveries:
            self._note(number, seq, entry.at_us, what, by, why, state)
        self._journeys_ended(entry.journeys, state)

    def _journeys_ended(self, journeys: tuple[int, ...], state: State) -> None:
        for journey in journeys:
            copy = self._journeys.get(journey)
            if copy is not None and copy.state == UNDER_WAY:
                copy.state = state.name.lower()

    def _stop(self, message_seq: int, copy: int, hop: int, number: int, size: int) -> None:
        if message_seq not in self._messages:
            return
        entry, story = self._messages[message_seq]
        hops, logical = self._routes[message_seq, copy]
        if is_asker_hidden(entry, hop, hops, logical):
            self._asked_by_unknown.add(number)
        stop = Stop(
            delivery=number,
            service=self._address(hops[hop].service),
            gcid=hops[hop].service,
            in_transit=hop < len(hops) - 1,
            state=State.QUEUED.name.lower(),
            size=size,
            invoker=self._address(hops[hop].invoker),
            rule=self._rule(hops[hop]),
            isolated_by=isolating(hops[hop]),
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
        state: State | None = None,
        until_us: int = 0,
    ) -> None:
        stop = self._stops.get(number)
        if stop is None:
            return
        told = Event(seq=seq, at_us=at_us, what=what, by=self._address(by), detail=detail, until_us=until_us)
        stop.events.append(told)
        if state is not None and stop.state == State.QUEUED.name.lower():
            stop.state = state.name.lower()

    def _show(self, entry: MessagePosted, story: MessageHistory, faces: Faces) -> None:
        """Put what the viewer may know of a message to the face under which it knows it."""
        if self._viewer is None:
            faces.open.append(story)
            return
        self._name_recipients(entry, story)
        if self._is_viewer(entry.sender):
            self._show_own(entry, story, faces)
            return
        stops = [stop for copy in story.copies for stop in copy.stops if self._concerns_viewer(stop)]
        hidden = [stop for stop in stops if self._is_isolated(stop)]
        shown = self._shown_requester(entry)
        beside = [stop for stop in stops if shown and stop.delivery in self._asked_by_unknown and stop not in hidden]
        if known := [stop for stop in stops if stop not in hidden and stop not in beside]:
            faces.open.append(self._from_shown_sender(entry, cut_to(story, known)))
        if beside:
            cut = self._from_shown_sender(entry, cut_to(story, beside))
            faces.hidden.append(faces.passing_to_unknown(cut, self._address(shown)))
        if hidden:
            isolates = self._address(hidden[0].isolated_by)
            faces.hidden.append(faces.disguised(cut_to(story, hidden), isolates))

    def _shown_requester(self, entry: MessagePosted) -> str:
        """Who stands between the two of a response, where the viewer is neither that one nor of its house; or empty."""
        shown = entry.answers.shown_requester if entry.answers is not None else ""
        return shown if shown and not self._is_viewer(shown) else ""

    def _name_recipients(self, entry: MessagePosted, story: MessageHistory) -> None:
        """Call recipients that somebody keeps from the viewer by the names that the sender wrote."""
        for ordinal, copy in enumerate(story.copies):
            hops = self._routes[story.seq, ordinal].hops
            if hops and self._is_kept_back(hops[-1].service, isolating(hops[-1])):
                named = self._directory.service(entry.copies[ordinal].named)
                copy.recipient = named.address if named is not None else entry.copies[ordinal].named

    def _show_own(self, entry: MessagePosted, story: MessageHistory, faces: Faces) -> None:
        if shown := self._shown_requester(entry):
            faces.hidden.append(faces.answer_to_unknown(story, self._address(shown)))
            return
        for ordinal, copy in enumerate(story.copies):
            copy.stops = [stop for stop in copy.stops if not self._is_kept_back(stop.gcid, stop.isolated_by)]
            ways = self._routes[story.seq, ordinal].hops
            copy.route = [
                self._address(hop.service) for hop in ways if not self._is_kept_back(hop.service, isolating(hop))
            ]
        faces.open.append(story)

    def _from_shown_sender(self, entry: MessagePosted, story: MessageHistory) -> MessageHistory:
        """A response as its receiver knows it, where somebody stands between the two."""
        if not entry.shown_sender or self._is_viewer(entry.shown_sender):
            return story
        shown, real = self._address(entry.shown_sender), self._address(entry.sender)
        for stop in (stop for copy in story.copies for stop in copy.stops if stop.invoker == real):
            stop.invoker = shown
        return replace(story, sender=shown)

    def _concerns_viewer(self, stop: Stop) -> bool:
        return self._is_viewer(stop.gcid) or self._is_viewer(self._invokers[stop.delivery])

    def _is_isolated(self, stop: Stop) -> bool:
        """Whether the viewer has to do with this stop only as one that others isolate."""
        return bool(stop.isolated_by) and not self._is_viewer(stop.isolated_by)

    def _is_viewer(self, gcid: str) -> bool:
        """Whether this is the service that asks; for a person, a service of their organization."""
        return gcid == self._viewing_service if self._viewing_service else self._owner(gcid) == self._viewer

    def _rule(self, hop: Hop) -> str:
        """The name of the rule that brought the service in; that of another organization is not told."""
        name = hop.context.rule.partition("/")[2] if hop.context is not None else ""
        may_know = self._viewer in (None, self._owner(hop.invoker))
        return name if may_know or not name else OF_ANOTHER

    def _is_kept_back(self, service: str, isolated_by: str) -> bool:
        """Whether somebody else included this service and keeps it to itself, be it reached already or not."""
        return bool(isolated_by) and self._viewer not in (self._owner(isolated_by), self._owner(service))

    def _address(self, gcid: str) -> str:
        service = self._directory.services.get(gcid)
        return service.address if service is not None else gcid

    def _owns(self, gcid: str) -> bool:
        """Whether it is a service of the viewer's."""
        return self._viewer is None or self._owner(gcid) == self._viewer

    def _owner(self, gcid: str) -> str:
        service = self._directory.services.get(gcid)
        return service.organization.casefold() if service is not None else ""


def _arrival(came: Came) -> Arrival:
    return Arrival(notes=list(came.notes), message_id=came.message_id, mic=came.mic, layers=list(came.layers))
