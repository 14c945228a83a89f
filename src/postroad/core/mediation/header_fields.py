"""The network's header as HTTP or MIME fields (``Postroad-To: MyBiz/Purchasing``), for external formats.

Rules: values are printable ASCII, everything else is percent-encoded as in CloudEvents, so that any client can write
and read them. Lists are repeated fields or separated by commas. Attributes of an entry follow it after semicolons,
``name=value``.

Entries that are too long for one HTTP field are dropped and reported as losses; otherwise the receiver's software
could not read the message at all, and it would be redelivered again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from postroad.core.codecs.cloudevents import header_text, header_value
from postroad.core.codecs.lexical import read_boolean, read_property, read_routing, read_text, read_time, write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import check_lists
from postroad.core.codecs.refusals import malformed
from postroad.core.mediation.model import Headers
from postroad.core.model.message import (
    Argument,
    Cookie,
    Delivered,
    Message,
    MessageType,
    PassedService,
    Property,
    PropertyType,
    Recipient,
    Status,
)

PREFIX = "postroad-"
OF_A_PART = "postroad-expires"  # a field of a single document, not of the message
ONCE = frozenset(
    ("from", "type", "topic", "handle", "possible-duplicate", "reference", "expiration", "routing", "status")
)
LISTS = frozenset(("to", "route", "property"))
_SEPARATORS = str.maketrans({",": "%2C", ";": "%3B", "=": "%3D"})


class FieldEntry(NamedTuple):
    """One entry of a field, still coded: its value, and the pairs that follow it after semicolons."""

    value: str
    pairs: tuple[tuple[str, str], ...]

    def read_pairs(self, pointer: str, *known: str) -> dict[str, str]:
        """Return the pairs by name; only these names are allowed, each once."""
        found = {header_text(name): header_text(value) for name, value in self.pairs}
        if len(found) < len(self.pairs) or found.keys() - set(known):
            raise malformed(f"only {' and '.join(known)} are allowed here, each once", pointer)
        return found


def _entry(text: str, pointer: str) -> FieldEntry:
    value, *pairs = text.split(";")
    return FieldEntry(value.strip(), tuple([_pair(pair, pointer) for pair in pairs]))


def _pair(text: str, pointer: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise malformed(f"write {text.strip()[:40]!r} as name=value", pointer)
    return name.strip(), value.strip()


def has_fields(headers: Headers) -> bool:
    return any(name.startswith(PREFIX) and name != OF_A_PART for name, _ in headers)


def read_fields(headers: Headers, limits: WireLimits = DEFAULT_LIMITS) -> Message:
    """The message that these fields describe, without its parts."""
    once, lists = _gathered(headers)
    message = Message(
        sender=_text(once, "from", limits),
        to=_services(lists["to"], "to", limits),
        type=_type(once.get("type", "")),
        topic=_text(once, "topic", limits),
        handle=_text(once, "handle", limits),
        possible_duplicate=_flag(once, "possible-duplicate"),
        reference=_text(once, "reference", limits),
        expires_at_us=read_time(once["expiration"], _pointer("expiration")) if once.get("expiration") else 0,
        route=_services(lists["route"], "route", limits),
        properties=tuple([_property(entry, limits) for entry in lists["property"]]),
        status=_status(once, limits),
        routing=read_routing(once.get("routing", ""), _pointer("routing")),
    )
    check_lists(message, limits)
    return message


def _gathered(headers: Headers) -> tuple[dict[str, str], dict[str, list[FieldEntry]]]:
    """Return the single fields, and the entries of list fields."""
    once: dict[str, str] = {}
    lists: dict[str, list[FieldEntry]] = {name: [] for name in LISTS}
    for name, value in headers:
        if not name.startswith(PREFIX) or name == OF_A_PART:
            continue
        field, pointer = name[len(PREFIX) :], name.title()[:80]
        if field in LISTS:
            lists[field] += [_entry(text, pointer) for text in value.split(",") if text.strip()]
        elif field not in ONCE:
            raise malformed(f"the field {pointer} is not known; remove it", pointer)
        elif field in once:
            raise malformed(f"the field {pointer} occurs twice", pointer)
        else:
            once[field] = value.strip()
    return once, lists


def _pointer(field: str) -> str:
    return f"{PREFIX}{field}".title()


def _text(once: dict[str, str], field: str, limits: WireLimits) -> str:
    return read_text(header_text(once[field]), _pointer(field), limits) if field in once else ""


def _flag(once: dict[str, str], field: str) -> bool:
    return field in once and read_boolean(once[field], _pointer(field))


def _type(text: str) -> MessageType:
    try:
        return MessageType(text) if text else MessageType.NOTIFICATION
    except ValueError:
        known = ", ".join(kind.value for kind in MessageType)
        raise malformed(f"{text[:40]!r} is not a message type; use one of {known}", _pointer("type")) from None


def _services(entries: Iterable[FieldEntry], field: str, limits: WireLimits) -> tuple[Recipient, ...]:
    pointer = _pointer(field)
    return tuple([_recipient(entry, pointer, limits) for entry in entries])


def _recipient(entry: FieldEntry, pointer: str, limits: WireLimits) -> Recipient:
    name = _coded_text(entry.value, pointer, limits)
    if not name:
        raise malformed("the name of a service is missing", pointer)
    pairs = [(_coded_text(key, pointer, limits), _coded_text(value, pointer, limits)) for key, value in entry.pairs]
    return Recipient(name, tuple([Argument(*pair) for pair in pairs]))


def _coded_text(coded: str, pointer: str, limits: WireLimits) -> str:
    return read_text(header_text(coded), pointer, limits)


def _property(entry: FieldEntry, limits: WireLimits) -> Property:
    pointer = _pointer("property")
    name, sign, value = entry.value.partition("=")
    if not sign:
        raise malformed("write a property as name=value, or name=value;type=number", pointer)
    kind = _property_type(entry.read_pairs(pointer, "type").get("type", "string"), pointer)
    text = read_property(header_text(value.strip()), kind, pointer, limits)
    return Property(_coded_text(name.strip(), pointer, limits), text, kind)


def _property_type(text: str, pointer: str) -> PropertyType:
    try:
        return PropertyType(text)
    except ValueError:
        known = ", ".join(kind.value for kind in PropertyType)
        raise malformed(f"{text[:40]!r} is not a property type; use one of {known}", pointer) from None


def _status(once: dict[str, str], limits: WireLimits) -> Status | None:
    if not once.get("status"):
        return None
    pointer = _pointer("status")
    entry = _entry(once["status"], pointer)
    text = read_text(entry.read_pairs(pointer, "text").get("text", ""), pointer, limits)
    return Status(_coded_text(entry.value, pointer, limits), text)


def write_posted(message: Message) -> list[tuple[str, str]]:
    """The fields with which a client posts a message in an external format."""
    texts = (("From", message.sender), ("Topic", message.topic), ("Handle", message.handle),
             ("Reference", message.reference), ("Routing", message.routing))  # fmt: skip
    fields = [(f"Postroad-{name}", header_value(text)) for name, text in texts if text]
    fields += [("Postroad-To", _service(one.service, one.arguments)) for one in message.to]
    fields += [("Postroad-Route", _service(one.service, one.arguments)) for one in message.route]
    if message.type is not MessageType.NOTIFICATION:
        fields.append(("Postroad-Type", message.type.value))
    if message.possible_duplicate:
        fields.append(("Postroad-Possible-Duplicate", "true"))
    if message.expires_at_us:
        fields.append(("Postroad-Expiration", write_time(message.expires_at_us)))
    fields += list_trace_fields(message)
    return fields + _shared(message.properties, message.status)


def write_delivered(delivered: Delivered) -> list[tuple[str, str]]:
    """The fields with which a message is handed out in an external format."""
    reference = delivered.reference
    texts = (("Session", delivered.session), ("Token", delivered.token), ("Transaction", delivered.transaction),
             ("Topic", delivered.topic), ("Handle", delivered.handle), ("Invoker", delivered.invoker))  # fmt: skip
    fields = [(f"Postroad-{name}", header_value(text)) for name, text in texts if text]
    fields.append(("Postroad-From", f"{_coded(delivered.sender)};gcid={_coded(delivered.sender_gcid)}"))
    fields.append(("Postroad-To", _service(delivered.recipient, delivered.arguments)))
    fields.append(("Postroad-Type", delivered.type.value))
    fields.append(("Postroad-Posted-At", write_time(delivered.posted_at_us)))
    fields.append(("Postroad-Attempt", str(delivered.attempt)))
    if reference is not None:
        fields.append(("Postroad-Reference", f"{_coded(reference.session)};handle={_coded(reference.handle)}"))
    if delivered.expires_at_us:
        fields.append(("Postroad-Expiration", write_time(delivered.expires_at_us)))
    fields += [(f"Postroad-{name}", "true") for name, is_so in _flags(delivered) if is_so]
    if delivered.cookie is not None:
        fields.append(("Postroad-Cookie", write_cookie(delivered.cookie)))
    fields += [("Postroad-Trace", _passed(stop)) for stop in delivered.trace]
    fields += list_trace_fields(delivered)
    return fields + _shared(delivered.properties, delivered.status)


def list_trace_fields(message: Message | Delivered) -> list[tuple[str, str]]:
    """Return the standard HTTP fields with the message's trace context, if it has one."""
    if not message.traceparent:
        return []
    state = [("Tracestate", message.tracestate)] if message.tracestate else []
    return [("Traceparent", message.traceparent), *state]


