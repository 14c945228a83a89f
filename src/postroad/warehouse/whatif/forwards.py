"""The copies that exchanges and models would forward of a logged message, under one directory.

Rules: the output of services on the way to an exchange is unknown, so an exchange gets the posted message, or the
output of the previous exchange, in the context of the route. Bindings are evaluated, sources found and copies routed
by the functions that do it on a delivery. A loop is cut where it closes. A message that reaches an exchange by several
paths is forwarded to each further exchange once. A message is decided only if everything that bindings would read is
still stored.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.exchange.match.matcher import MatchableMessage
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Message, MessageType, Part
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import ServiceTried
from postroad.core.routing.forward import (
    NOT_OPEN,
    RELAYS,
    Forward,
    content_name,
    find_closed_receivers,
    forwarded_copies,
    with_content,
)
from postroad.errors import Refused
from postroad.flow.stages.forward import FORM
from postroad.services.exchange.binding_matches import choose_content
from postroad.services.exchange.callables import Routing
from postroad.services.model import find_producer
from postroad.warehouse.bulk.match.engines import MatchedExchange, TaskEngines
from postroad.warehouse.bulk.match.open_exchanges import open_exchange, open_model
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.bulk.routing import safest_caller

FORWARDING = (Hosting.EXCHANGE, Hosting.MODEL)

Path = tuple[str, ...]  # GCIDs of the exchanges and models that a message has passed, ending with the current one


class ForwardArrival(Struct, frozen=True):
    """A message at an exchange or a model."""

    path: Path
    delivered: Delivered
    form: str


def find_arrivals(
    copies: Iterable[Copy], delivered: Delivered, sender: str, path: Path, form: str, directory: Directory
) -> Iterator[ForwardArrival]:
    """Yield every exchange and model that accepted copies reach; ``sender`` is the actual sender."""
    kind = MessageType.NOTIFICATION if path else delivered.type
    for copy in copies:
        for place, hop in enumerate(copy.hops if not copy.code else ()):
            service = directory.services.get(hop.service)
            if service is not None and service.hosted in FORWARDING and service.gcid not in path:
                there = _at(hop, replace(delivered, type=kind), sender, directory)
                in_transit = place < len(copy.hops) - 1
                yield ForwardArrival((*path, service.gcid), replace(there, in_transit=in_transit), form)


def _at(hop: Hop, delivered: Delivered, sender: str, directory: Directory) -> Delivered:
    """Return the message as delivered to a service on its route."""
    invoker = delivered.sender_gcid if hop.invoker == sender else hop.invoker
    context = hop.context
    there = replace(delivered, arguments=hop.arguments, invoker=directory.address_of(invoker))
    if context is None:
        return there
    there = replace(there, topic=context.topic or there.topic)
    if not context.shown_sender:
        return there
    return replace(
        there, sender=directory.address_of(context.shown_sender), sender_gcid=context.shown_sender, handle=""
    )


def delivered_message(logged: LoggedPost, message: Message, directory: Directory) -> Delivered:
    posted = logged.posted
    return Delivered(
        session=posted.session,
        token="",
        transaction=posted.transaction,
        sender=directory.address_of(posted.sender),
        sender_gcid=posted.sender,
        recipient="",
        recipient_gcid="",
        type=posted.type,
        topic=posted.topic,
        handle=posted.handle,
        arguments=(),
        reference=None,
        invoker="",
        status=posted.status,
        properties=posted.properties,
        posted_at_us=posted.at_us,
        expires_at_us=posted.expires_at_us,
        attempt=1,
        in_transit=False,
        possible_duplicate=posted.possible_duplicate,
        parts=message.parts,
    )


Key = tuple[Path, str, str]  # the path, the receiver, and the binding that transformed the message


class ForwardedCopy(Struct, frozen=True):
    """One copy that an exchange or a model forwards."""

    through: Path
    receiver: str  # GCID
    chosen_by: tuple[str, ...]  # names of bindings, or ids of attachments
    copy: Copy
    size: int
    made: Part | None = None  # replaces the content; None: unchanged
    tried: tuple[ServiceTried, ...] = ()


@dataclass(slots=True, kw_only=True)
class ForwardedCopies:
    """All forwarded copies of one message."""

    sent: dict[Key, ForwardedCopy] = field(default_factory=dict)
    refused: dict[Path, str] = field(default_factory=dict)  # exchanges that cannot forward it, with the error code
    reached: set[Path] = field(default_factory=set)
    handed_on: set[tuple[str, str, str, str]] = field(default_factory=set)  # sender, exchange, binding, and content
    looked_into_body: bool = False


class ForwardReplay:
    """Replays exchanges and models, with the engines of one task."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._callables = frozenset(routings)
        self._judges = TaskEngines(routings)

    def close(self) -> None:
        self._judges.end()

    def onwards(
        self, logged: LoggedPost, message: Message, copies: Sequence[Copy], directory: Directory
    ) -> ForwardedCopies:
        """Return what every exchange and model that these copies reach would forward."""
        found = ForwardedCopies()
        first = delivered_message(logged, message, directory)
        waiting = deque(find_arrivals(copies, first, logged.posted.sender, (), logged.posted.form, directory))
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

    def _chosen(
        self, arrival: ForwardArrival, directory: Directory, found: ForwardedCopies, *, is_whole: bool
    ) -> list[Forward]:
        delivered, service = arrival.delivered, directory.services[arrival.path[-1]]
        if service.hosted is Hosting.MODEL:
            return _published(delivered, service, directory)
        bound = open_exchange(service.gcid, directory, self._callables)
        content, items = choose_content(delivered.parts), _items(delivered)
        if not is_whole:
            selected = bound.select(_without_body(items, found))
            found.looked_into_body |= bool(selected.asked or service.validates)
            return [Forward(binding.queue, binding.name) for binding in selected.decided]
        matches = self._judges.matches(MatchedExchange(service, directory, bound), content, items)
        return [Forward(one.binding.queue, one.binding.name, one.part) for one in matches if not one.error]


