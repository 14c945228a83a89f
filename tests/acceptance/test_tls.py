"""TLS by the server itself: client certificates as credentials, policies that ask for TLS, and proxies that may speak."""

from __future__ import annotations

import base64
import datetime
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from postroad.core.configuration import certificates
from postroad.core.model.directory import AuthenticationLevel, ConnectionPolicy, Credential, CredentialKind, Transport
from postroad.testing.http_client import ClientConnection, ClientResponse, ConnectionGone
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import Party, serving

BUYER, SELLER, CAREFUL, STRICT = "MyBiz/Purchasing", "Acme/Supply", "Careful/Bank", "Strict/Bank"
TLS_ONLY = ConnectionPolicy(transport=Transport.TLS)
CERTIFICATE_ONLY = ConnectionPolicy(transport=Transport.TLS, authentication=AuthenticationLevel.CERTIFICATE)
POST = json.dumps({"to": [SELLER], "documents": [{"text": "order"}]}).encode()


class Identity:
    """A certificate with its key, as a client loads them."""

    def __init__(
        self, folder: Path, name: str, authority: trustme.CA | None = None, *, from_day: int = -1, to_day: int = 1
    ) -> None:
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        if authority is not None:
            leaf = authority.issue_cert(f"{name}.example")
            leaf.cert_chain_pems[0].write_to_path(str(self.certificate))
            leaf.private_key_pem.write_to_path(str(self.key))
        else:
            self._sign_itself(name, from_day, to_day)
        self.pem = self.certificate.read_text()
        self.der = ssl.PEM_cert_to_DER_cert(self.pem)

    def _sign_itself(self, name: str, from_day: int, to_day: int) -> None:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        starts, ends = now + datetime.timedelta(days=from_day), now + datetime.timedelta(days=to_day)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(starts)
        signed = builder.not_valid_after(ends).sign(key, hashes.SHA256())
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        self.certificate.write_bytes(signed.public_bytes(pem))
        self.key.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))

    def credential(self) -> Credential:
        found = certificates.read(self.pem)
        assert found is not None
        return Credential(
            id=found.fingerprint[:16],
            kind=CredentialKind.CERTIFICATE,
            secret=found.fingerprint,
            certificate=found.pem,
        )


class Site:
    """A server with TLS, the parties in it, and what its clients need."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.others_authority = trustme.CA(), trustme.CA()
        server = self.authority.issue_cert("localhost", "127.0.0.1")
        self.chain, self.key = folder / "server.pem", folder / "server.key"
        self.chain.write_bytes(b"".join(pem.bytes() for pem in server.cert_chain_pems))
        server.private_key_pem.write_to_path(str(self.key))
        self.buyer = Identity(folder, "buyer")  # nobody vouches for it but itself
        self.careful = Identity(folder, "careful", self.others_authority)
        self.stranger = Identity(folder, "stranger")
        self.sibling = Identity(folder, "sibling", self.others_authority)  # of the same authority as a known one
        self.server: ServerProcess
        self.keys: dict[str, str]

    def parties(self) -> list[Party | str]:
        return [
            Party(address=BUYER, certificates=[self.buyer.credential()]),
            SELLER,
            Party(address=CAREFUL, profile={"policy": TLS_ONLY}, certificates=[self.careful.credential()]),
            Party(address=STRICT, profile={"policy": CERTIFICATE_ONLY}),
        ]

    def client(self, identity: Identity | None = None, key: str = "") -> ClientConnection:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if identity is not None:
            context.load_cert_chain(identity.certificate, identity.key)
        return ClientConnection(self.server.port, key, tls=context, server_name="localhost")

    async def post(self, connection: ClientConnection, body: bytes = POST, /, **headers: str) -> ClientResponse:
        async with connection:
            return await connection.post("/v1/messages", body, **headers)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("tls")
    made = Site(folder)
    settings = {"tls_certificate": made.chain, "tls_key": made.key}
    with serving(folder / "data", *made.parties(), settings=settings) as (made.server, made.keys):
        yield made


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Behind a proxy on this very machine, which ends TLS."""
    folder = tmp_path_factory.mktemp("proxied")
    made = Site(folder)
    with serving(folder / "data", *made.parties(), settings={"trusted_proxies": "127.0.0.1"}) as running:
        made.server, made.keys = running
        yield made


