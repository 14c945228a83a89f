"""Messages in plain formats over HTTP: the network's header stands in that of the request or the answer, beside the bytes.

Kept rules: whoever posts SOAP is answered in SOAP of the same version, everybody else in JSON, unless Accept says otherwise; one
message is handed out as itself, several as a multipart of them, each with its own header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

import msgspec

from postroad.api.http.request import Headers, Request
from postroad.core.admission.admit import ADDRESSED
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import CODECS
from postroad.core.codecs.dime import looks_like_dime
from postroad.core.codecs.faults import malformed
from postroad.core.codecs.json_form import JSON_FORM, write_delivered
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import accepted_types, media_type_of
from postroad.core.codecs.mime import fresh_boundary, write_head, write_multipart
from postroad.core.codecs.requests import checked_poll
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.mediation.nouns import Wire
from postroad.core.mediation.translating import plain_format
from postroad.core.model.caller import Caller
from postroad.core.model.formats import PLAIN
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.mediate import Handed, header_fields
from postroad.flow.posting import Posting

ROOTED = frozenset(("text/xml", "application/xml", "application/soap+xml", "application/dime", "multipart/related"))
NOT_KEPT: Headers = ((b"cache-control", b"no-store"),)  # each message is handed out once
LOOK = 16_384  # bytes within which the envelope of a message names its namespace


def wire_of(request: Request) -> Wire:
    """The request as mediation sees it; header names are in lower case already."""
    return Wire([(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers], request.body)


def check_addressed(posting: Posting) -> None:
    """What goes nowhere and came without the network's header was perhaps not meant to be a plain format: say both."""
    if posting.form in PLAIN and posting.message.type in ADDRESSED:
        known = ", ".join(sorted(CODECS))
        raise Refused(
            "recipient.missing",
            f"Taken for a message in the plain format {posting.form}, this needs its recipients beside it, in Postroad-To; "
            f"the network's own forms are posted as {known}",
            pointer="Postroad-To",
        )


def answer_form(accept: str, content_type: str, body: bytes) -> Codec:
    """The form in which a post in a plain format is answered."""
    posted = _posted_soap(content_type, body)
    for kind in accepted_types(accept):
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


def wants_plain(caller: Caller, accept: str) -> bool:
    """Whether a poller is handed its messages in its own plain format: it has one, and asks for none of the own forms."""
    has_one = caller.service is not None and plain_format(caller.service) is not None
    return has_one and not any(kind in CODECS for kind in accepted_types(accept))


def next_request(query: bytes, limits: WireLimits) -> PollRequest:
    """What ``?wait=20&lease=60`` asks for: the next message."""
    given = {name: values[-1] for name, values in parse_qs(query.decode("latin-1"), keep_blank_values=True).items()}
    unknown = next((name for name in given if name not in ("wait", "lease")), None)
    if unknown is not None:
        raise malformed(f"the parameter {unknown[:40]!r} is not known; there are wait and lease, in seconds")
    return checked_poll(PollRequest(max=1, wait_s=_seconds(given, "wait"), lease_s=_seconds(given, "lease")), limits)


def _seconds(given: Mapping[str, str], name: str) -> float:
    try:
        seconds = float(given.get(name, "0"))
    except ValueError:
        raise malformed(f"{name} is a number of seconds", f"/{name}") from None
    return seconds


class Written(NamedTuple):
    """An answer, ready to be given."""

    status: int
    body: bytes
    content_type: bytes
    headers: Headers = ()


def write_next(handed: Sequence[Handed], own: Codec) -> Written:
    """One message as itself, with its header in that of the answer; in an own form where no plain one is wanted."""
    if not handed:
        return Written(204, b"", b"", NOT_KEPT)
    [one] = handed
    content_type, body = _written(one, own)
    fields = [(name.lower().encode(), _line(value)) for name, value in header_fields(one).items()]
    return Written(200, body, _line(content_type), [*fields, *NOT_KEPT])


def _written(handed: Handed, own: Codec) -> tuple[str, bytes]:
    """Content type and bytes of one message."""
    if handed.given is not None:
        return handed.given.media_type, handed.given.data
    if own is JSON_FORM:
        return own.media_type, msgspec.json.encode(write_delivered(handed.delivered))
    return own.media_type, own.encode_delivered([handed.delivered])


def write_polled(handed: Sequence[Handed], own: Codec) -> Written:
    """What was polled, in an own form."""
    return Written(200, own.encode_delivered([one.delivered for one in handed]), own.media_type.encode())


def write_messages(handed: Sequence[Handed], own: Codec) -> Written:
    """Each message as a part of one multipart, its header above it; nothing at all when there is none."""
    if not handed:
        return Written(204, b"", b"")
    parts = [_part(one, own) for one in handed]
    seed = ".".join([one.delivered.session for one in handed]).encode()
    boundary = fresh_boundary([data for _, data in parts], seed)
    body = b"".join(write_multipart(parts, boundary))
    return Written(200, body, b'multipart/mixed; boundary="%b"' % boundary)


def _part(handed: Handed, own: Codec) -> tuple[bytes, bytes]:
    content_type, body = _written(handed, own)
    named = [("Content-Type", content_type)] if content_type else []
    return write_head([*named, *header_fields(handed).items()]), body


def _line(text: str) -> bytes:
    return text.encode("latin-1")
