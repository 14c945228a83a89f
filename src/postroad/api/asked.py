"""What the headers of a request say, as far as the message endpoints listen."""

from __future__ import annotations

from typing import NamedTuple

from postroad.api.http.request import Request
from postroad.core.mediation.header_fields import PREFIX
from postroad.errors import Refused
from postroad.flow.authenticate import Proof

_BESIDE = PREFIX.encode()


class Asked(NamedTuple):
    content_type: str
    accept: str
    proof: Proof
    idempotency: str | None
    encoding: str  # of the body; empty where it is sent as it is
    is_plain: bool  # the message's header stands in that of the request: its body is in a plain format


def asked(request: Request) -> Asked:
    """Read once for all requests that repeat the same head."""
    known: Asked | None = request.memo.get("asked")
    if known is None:
        key = request.header(b"idempotency-key")
        known = request.memo["asked"] = Asked(
            (request.header(b"content-type") or b"").decode("latin-1"),
            (request.header(b"accept") or b"").decode("latin-1"),
            Proof(request.header(b"authorization") or b"", request.client_certificate_der, request.secure),
            key.decode("latin-1").strip('"') if key is not None else None,
            _encoding(request),
            any(name.startswith(_BESIDE) or name == b"ce-specversion" for name, _ in request.headers),
        )
    return known


def check_encoding(request: Request) -> None:
    if asked(request).encoding:
        raise Refused("wire.unsupported", "Send the message without Content-Encoding; its bytes go on as they are")


def _encoding(request: Request) -> str:
    named = (request.header(b"content-encoding") or b"").decode("latin-1").strip().lower()
    return "" if named == "identity" else named
