"""What a profile must say of an AS2 partner, told when it is saved; and whose names are whose."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import ValidationError

from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from tests.samples.cms_people import clerk, partner
from tests.samples.plans import applied, planned

CERTIFICATE = partner().certificate.public_bytes(Encoding.PEM).decode()
OLDER = clerk().certificate.public_bytes(Encoding.PEM).decode()
PUSH = {"url": "https://acme.example/as2", "authentication": "none"}
AS2: dict[str, Any] = {
    "name": "ACME",
    "ownName": "My Biz",
    "certificates": [CERTIFICATE, OLDER],
    "secretFrom": "file:as2.pem",
    "deliverTo": "Aster/Orders",
}
BARE = {"sign": "", "encrypt": "", "mdnSigned": False, "mustBeSigned": False}
ACME = {"format": "as2", "delivery": "push", "push": PUSH, "as2": AS2}


def service(**changes: Any) -> Service:
    return ServiceProfile.model_validate(ACME | changes).service(gcid="a" * 16, organization="Aster", name="Acme")


@pytest.mark.req("T7", "N13")
def test_an_agreement_is_written_and_read_again_with_every_field() -> None:
    made = service()
    assert made.as2 is not None
    assert (made.as2.name, made.as2.own_name, made.as2.mdn, made.as2.sign) == ("ACME", "My Biz", "sync", "sha256")
    written = profile_of(made)
    assert written["as2"]["certificates"] == list(made.as2.certificates)
    assert written["as2"]["mdnTimeoutSeconds"] == 3_600
    assert ServiceProfile.model_validate(written).service(gcid="a" * 16, organization="Aster", name="Acme") == made


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"as2": None}, "require each other"),
        ({"format": "mime"}, "require each other"),
        ({"delivery": "poll", "push": None}, "needs delivery: push"),
        ({"as2": AS2 | {"certificates": ["no certificate"]}}, "one certificate in PEM"),
        ({"as2": AS2 | {"certificates": [CERTIFICATE, CERTIFICATE]}}, "certificates"),
        ({"as2": AS2 | {"certificates": []}}, "need the partner's certificate"),
        ({"as2": AS2 | {"secretFrom": ""}}, "need secretFrom"),
        ({"as2": AS2 | {"secretFrom": "-----BEGIN PRIVATE KEY-----"}}, "secretFrom"),
        ({"as2": AS2 | {"name": "ACME\r\nX: y"}}, "name"),
        ({"as2": AS2 | {"ownName": ""}}, "ownName"),
        ({"as2": AS2 | {"sign": "md5"}}, "sha256"),
        ({"as2": AS2 | {"encrypt": "rot13"}}, "aes256-cbc"),
        ({"as2": AS2 | {"mdnTimeoutSeconds": 1}}, "mdnTimeoutSeconds"),
        ({"as2": AS2 | {"receiptUrls": ["ftp://acme.example/"]}}, "http or https"),
    ],
)
def test_what_could_never_work_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        service(**changes)


def test_a_partner_that_is_not_pushed_to_any_more_can_be_exported_and_applied() -> None:
    """As after a 410: its messages wait until its owner has set another address."""
    written = profile_of(service(delivery="poll"))
    assert ServiceProfile.model_validate(written).delivery == "poll"


def test_without_any_security_neither_key_nor_certificate_is_needed() -> None:
    made = service(as2=BARE | {"name": "ACME", "ownName": "My Biz"})
    assert made.as2 is not None
    assert (made.as2.certificates, made.as2.secret_from) == ((), "")


def document(**organizations: dict[str, Any]) -> dict[str, Any]:
    return {
        "postroad": 1,
        "organizations": {name: {"services": services} for name, services in organizations.items()},
    }


@pytest.mark.req("T7")
def test_two_services_cannot_stand_for_one_partner_under_one_name() -> None:
    found = planned(document(Aster={"Acme": ACME, "Other": ACME}), Directory())
    assert {fault.pointer for fault in found.faults} == {
        "/organizations/Aster/services/Acme/as2/name",
        "/organizations/Aster/services/Other/as2/name",
    }
    other = ACME | {"as2": AS2 | {"ownName": "My other Biz"}}
    assert not planned(document(Aster={"Acme": ACME, "Other": other}), Directory()).faults


@pytest.mark.req("T7")
@pytest.mark.parametrize("operator", [False, True])
def test_names_of_another_organization_do_not_matter(operator: bool) -> None:
    """Else a plan would tell which partners others have."""
    directory = applied(planned(document(Birch={"Secret": ACME}), Directory()), Directory())
    fresh = iter(["f" * 16])
    assert not planned(document(Aster={"Acme": ACME}), directory, may_choose_ids=operator, fresh_ids=fresh).faults


def test_saving_the_same_again_is_no_clash() -> None:
    directory = applied(planned(document(Aster={"Acme": ACME}), Directory()), Directory())
    assert not planned(document(Aster={"Acme": ACME}), directory).faults
    changed = ACME | {"description": "Our largest customer"}
    assert not planned(document(Aster={"Acme": changed}), directory).faults
