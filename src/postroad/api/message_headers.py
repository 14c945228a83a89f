"""Headers of a request, parsed for the message endpoints."""

from __future__ import annotations

from typing import NamedTuple

from postroad.api.http.request import FastRequest
from postroad.core.mediation.header_fields import PREFIX
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof

_BESIDE = PREFIX.encode()


class MessageHeaders(NamedTuple):
    content_type: str
    accept: str
    proof: Proof
    idempotency: str | None
    encoding: str  # of the body; empty if it is not encoded
    is_plain: bool  # the message's header is in the request's headers: the body is in an external format


def read_message_headers(request: FastRequest) -> MessageHeaders:
    """Parse the headers of a request; the result is cached for requests that repeat the same head."""
    known: MessageHeaders | None = request.memo.get("asked")
    if known is None:
        key = request.header(b"idempotency-key")
        known = request.memo["asked"] = MessageHeaders(
            (request.header(b"content-type") or b"").decode("latin-1"),
            (request.header(b"accept") or b"").decode("latin-1"),
            Proof(request.header(b"authorization") or b"", request.client_certificate_der, request.secure),
            key.decode("latin-1").strip('"') if key is not None else None,
            _encoding(request),
            any(name.startswith(_BESIDE) or name == b"ce-specversion" for name, _ in request.headers),
        )
    return known


def check_encoding(request: FastRequest) -> None:
    if read_message_headers(request).encoding:
        raise Refused(
            "wire.unsupported", "Send the message without Content-Encoding; its bytes are forwarded unchanged"
        )


def _encoding(request: FastRequest) -> str:
    named = (request.header(b"content-encoding") or b"").decode("latin-1").strip().lower()
    return "" if named == "identity" else named
