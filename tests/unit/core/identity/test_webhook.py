"""Signatures of pushes, checked by the library that receivers use, and by the scheme as it is published."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from hashlib import sha256
from hmac import digest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from postroad.core.identity.webhook import headers, secret_bytes, secret_text

NEW, OLD, FOREIGN = bytes(range(24)), bytes(range(100, 132)), b"another one, nobody's secret"
JSON_BODY = '{"order": 7, "for": "Zoë"}'.encode()
XML_BODY = b'<?xml version="1.0"?><Order xmlns="urn:x">7</Order>'


def sent(body: bytes, older: bytes | None = None, age_s: int = 0) -> dict[str, str]:
    return headers(NEW, "msg_1", int(time.time()) - age_s, body, older)


@pytest.mark.req("K3")
def test_the_library_accepts_what_we_sign() -> None:
    assert Webhook(secret_text(NEW)).verify(JSON_BODY, sent(JSON_BODY)) == {"order": 7, "for": "Zoë"}


@pytest.mark.req("K3")
def test_the_library_accepts_xml_when_it_is_told_not_to_read_it() -> None:
    Webhook(secret_text(NEW)).verify(XML_BODY, sent(XML_BODY), json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(FOREIGN)).verify(XML_BODY, sent(XML_BODY), json_parse=False)


@pytest.mark.req("K3")
def test_while_a_secret_is_exchanged_both_are_accepted() -> None:
    both = sent(JSON_BODY, older=OLD)
    for known in (NEW, OLD):
        Webhook(secret_text(known)).verify(JSON_BODY, both)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(OLD)).verify(JSON_BODY, sent(JSON_BODY))


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        (JSON_BODY + b" ", {}),
        (JSON_BODY, {"webhook-id": "msg_2"}),
        (JSON_BODY, {"webhook-timestamp": str(int(time.time()) + 60)}),
    ],
    ids=["body", "id", "time"],
)
def test_what_was_changed_is_refused(body: bytes, changes: dict[str, str]) -> None:
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(NEW)).verify(body, sent(JSON_BODY) | changes)


def test_what_was_kept_back_is_refused() -> None:
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(secret_text(NEW)).verify(JSON_BODY, sent(JSON_BODY, age_s=301))


@given(st.binary(min_size=24, max_size=64), st.none() | st.binary(min_size=24, max_size=64), st.binary(max_size=300))
def test_any_bytes_are_signed_by_the_published_scheme(secret: bytes, older: bytes | None, body: bytes) -> None:
    found = headers(secret, "msg_1", 1_700_000_000, body, older)
    expected = [digest(key, b"msg_1.1700000000." + body, sha256) for key in (secret, older) if key is not None]
    signatures = found["webhook-signature"].split(" ")
    assert [signature.partition(",")[0] for signature in signatures] == ["v1"] * len(expected)
    assert [b64decode(signature.partition(",")[2], validate=True) for signature in signatures] == expected


def test_a_signature_known_beforehand() -> None:
    """The example that implementations of the standard share; openssl gives the same."""
    secret = secret_bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    found = headers(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    assert found == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_survives_being_written(secret: bytes) -> None:
    text = secret_text(secret)
    assert text.startswith("whsec_")
    for written in (text, f"{text}\n", text.rstrip("="), text.removeprefix("whsec_")):
        assert secret_bytes(written) == secret


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "24 to 64 bytes"),
        ("whsec_", "24 to 64 bytes"),
        ("whsec_" + b64encode(bytes(23)).decode(), "has 23"),
        ("whsec_" + b64encode(bytes(65)).decode(), "has 65"),
        ("whsec_hunter2!", "whsec_ and then base64"),
        ("a passphrase of some length", "whsec_ and then base64"),
        ("whsec_" + "A" * 33, "whsec_ and then base64"),
        ("whsec_é" + "A" * 40, "whsec_ and then base64"),
    ],
)
def test_what_is_no_secret_is_told_without_being_shown(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as told:
        secret_bytes(text)
    assert not text.removeprefix("whsec_") or text.removeprefix("whsec_") not in str(told.value)


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="has 23"):
        secret_text(bytes(23))
