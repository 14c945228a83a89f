"""Both sides of an agreement, found by both names and made from what the profile says."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from postroad.core.codecs.cms import Identity
from postroad.core.mediation.as2_partnerships import partner_between, partnership
from postroad.core.model.directory import As2, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from tests.samples.cms_people import clerk, partner, stranger


def certificate(identity: Identity) -> str:
    return identity.certificate.public_bytes(Encoding.PEM).decode()


def key_file(*identities: Identity) -> str:
    keys = [one.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode() for one in identities]
    return "".join(key + certificate(one) for key, one in zip(keys, identities, strict=True))


ACME = As2(name="ACME", own_name="My Biz", certificates=(certificate(partner()), certificate(stranger())), mdn="async")


def directory(*agreements: As2) -> Directory:
    services = {
        str(number): Service(gcid=str(number), organization="Aster", name=f"P{number}", as2=as2)
        for number, as2 in enumerate(agreements)
    }
    plain = Service(gcid="plain", organization="Aster", name="Orders")
    return Directory(services=services | {"plain": plain})


@pytest.mark.req("T7")
def test_an_agreement_is_found_by_both_names_letter_by_letter() -> None:
    known = directory(ACME, As2(name="ACME", own_name="Other"), As2(name="Birch", own_name="My Biz"))
    for pair, gcid in ((("ACME", "My Biz"), "0"), (("ACME", "Other"), "1"), (("Birch", "My Biz"), "2")):
        found = partner_between(known, *pair)
        assert found is not None
        assert found.gcid == gcid
    for pair in (("acme", "My Biz"), ("My Biz", "ACME"), ("Birch", "Other"), ("", "")):
        assert partner_between(known, *pair) is None


@pytest.mark.req("T7")
def test_the_first_key_signs_and_the_first_certificate_is_encrypted_for() -> None:
    made = partnership(ACME, key_file(clerk(), stranger()), "https://net.example/as2")
    assert (made.own.name, made.partner.name) == ("My Biz", "ACME")
    assert made.own.signer.certificate == clerk().certificate
    assert [one.certificate for one in made.own.identities] == [clerk().certificate, stranger().certificate]
    assert made.partner.recipient == partner().certificate
    assert made.agreement.mdn_url == "https://net.example/as2"


def test_only_asynchronous_receipts_are_asked_for_at_an_address() -> None:
    sync = As2(name="ACME", own_name="My Biz")
    assert partnership(sync, "", "https://net.example/as2").agreement.mdn_url == ""


def test_without_a_key_nothing_can_be_signed() -> None:
    with pytest.raises(Misconfigured, match="My Biz"):
        _ = partnership(ACME, "").own.signer
