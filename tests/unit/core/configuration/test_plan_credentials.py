"""What documents do to credentials: a new secret replaces the old one, and nobody's proof becomes another's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postroad.core.configuration import certificates
from postroad.core.identity import api_key
from postroad.core.model.directory import Credential, CredentialKind
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from tests.samples.as2_scenario import certificate_pem
from tests.samples.cms_people import partner
from tests.samples.plans import applied, planned

pytestmark = pytest.mark.req("N13", "Z5")

SERVICES = "/organizations/House/services"
HOUSE = {"postroad": 1, "organizations": {"House": {"services": {"In": {}, "Out": {}}}}}


def with_credential(credential: dict[str, Any], service: str = "In", **others: Any) -> dict[str, Any]:
    return {"postroad": 1, "organizations": {"House": {"services": {service: {"credentials": [credential]}, **others}}}}


def having(*credentials: Credential) -> Directory:
    """House/In is the first service, House/Out the second; credentials are as API or console made them."""
    directory = applied(planned(HOUSE, Directory()), Directory())
    return directory.apply_changes([_saved(item) for item in credentials], directory.version + 1)


def _saved(item: Credential) -> ObjectChange:
    return ObjectChange("credential", item.id, 1, msgspec.to_builtins(item))


def test_a_new_password_replaces_one_that_was_not_made_by_a_document() -> None:
    old = Credential(id="made-elsewhere", kind=CredentialKind.PASSWORD, secret="old", service=f"{1:016x}", label="main")
    directory = having(old)
    document = with_credential({"label": "main", "password": "fifteen letters"})
    found = planned(document, directory, secrets={f"{SERVICES}/In/credentials/0": "new"})
    after = applied(found, directory)
    assert [item.secret for item in after.credentials_of(service=old.service)] == ["new"]


@pytest.mark.parametrize("prune", [False, True])
def test_a_new_key_replaces_the_one_of_its_label(prune: bool) -> None:
    keys = [api_key.make(bytes([number]) * 32) for number in (1, 2)]
    old = Credential(id=keys[0].id, kind=CredentialKind.KEY, secret=keys[0].hash, service=f"{1:016x}", label="main")
    directory = having(old)
    document = with_credential({"label": "main", "key": keys[1].text}, Out={})
    found = planned(document, directory, secrets={f"{SERVICES}/In/credentials/0": keys[1].hash}, prune=prune)
    assert sorted((step.action.value, step.name) for step in found.steps) == [
        ("add", "House/In: main"), ("remove", "House/In: main"),
    ]  # fmt: skip
    assert list(applied(found, directory).credentials) == [keys[1].id]


def test_a_password_is_as_long_as_anywhere_else_but_one_that_is_there_stays() -> None:
    directory = having(
        Credential(id="a", kind=CredentialKind.PASSWORD, secret="short one", service=f"{1:016x}", label="main")
    )
    document = with_credential({"label": "main", "password": "short"})
    place = f"{SERVICES}/In/credentials/0"
    assert planned(document, directory, secrets={place: "short one"}).faults == ()
    [fault] = planned(document, directory, secrets={place: "another"}).faults
    assert fault.pointer == f"{place}/password"
    assert "15 characters" in fault.detail


@pytest.mark.req("N1")
def test_a_certificate_that_another_service_shows_is_nobody_elses() -> None:
    pem = certificate_pem(partner())
    certificate = certificates.read(pem)
    assert certificate is not None
    theirs = Credential(
        id="theirs", kind=CredentialKind.CERTIFICATE, secret=certificate.fingerprint, service="f" * 16, label="x"
    )
    [fault] = planned(with_credential({"label": "mine", "certificate": pem}), having(theirs)).faults
    assert fault.pointer == f"{SERVICES}/In/credentials/0/certificate"
    assert "f" * 16 not in fault.detail
    both = with_credential(
        {"label": "a", "certificate": pem}, Out={"credentials": [{"label": "b", "certificate": pem}]}
    )
    places = [fault.pointer for fault in planned(both, having()).faults]
    assert places == [f"{SERVICES}/In/credentials/0/certificate", f"{SERVICES}/Out/credentials/0/certificate"]
    relabelled = planned(with_credential({"label": "b", "certificate": pem}), applied(planned(
        with_credential({"label": "a", "certificate": pem}), having()), having()), prune=True)  # fmt: skip
    assert relabelled.faults == ()


def test_one_key_is_not_given_to_two_services() -> None:
    key = {"label": "main", "key": api_key.make(bytes(32)).text}
    secrets = {f"{SERVICES}/{name}/credentials/0": "hash" for name in ("In", "Out")}
    [fault] = planned(with_credential(key, Out={"credentials": [key]}), having(), secrets=secrets).faults
    assert fault.pointer == f"{SERVICES}/Out/credentials/0"
    assert "create one for each" in fault.detail
