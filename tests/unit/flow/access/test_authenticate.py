"""Authentication: each kind of proof, the same answer to every failure, and patience that runs out."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256

import pytest

from postroad.core.identity import api_key
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Credential, CredentialKind, Person
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing.network import MemoryNetwork, memory_network

KEY = api_key.make(bytes(range(32)))
CERTIFICATE = b"a certificate in DER"


def basic(name: str, password: str) -> Proof:
    return Proof(b"Basic " + base64.b64encode(f"{name}:{password}".encode()))


def bearer(text: str) -> Proof:
    return Proof(b"Bearer " + text.encode())


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        caller = await network.register("MyBiz/Purchasing")
        assert caller.service is not None
        gcid = caller.service.gcid
        password = await network.passwords.hash("correct horse battery")
        person = Person(email="ann@mybiz.example", organization="MyBiz")
        await network.network.configuration.change(
            "test",
            [
                build_save(Credential(id=KEY.id, kind=CredentialKind.KEY, secret=KEY.hash, service=gcid)),
                build_save(Credential(id="p", kind=CredentialKind.PASSWORD, secret=password, service=gcid)),
                build_save(Credential(id="q", kind=CredentialKind.PASSWORD, secret=password, person=person.email)),
                build_save(
                    Credential(
                        id="c",
                        kind=CredentialKind.CERTIFICATE,
                        secret=sha256(CERTIFICATE).hexdigest(),
                        service=gcid,
                    )
                ),
                build_save(person),
            ],
        )
        yield network


async def who(running: MemoryNetwork, proof: Proof, peer: str = "192.0.2.1") -> Caller:
    return await running.authenticator.authenticate(proof, peer)


async def fails(running: MemoryNetwork, proof: Proof, peer: str = "192.0.2.1") -> Refused:
    with pytest.raises(Refused) as refused:
        await who(running, proof, peer)
    return refused.value


@pytest.mark.req("N4")
async def test_a_service_proves_itself_by_key_password_or_certificate(running: MemoryNetwork) -> None:
    for proof, level in (
        (bearer(KEY.text), AuthenticationLevel.KEY),
        (basic("MyBiz/Purchasing", "correct horse battery"), AuthenticationLevel.PASSWORD),
        (basic("anything", KEY.text), AuthenticationLevel.KEY),
        (Proof(certificate_der=CERTIFICATE, secure=True), AuthenticationLevel.CERTIFICATE),
    ):
        caller = await who(running, proof)
        assert caller.service is not None
        assert (caller.service.address, caller.level) == ("MyBiz/Purchasing", level)


@pytest.mark.req("N1")
async def test_a_person_logs_in_with_their_address(running: MemoryNetwork) -> None:
    caller = await who(running, basic("Ann@mybiz.example", "correct horse battery"))
    assert caller.person is not None
    assert caller.name == "ann@mybiz.example"


async def test_every_failure_has_the_same_answer(running: MemoryNetwork) -> None:
    answers = set()
    for number, proof in enumerate(
        (
            Proof(b"Basic !!!"),
            Proof(b"Negotiate abc"),
            basic("MyBiz/Purchasing", "wrong"),
            basic("Nobody/Nowhere", "wrong"),
            bearer(api_key.make(b"x" * 32).text),
            bearer("pr_nonsense"),
            Proof(certificate_der=b"another"),
        )
    ):
        refusal = await fails(running, proof, f"192.0.2.{number}")
        answers.add((refusal.code, refusal.detail))
    [(code, detail)] = answers
    assert detail.startswith("The credentials are not valid here")
    nothing_sent = await fails(running, Proof())
    assert nothing_sent.code == code
    assert nothing_sent.detail.startswith("Send ")


@pytest.mark.req("N3")
async def test_how_long_a_wrong_password_takes_does_not_tell_who_is_there(
    running: MemoryNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str | None] = []

    async def verify(password: str, stored: str | None) -> bool:
        checked.append(stored)
        return False

    monkeypatch.setattr(running.passwords, "verify", verify)
    service = running.network.directory.service("MyBiz/Purchasing")
    assert service is not None
    second = Credential(id="r", kind=CredentialKind.PASSWORD, secret="another", service=service.gcid)
    counts = []
    for name in ("Nobody/Nowhere", "ann@mybiz.example", service.gcid, service.address):
        if name == service.address:
            await running.network.configuration.change("test", [build_save(second)])
        await fails(running, basic(name, "wrong"))
        counts.append(len(checked))
        checked.clear()
    assert len(set(counts)) == 1


async def test_a_kind_that_the_profile_does_not_allow_is_refused(running: MemoryNetwork) -> None:
    service = running.network.directory.service("MyBiz/Purchasing")
    assert service is not None
    only_keys = replace(service, authentication=(CredentialKind.KEY,))
    await running.network.configuration.change("test", [build_save(only_keys)])
    await who(running, bearer(KEY.text))
    await fails(running, basic("MyBiz/Purchasing", "correct horse battery"))


async def test_a_revoked_or_expired_credential_is_refused_at_once(running: MemoryNetwork) -> None:
    proof = bearer(KEY.text)
    await who(running, proof)
    assert running.authenticator.find_remembered(proof, "192.0.2.1") is not None
    await running.network.configuration.change("test", [DirectoryChange(kind="credential", key=KEY.id, value=None)])
    assert running.authenticator.find_remembered(proof, "192.0.2.1") is None
    await fails(running, proof)
    old = Credential(id=KEY.id, kind=CredentialKind.KEY, secret=KEY.hash, person="ann@mybiz.example", expires_at_us=1)
    await running.network.configuration.change("test", [build_save(old)])
    await fails(running, proof)


@pytest.mark.req("Z6")
async def test_repeated_failures_are_slowed_down_without_affecting_others(running: MemoryNetwork) -> None:
    codes = [(await fails(running, bearer("pr_guess"))).code for _ in range(12)]
    assert codes[0] == "authentication.required"
    assert codes[-1] == "authentication.throttled"
    await who(running, bearer(KEY.text), "192.0.2.99")


async def test_a_password_may_contain_colons(running: MemoryNetwork) -> None:
    hashed = await running.passwords.hash("a:b:c")
    service = running.network.directory.service("MyBiz/Purchasing")
    assert service is not None
    credential = Credential(id="colons", kind=CredentialKind.PASSWORD, secret=hashed, service=service.gcid)
    await running.network.configuration.change("test", [build_save(credential)])
    assert (await who(running, basic("MyBiz/Purchasing", "a:b:c"))).service == service


async def test_unrelated_changes_do_not_cause_a_password_to_be_checked_again(running: MemoryNetwork) -> None:
    proof = basic("MyBiz/Purchasing", "correct horse battery")
    await who(running, proof)
    await running.register("Somebody/Else")
    assert running.authenticator.find_remembered(proof, "192.0.2.1") is not None
    service = running.network.directory.service("MyBiz/Purchasing")
    assert service is not None
    await running.network.configuration.change("test", [build_save(replace(service, description="changed"))])
    caller = running.authenticator.find_remembered(proof, "192.0.2.1")
    assert caller is not None
    assert caller.service is not None
    assert caller.service.description == "changed"


async def test_asking_without_credentials_is_no_guess(running: MemoryNetwork) -> None:
    for _ in range(30):
        assert (await fails(running, Proof())).code == "authentication.required"
    await who(running, bearer(KEY.text))


async def test_a_key_is_no_password_of_a_person(running: MemoryNetwork) -> None:
    """Else a stolen key would do where the password is asked for: to log in, and to choose a new password."""
    mine = api_key.make(bytes(range(1, 33)))
    credential = Credential(id=mine.id, kind=CredentialKind.KEY, secret=mine.hash, person="ann@mybiz.example")
    await running.network.configuration.change("test", [build_save(credential)])
    for password in (mine.text, "wrong"):
        with pytest.raises(Refused, match="E-mail or password is wrong"):
            await running.authenticator.by_password("ann@mybiz.example", password, "192.0.2.1", secure=True)
    right = await running.authenticator.by_password(
        "ann@mybiz.example", "correct horse battery", "192.0.2.1", secure=True
    )
    assert right.name == "ann@mybiz.example"
