"""Refusals and outages as HTTP responses, in the caller's own wire format."""

from __future__ import annotations

from postroad.api.http.head import RequestHead
from postroad.api.http.request import FastReply, Headers
from postroad.api.problem import CHALLENGE, problem_bytes
from postroad.core.admission.rate_limit import RateState, rate_fields
from postroad.core.codecs.codec import Codec, refusal_bytes
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable

CHALLENGE_HEADERS = ((b"www-authenticate", CHALLENGE.encode()),)


def answer_refused(reply: FastReply, codec: Codec, refusal: Refused, headers: Headers = ()) -> None:
    """Answer with a refusal and the headers of its code, in addition to the given ``headers``."""
    if refusal.code == "authentication.required":
        headers = (*headers, *CHALLENGE_HEADERS)
    if refusal.retry_after_s:
        headers = (*headers, (b"retry-after", str(refusal.retry_after_s).encode()))
    reply(http_status(codec, refusal.code), refusal_bytes(codec, refusal), codec.refusal_media_type.encode(), headers)


def answer_unavailable(reply: FastReply, codec: Codec, unavailable: Unavailable) -> None:
    refusal = Refused(unavailable.code, unavailable.detail)
    headers = ((b"retry-after", str(unavailable.retry_after_s).encode()),)
    status = http_status(codec, unavailable.code)
    reply(status, refusal_bytes(codec, refusal), codec.refusal_media_type.encode(), headers)


def answer_limited(reply: FastReply, codec: Codec, rate: RateState) -> None:
    """Answer that the organization's rate limit is exceeded and nothing was posted."""
    seconds = rate.retry_after_s
    refusal = Refused("rate.exceeded", f"Your organization's rate limit is exceeded; try again in {seconds} seconds")
    body = refusal_bytes(codec, refusal)
    reply(http_status(codec, refusal.code), body, codec.refusal_media_type.encode(), rate_headers(rate))


def rate_headers(rate: RateState) -> tuple[tuple[bytes, bytes], ...]:
    if not rate.quota:
        return ()
    return tuple((name.lower().encode(), value.encode()) for name, value in rate_fields(rate).items())


def front_refusal(status: int, code: str, detail: str, head: RequestHead | None) -> tuple[bytes, bytes]:
    """Return content type and body of a refusal by the HTTP front: a SOAP fault if the request is SOAP, else a problem."""
    codec = _soap_of(head) if head is not None and code in REFUSALS else None
    if codec is None:
        return problem_bytes(status, code, detail)
    return codec.refusal_media_type.encode(), refusal_bytes(codec, Refused(code, detail))


def _soap_of(head: RequestHead) -> SoapCodec | None:
    """Return the SOAP codec for a request whose body was not read; outside ``/soap``, the SOAPAction identifies SOAP."""
    named = dict(reversed(head.headers))
    kind = media_type_of(named.get(b"content-type", b"").decode("latin-1"))
    if kind == "application/soap+xml":
        return SOAP12
    return SOAP11 if head.path == b"/soap" or (kind == "text/xml" and b"soapaction" in named) else None


def http_status(codec: Codec, code: str) -> int:
    """Return the status: 500 for SOAP faults, or 400 for sender errors in SOAP 1.2; 401, 413 and 503 are unchanged."""
    status = REFUSALS[code].status
    if isinstance(codec, SoapCodec) and status not in (401, 413, 429, 503, 507):
        if codec is SOAP11 or status >= 500:
            return 500
        return 400
    return status