def _flags(delivered: Delivered) -> tuple[tuple[str, bool], ...]:
    return ("In-Transit", delivered.in_transit), ("Possible-Duplicate", delivered.possible_duplicate)


def _service(name: str, arguments: Iterable[Argument]) -> str:
    return _coded(name) + "".join(map(write_argument, arguments))


def write_argument(argument: Argument) -> str:
    return f";{_coded(argument.name)}={_coded(argument.value)}"


def write_cookie(cookie: Cookie) -> str:
    return f"{_coded(cookie.content)};type={_coded(cookie.content_type)}"


def _coded(text: str) -> str:
    """Percent-encodes a value of a list, including the separators of entries."""
    return header_value(text).translate(_SEPARATORS)


def _passed(stop: PassedService) -> str:
    status = f";code={_coded(stop.status.code)};text={_coded(stop.status.text)}" if stop.status is not None else ""
    return f"{_coded(stop.service)};at={write_time(stop.at_us)}{status}"


def _shared(properties: Iterable[Property], status: Status | None) -> list[tuple[str, str]]:
    fields = [("Postroad-Property", write_property(entry)) for entry in properties]
    if status is not None:
        fields.append(("Postroad-Status", f"{_coded(status.code)};text={_coded(status.text)}"))
    return fields


def write_property(entry: Property) -> str:
    kind = "" if entry.type is PropertyType.STRING else f";type={entry.type.value}"
    return f"{_coded(entry.name)}={_coded(entry.value)}{kind}"


