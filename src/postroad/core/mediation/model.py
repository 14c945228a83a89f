"""Types of mediation: a wire message, a decoded message, and an encoded one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.mime import write_head
from postroad.core.mediation.wrapper import Wrapper
from postroad.core.model.delivery import LocalDelivery
from postroad.core.model.formats import Format
from postroad.core.model.message import Delivered, Message, Part, Property

Headers = Sequence[tuple[str, str]]


class Wire(NamedTuple):
    """A message as received: the transport's headers (lower-case names) and the body."""

    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known == name), "")

    @property
    def content_type(self) -> str:
        return self.header("content-type")


class DecodedMessage(Struct, gc=False, frozen=True, kw_only=True):
    """A decoded message: its parts, header and wrapper."""

    format: Format
    parts: tuple[Part, ...]
    wrapper: Wrapper | None = None  # None: the wrapper has no information
    header: Message | None = None  # the network header in the message itself
    notes: tuple[str, ...] = ()  # deviations that the reader tolerated


class OutgoingMessage(Struct, gc=False, frozen=True, kw_only=True):
    """A message to be encoded in the recipient's format."""

    parts: tuple[Part, ...]
    wrapper: Wrapper | None = None  # wrapper of the original message, if it is unchanged since
    seed: bytes = b""  # seed for boundaries: the same for every attempt at a delivery
    sender: str = ""
    topic: str = ""
    handle: str = ""
    session: str = ""
    posted_at_us: int = 0
    properties: tuple[Property, ...] = ()
    form: str = ""  # format of the original message, if known
    traceparent: str = ""
    tracestate: str = ""
    soap_body: str = ""  # handling of its SOAP part: strip or keep; empty: the format's default

    def in_wrapper(self, *formats: Format) -> Wrapper | None:
        """Return the wrapper if the parts fit into it and it is of one of these formats."""
        wrapper = self.wrapper
        return wrapper if wrapper is not None and wrapper.format in formats and wrapper.fits(self.parts) else None

    @property
    def action(self) -> str:
        """Return the SOAPAction of the original message."""
        return self.wrapper.action if self.wrapper is not None else ""


class EncodedMessage(Struct, gc=False, frozen=True, kw_only=True):
    """A message encoded in the recipient's format."""

    media_type: str
    body: list[Buffer]
    headers: tuple[
        tuple[str, str], ...
    ] = ()  # headers of the format besides the type: SOAPAction, Content-Disposition …
    dropped: tuple[str, ...] = ()  # information that the format cannot represent, one sentence each
    head: bytes = b""  # for AS2: the original header block of the entity, if it must be kept

    @property
    def data(self) -> bytes:
        return self.body[0] if len(self.body) == 1 and isinstance(self.body[0], bytes) else b"".join(self.body)

    @property
    def entity_head(self) -> bytes:
        """Return the header block that makes the body an entity of its own, as AS2 signs it, without the empty line."""
        if self.head:
            return self.head
        return write_head([("Content-Type", self.media_type), *self.headers] if self.media_type else self.headers)


def make_outgoing(delivered: Delivered, wrapper: Wrapper | None, seed: bytes, soap_body: str = "") -> OutgoingMessage:
    return OutgoingMessage(
        parts=delivered.parts,
        wrapper=wrapper,
        seed=seed,
        sender=delivered.sender,
        topic=delivered.topic,
        handle=delivered.handle,
        session=delivered.session,
        posted_at_us=delivered.posted_at_us,
        properties=delivered.properties,
        form=delivered.form if isinstance(delivered, LocalDelivery) else "",
        traceparent=delivered.traceparent,
        tracestate=delivered.tracestate,
        soap_body=soap_body,
    )
