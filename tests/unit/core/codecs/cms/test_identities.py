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

from postroad.core.codecs.cms import Identity, identities_from_pem, identity_from_pem, identity_from_pkcs12
from postroad.errors import Refused
from tests.samples.cms_people import clerk, identity, notary, partner, stranger

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


def test_while_a_key_is_rolled_over_one_file_has_both_and_the_first_one_signs() -> None:
    old, new = clerk(), stranger()
    vouching = certificate_pem(notary())
    file = certificate_pem(new) + pem(old) + certificate_pem(old) + pem(new) + vouching
    found = identities_from_pem(file)
    assert [one.certificate for one in found] == [new.certificate, old.certificate]
    assert [one.key.private_numbers() for one in found] == [new.key.private_numbers(), old.key.private_numbers()]
    assert {one.chain for one in found} == {(notary().certificate,)}


def test_a_certificate_that_was_renewed_for_the_same_key_makes_another_identity() -> None:
    renewed = identity("Clerk", clerk().key, serial=8)
    found = identities_from_pem(pem(clerk()) + certificate_pem(renewed) + certificate_pem(clerk()))
    assert [one.certificate for one in found] == [renewed.certificate, clerk().certificate]


def test_every_key_in_the_file_needs_its_certificate() -> None:
    with pytest.raises(Refused, match="belongs to its private key"):
        identities_from_pem(pem(clerk()) + certificate_pem(clerk()) + pem(stranger()))
    with pytest.raises(Refused, match="no private key"):
        identities_from_pem(certificate_pem(clerk()))