@pytest.fixture(scope="module")
def unproxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Another address is trusted than the one that clients come from."""
    folder = tmp_path_factory.mktemp("unproxied")
    made = Site(folder)
    with serving(folder / "data", *made.parties(), settings={"trusted_proxies": "10.1.2.3"}) as running:
        made.server, made.keys = running
        yield made


def code_of(answer: ClientResponse) -> str:
    return str(json.loads(answer.body).get("code", ""))


def to(address: str) -> bytes:
    return json.dumps({"to": [address]}).encode()


@pytest.mark.req("N4", "D1")
async def test_a_registered_certificate_is_enough(site: Site) -> None:
    assert (await site.post(site.client(site.buyer))).status == 202  # self-signed
    answer = await site.post(site.client(site.careful), to(CAREFUL))  # issued by an authority
    assert answer.status == 202, answer.body


@pytest.mark.req("N4")
async def test_a_key_works_over_tls_too(site: Site) -> None:
    assert (await site.post(site.client(key=site.keys[BUYER]))).status == 202


@pytest.mark.req("N4")
async def test_a_certificate_that_nobody_registered_is_refused(site: Site) -> None:
    with pytest.raises(ConnectionGone):
        await site.post(site.client(site.stranger))
    try:
        answer = await site.post(site.client(site.sibling))
    except ConnectionGone:
        return
    assert (answer.status, code_of(answer)) == (401, "authentication.required")


@pytest.mark.req("N4")
async def test_no_credentials_at_all_are_refused(site: Site) -> None:
    answer = await site.post(site.client())
    assert (answer.status, code_of(answer)) == (401, "authentication.required")


@pytest.mark.req("N4")
async def test_plain_http_on_the_tls_port_is_cut_off(site: Site) -> None:
    with pytest.raises(ConnectionGone):
        await site.post(ClientConnection(site.server.port, site.keys[BUYER]))


@pytest.mark.req("N4", "M5")
async def test_a_policy_may_ask_for_a_certificate(site: Site) -> None:
    weak = await site.post(site.client(key=site.keys[STRICT]), to(STRICT))
    assert (weak.status, code_of(weak)) == (403, "policy.authentication")


@pytest.mark.req("N4", "M5")
async def test_a_policy_may_ask_for_tls(site: Site, unproxied: Site) -> None:
    """The service itself, and whoever sends to it, must come over TLS."""
    for sender in (CAREFUL, BUYER):
        plain = await unproxied.post(ClientConnection(unproxied.server.port, unproxied.keys[sender]), to(CAREFUL))
        assert (plain.status, code_of(plain)) == (403, "policy.transport")
    async with ClientConnection(unproxied.server.port, unproxied.keys[CAREFUL]) as polling:
        polled = await polling.post("/v1/poll", b"{}")
    assert (polled.status, code_of(polled)) == (403, "policy.transport")
    assert (await site.post(site.client(key=site.keys[CAREFUL]), to(CAREFUL))).status == 202


def said_by_a_proxy(identity: Identity) -> dict[str, str]:
    return {"Client_Cert": f":{base64.b64encode(identity.der).decode()}:", "X_Forwarded_Proto": "https"}


@pytest.mark.req("N4")
async def test_a_trusted_proxy_speaks_for_its_client(proxied: Site) -> None:
    answer = await proxied.post(ClientConnection(proxied.server.port), **said_by_a_proxy(proxied.buyer))
    assert answer.status == 202
    secure = await proxied.post(ClientConnection(proxied.server.port), to(CAREFUL), **said_by_a_proxy(proxied.careful))
    assert secure.status == 202
    unknown = await proxied.post(ClientConnection(proxied.server.port), **said_by_a_proxy(proxied.stranger))
    assert (unknown.status, code_of(unknown)) == (401, "authentication.required")


@pytest.mark.req("N4")
async def test_nobody_else_can_claim_a_certificate_or_tls(unproxied: Site) -> None:
    claimed = await unproxied.post(ClientConnection(unproxied.server.port), **said_by_a_proxy(unproxied.buyer))
    assert (claimed.status, code_of(claimed)) == (401, "authentication.required")
    connection = ClientConnection(unproxied.server.port, unproxied.keys[CAREFUL])
    insecure = await unproxied.post(connection, to(CAREFUL), **said_by_a_proxy(unproxied.careful))
    assert (insecure.status, code_of(insecure)) == (403, "policy.transport")
