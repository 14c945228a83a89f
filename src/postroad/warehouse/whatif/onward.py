"""What exchanges and models would send on of a logged message, under one directory.

Kept rules: bindings are asked, sources found and copies routed by the functions that do it on a delivery; a circle is cut where
it closes, and what comes to an exchange by several ways is handed on to another one once. A message is decided only where
everything that bindings would look at is still there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.exchange.matching import Incoming
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service
from postroad.core.model.journal import Copy
from postroad.core.model.message import Delivered, Message, MessageType, Part
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explanation import ServiceTried
from postroad.core.routing.forwarding import closed_to, forwarded_copies
from postroad.core.routing.forwards import NOT_OPEN, RELAYS, Forward, told_apart, with_content
from postroad.errors import Refused
from postroad.flow.going import FORM
from postroad.services.callables import Routing
from postroad.services.matching import content_of
from postroad.services.model import source_of
from postroad.warehouse.bulk.logged import Logged
from postroad.warehouse.bulk.matching_judges import Exchange, TaskJudges
from postroad.warehouse.bulk.opened_exchanges import opened_exchange, opened_model
from postroad.warehouse.bulk.routing import safest_caller
from postroad.warehouse.whatif.arriving import Arrival, Path, arrivals, as_delivered

Key = tuple[Path, str, str]  # the path, the receiver, and the binding that has made something of the message


class Onward(Struct, frozen=True):
    """One copy that an exchange or a model sends on."""

    through: Path
    receiver: str  # GCID
    chosen_by: tuple[str, ...]  # names of bindings, or ids of attachments
    copy: Copy
    size: int
    made: Part | None = None  # what goes in the content's place; None: as it came
    tried: tuple[ServiceTried, ...] = ()


@dataclass(slots=True, kw_only=True)
class Onwards:
    """All that is sent on of one message."""

    sent: dict[Key, Onward] = field(default_factory=dict)
    refused: dict[Path, str] = field(
        default_factory=dict
    )  # where nothing can be done with it, and the code that says why
    reached: set[Path] = field(default_factory=set)
    handed_on: set[tuple[str, str, str, str]] = field(
        default_factory=set
    )  # from whom to which exchange, by what, and what
    looked_into_body: bool = False


class Playing:
    """Plays what exchanges and models do; the engines of one task stand behind it."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._callables = frozenset(routings)
        self._judges = TaskJudges(routings)

    def close(self) -> None:
        self._judges.end()

    def onwards(self, logged: Logged, message: Message, copies: Sequence[Copy], directory: Directory) -> Onwards:
        """What becomes of it at every exchange and model that these copies of it reach."""
        found = Onwards()
        first = as_delivered(logged, message, directory)
        waiting = deque(arrivals(copies, first, logged.posted.sender, (), logged.posted.form, directory))
        while waiting:
            arrival = waiting.popleft()
            found.reached.add(arrival.path)
            try:
                forwards = self._chosen(arrival, directory, found, is_whole=logged.is_whole)
            except Refused as refusal:
                found.refused[arrival.path] = refusal.code
                continue
            waiting += _sent_on(arrival, forwards, directory, found)
        return found

    def _chosen(self, arrival: Arrival, directory: Directory, found: Onwards, *, is_whole: bool) -> list[Forward]:
        delivered, service = arrival.delivered, directory.services[arrival.path[-1]]
        if service.hosted is Hosting.MODEL:
            return _published(delivered, service, directory)
        bound = opened_exchange(service.gcid, directory, self._callables)
        content, items = content_of(delivered.parts), _items(delivered)
        if not is_whole:
            selected = bound.select(_without_body(items, found))
            found.looked_into_body |= bool(selected.asked or service.validates)
            return [Forward(binding.queue, binding.name) for binding in selected.decided]
        matches = self._judges.matches(Exchange(service, directory, bound), content, items)
        return [Forward(one.binding.queue, one.binding.name, one.part) for one in matches if not one.error]


def _published(delivered: Delivered, model: Service, directory: Directory) -> list[Forward]:
    index = opened_model(model.gcid, directory)
    if index is None:
        raise Refused("configuration.conflict", f"{model.address} has no nodes")
    source = source_of(delivered, index, model, directory)
    return [Forward(one.service, one.id) for one in index.publish(source.id, delivered.topic)]


