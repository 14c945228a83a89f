"""The message: one model for all wire formats.

``Message`` is what a service posts; ``Delivered`` is what a service receives: the same plus what the network adds
(session, token, invoker …) and without what only served routing. Parts keep their bytes exactly as posted. These are
msgspec Structs rather than dataclasses because one is created for every message on the hot path; they contain no
cycles, so the garbage collector need not visit the many that wait in queues (``gc=False``).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class MessageType(StrEnum):
    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"
    ACKNOWLEDGEMENT = "acknowledgement"
    CANCEL = "cancel"


class PropertyType(StrEnum):
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    ARRAY = "array"
    SEQUENCE = "sequence"


COLLECTIONS = frozenset({PropertyType.ARRAY, PropertyType.SEQUENCE})


class Property(Struct, gc=False, frozen=True, array_like=True):
    """A typed property; ``value`` is its text in XML Schema's lexical form (``12.50``, ``true``, ``2026-11-15T10:00:00Z``).

    The text of an array or a sequence is a JSON array of single values, as ``core.codecs.property_values`` reads it.
    """

    name: str
    value: str
    type: PropertyType = PropertyType.STRING


class Argument(Struct, gc=False, frozen=True, array_like=True):
    name: str
    value: str


class Recipient(Struct, gc=False, frozen=True, array_like=True):
    """A service named as receiver in ``To`` or on an explicit route, by GCID or address, with its arguments."""

    service: str
    arguments: tuple[Argument, ...] = ()


class Part(Struct, gc=False, frozen=True, kw_only=True):
    """A document of the body or an attachment: any bytes at all, with an id and a content type."""

    id: str
    content_type: str
    data: bytes
    expires_at_us: int = 0  # information for the receiver, not enforced; 0 = none
    attachment: bool = False
    headers: tuple[tuple[str, str], ...] = ()  # its other headers: Content-Disposition, Content-Language …


class Status(Struct, gc=False, frozen=True, array_like=True):
    """The result a response reports; a response without a status reports success."""

    code: str
    text: str = ""


class Message(Struct, gc=False, frozen=True, kw_only=True):
    """A message as posted."""

    sender: str = ""  # as written in From; empty means "the authenticated poster"
    to: tuple[Recipient, ...] = ()
    type: MessageType = MessageType.NOTIFICATION
    topic: str = ""
    handle: str = ""
    possible_duplicate: bool = False
    reference: str = ""  # a token for responses and acknowledgments, a session for cancels
    expires_at_us: int = 0  # 0 = the sending service's default
    route: tuple[Recipient, ...] = ()
    properties: tuple[Property, ...] = ()
    status: Status | None = None
    parts: tuple[Part, ...] = ()
    routing: str = ""  # static or dynamic, for all services of the route; empty: as each service chose
    traceparent: str = ""  # the message's own W3C trace context, as written; ignored if it is not valid
    tracestate: str = ""


class AnsweredMessage(Struct, gc=False, frozen=True, array_like=True):
    """The sender's own session ID and handle of the request that a delivered response answers."""

    session: str
    handle: str = ""


class PassedService(Struct, gc=False, frozen=True, array_like=True):
    """A service that a delivered message has passed, and when that service returned it."""

    service: str  # address
    at_us: int
    status: Status | None = None  # its error, if its invoker absorbed that


class Cookie(Struct, gc=False, frozen=True, array_like=True):
    """The text that the receiver registered to get with every message from this sender."""

    content: str
    content_type: str = "text/plain"


class Delivered(Struct, gc=False, frozen=True, kw_only=True):
    """A message as handed to a receiver."""

    session: str
    token: str
    transaction: str  # the first session: the same for a request and every message that follows from it
    sender: str  # address, e.g. MyBiz/Purchasing
    sender_gcid: str
    recipient: str
    recipient_gcid: str
    type: MessageType
    topic: str
    handle: str
    arguments: tuple[Argument, ...]
    reference: AnsweredMessage | None
    invoker: str  # the service that included this one in the route
    status: Status | None
    properties: tuple[Property, ...]
    posted_at_us: int
    expires_at_us: int
    attempt: int
    in_transit: bool  # True: return the changed message; False: this service is the recipient
    possible_duplicate: bool = False
    parts: tuple[Part, ...] = ()
    trace: tuple[PassedService, ...] = ()  # if the poll requested it; limited to what the receiver may see
    cookie: Cookie | None = None
    traceparent: str = ""  # the sender's W3C trace context; another one if the receiver may not know the sender
    tracestate: str = ""


class RecipientResult(Struct, gc=False, frozen=True, kw_only=True):
    """The result for one recipient of a post: queued, or refused with a code."""

    service: str
    code: str = ""  # empty: accepted
    detail: str = ""


class PostResult(Struct, gc=False, frozen=True, kw_only=True):
    """The answer to an accepted post."""

    session: str
    transaction: str
    recipients: tuple[RecipientResult, ...] = ()