def _published(delivered: Delivered, model: Service, directory: Directory) -> list[Forward]:
    index = open_model(model.gcid, directory)
    if index is None:
        raise Refused("configuration.conflict", f"{model.address} has no nodes")
    source = find_producer(delivered, index, model, directory)
    return [Forward(one.service, one.id) for one in index.publish(source.id, delivered.topic)]


def _items(delivered: Delivered) -> dict[str, TypedItem]:
    return header_items(
        delivered.properties,
        topic=delivered.topic,
        sender=delivered.sender,
        type=delivered.type.value,
        handle=delivered.handle,
    )


def _without_body(items: Mapping[str, TypedItem], found: ForwardedCopies) -> MatchableMessage:
    """Return the message without its body; records whether a binding needs the body."""

    def looked() -> None:
        found.looked_into_body = True
        raise Refused("body.dropped", "The body is no longer stored")

    return MatchableMessage(headers=items, content=b"", root=looked)  # type: ignore[arg-type]


# ---- what is sent on -------------------------------------------------------------------------------------------------


def _sent_on(
    arrival: ForwardArrival, forwards: Sequence[Forward], directory: Directory, found: ForwardedCopies
) -> Iterator[ForwardArrival]:
    """Record every copy, and return the further exchanges and models that it reaches."""
    for made_by, candidates in _groups(arrival, forwards, directory).items():
        delivered, form = _with_content(arrival, candidates[0][0])
        group = [one for one in candidates if _is_new(one[0].receiver, made_by, arrival, delivered, directory, found)]
        receivers = [directory.services[one.receiver] for one, _ in group]
        closed = find_closed_receivers(arrival.path[-1], [one.gcid for one in receivers], directory)
        routed = forwarded_copies(
            _admitted(arrival, delivered, directory), delivered.sender_gcid, receivers, directory, form
        )
        size = sum(len(part.data) for part in delivered.parts)
        copies = [
            _refused(copy) if one.receiver in closed else copy
            for (one, _), copy in zip(group, routed.copies, strict=True)
        ]
        for (one, chosen_by), copy in zip(group, copies, strict=True):
            onward = ForwardedCopy(
                through=arrival.path,
                receiver=one.receiver,
                chosen_by=tuple(chosen_by),
                copy=copy,
                size=size,
                made=one.part,
                tried=routed.tried,
            )
            found.sent[arrival.path, one.receiver, made_by] = onward
        yield from find_arrivals(copies, delivered, arrival.path[-1], arrival.path, form, directory)


def _is_new(
    receiver: str,
    made_by: str,
    arrival: ForwardArrival,
    delivered: Delivered,
    directory: Directory,
    found: ForwardedCopies,
) -> bool:
    """Return True unless this exchange has already forwarded the same content to that exchange."""
    if directory.services[receiver].hosted not in RELAYS:
        return True
    way = (arrival.path[-1], receiver, made_by, content_name(arrival.path, delivered.parts))
    known = way in found.handed_on
    found.handed_on.add(way)
    return not known


def _refused(copy: Copy) -> Copy:
    """Return the copy as refused: its receiver belongs to an organization that the exchange is not open to."""
    return Copy(copy.named, (), NOT_OPEN.code)


def _groups(
    arrival: ForwardArrival, forwards: Iterable[Forward], directory: Directory
) -> dict[str, list[tuple[Forward, list[str]]]]:
    """Group the forwards by the binding that transformed the message; an unchanged message reaches each receiver once."""
    groups: dict[str, dict[str, tuple[Forward, list[str]]]] = defaultdict(dict)
    for one in forwards:
        if one.receiver in arrival.path or one.receiver not in directory.services:
            continue
        made_by = one.chosen_by if one.part is not None else ""
        groups[made_by].setdefault(one.receiver, (one, []))[1].append(one.chosen_by)
    return {made_by: list(group.values()) for made_by, group in groups.items()}


def _with_content(arrival: ForwardArrival, forward: Forward) -> tuple[Delivered, str]:
    if forward.part is None:
        return arrival.delivered, arrival.form
    return replace(arrival.delivered, parts=with_content(arrival.delivered.parts, forward.part)), FORM


def _admitted(arrival: ForwardArrival, delivered: Delivered, directory: Directory) -> Admitted:
    service = directory.services[arrival.path[-1]]
    message = Message(
        type=MessageType.NOTIFICATION,
        topic=delivered.topic,
        handle=delivered.handle,
        properties=delivered.properties,
        parts=delivered.parts,
    )
    return Admitted(message, service, safest_caller(service), delivered.posted_at_us, delivered.expires_at_us)
