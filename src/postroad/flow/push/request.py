"""The HTTP request of a push: the message in the service's format, with proof of its origin.

Rules: the id in the headers is the same for every attempt at a delivery, and reveals nothing about it. A secret is
read for each push, so a new one applies at once, and it is sent only in the headers.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from postroad.core.codecs.native_formats import FORMS
from postroad.core.delivery.push_request import PushRequest
from postroad.core.identity import webhook
from postroad.core.mediation.header_fields import list_trace_fields
from postroad.core.model import ids
from postroad.core.model.delivery import LocalDelivery
from postroad.core.model.directory import Push, PushAuthentication, Service
from postroad.core.model.message import Delivered
from postroad.errors import Misconfigured
from postroad.flow.registries.named_secrets import STORED
from postroad.flow.stages.mediate import HandedDelivery, build_header_fields
from postroad.ports import Secrets


def build_webhook_id(delivered: Delivered) -> str:
    """Return the delivery's webhook id: the same for all attempts, different for each receiver and stop."""
    origin = delivered.origin if isinstance(delivered, LocalDelivery) else 0
    number = origin or ids.token_number(delivered.token)
    named = f"{number}.{delivered.session}.{delivered.recipient_gcid}"
    return f"msg_{sha256(named.encode()).hexdigest()[:32]}"


def build_push_request(
    service: Service, push: Push, handed: HandedDelivery, secrets: Secrets, now_us: int, timeout_s: float
) -> PushRequest:
    """Return the request for one attempt; raises Misconfigured if the profile is incomplete."""
    written, body = _content(service, handed)
    headers = (
        written
        | build_trace_headers(handed.delivered)
        | {
            "webhook-id": build_webhook_id(handed.delivered),
            "webhook-timestamp": str(now_us // 1_000_000),
        }
    )
    return build_proven_request(service, push, secrets, headers, body, timeout_s)


def build_trace_headers(delivered: Delivered) -> dict[str, str]:
    """Return the headers with the message's trace context, if it has one."""
    return {name.lower(): value for name, value in list_trace_fields(delivered)}


def build_proven_request(
    service: Service, push: Push, secrets: Secrets, headers: dict[str, str], body: bytes, timeout_s: float
) -> PushRequest:
    """Return a request to one endpoint with the proof it requires; raises Misconfigured if that is incomplete."""
    return PushRequest(
        url=push.url,
        headers=headers | _proof(service, push, secrets, headers, body),
        body=body,
        certificate=_certificate(service, push, secrets),
        certificate_pem=_certificate_pem(service, push, secrets),
        timeout_s=timeout_s,
    )


def _content(service: Service, handed: HandedDelivery) -> tuple[dict[str, str], bytes]:
    """The message in the service's format: its headers and its bytes."""
    given = handed.given
    if given is not None:
        named = {"content-type": given.media_type} if given.media_type else {}
        return named | {name.lower(): value for name, value in build_header_fields(handed).items()}, given.data
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
    """Return the secret if it can be sent in a header."""
    if not secret.isascii() or not secret.isprintable():
        raise Misconfigured(["The secret of push.secretFrom must be one line of ASCII characters"])
    return secret


def _signature(secret: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    """Return the signature header; during a rollover both the new and the old secret sign."""
    try:
        current, *older = [webhook.secret_bytes(text) for text in secret.split()[:2]]
    except ValueError as fault:
        raise Misconfigured([f"The secret of push.secretFrom cannot sign: {fault}"]) from None
    timestamp_s = int(headers["webhook-timestamp"])
    return webhook.headers(current, headers["webhook-id"], timestamp_s, body, older[0] if older else None)


def _certificate(service: Service, push: Push, secrets: Secrets) -> tuple[str, str] | None:
    """Return the paths of the PEM file with the certificate chain and its key."""
    if push.authentication is not PushAuthentication.CERTIFICATE or push.secret_from.startswith(STORED):
        return None
    path = secrets.file(service, push.secret_from)
    return path, path


def _certificate_pem(service: Service, push: Push, secrets: Secrets) -> str:
    """Return the certificate chain and its key from a stored secret; empty if they are in a file or not needed."""
    if push.authentication is not PushAuthentication.CERTIFICATE or not push.secret_from.startswith(STORED):
        return ""
    return secrets.secret(service, push.secret_from)