def _items(delivered: Delivered) -> dict[str, TypedItem]:
    return header_items(
        delivered.properties,
        topic=delivered.topic,
        sender=delivered.sender,
        type=delivered.type.value,
        handle=delivered.handle,
    )


def _without_body(items: Mapping[str, TypedItem], found: Onwards) -> Incoming:
    """A message of which only the header is left; that somebody would look further is remembered."""

    def looked() -> None:
        found.looked_into_body = True
        raise Refused("body.dropped", "The body is no longer kept")

    return Incoming(headers=items, content=b"", root=looked)  # type: ignore[arg-type]


# ---- what is sent on -------------------------------------------------------------------------------------------------


def _sent_on(arrival: Arrival, forwards: Sequence[Forward], directory: Directory, found: Onwards) -> Iterator[Arrival]:
    """Note every copy, and say where it reaches another exchange or model."""
    for made_by, candidates in _groups(arrival, forwards, directory).items():
        delivered, form = _with_content(arrival, candidates[0][0])
        group = [one for one in candidates if _is_new(one[0].receiver, made_by, arrival, delivered, directory, found)]
        receivers = [directory.services[one.receiver] for one, _ in group]
        closed = closed_to(arrival.path[-1], [one.gcid for one in receivers], directory)
        routed = forwarded_copies(
            _admitted(arrival, delivered, directory), delivered.sender_gcid, receivers, directory, form
        )
        size = sum(len(part.data) for part in delivered.parts)
        copies = [
            _refused(copy) if one.receiver in closed else copy
            for (one, _), copy in zip(group, routed.copies, strict=True)
        ]
        for (one, chosen_by), copy in zip(group, copies, strict=True):
            onward = Onward(arrival.path, one.receiver, tuple(chosen_by), copy, size, one.part, routed.tried)
            found.sent[arrival.path, one.receiver, made_by] = onward
        yield from arrivals(copies, delivered, arrival.path[-1], arrival.path, form, directory)


def _is_new(
    receiver: str, made_by: str, arrival: Arrival, delivered: Delivered, directory: Directory, found: Onwards
) -> bool:
    """Whether this exchange has not yet handed that on to another one, having got it by another way."""
    if directory.services[receiver].hosted not in RELAYS:
        return True
    way = (arrival.path[-1], receiver, made_by, told_apart(arrival.path, delivered.parts))
    known = way in found.handed_on
    found.handed_on.add(way)
    return not known


def _refused(copy: Copy) -> Copy:
    """To a receiver of another house, to which the exchange or model is not open."""
    return Copy(copy.named, (), NOT_OPEN.partition(":")[0])


def _groups(
    arrival: Arrival, forwards: Iterable[Forward], directory: Directory
) -> dict[str, list[tuple[Forward, list[str]]]]:
    """By the binding that has made something of it; as it came a message goes to each receiver once, whatever has chosen it."""
    groups: dict[str, dict[str, tuple[Forward, list[str]]]] = defaultdict(dict)
    for one in forwards:
        if one.receiver in arrival.path or one.receiver not in directory.services:
            continue
        made_by = one.chosen_by if one.part is not None else ""
        groups[made_by].setdefault(one.receiver, (one, []))[1].append(one.chosen_by)
    return {made_by: list(group.values()) for made_by, group in groups.items()}


def _with_content(arrival: Arrival, forward: Forward) -> tuple[Delivered, str]:
    if forward.part is None:
        return arrival.delivered, arrival.form
    return replace(arrival.delivered, parts=with_content(arrival.delivered.parts, forward.part)), FORM


def _admitted(arrival: Arrival, delivered: Delivered, directory: Directory) -> Admitted:
    service = directory.services[arrival.path[-1]]
    message = Message(
        type=MessageType.NOTIFICATION,
        topic=delivered.topic,
        handle=delivered.handle,
        properties=delivered.properties,
        parts=delivered.parts,
    )
    return Admitted(message, service, safest_caller(service), delivered.posted_at_us, delivered.expires_at_us)
