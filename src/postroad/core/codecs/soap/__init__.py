"""SOAP 1.1 and 1.2, document/literal: one operation of ``urn:postroad:message:1`` in the Body.

``SOAP11`` and ``SOAP12`` are the two codecs. A post is decoded by ``reader`` and ``post_reader``, or faster by
``canonical_posts`` if it has the canonical spelling; ``writer`` encodes everything. The schema and the WSDL in
``codecs/schema`` describe the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap.canonical_posts import read_canonical
from postroad.core.codecs.soap.delivery_reader import (
    read_delivered,
    read_poll,
    read_result,
    read_settlement,
    read_settlement_result,
)
from postroad.core.codecs.soap.fault import read_fault, write_fault
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12, network_name, short_name
from postroad.core.codecs.soap.post_reader import read_post
from postroad.core.codecs.soap.reader import SoapElement, operation_in, read_tree
from postroad.core.codecs.soap.trace_properties import take_trace_properties
from postroad.core.codecs.soap.writer import (
    write_delivered,
    write_poll,
    write_post,
    write_result,
    write_settlement,
    write_settlement_result,
)
from postroad.core.codecs.xml import to_utf8
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.errors import Refused

_Read = TypeVar("_Read")
_OPENING = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<soap:Envelope xmlns:soap="{}" xmlns:pr="urn:postroad:message:1"><soap:Body>'
)  # fmt: skip
CLOSING = b"</soap:Body></soap:Envelope>"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoapCodec:
    """The codec of one version of SOAP; versions differ in the namespace of the envelope."""

    namespace: str
    media_type: str
    opening: bytes

    @property
    def refusal_media_type(self) -> str:
        return self.media_type

    def operation_of(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> str:
        """The local name of the element in the Body (``Post``, ``Poll``, ``Acknowledge`` …), for one SOAP address."""
        return short_name(self._operation(_utf8(body, limits), limits, "operation").name)

    def decode_post(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Message:
        utf8 = _utf8(body, limits)
        try:
            message = read_canonical(utf8, self.namespace, limits)
        except Refused:
            message = None  # the general reader reports the position of the error
        message = message or self._read_utf8(utf8, "Post", read_post, limits)
        return take_trace_properties(message) if message.properties else message

    def encode_post(self, message: Message) -> bytes:
        return self._enveloped(write_post(message))

    def encode_result(self, result: PostResult) -> bytes:
        return self._enveloped(write_result(result))

    def decode_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PostResult:
        return self._read(body, "PostResponse", read_result, limits)

    def encode_poll(self, request: PollRequest) -> bytes:
        return self._enveloped(write_poll(request))

    def decode_poll(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PollRequest:
        return self._read(body, "Poll", read_poll, limits)

    def encode_delivered(self, messages: Sequence[Delivered]) -> bytes:
        return self._enveloped(write_delivered(messages))

    def decode_delivered(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Delivered]:
        messages = self._read(body, "PollResponse", read_delivered, limits)
        return [take_trace_properties(message) if message.properties else message for message in messages]

    def encode_settlement(self, settlement: Settlement) -> bytes:
        return self._enveloped(write_settlement(settlement))

    def decode_settlement(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Settlement:
        return self._read(body, "Acknowledge", read_settlement, limits)

    def encode_settlement_result(self, result: SettlementResult) -> bytes:
        return self._enveloped(write_settlement_result(result))

    def decode_settlement_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> SettlementResult:
        return self._read(body, "AcknowledgeResponse", read_settlement_result, limits)

    def encode_refusal(
        self, code: str, title: str, detail: str, pointer: str = "", session: str = "", status: int = 400
    ) -> bytes:
        return self._enveloped(
            write_fault(
                namespace=self.namespace,
                code=code,
                title=title,
                detail=detail,
                pointer=pointer,
                session=session,
                status=status,
            )
        )

    def decode_refusal(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Refused:
        return read_fault(self._operation(_utf8(body, limits), limits, "Fault"), limits)

    def _enveloped(self, operation: bytes) -> bytes:
        return self.opening + operation + CLOSING

    def operation(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> SoapElement:
        """Return the element in the Body."""
        return self._operation(_utf8(body, limits), limits, "operation")

    def _operation(self, utf8: bytes, limits: WireLimits, role: str) -> SoapElement:
        return operation_in(read_tree(utf8, limits), self.namespace, role=role)

    def _read(
        self, body: bytes, name: str, read: Callable[[SoapElement, WireLimits], _Read], limits: WireLimits
    ) -> _Read:
        return self._read_utf8(_utf8(body, limits), name, read, limits)

    def _read_utf8(
        self, utf8: bytes, name: str, read: Callable[[SoapElement, WireLimits], _Read], limits: WireLimits
    ) -> _Read:
        operation = self._operation(utf8, limits, name)
        if operation.name == f"{self.namespace}}}Fault":
            raise read_fault(operation, limits)
        if operation.name != network_name(name):
            raise malformed(f"{name} of urn:postroad:message:1 is expected here", operation.path)
        return read(operation, limits)


def _utf8(body: bytes, limits: WireLimits) -> bytes:
    check_size(body, limits)
    return to_utf8(body)


SOAP11 = SoapCodec(namespace=SOAP_11, media_type="text/xml; charset=utf-8", opening=_OPENING.format(SOAP_11).encode())
SOAP12 = SoapCodec(
    namespace=SOAP_12, media_type="application/soap+xml; charset=utf-8", opening=_OPENING.format(SOAP_12).encode()
)