MAX_FIELD_CHARS = 8_000  # characters; longer fields are refused by many programs, and longer heads by some

_Entry = TypeVar("_Entry")


def fit_header_fields(delivered: Delivered) -> tuple[Delivered, tuple[str, ...]]:
    """Return the delivery with the entries that fit, and a sentence for each that does not."""
    properties, too_many = _split_fitting(delivered.properties, write_property)
    arguments, too_much = _split_fitting(delivered.arguments, write_argument)
    cookie = delivered.cookie
    is_long = cookie is not None and len(write_cookie(cookie)) > MAX_FIELD_CHARS
    if not (too_many or too_much or is_long):
        return delivered, ()
    dropped = [f"the property {entry.name[:80]} is too long to be sent beside the message" for entry in too_many]
    dropped += [f"the argument {entry.name[:80]} is too long to be sent beside the message" for entry in too_much]
    dropped += ["the cookie is too long to be sent beside the message"] if is_long else []
    fits = replace(delivered, properties=properties, arguments=arguments, cookie=None if is_long else cookie)
    return fits, tuple(dropped)


def _split_fitting(
    entries: Sequence[_Entry], written: Callable[[_Entry], str]
) -> tuple[tuple[_Entry, ...], tuple[_Entry, ...]]:
    """Those that fit into one field together, and the others."""
    kept: list[_Entry] = []
    others: list[_Entry] = []
    left = MAX_FIELD_CHARS
    for entry in entries:
        length = len(written(entry)) + len(", ")
        (kept if length <= left else others).append(entry)
        left -= length if length <= left else 0
    return tuple(kept), tuple(others)
