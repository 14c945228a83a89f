"""Replacing a certificate while the server runs and the service works: two at a time, none for longer than it is registered."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from postroad.testing.http_client import ClientConnection, ClientResponse, ConnectionGone
from postroad.testing.server import ServerProcess
from tests.acceptance.test_tls import BUYER, SELLER, Identity
from tests.samples.enrolled_parties import serving
from tests.samples.served_network import json_lines, postroad
from tests.waiting import eventually

CREDENTIALS = f"/v1/services/{BUYER}/credentials"


class Site:
    """A server with TLS and no client certificate registered yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        own = self.authority.issue_cert("localhost", "127.0.0.1")
        self.chain, self.key = folder / "server.pem", folder / "server.key"
        self.chain.write_bytes(b"".join(pem.bytes() for pem in own.cert_chain_pems))
        own.private_key_pem.write_to_path(str(self.key))
        self.server: ServerProcess

    def client(self, identity: Identity | None = None, key: str = "") -> ClientConnection:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if identity is not None:
            context.load_cert_chain(identity.certificate, identity.key)
        return ClientConnection(self.server.port, key, tls=context, server_name="localhost")

    async def operate(self, method: str, path: str, content: object = None) -> ClientResponse:
        body = json.dumps(content).encode() if content is not None else b""
        headers = {"Content-Type": "application/json"} if body else {}
        async with self.client(key=self.server.operator_key) as operator:
            return await operator.request(method, path, body, headers)

    async def register(self, identity: Identity, label: str) -> ClientResponse:
        return await self.operate(
            "POST", CREDENTIALS, {"kind": "certificate", "label": label, "certificate": identity.pem}
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("rollover")
    made = Site(folder)
    settings = {"tls_certificate": made.chain, "tls_key": made.key}
    with serving(folder / "data", BUYER, SELLER, settings=settings) as (made.server, _):
        yield made


async def polled(connection: ClientConnection) -> int:
    return (await connection.post("/v1/poll", b"{}")).status


@pytest.mark.req("Z1")
async def test_two_certificates_overlap_and_the_old_one_ends_at_once(site: Site) -> None:
    old, new = Identity(site.folder, "spring"), Identity(site.folder, "autumn", to_day=400)
    with pytest.raises(ConnectionGone):
        await polled(site.client(old))  # nobody knows it yet
    first = await site.register(old, "spring")
    assert first.status == 201, first.body
    async with site.client(old) as before:
        assert await polled(before) == 200  # without a restart
        assert (await site.register(new, "autumn")).status == 201
        async with site.client(new) as after:
            for connection in (before, after, before):
                assert await polled(connection) == 200
            removed = await site.operate("DELETE", f"{CREDENTIALS}/{json.loads(first.body)['id']}")
            assert removed.status == 204
            assert await polled(before) == 401  # the connection that was open all the time
            assert await polled(after) == 200
    with pytest.raises(ConnectionGone):
        await polled(site.client(old))


@pytest.mark.req("Z1")
async def test_an_expired_certificate_is_refused_when_registered(site: Site) -> None:
    answer = await site.register(Identity(site.folder, "expired", from_day=-10, to_day=-1), "expired")
    assert (answer.status, json.loads(answer.body)["code"]) == (422, "certificate.expired")


@pytest.mark.req("Z1")
async def test_a_certificate_may_be_registered_ahead_of_its_time(site: Site) -> None:
    ahead = Identity(site.folder, "ahead", from_day=2, to_day=400)
    view = json.loads((await site.register(ahead, "next year")).body)
    assert view["startsAt"] is not None
    assert view["warning"] == ""
    with pytest.raises(ConnectionGone):
        await polled(site.client(ahead))


@pytest.mark.req("Z1")
async def test_whoever_looks_is_warned_before_the_end(site: Site) -> None:
    """In the list of credentials, in the log of a server that starts, and by the doctor."""
    soon = await site.register(Identity(site.folder, "soon", to_day=10), "soon")
    view = json.loads(soon.body)
    assert (view["daysLeft"], view["warning"].partition(";")[0]) == (9, "It expires in 9 days")
    site.server.restart()
    eventually(lambda: f"certificate 'soon' of {BUYER} expires in 9 days" in site.server.log)
    arguments = ("doctor", "--json", "--data", site.server.data, "--set", f"tls_certificate={site.chain}")
    found = json_lines(postroad(*arguments, "--set", f"tls_key={site.key}").stdout)
    findings = {one["what"]: one for one in (found[0] if isinstance(found[0], list) else found)}
    assert findings["credentials"]["state"] == "warning"
    assert f"certificate 'soon' of {BUYER}" in findings["credentials"]["detail"]
