"""A client certificate is registered only with its key: by a signed challenge, or over a connection that presents it."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from postroad.client import AsyncClient, Client
from postroad.core.configuration.key_possession import sign_challenge
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration.audit import list_audited_accesses
from tests.acceptance.asking import Asked, asked_network
from tests.acceptance.served import Served, served_network
from tests.acceptance.test_tls import Identity
from tests.samples.served_network import postroad

CREDENTIALS = "/v1/services/Aster/Public/credentials"
OTHERS = "/v1/services/Birch/Public/credentials"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


@pytest.fixture
def served() -> Iterator[Served]:
    with served_network() as running:
        yield running


def wish(identity: Identity, **more: str) -> dict[str, str]:
    return {"kind": "certificate", "label": "tls", "certificate": identity.pem} | more


async def challenge_for(asked: Asked, who: str) -> str:
    answer = await asked.ask(who, "POST", "/v1/certificate-challenges")
    assert answer.status_code == 201
    return str(answer.json()["challenge"])


async def signed(asked: Asked, who: str, identity: Identity) -> dict[str, str]:
    challenge = await challenge_for(asked, who)
    return {"challenge": challenge, "signature": sign_challenge(identity.key.read_bytes(), challenge)}


@pytest.mark.req("Z1")
async def test_nobody_registers_a_certificate_without_its_key(asked: Asked, tmp_path: Path) -> None:
    victim, evil = Identity(tmp_path, "victim"), Identity(tmp_path, "evil")
    own_challenge = await challenge_for(asked, "owner of B")
    others_challenge = await signed(asked, "owner of A", victim)
    wrong_key = {"challenge": own_challenge, "signature": sign_challenge(evil.key.read_bytes(), own_challenge)}
    foreign = {"challenge": "order 4711", "signature": sign_challenge(victim.key.read_bytes(), "order 4711")}
    empty: dict[str, str] = {}
    for proof in (empty, wrong_key, others_challenge, foreign, {"challenge": own_challenge, "signature": "no base64!"}):
        answer = await asked.ask("owner of B", "POST", OTHERS, wish(victim, **proof))
        assert (answer.status_code, answer.json()["code"]) == (422, "certificate.unproven")
    assert not asked.running.network.directory.credentials_of_secret(_fingerprint(victim))
    made = await asked.ask("owner of A", "POST", CREDENTIALS, wish(victim, **await signed(asked, "owner of A", victim)))
    assert made.status_code == 201
    caller = await asked.running.authenticator.authenticate(Proof(b"", victim.der, True), "test")
    assert caller.name == asked.gcid("Aster/Public")


async def test_a_challenge_ends_after_a_while(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Identity(tmp_path, "mine")
    proof = await signed(asked, "owner of A", mine)
    clock, now_us = asked.running.network.clock, asked.running.network.clock.now_us()
    monkeypatch.setattr(clock, "now_us", lambda: now_us + 16 * 60 * 1_000_000, raising=False)
    answer = await asked.ask("owner of A", "POST", CREDENTIALS, wish(mine, **proof))
    assert answer.json()["code"] == "certificate.unproven"


@pytest.mark.req("Z5")
async def test_only_who_has_the_key_learns_that_a_certificate_is_in_use_and_operators_are_told(
    asked: Asked, tmp_path: Path
) -> None:
    victim, unknown = Identity(tmp_path, "victim"), Identity(tmp_path, "unknown")
    own = wish(victim, **await signed(asked, "owner of A", victim))
    assert (await asked.ask("owner of A", "POST", CREDENTIALS, own)).status_code == 201
    answers = [await asked.ask("owner of B", "POST", OTHERS, wish(one)) for one in (victim, unknown)]
    assert answers[0].content == answers[1].content
    proven = wish(victim, **await signed(asked, "owner of B", victim))
    assert (await asked.ask("owner of B", "POST", OTHERS, proven)).status_code == 409
    operator = await asked.running.enroll("op@network.example", operator=True)
    found = await list_audited_accesses(asked.running.network, operator)
    assert [one.what for one in found] == ["certificate.conflict"] * 2
    assert "Birch/Public wants the certificate" in found[0].detail
    assert found[0].detail.endswith("of Aster/Public")


@pytest.mark.req("Z1")
async def test_a_connection_that_presents_the_certificate_is_proof_enough(asked: Asked, tmp_path: Path) -> None:
    mine, other = Identity(tmp_path, "mine"), Identity(tmp_path, "other")
    application = asked.client._transport.app  # type: ignore[attr-defined]

    async def front(scope: Any, receive: Any, send: Any) -> None:
        tls = {"client_cert_der": mine.der}
        await application({**scope, "scheme": "https", "extensions": {"tls": tls}}, receive, send)

    transport = httpx2.ASGITransport(app=front)
    headers = {"Authorization": f"Bearer {asked.keys['owner of A']}"}
    async with httpx2.AsyncClient(transport=transport, base_url="https://x.example", headers=headers) as client:
        assert (await client.post(CREDENTIALS, json=wish(other))).json()["code"] == "certificate.unproven"
        assert (await client.post(CREDENTIALS, json=wish(mine))).status_code == 201


def _fingerprint(identity: Identity) -> str:
    from hashlib import sha256

    return sha256(ssl.PEM_cert_to_DER_cert(identity.pem)).hexdigest()


@pytest.mark.parametrize("kind", ["rsa", "p256", "ed25519"])
def test_openssl_makes_the_signature_that_is_asked_for(kind: str, tmp_path: Path) -> None:
    """As the console tells people to; EdDSA signs the text itself, so ``openssl dgst`` cannot, and the command line does."""
    import subprocess

    keys: dict[str, Any] = {
        "rsa": rsa.generate_private_key(65537, 2048),
        "p256": ec.generate_private_key(ec.SECP256R1()),
        "ed25519": ed25519.Ed25519PrivateKey.generate(),
    }
    key, file = keys[kind], tmp_path / "key.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(key.private_bytes(*form))
    ours = base64.b64decode(sign_challenge(file.read_bytes(), "challenge"))
    if kind == "ed25519":
        key.public_key().verify(ours, b"challenge")
        return
    command = ["openssl", "dgst", "-sha256", "-sign", str(file)]
    theirs = subprocess.run(command, input=b"challenge", capture_output=True, check=True).stdout
    if kind == "rsa":
        assert theirs == ours
    else:
        from cryptography.hazmat.primitives import hashes

        key.public_key().verify(theirs, b"challenge", ec.ECDSA(hashes.SHA256()))


def document(identity: Identity) -> dict[str, Any]:
    service = {"credentials": [{"label": "tls", "certificate": identity.pem}]}
    house = {"people": {"owner@aster.example": {"role": "owner"}}, "services": {"Public": service}}
    return {"postroad": 1, "organizations": {"Aster": house}}


@pytest.mark.req("Z1")
async def test_a_document_needs_the_proof_too_unless_an_operator_applies_it(asked: Asked, tmp_path: Path) -> None:
    mine = Identity(tmp_path, "mine")
    plan = "/v1/configuration/plan"
    refused = await asked.ask("owner of A", "POST", plan, {"document": document(mine)})
    [fault] = refused.json()["errors"]
    assert fault["pointer"] == "/organizations/Aster/services/Public/credentials/0/certificate"
    assert "--certificate-key" in fault["detail"]
    by_operator = (await asked.ask("operator", "POST", plan, {"document": document(mine)})).json()["errors"]
    assert ["only an owner may apply this" in fault["detail"] for fault in by_operator] == [True], (
        "and no word of a proof"
    )
    proven = document(mine)
    proven["organizations"]["Aster"]["services"]["Public"]["credentials"][0] |= await signed(asked, "owner of A", mine)
    assert (await asked.ask("owner of A", "POST", plan, {"document": proven})).status_code == 200
    made = await asked.ask("owner of A", "POST", CREDENTIALS, wish(mine, **await signed(asked, "owner of A", mine)))
    assert made.status_code == 201
    unchanged = await asked.ask("owner of A", "POST", plan, {"document": document(mine)})
    assert unchanged.status_code == 200, "what is registered needs no proof again"


async def test_the_clients_and_the_command_line_sign_by_themselves(served: Served, tmp_path: Path) -> None:
    one, two, three, four = (Identity(tmp_path, name) for name in ("one", "two", "three", "four"))
    with Client(served.url, served.keys["owner of A"]) as client:
        assert client.certificates.add("Aster/Public", "one", one.pem, one.key.read_bytes()).label == "one"
        keys = [two.key.read_bytes(), one.key.read_bytes()]
        proven = client.certificates.prove(document(two), keys)
        assert len(client.plan(proven).steps) > 0
        assert client.certificates.prove(document(two), []) == document(two)
    async with AsyncClient(served.url, served.keys["owner of A"]) as client:
        added = await client.certificates.add("Aster/Public", "two", two.pem, two.key.read_bytes())
        assert added.label == "two"
    access = ("--url", served.url, "--key", served.keys["owner of A"])
    arguments = ("--certificate", three.certificate, "--certificate-key", three.key, "--label", "three")
    done = postroad("services", "add-certificate", "Aster/Public", *arguments, *access)
    assert "can authenticate with certificate 'three'" in done.stdout
    refused = postroad("services", "add-certificate", "Aster/Public", "--certificate", four.certificate,
                       "--certificate-key", three.key, *access)  # fmt: skip
    assert (refused.returncode != 0, "certificate.unproven" in refused.stderr) == (True, True)
