"""TLS by the server itself: client certificates as they come and go, and proxies that speak for a client."""

from __future__ import annotations

import base64
import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from postroad.api.http import FastReply, FastRequest, TlsFront, TrustedProxies
from postroad.errors import Misconfigured
from tests.samples.front_door import Response, Served, Wire, ask, serving
from tests.waiting import eventually

# The loops and the versions of OpenSSL differ in how a failed handshake ends.
CUT = r"(?i)unknown ca|reset|broken pipe|closed by the server|EOF occurred|has been closed"
GET = b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Pair:
    """A certificate and its key, on disk as clients and servers want them."""

    def __init__(self, folder: Path, name: str, pem: bytes, key: bytes) -> None:
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        self.certificate.write_bytes(pem)
        self.key.write_bytes(key)
        self.der = ssl.PEM_cert_to_DER_cert(pem.decode())


def self_signed(folder: Path, name: str) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(folder, name, certificate.public_bytes(serialization.Encoding.PEM), private)


def issued(folder: Path, name: str, authority: trustme.CA) -> Pair:
    leaf = authority.issue_cert(name)
    return Pair(folder, name, leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())


class Site:
    """A server with its certificate, and clients that trust it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.own = issued(folder, "localhost", self.authority)
        self.seen: list[FastRequest] = []

    def front(self, **options: Any) -> TlsFront:
        return TlsFront(self.own.certificate, self.own.key, **options)

    def who(self, request: FastRequest, reply: FastReply) -> None:
        self.seen.append(request)
        reply(200, request.client_certificate_der or b"none", b"application/octet-stream")

    def context(self, pair: Pair | None = None, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        if version is not None:
            context.maximum_version = context.minimum_version = version
        return context

    def ask(self, served: Served, context: ssl.SSLContext) -> Response:
        with Wire(served.port, context) as wire:
            wire.send(GET)
            return wire.read()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.req("Z1")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_registered_certificates_are_proven_and_passed_on(site: Site, version: ssl.TLSVersion, loop: str) -> None:
    pinned = self_signed(site.folder, "pinned")
    leaf = issued(site.folder, "leaf", trustme.CA())
    front = site.front(clients_der=[pinned.der, leaf.der])
    with serving({("GET", "/who"): site.who}, ssl_context=front.context, loop=loop) as served:
        for client in (pinned, leaf):
            assert site.ask(served, site.context(client, version)).body == client.der
        assert site.ask(served, site.context(None, version)).body == b"none"
    assert [request.secure for request in site.seen] == [True, True, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_certificate_that_nobody_registered_is_refused_in_the_handshake(site: Site, version: ssl.TLSVersion) -> None:
    stranger, pinned = self_signed(site.folder, "stranger"), self_signed(site.folder, "pinned")
    with serving({("GET", "/who"): site.who}, ssl_context=site.front(clients_der=[pinned.der]).context) as served:
        with pytest.raises((OSError, EOFError), match=CUT):
            site.ask(served, site.context(stranger, version))
        assert site.ask(served, site.context(pinned, version)).status == 200
        served.unhandled.clear()  # a failed handshake is the loop's to report
    assert len(site.seen) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_registering_and_removing_takes_effect_on_the_next_handshake(site: Site, version: ssl.TLSVersion) -> None:
    first, second = self_signed(site.folder, "first"), self_signed(site.folder, "second")
    front = site.front(clients_der=[first.der])
    with serving({("GET", "/who"): site.who}, ssl_context=front.context) as served:
        with Wire(served.port, site.context(first, version)) as staying:
            front.trust([second.der])
            assert site.ask(served, site.context(second, version)).body == second.der
            with pytest.raises((OSError, EOFError), match=CUT):
                site.ask(served, site.context(first, version))
            staying.send(GET)
            assert staying.read().body == first.der
        served.unhandled.clear()


@pytest.mark.parametrize("version", VERSIONS)
def test_one_more_client_is_admitted_beside_the_others(site: Site, version: ssl.TLSVersion) -> None:
    first, second = self_signed(site.folder, "first"), self_signed(site.folder, "second")
    front = site.front(clients_der=[first.der])
    with serving({("GET", "/who"): site.who}, ssl_context=front.context) as served:
        front.admit(second.der)
        for client in (first, second):
            assert site.ask(served, site.context(client, version)).body == client.der
        front.reload()
        assert site.ask(served, site.context(second, version)).body == second.der


def test_an_authority_of_the_operators_choice_is_accepted_too(site: Site) -> None:
    authority = trustme.CA()
    bundle = site.folder / "clients.pem"
    bundle.write_bytes(authority.cert_pem.bytes())
    client = issued(site.folder, "client", authority)
    with serving({("GET", "/who"): site.who}, ssl_context=site.front(client_ca=bundle).context) as served:
        assert site.ask(served, site.context(client)).body == client.der


def test_the_servers_own_certificate_is_renewed_without_a_restart(site: Site) -> None:
    front = site.front()
    with serving({("GET", "/who"): site.who}, ssl_context=front.context) as served:
        before = ssl.get_server_certificate(("127.0.0.1", served.port))
        renewed = issued(site.folder, "localhost", site.authority)
        front.reload()
        assert ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", served.port))) == renewed.der
        assert ssl.PEM_cert_to_DER_cert(before) != renewed.der


@pytest.mark.req("Z1")
def test_a_certificate_renewed_on_disk_is_noticed_and_a_broken_one_changes_nothing(site: Site) -> None:
    front = site.front()
    assert not front.reload_if_renewed()
    with serving({("GET", "/who"): site.who}, ssl_context=front.context) as served:
        renewed = issued(site.folder, "localhost", site.authority)
        assert front.reload_if_renewed()
        assert not front.reload_if_renewed()
        renewed.certificate.write_text("half a certif")
        with pytest.raises(Misconfigured):
            front.reload_if_renewed()
        assert ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", served.port))) == renewed.der


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1.* is deprecated:DeprecationWarning")
def test_old_versions_of_tls_are_refused(site: Site) -> None:
    context = site.context()
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with serving({("GET", "/who"): site.who}, ssl_context=site.front().context) as served:
        with pytest.raises(ssl.SSLError, match=r"(?i)version|protocol|has been closed"):
            site.ask(served, context)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert site.ask(served, context).status == 200, "it is the version, and nothing else, that is refused"
        served.unhandled.clear()


def test_files_that_cannot_be_used_stop_the_start(site: Site) -> None:
    with pytest.raises(Misconfigured, match="give a PEM chain"):
        TlsFront(site.folder / "absent.pem", site.own.key)
    with pytest.raises(Misconfigured, match="each must be one"):
        site.front(clients_der=[b"nonsense"])
    with pytest.raises(Misconfigured, match="authority"):
        site.front(client_ca=site.folder / "absent.pem")


def test_pipelined_and_large_answers_over_tls(site: Site) -> None:
    def large(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"a" * 3_000_000, b"text/plain")

    with serving({("GET", "/who"): large}, ssl_context=site.front().context) as served:
        with Wire(served.port, site.context()) as wire:
            wire.send(GET * 3)
            assert [len(wire.read().body) for _ in range(3)] == [3_000_000] * 3
        eventually(lambda: not served.server.front.connections)


# a proxy in front of us


CLAIMS = (
    b"GET /who HTTP/1.1\r\nHost: x\r\nClient-Cert: :%b:\r\nClient-Cert-Chain: :AAAA:\r\nX-Forwarded-For: 6.6.6.6, 203.0.113.7\r\n"
    b"X-Forwarded-Proto: https\r\nX-Other: stays\r\n\r\n" % base64.b64encode(b"der bytes")
)


@pytest.mark.req("Z1")
def test_a_named_proxy_speaks_for_its_client(site: Site) -> None:
    with serving({("GET", "/who"): site.who}, proxies=("127.0.0.0/8",)) as served:
        assert ask(served.port, CLAIMS).body == b"der bytes"
    request = site.seen[0]
    assert (request.peer, request.secure) == ("203.0.113.7", True)
    assert [name for name, _ in request.headers] == [b"host", b"x-other"]


@pytest.mark.req("Z1")
@pytest.mark.parametrize("proxies", [(), ("192.0.2.1", "2001:db8::/32")])
def test_anyone_else_who_claims_a_certificate_is_not_heard(site: Site, proxies: tuple[str, ...]) -> None:
    with serving({("GET", "/who"): site.who}, proxies=proxies) as served:
        assert ask(served.port, CLAIMS).body == b"none"
    request = site.seen[0]
    assert (request.peer, request.secure) == ("127.0.0.1", False)
    assert [name for name, _ in request.headers] == [b"host", b"x-other"]


@pytest.mark.parametrize("value", [b"AAAA", b":AA!A:", b"::", b":AAAA:, :BBBB:", b":AAA:"])
def test_a_proxy_that_mangles_the_certificate_is_told(site: Site, value: bytes) -> None:
    with serving({("GET", "/who"): site.who}, proxies=("127.0.0.1",)) as served:
        response = ask(served.port, b"GET /who HTTP/1.1\r\nHost: x\r\nClient-Cert: " + value + b"\r\n\r\n")
    assert (response.status, response.code) == (400, "request.malformed")


def test_what_a_proxy_does_not_say_stays_as_it_is_on_the_wire(site: Site) -> None:
    with serving({("GET", "/who"): site.who}, proxies=("127.0.0.1",)) as served:
        assert ask(served.port, b"GET /who HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: nonsense\r\n\r\n").body == b"none"
    assert (site.seen[0].peer, site.seen[0].secure) == ("127.0.0.1", False)


@pytest.mark.req("Z1")
def test_a_proxy_that_says_nothing_does_not_lend_its_own_certificate_however_its_request_is_cut(site: Site) -> None:
    proxy = self_signed(site.folder, "proxy")
    context = site.front(clients_der=[proxy.der]).context
    request = b"POST /who HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab"
    with (
        serving({("POST", "/who"): site.who}, ssl_context=context, proxies=("127.0.0.1",)) as served,
        Wire(served.port, site.context(proxy)) as wire,
    ):
        for pieces in ([request[:-1], request[-1:]], [request], [request]):  # in pieces, whole, and the same once more
            for piece in pieces:
                wire.send(piece)
                if piece.endswith(b"a"):
                    eventually(lambda: any(one._incoming for one in served.server.front.connections))
            assert wire.read().body == b"none"
    assert [request.secure for request in site.seen] == [False] * 3


def test_a_proxy_address_that_is_none_stops_the_start() -> None:
    with pytest.raises(Misconfigured, match="example"):
        TrustedProxies(["proxy.example"])
