"""Webhook signatures of pushes, as specified by Standard Webhooks.

Signed is ``<webhook-id>.<webhook-timestamp>.<body>``, the body as its very bytes, with HMAC-SHA256. The id stays the same when a
push is tried again, so receivers know a repetition by it; the time is that of the try. While a secret is being exchanged, a push
carries two signatures, and a receiver that knows either secret accepts it. Secrets are written ``whsec_`` and base64.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

PREFIX = "whsec_"
MIN_SECRET, MAX_SECRET = 24, 64  # bytes, as the standard has it


def secret_text(random_bytes: bytes) -> str:
    """A new secret as people keep it, from 24 to 64 random bytes."""
    return PREFIX + b64encode(_fitting(random_bytes)).decode()


def secret_bytes(text: str) -> bytes:
    """The secret that a text means. The text itself is in no error: it may be nearly a secret."""
    encoded = text.strip().removeprefix(PREFIX).rstrip("=")
    try:
        secret = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        raise ValueError(f"a signing secret is written as {PREFIX} and then base64") from None
    return _fitting(secret)


def headers(
    secret: bytes, message_id: str, timestamp_s: int, body: bytes, older_secret: bytes | None = None
) -> dict[str, str]:
    """The headers of one push; ``older_secret`` is the one that receivers may still have."""
    signed = b"%b.%d.%b" % (message_id.encode("ascii"), timestamp_s, body)
    secrets = [secret] if older_secret is None else [secret, older_secret]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_signature(each, signed) for each in secrets),
    }


def _signature(secret: bytes, signed: bytes) -> str:
    return f"v1,{b64encode(hmac.digest(secret, signed, sha256)).decode()}"


def _fitting(secret: bytes) -> bytes:
    if not MIN_SECRET <= len(secret) <= MAX_SECRET:
        raise ValueError(f"a signing secret has {MIN_SECRET} to {MAX_SECRET} bytes; this one has {len(secret)}")
    return secret
