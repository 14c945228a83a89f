"""A message's header as rules see it, and the table of items that a condition can name.

Values that are the same for every service (``RuleHeader``) are separate from those that depend on the viewing service
(``SeenHeader``). Rule: a missing or empty item has no values, so a condition on it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from msgspec import Struct

from postroad.core.codecs.lexical import write_time
from postroad.core.codecs.property_values import items_of
from postroad.core.model.message import Argument, MessageType, Part, Property, Status
from postroad.core.model.rule import RuleRole, ValueType
from postroad.core.routing.conditions.place_content import NO_CONTENT, PlaceContent


class NamedService(Struct, gc=False, frozen=True, kw_only=True):
    """A service on the route; if its GCID or organization is unknown, it is compared only by its address."""

    address: str
    gcid: str = ""
    organization: str = ""


class Addressed(Struct, gc=False, frozen=True, kw_only=True):
    party: NamedService
    arguments: tuple[Argument, ...] = ()


class RuleHeader(Struct, gc=False, frozen=True, kw_only=True):
    """The header of a message that all services share; services are identified, not kept as they were written."""

    sender: NamedService
    to: tuple[Addressed, ...] = ()
    type: MessageType = MessageType.NOTIFICATION
    topic: str = ""
    handle: str = ""
    possible_duplicate: bool = False
    reference: str = ""  # the session that the message answers
    expires_at_us: int = 0
    route: tuple[str | NamedService, ...] = ()  # the explicit route; a text is an address
    route_arguments: tuple[Argument, ...] = ()  # of all its services, as the sender wrote them; for the sender's rules
    routing: str = ""  # static or dynamic, if the sender set it
    properties: tuple[Property, ...] = ()
    status: Status | None = None
    posted_at_us: int = 0
    form: str = ""
    shown_sender: NamedService | None = None  # of a response: its sender as shown to the requester's side
    shown_requester: NamedService | None = None  # … and the requester as shown to the responder's side


class SeenHeader(Struct, gc=False, frozen=True, kw_only=True):
    """The header as one service sees it: with its own topic, role and arguments."""

    header: RuleHeader
    parts: tuple[Part, ...]
    topic: str
    role: RuleRole | None = None
    arguments: tuple[Argument, ...] = ()
    invoker: NamedService | None = None


Look = Callable[[SeenHeader], PlaceContent]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderItem:
    """An item that conditions can name; ``names`` is True if its values name services or organizations."""

    look: Look
    meaning: str
    type: ValueType = ValueType.STRING
    names: bool = False


def _text(text: str) -> PlaceContent:
    return PlaceContent((text,)) if text else NO_CONTENT


def _time(microseconds: int) -> PlaceContent:
    return PlaceContent((write_time(microseconds),)) if microseconds else NO_CONTENT


def _services(parties: Iterable[str | NamedService]) -> PlaceContent:
    """Return services as content; they match by address or GCID, regardless of case."""
    known = [NamedService(address=party) if isinstance(party, str) else party for party in parties]
    names = {name.casefold() for party in known for name in (party.address, party.gcid) if name}
    return PlaceContent(tuple(party.address for party in known), names=frozenset(names))


def _named(names: Iterable[str]) -> PlaceContent:
    present = tuple(name for name in names if name)
    return PlaceContent(present, names=frozenset(name.casefold() for name in present))


def _present(texts: Iterable[str]) -> PlaceContent:
    return PlaceContent(tuple(text for text in texts if text))


def _parts(attachment: bool, text: Callable[[Part], str]) -> Look:
    return lambda seen: _present(text(part) for part in seen.parts if part.attachment is attachment)


def _receivers(seen: SeenHeader) -> Iterable[NamedService]:
    return (addressed.party for addressed in seen.header.to)


def _id(part: Part) -> str:
    return part.id


def _content_type(part: Part) -> str:
    return part.content_type


def _size(part: Part) -> str:
    return str(len(part.data))


def _part_expiration(part: Part) -> str:
    return write_time(part.expires_at_us) if part.expires_at_us else ""


_NUMBER, _DATE = ValueType.NUMBER, ValueType.DATE

ITEMS: dict[str, HeaderItem] = {
    "from": HeaderItem(
        look=lambda seen: _services((seen.header.sender,)), names=True, meaning="the sending service, by address or GCID"
    ),
    "from.gcid": HeaderItem(
        look=lambda seen: _named((seen.header.sender.gcid,)), names=True, meaning="the sending service's GCID"
    ),
    "from.organization": HeaderItem(
        look=lambda seen: _named((seen.header.sender.organization,)), names=True, meaning="the sender's organization"
    ),
    "to": HeaderItem(
        look=lambda seen: _services(_receivers(seen)),
        names=True,
        meaning="every recipient, by address or GCID; a recipient's rules see only itself",
    ),
    "to.gcid": HeaderItem(
        look=lambda seen: _named(party.gcid for party in _receivers(seen)), names=True, meaning="every recipient's GCID"
    ),
    "to.organization": HeaderItem(
        look=lambda seen: _named(party.organization for party in _receivers(seen)),
        names=True,
        meaning="the recipients' organizations",
    ),
    "type": HeaderItem(
        look=lambda seen: PlaceContent((seen.header.type.value,)), meaning="`request`, `response` or `notification`"
    ),
    "topic": HeaderItem(
        look=lambda seen: _text(seen.topic), meaning="the topic, as delivered to the rule's service"
    ),
    "handle": HeaderItem(look=lambda seen: _text(seen.header.handle), meaning=("the sender's own reference for the message")),
    "possibleDuplicate": HeaderItem(
        look=lambda seen: PlaceContent(("true" if seen.header.possible_duplicate else "false",)), meaning="`true` or `false`"
    ),
    "reference": HeaderItem(
        look=lambda seen: _text(seen.header.reference), meaning="the session ID that a response refers to"
    ),
    "expiration": HeaderItem(
        look=lambda seen: _time(seen.header.expires_at_us), type=_DATE, meaning="when the message expires"
    ),
    "postedAt": HeaderItem(
        look=lambda seen: _time(seen.header.posted_at_us), type=_DATE, meaning="when the message was posted"
    ),
    "route": HeaderItem(
        look=lambda seen: _services(seen.header.route), names=True, meaning="every service of the explicit route"
    ),
    "routing": HeaderItem(
        look=lambda seen: _text(seen.header.routing), meaning="`static` or `dynamic`, if the sender chose one"
    ),
    "status.code": HeaderItem(
        look=lambda seen: _text(seen.header.status.code) if seen.header.status else NO_CONTENT,
        meaning="the status of a response",
    ),
    "status.text": HeaderItem(
        look=lambda seen: _text(seen.header.status.text) if seen.header.status else NO_CONTENT,
        meaning="the text of the status",
    ),
    "size": HeaderItem(
        look=lambda seen: PlaceContent((str(sum(len(part.data) for part in seen.parts)),)),
        type=_NUMBER,
        meaning="the bytes of all documents and attachments",
    ),
    "form": HeaderItem(look=lambda seen: _text(seen.header.form), meaning="the format it was posted in"),
    "role": HeaderItem(
        look=lambda seen: _text(seen.role.value) if seen.role else NO_CONTENT,
        meaning="the role of the rule's service: `sender`, `recipient` or `inTransit`",
    ),
    "invoker": HeaderItem(
        look=lambda seen: _services((seen.invoker,)) if seen.invoker else NO_CONTENT,
        names=True,
        meaning="the service that inserted the rule's service into the route",
    ),
    "documents.id": HeaderItem(look=_parts(False, _id), meaning="the id of every document"),
    "documents.contentType": HeaderItem(look=_parts(False, _content_type), meaning="the content type of every document"),
    "documents.size": HeaderItem(look=_parts(False, _size), type=_NUMBER, meaning="the bytes of every document"),
    "documents.expiration": HeaderItem(
        look=_parts(False, _part_expiration), type=_DATE, meaning="the expiration of every document that has one"
    ),
    "attachments.id": HeaderItem(look=_parts(True, _id), meaning="the id of every attachment"),
    "attachments.contentType": HeaderItem(
        look=_parts(True, _content_type), meaning="the content type of every attachment"
    ),
    "attachments.size": HeaderItem(look=_parts(True, _size), type=_NUMBER, meaning="the bytes of every attachment"),
    "attachments.expiration": HeaderItem(
        look=_parts(True, _part_expiration), type=_DATE, meaning="the expiration of every attachment that has one"
    ),
}  # fmt: skip


def _property(name: str) -> Look:
    return lambda seen: PlaceContent(
        tuple(text for entry in seen.header.properties if entry.name == name for _, text in items_of(entry))
    )


def _argument(name: str) -> Look:
    return lambda seen: PlaceContent(tuple(argument.value for argument in seen.arguments if argument.name == name))


def _receiver_argument(name: str) -> Look:
    return lambda seen: PlaceContent(
        tuple(
            argument.value for addressed in seen.header.to for argument in addressed.arguments if argument.name == name
        )
    )


def _route_argument(name: str) -> Look:
    return lambda seen: PlaceContent(
        tuple(argument.value for argument in seen.header.route_arguments if argument.name == name)
    )


def _part_header(attachment: bool) -> Callable[[str], Look]:
    def look_for(name: str) -> Look:
        wanted = name.casefold()
        return lambda seen: _present(
            value
            for part in seen.parts
            if part.attachment is attachment
            for header, value in part.headers
            if header.casefold() == wanted
        )

    return look_for


FAMILIES: dict[str, tuple[Callable[[str], Look], str]] = {
    "properties.": (_property, "the property of that name; of an array or a sequence, each item"),
    "to.arguments.": (_receiver_argument, "that argument, as given to any recipient; not for services in transit"),
    "route.arguments.": (
        _route_argument,
        "that argument, as given to any service of the explicit route; for the sender's rules",
    ),
    "documents.headers.": (_part_header(attachment=False), "that header of every document; case does not matter"),
    "attachments.headers.": (_part_header(attachment=True), "that header of every attachment; case does not matter"),
    "arguments.": (_argument, "that argument, as given to the rule's service"),
}


def header_item(path: str) -> HeaderItem | None:
    """Return the item that a path names, or None if there is no such item."""
    item = ITEMS.get(path)
    if item is not None:
        return item
    for start, (look, meaning) in FAMILIES.items():
        if path.startswith(start) and len(path) > len(start):
            return HeaderItem(look=look(path[len(start) :]), meaning=meaning)
    return None
