"""TLS towards receivers: the URL's name is asked for and verified, and the network shows its own certificate when it should."""

from __future__ import annotations

import datetime
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.tls import TlsContexts
from postroad.core.delivery.push_request import PushAnswer
from postroad.errors import Misconfigured
from tests.samples.receivers import (
    NAME,
    OK,
    Answers,
    Receiver,
    Wire,
    answering,
    on,
    pusher,
    receiving,
    to,
)


class Site:
    """An authority that the operator trusts, and certificates that it has issued."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.trusted = folder / "authorities.pem"
        self.authority.cert_pem.write_to_path(str(self.trusted))
        self.names: list[str | None] = []  # that clients have asked for

    def server(self, name: str = NAME, authority: trustme.CA | None = None, **options: Any) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (authority or self.authority).issue_cert(name, **options).configure_cert(context)
        context.sni_callback = lambda _, asked, __: self.names.append(asked)
        return context

    def asking_for_certificates(self) -> ssl.SSLContext:
        context = self.server()
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(str(self.trusted))
        return context

    def client(self, name: str, file: str = "client") -> tuple[str, str]:
        issued = self.authority.issue_cert(name)
        chain, key = self.folder / f"{file}.pem", self.folder / f"{file}.key"
        chain.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return str(chain), str(key)

    def pusher(self, resolver: Answers | None = None) -> HttpPusher:
        return pusher(resolver, tls=TlsContexts(str(self.trusted)))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture(params=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def pushed_to(site: Site, tls: ssl.SSLContext, **options: Any) -> tuple[PushAnswer, Receiver]:
    async with receiving(answering(OK), tls=tls) as receiver:
        out = site.pusher()
        told = await out.push(to(receiver, scheme="https", **options))
        await out.close()
    return told, receiver


@pytest.mark.req("Z4")
def test_host_and_tls_keep_the_name_while_the_connection_keeps_the_address(site: Site, loop: str) -> None:
    async def scenario() -> None:
        told, receiver = await pushed_to(site, site.server())
        assert (told.status, told.fault_text, site.names) == (200, "", [NAME])
        assert f"\r\nhost: {NAME}:{receiver.port}\r\n".encode() in receiver.requests[0]

    on(loop, scenario())


@pytest.mark.req("D3")
def test_certificates_that_are_not_good_are_refused_with_the_reason(site: Site, loop: str) -> None:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    bad = {
        "expired": site.server(not_before=yesterday - datetime.timedelta(days=9), not_after=yesterday),
        "mismatch": site.server("other.test"),
        "local issuer": site.server(authority=trustme.CA()),
    }

    async def scenario() -> None:
        for reason, tls in bad.items():
            told, receiver = await pushed_to(site, tls)
            assert told.status is None
            assert "certificate was not accepted" in told.fault_text
            assert reason in told.fault_text.lower()
            assert receiver.requests == [], "nothing of the message was shown"

    on(loop, scenario())


def test_a_receiver_that_speaks_no_tls_is_told_as_such(site: Site, loop: str) -> None:
    async def greets(wire: Wire) -> None:
        await wire.send(b"220 mail.example ESMTP\r\n")
        await wire.reader.read(1)

    async def scenario() -> None:
        async with receiving(greets) as receiver:
            told = await site.pusher().push(to(receiver, scheme="https"))
        assert told.status is None
        assert "TLS failed" in told.fault_text

    on(loop, scenario())


def test_a_handshake_that_never_ends_is_left_at_the_deadline(site: Site, loop: str) -> None:
    async def silent(wire: Wire) -> None:
        await wire.reader.read()

    async def scenario() -> None:
        async with receiving(silent) as receiver:
            told = await site.pusher().push(to(receiver, scheme="https", timeout_s=0.2))
        assert "did not accept the connection in time" in told.fault_text

    on(loop, scenario())


def test_connections_are_used_again_over_tls_too(site: Site, loop: str) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK, OK, OK), tls=site.server()) as receiver:
            out = site.pusher()
            assert [(await out.push(to(receiver, scheme="https"))).status for _ in range(3)] == [200] * 3
            assert receiver.connections == 1
            await out.close()

    on(loop, scenario())


@pytest.mark.req("D3")
def test_the_network_shows_its_certificate_where_it_has_one_for(site: Site, loop: str) -> None:
    async def scenario() -> None:
        told, _ = await pushed_to(site, site.asking_for_certificates(), certificate=site.client("network.test"))
        assert told.status == 200
        told, receiver = await pushed_to(site, site.asking_for_certificates())
        assert (told.status, receiver.requests) == (None, [])
        assert told.fault_text

    on(loop, scenario())


@pytest.mark.req("O9")
def test_a_certificate_may_be_a_stored_secret(site: Site) -> None:
    """It is presented to a real server, used again, replaced at once, and never in an error."""

    async def scenario() -> None:
        shown: list[str] = []

        async def names(wire: Wire) -> None:
            certificate: Any = wire.writer.get_extra_info("peercert")
            shown.append(certificate["subjectAltName"][0][1])
            for _ in range(3):
                await wire.request()
                await wire.send(OK)

        async with receiving(names, tls=site.asking_for_certificates()) as receiver:
            out = site.pusher()
            one, two = (
                "".join(Path(file).read_text() for file in site.client(name, name)) for name in ("one.test", "two.test")
            )
            for pem in (one, two, one):
                assert (await out.push(to(receiver, scheme="https", certificate_pem=pem))).status == 200
            assert shown == ["one.test", "two.test"]
            told = await out.push(to(receiver, scheme="https", certificate_pem="not a certificate"))
            assert "client certificate cannot be read" in told.fault_text
            assert "not a certificate" not in told.fault_text
            await out.close()

    on("asyncio", scenario())


def test_a_connection_with_a_certificate_serves_nobody_else(site: Site) -> None:
    async def scenario() -> None:
        shown: list[str] = []

        async def names(wire: Wire) -> None:
            certificate: Any = wire.writer.get_extra_info("peercert")
            shown.append(certificate["subjectAltName"][0][1])
            for _ in range(3):
                await wire.request()
                await wire.send(OK)

        async with receiving(names, tls=site.asking_for_certificates()) as receiver:
            out = site.pusher()
            one, two = site.client("one.test", "one"), site.client("two.test", "two")
            for certificate in (one, two, one, two):
                await out.push(to(receiver, scheme="https", certificate=certificate))
            assert shown == ["one.test", "two.test"]
            site.client("three.test", "one")  # rolled over in place
            os.utime(one[0], ns=(1, 1))
            await out.push(to(receiver, scheme="https", certificate=one))
            assert shown == ["one.test", "two.test", "three.test"]
            await out.close()

    on("asyncio", scenario())


def test_a_certificate_that_cannot_be_read_is_the_networks_own_fault(site: Site, tmp_path: Path) -> None:
    chain, key = site.client("network.test")
    locked = tmp_path / "locked.key"
    private = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    locked.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
        )
    )

    async def scenario() -> None:
        for certificate in ((chain, str(tmp_path / "none")), (chain, chain), (chain, str(locked))):
            told, receiver = await pushed_to(site, site.server(), certificate=certificate)
            assert "client certificate cannot be read" in told.fault_text
            assert receiver.connections == 0

    on("asyncio", scenario())


def test_authorities_that_cannot_be_read_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(Misconfigured, match="push_authorities"):
            TlsContexts(str(tmp_path / name))
