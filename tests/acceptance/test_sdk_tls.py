"""The SDK and the command line over TLS, with a client certificate in place of a key."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from postroad.client import Access, Client, Refused, Retrying, Unavailable
from tests.samples.served_network import Served, postroad, succeeded

BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"


class Secure(NamedTuple):
    network: Served
    authority: Path
    buyer: ssl.SSLContext  # with the certificate that is registered for the buyer
    anonymous: ssl.SSLContext


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    server, buyer = authority.issue_cert("127.0.0.1"), authority.issue_cert(common_name="MyBiz")
    server.private_key_pem.write_to_path(str(folder / "server.key"))
    for pem in server.cert_chain_pems:
        pem.write_to_path(str(folder / "server.pem"), append=True)
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    anonymous = ssl.create_default_context(cafile=str(folder / "authority.pem"))
    with_certificate = ssl.create_default_context(cafile=str(folder / "authority.pem"))
    buyer.configure_cert(with_certificate)
    tls = ("--set", f"tls_certificate={folder / 'server.pem'}", "--set", f"tls_key={folder / 'server.key'}")
    network = Served(data=folder / "data", arguments=tls)
    network.start()
    try:
        _register(network, folder, buyer.cert_chain_pems[0].bytes().decode())
        yield Secure(network, folder / "authority.pem", with_certificate, anonymous)
    finally:
        network.end()


def _register(network: Served, folder: Path, certificate: str) -> None:
    organizations = {
        "MyBiz": {"services": {"Purchasing": {"credentials": [{"label": "certificate", "certificate": certificate}]}}},
        "Acme": {
            "services": {
                "Supply": {
                    "visibility": "public",
                    "credentials": [{"label": "key", "keyFrom": f"file:{network.key(SELLER)}"}],
                }
            }
        },
    }
    file = folder / "network.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": organizations}))
    trusting = {"SSL_CERT_FILE": str(folder / "authority.pem")}
    succeeded("apply", file, "--yes", "--make-keys", "--data", network.data, environment=trusting)


@pytest.mark.req("Z1", "K1")
def test_a_certificate_proves_who_posts(secure: Secure) -> None:
    url = secure.network.url
    assert url.startswith("https://")
    with Client(url, tls=secure.buyer) as buyer, Client(
        url, key_file=secure.network.key(SELLER), tls=secure.anonymous
    ) as seller:  # fmt: skip
        posted = buyer.post(to=SELLER, type="request", document="over TLS")
        [request] = seller.poll(wait_s=10)
        assert (request.sender, request.document, request.session) == (BUYER, "over TLS", posted.session)
        seller.reply(request, "welcome")
        [response] = buyer.poll(wait_s=10)
        assert response.document == "welcome"
        buyer.acknowledge(response)


@pytest.mark.req("Z1")
def test_without_a_certificate_nobody_is_believed(secure: Secure) -> None:
    with Client(secure.network.url, tls=secure.anonymous) as stranger, pytest.raises(
        Refused, match=r"authentication\.required"
    ):  # fmt: skip
        stranger.poll()


@pytest.mark.req("Z1")
def test_a_server_that_is_not_trusted_gets_nothing(secure: Secure) -> None:
    once = Retrying(tries=1)
    with Client(access=Access.with_key(secure.network.url, "pr_secret"), retrying=once) as client, pytest.raises(
        Unavailable, match=r"network\.unreachable"
    ):  # fmt: skip
        client.poll()
    done = postroad("export", "--data", secure.network.data)
    assert (done.returncode, "not trusted" in done.stderr) == (4, True)
