"""Messages in external formats over HTTP: the network's header is in HTTP headers, beside the body.

Rules: a SOAP post is answered in the same SOAP version, every other post in JSON, unless Accept requests something
else. A single message is returned as itself, several as a multipart body, each with its own header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

import msgspec

from postroad.api.http.request import FastRequest, Headers
from postroad.core.admission.admit import ADDRESSED
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.dime import looks_like_dime
from postroad.core.codecs.json_form import JSON_FORM, write_delivered
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import media_type_of, parse_accept
from postroad.core.codecs.mime import make_boundary, write_head, write_multipart
from postroad.core.codecs.native_formats import CODECS
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.requests import check_poll
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.mediation.formats import external_format_of
from postroad.core.mediation.model import Wire
from postroad.core.model.caller import Caller
from postroad.core.model.formats import PLAIN
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.stages.mediate import HandedDelivery, build_header_fields
from postroad.flow.stages.posting import Posting

ROOTED = frozenset(("text/xml", "application/xml", "application/soap+xml", "application/dime", "multipart/related"))
NOT_KEPT: Headers = ((b"cache-control", b"no-store"),)  # each message is handed out once
LOOK = 16_384  # first bytes of a message, which contain the namespace of its envelope


def wire_of(request: FastRequest) -> Wire:
    """Return the request as mediation reads it; header names are already in lower case."""
    return Wire([(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers], request.body)


def check_addressed(posting: Posting) -> None:
    """Refuse a message that has neither recipients nor the network's header, and explain both."""
    if posting.form in PLAIN and posting.message.type in ADDRESSED:
        known = ", ".join(sorted(CODECS))
        raise Refused(
            "recipient.missing",
            f"Detected a message in the external format {posting.form}, which needs its recipients in the header Postroad-To; "
            f"the network's native formats are posted as {known}",
            pointer="Postroad-To",
        )


def choose_answer_codec(accept: str, content_type: str, body: bytes) -> Codec:
    """Return the codec in which a post in an external format is answered."""
    posted = _posted_soap(content_type, body)
    for kind in parse_accept(accept):
        if posted is not None and (kind in ROOTED or kind.endswith("/*")):
            return posted
        if kind in CODECS:
            return CODECS[kind]
    return posted or JSON_FORM


def _posted_soap(content_type: str, body: bytes) -> Codec | None:
    is_dime = looks_like_dime(body)
    if not is_dime and media_type_of(content_type) not in ROOTED and body[:1] != b"<":
        return None
    if body.find(SOAP_12.encode(), 0, LOOK) >= 0:
        return SOAP12
    return SOAP11 if is_dime or body.find(SOAP_11.encode(), 0, LOOK) >= 0 else None


def wants_external_format(caller: Caller, accept: str) -> bool:
    """Whether a poll returns the recipient's external format: it has one, and Accept names no native format."""
    has_one = caller.service is not None and external_format_of(caller.service) is not None
    return has_one and not any(kind in CODECS for kind in parse_accept(accept))


def read_next_request(query: bytes, limits: WireLimits) -> PollRequest:
    """Parse the query ``?wait=20&lease=60`` of a request for the next message."""
    given = {name: values[-1] for name, values in parse_qs(query.decode("latin-1"), keep_blank_values=True).items()}
    unknown = next((name for name in given if name not in ("wait", "lease")), None)
    if unknown is not None:
        raise malformed(f"the parameter {unknown[:40]!r} is not known; use wait and lease, in seconds")
    return check_poll(PollRequest(max=1, wait_s=_seconds(given, "wait"), lease_s=_seconds(given, "lease")), limits)


def _seconds(given: Mapping[str, str], name: str) -> float:
    try:
        seconds = float(given.get(name, "0"))
    except ValueError:
        raise malformed(f"{name} is a number of seconds", f"/{name}") from None
    return seconds


class WrittenResponse(NamedTuple):
    """A response, ready to be sent."""

    status: int
    body: bytes
    content_type: bytes
    headers: Headers = ()


def write_next(handed: Sequence[HandedDelivery], own: Codec) -> WrittenResponse:
    """Write one message with its header in the response's headers; in a native format if no external one is requested."""
    if not handed:
        return WrittenResponse(204, b"", b"", NOT_KEPT)
    [one] = handed
    content_type, body = _written(one, own)
    fields = [(name.lower().encode(), _line(value)) for name, value in build_header_fields(one).items()]
    return WrittenResponse(200, body, _line(content_type), [*fields, *NOT_KEPT])


def _written(handed: HandedDelivery, own: Codec) -> tuple[str, bytes]:
    """Return the content type and bytes of one message."""
    if handed.given is not None:
        return handed.given.media_type, handed.given.data
    if own is JSON_FORM:
        return own.media_type, msgspec.json.encode(write_delivered(handed.delivered))
    return own.media_type, own.encode_delivered([handed.delivered])


def write_polled(handed: Sequence[HandedDelivery], own: Codec) -> WrittenResponse:
    """Write polled messages in a native format."""
    return WrittenResponse(200, own.encode_delivered([one.delivered for one in handed]), own.media_type.encode())


def write_messages(handed: Sequence[HandedDelivery], own: Codec) -> WrittenResponse:
    """Write each message as one part of a multipart body, below its header; empty if there are no messages."""
    if not handed:
        return WrittenResponse(204, b"", b"")
    parts = [_part(one, own) for one in handed]
    seed = ".".join([one.delivered.session for one in handed]).encode()
    boundary = make_boundary([data for _, data in parts], seed)
    body = b"".join(write_multipart(parts, boundary))
    return WrittenResponse(200, body, b'multipart/mixed; boundary="%b"' % boundary)


def _part(handed: HandedDelivery, own: Codec) -> tuple[bytes, bytes]:
    content_type, body = _written(handed, own)
    named = [("Content-Type", content_type)] if content_type else []
    return write_head([*named, *build_header_fields(handed).items()]), body


def _line(text: str) -> bytes:
    return text.encode("latin-1")
