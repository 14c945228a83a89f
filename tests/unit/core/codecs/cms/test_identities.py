"""Key files: read in the usual forms, refused with a reason in every other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from postroad.core.codecs.cms import Identity, identity_from_pem, identity_from_pkcs12
from postroad.errors import Refused
from tests.unit.core.codecs.cms.people import clerk, notary, partner, stranger

CLEAR = NoEncryption()
LOCKED = BestAvailableEncryption(b"secret")


def pem(
    identity: Identity, encryption: KeySerializationEncryption = CLEAR, form: PrivateFormat = PrivateFormat.PKCS8
) -> bytes:
    return identity.key.private_bytes(Encoding.PEM, form, encryption)


def certificate_pem(identity: Identity) -> bytes:
    return identity.certificate.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("whose", [clerk, notary])
@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_key_and_certificates_are_found_in_any_order(whose: Callable[[], Identity], form: PrivateFormat) -> None:
    one = whose()
    others = certificate_pem(partner())
    for file in (
        pem(one, form=form) + certificate_pem(one) + others,
        others + certificate_pem(one) + b"a remark\n" + pem(one, form=form),
    ):
        found = identity_from_pem(file)
        assert (found.certificate, found.chain) == (one.certificate, (partner().certificate,))
        assert found.key.private_numbers() == one.key.private_numbers()


def test_a_locked_key_opens_with_its_password() -> None:
    file = pem(clerk(), LOCKED) + certificate_pem(clerk())
    assert identity_from_pem(file, b"secret").certificate == clerk().certificate
    for password in (None, b"wrong"):
        with pytest.raises(Refused, match="password"):
            identity_from_pem(file, password)


@pytest.mark.parametrize("password", [None, b"secret"])
def test_pkcs12_files_are_read(password: bytes | None) -> None:
    file = pkcs12.serialize_key_and_certificates(
        b"clerk", clerk().key, clerk().certificate, [partner().certificate], LOCKED if password else CLEAR
    )
    found = identity_from_pkcs12(file, password)
    assert (found.certificate, found.chain) == (clerk().certificate, (partner().certificate,))


@pytest.mark.parametrize(
    "file",
    [
        b"",
        certificate_pem(clerk()),
        pem(clerk()),
        pem(clerk()) + certificate_pem(stranger()),
        pem(clerk())[:200] + certificate_pem(clerk()),
        pem(clerk()).replace(b"MII", b"AAA") + certificate_pem(clerk()),
        pem(clerk()) + certificate_pem(clerk())[:100],
        ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, CLEAR)
        + certificate_pem(clerk()),
    ],
    ids=["empty", "no key", "no certificate", "another's", "cut key", "damaged key", "cut certificate", "another kind"],
)
def test_unusable_pem_files_are_refused(file: bytes) -> None:
    with pytest.raises(Refused) as caught:
        identity_from_pem(file)
    assert caught.value.code == "value.invalid"
    assert "private key, its certificate" in caught.value.detail


def test_unusable_pkcs12_files_are_refused() -> None:
    without_key = pkcs12.serialize_key_and_certificates(b"none", None, clerk().certificate, None, LOCKED)
    for file, password in ((b"", None), (b"\x30\x03abc", b"secret"), (without_key, b"secret"), (without_key, b"wrong")):
        with pytest.raises(Refused) as caught:
            identity_from_pkcs12(file, password)
        assert caught.value.code == "value.invalid"


def test_no_key_is_ever_shown() -> None:
    shown = repr(clerk())
    assert "key" not in shown
    assert "secret" not in shown
