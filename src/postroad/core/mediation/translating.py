"""The one table of formats: how each is taken apart, and how it is given."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import check_lists
from postroad.core.mediation import cloudevents_format, dime_format, mime_format, soap_format, swa_format
from postroad.core.mediation.header_fields import has_fields, read_fields
from postroad.core.mediation.looking import Found, look
from postroad.core.mediation.losses import action_lost, wrapping_lost
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire, outgoing
from postroad.core.mediation.rooted import ROOTED
from postroad.core.mediation.setting import unpacked
from postroad.core.mediation.soap_part import STRIP, without_soap_part
from postroad.core.model.delivery import Wrapped
from postroad.core.model.directory import Service
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Delivered, Message
from postroad.errors import Refused

TAKE: dict[Format, Callable[[Wire, WireLimits], Taken]] = {
    Format.SOAP: soap_format.take,
    Format.SWA: swa_format.take,
    Format.DIME: dime_format.take,
    Format.MIME: mime_format.take,
    Format.CLOUDEVENTS: cloudevents_format.take,
}
GIVE: dict[Format, Callable[[Outgoing], Given]] = {
    Format.SOAP: soap_format.give,
    Format.SWA: swa_format.give,
    Format.DIME: dime_format.give,
    Format.MIME: mime_format.give,
    Format.AS2: mime_format.give_entity,  # which is then signed and encrypted
    Format.CLOUDEVENTS: cloudevents_format.give,
}


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    """A message in whatever plain format it is, taken apart."""
    found = look(wire, limits)
    if found.format not in TAKE:
        raise Refused("wire.unsupported", "AS2 is opened with the keys of its receiver; post it to the address for AS2")
    return with_note(TAKE[found.format](declared_as(wire, found), limits), found)


def declared_as(wire: Wire, found: Found) -> Wire:
    """The wire under the content type that its bytes have."""
    if found.content_type == wire.content_type:
        return wire
    others = [(name, value) for name, value in wire.headers if name != "content-type"]
    return Wire([*others, ("content-type", found.content_type)], wire.body)


def with_note(taken: Taken, found: Found) -> Taken:
    return replace(taken, notes=(found.note, *taken.notes)) if found.note else taken


def message_of(wire: Wire, taken: Taken, limits: WireLimits = DEFAULT_LIMITS) -> Message:
    """The message to be posted: what the transport's fields say to the network, else what the message itself says."""
    own = taken.header or Message()
    fields = read_fields(wire.headers, limits) if has_fields(wire.headers) else Message()
    named = {entry.name: entry for entry in (*own.properties, *fields.properties)}
    message = Message(
        sender=fields.sender or own.sender,
        to=fields.to or own.to,
        type=fields.type if wire.header("postroad-type") else own.type,
        topic=fields.topic or own.topic,
        handle=fields.handle or own.handle,
        possible_duplicate=fields.possible_duplicate or own.possible_duplicate,
        reference=fields.reference or own.reference,
        expires_at_us=fields.expires_at_us or own.expires_at_us,
        route=fields.route or own.route,
        properties=tuple(named.values()),
        status=fields.status or own.status,
        parts=taken.parts,
        routing=fields.routing or own.routing,
    )
    check_lists(message, limits)
    return message


def plain_format(service: Service) -> Format | None:
    """The plain format that a service wants its messages in; None: one of the network's own forms."""
    return Format(service.format) if service.format in PLAIN else None


def given_in(delivered: Delivered, format: Format, soap_body: str = "") -> Given:
    """A delivery in a plain format, with the same bytes each time; ``soap_body`` is what an AS2 profile says of SOAP."""
    return give(outgoing_of(delivered, soap_body), format)


def outgoing_of(delivered: Delivered, soap_body: str = "") -> Outgoing:
    setting = unpacked(delivered.setting) if isinstance(delivered, Wrapped) and delivered.setting else None
    return outgoing(delivered, setting, seed_of(delivered.session, delivered.recipient_gcid), soap_body)


def seed_of(session: str, recipient: str) -> bytes:
    """From which boundaries are made: the same for all attempts at a delivery, another for each receiver."""
    return f"{session}.{recipient}".encode()


def give(message: Outgoing, format: Format) -> Given:
    """The message in a plain format."""
    stripped: tuple[str, ...] = ()
    if message.soap_body or format is Format.AS2:
        message, stripped = without_soap_part(message, message.soap_body or STRIP)
    given = GIVE[format](message)
    setting = message.setting
    if setting is None:
        return replace(given, dropped=(*stripped, *given.dropped)) if stripped else given
    lost = [*stripped]
    if setting.media_type != given.media_type and not given.head:
        lost += wrapping_lost(setting)
    if format not in ROOTED:
        lost += action_lost(setting, format.value)
    return replace(given, dropped=(*given.dropped, *lost)) if lost else given
