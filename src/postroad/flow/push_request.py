"""A delivery as the request that is pushed: in the service's format, with the proof that it comes from this network.

Kept rules: the id in the headers is the same for every attempt at a delivery, and tells nothing about it; a secret is read for
each push, so a new one holds at once, and it leaves in the headers alone.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from postroad.core.codecs.detect import FORMS
from postroad.core.delivery.pushing import PushRequest
from postroad.core.identity import webhook
from postroad.core.model import ids
from postroad.core.model.delivery import Resent
from postroad.core.model.directory import Push, PushAuthentication, Service
from postroad.core.model.message import Delivered
from postroad.errors import Misconfigured
from postroad.flow.mediate import Handed, header_fields
from postroad.ports import Secrets


def webhook_id(delivered: Delivered) -> str:
    """Names the delivery: another one for each receiver and each stop, the same one over all attempts and rounds."""
    number = delivered.origin if isinstance(delivered, Resent) else ids.token_number(delivered.token)
    named = f"{number}.{delivered.session}.{delivered.recipient_gcid}"
    return f"msg_{sha256(named.encode()).hexdigest()[:32]}"


def push_request(
    service: Service, push: Push, handed: Handed, secrets: Secrets, now_us: int, timeout_s: float
) -> PushRequest:
    """The request for one attempt; raises Misconfigured when the profile lacks what it takes."""
    written, body = _content(service, handed)
    headers = written | {
        "webhook-id": webhook_id(handed.delivered),
        "webhook-timestamp": str(now_us // 1_000_000),
    }
    return proven_request(service, push, secrets, headers, body, timeout_s)


def proven_request(
    service: Service, push: Push, secrets: Secrets, headers: dict[str, str], body: bytes, timeout_s: float
) -> PushRequest:
    """The request to one of the service's places, with the proof that is asked for there; raises Misconfigured as above."""
    return PushRequest(
        url=push.url,
        headers=headers | _proof(service, push, secrets, headers, body),
        body=body,
        certificate=_certificate(service, push, secrets),
        timeout_s=timeout_s,
    )


def _content(service: Service, handed: Handed) -> tuple[dict[str, str], bytes]:
    """The message in the service's format: its headers and its bytes."""
    given = handed.given
    if given is not None:
        named = {"content-type": given.media_type} if given.media_type else {}
        return named | {name.lower(): value for name, value in header_fields(handed).items()}, given.data
    codec = FORMS.get(service.format)
    if codec is None:
        raise Misconfigured([f"The format {service.format!r} cannot be pushed; choose one of {', '.join(FORMS)}"])
    return {"content-type": codec.media_type}, codec.encode_delivered([handed.delivered])


def _proof(service: Service, push: Push, secrets: Secrets, headers: dict[str, str], body: bytes) -> dict[str, str]:
    """The headers that show who is pushing."""
    match push.authentication:
        case PushAuthentication.BASIC:
            pair = f"{push.username}:{secrets.secret(service, push.secret_from)}"
            return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        case PushAuthentication.BEARER:
            return {"authorization": f"Bearer {_one_line(secrets.secret(service, push.secret_from))}"}
        case PushAuthentication.SIGNATURE:
            return _signature(secrets.secret(service, push.secret_from), headers, body)
    return {}


def _one_line(secret: str) -> str:
    """The secret itself, when it can stand in a header."""
    if not secret.isascii() or not secret.isprintable():
        raise Misconfigured(["The secret that push.secretFrom names must be one line of plain characters"])
    return secret


def _signature(secret: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    """Signed with the secret; while it is being replaced the old one stands behind the new one, and both sign."""
    try:
        current, *older = [webhook.secret_bytes(text) for text in secret.split()[:2]]
    except ValueError as fault:
        raise Misconfigured([f"The secret that push.secretFrom names cannot sign: {fault}"]) from None
    timestamp_s = int(headers["webhook-timestamp"])
    return webhook.headers(current, headers["webhook-id"], timestamp_s, body, older[0] if older else None)


def _certificate(service: Service, push: Push, secrets: Secrets) -> tuple[str, str] | None:
    """One PEM file with the certificate's chain and its key."""
    if push.authentication is not PushAuthentication.CERTIFICATE:
        return None
    path = secrets.file(service, push.secret_from)
    return path, path
