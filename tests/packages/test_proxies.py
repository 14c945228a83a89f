"""Behind a real nginx, and behind Caddy and HAProxy where they are: everything that clients do works as without a proxy.

The configurations are those of `deploy/proxy`, with other ports and files.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import trustme

from postroad.core.configuration import certificates
from postroad.testing.ports import free_port
from tests.samples.served_network import Served, served, succeeded
from tests.source_tree import ROOT
from tests.waiting import eventually

PROXY = ROOT / "deploy" / "proxy"
BUYER, BANK = "MyBiz/Purchasing", "Careful/Bank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A network behind a proxy, and what its clients need."""

    network: Served
    url: str
    authority: Path
    identity: tuple[Path, Path]  # of the bank: its certificate and key
    stranger: tuple[Path, Path]

    def client(self, identity: tuple[Path, Path] | None = None) -> httpx2.Client:
        context = ssl.create_default_context(cafile=str(self.authority))
        if identity:
            context.load_cert_chain(*map(str, identity))
        return httpx2.Client(base_url=self.url, verify=context, timeout=120)

    def bearer(self, address: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.network.key(address).read_text().strip()}"}


def program(name: str) -> str:
    """Return where the proxy is; nginx must be there, since `make nginx` gets it."""
    named = os.environ.get(f"POSTROAD_{name.upper()}") or shutil.which(name)
    unpacked = ROOT / "var" / "nginx" / "usr" / "sbin" / name
    if named or unpacked.exists():
        return named or str(unpacked)
    if name == "nginx":
        pytest.fail("there is no nginx here; `make nginx` gets one")
    pytest.skip(f"there is no {name} here; POSTROAD_{name.upper()} names one")


def changed(text: str, *changes: tuple[str, object]) -> str:
    """Return the configuration with other ports and files, each of which must be in it."""
    for before, after in changes:
        assert before in text, f"{before} is not in the configuration"
        text = text.replace(before, str(after))
    return text


def nginx(folder: Path, port: int, backend: str) -> list[str]:
    server = changed(
        (PROXY / "nginx.conf").read_text(),
        ("127.0.0.1:8470", backend),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/network.pem", folder / "chain.pem"),
        ("/etc/ssl/private/network.pem", folder / "key.pem"),
    )
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{one}_temp_path {folder / one};\n" for one in places)
    (folder / "nginx.conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''}daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}{server}}}\n"
    )
    return [program("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, backend: str) -> list[str]:
    site = changed(
        (PROXY / "Caddyfile").read_text(),
        ("127.0.0.1:8470", backend),
        ("network.example {", f"https://localhost:{port} {{\n\tbind 127.0.0.1"),
        ("/etc/ssl/network.pem", folder / "chain.pem"),
        ("/etc/ssl/private/network.pem", folder / "key.pem"),
    )
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site)
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def haproxy(folder: Path, port: int, backend: str) -> list[str]:
    (folder / "both.pem").write_text((folder / "chain.pem").read_text() + (folder / "key.pem").read_text())
    text = changed(
        (PROXY / "haproxy.cfg").read_text(),
        ("127.0.0.1:8470", backend),
        ("bind :443 ", f"bind 127.0.0.1:{port} "),
        ("/etc/haproxy/network.pem", folder / "both.pem"),
        ("/etc/haproxy/clients.pem", folder / "authority.pem"),
    )
    (folder / "haproxy.cfg").write_text(text)
    return [program("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")]


def make_identity(authority: trustme.CA, folder: Path, name: str) -> tuple[Path, Path]:
    issued = authority.issue_cert(f"{name}.example")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(issued.cert_chain_pems[0].bytes())
    key.write_bytes(issued.private_key_pem.bytes())
    return certificate, key


def add_bank(network: Served, certificate: Path) -> None:
    """Register a service that has a certificate and no key, and can be reached only over TLS."""
    found = certificates.read(certificate.read_text())
    assert found is not None
    credential = {"label": "test", "certificate": certificate.read_text()}
    policy = {"transport": "tls"}
    services = {"Bank": {"visibility": "public", "policy": policy, "credentials": [credential]}}
    file = certificate.parent / "bank.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Careful": {"services": services}}}))
    succeeded("apply", file, "--yes", "--data", network.data)


@pytest.fixture(scope="module", params=[nginx, caddy, haproxy], ids=lambda proxy: str(proxy.__name__))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    start: Callable[[Path, int, str], list[str]] = request.param
    folder, port = tmp_path_factory.mktemp(start.__name__), free_port()
    authority, clients = trustme.CA(), trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    (folder / "chain.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    (folder / "key.pem").write_bytes(issued.private_key_pem.bytes())
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    identity, stranger = make_identity(clients, folder, "bank"), make_identity(clients, folder, "stranger")
    with served(folder / "data", "--set", "trusted_proxies=127.0.0.1") as network:
        command = start(folder, port, network.url.removeprefix("http://"))
        network.register(BUYER)
        add_bank(network, identity[0])
        variables = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        with (
            (folder / "log").open("w") as log,
            subprocess.Popen(command, stdout=log, stderr=log, env=variables) as proxy,
        ):
            made = Site(
                network=network,
                url=f"https://localhost:{port}",
                authority=folder / "authority.pem",
                identity=identity,
                stranger=stranger,
            )
            try:
                eventually(lambda: is_ready(made, proxy), why=f"the proxy is not ready: see {folder / 'log'}")
                yield made
            finally:
                proxy.terminate()


def is_ready(site: Site, proxy: subprocess.Popen[bytes]) -> bool:
    assert proxy.poll() is None, "the proxy ended"
    try:
        with site.client() as client:
            return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def poll(client: httpx2.Client, headers: dict[str, str] | None = None, **wish: object) -> httpx2.Response:
    return client.post("/v1/poll", json=wish, headers=headers or {})


@pytest.mark.req("O7")
def test_a_service_authenticates_by_the_certificate_that_it_shows_the_proxy(site: Site) -> None:
    with site.client(site.identity) as bank:
        answer = poll(bank)
        assert (answer.status_code, answer.json()) == (200, {"messages": []})
    with site.client() as nobody:
        assert poll(nobody).status_code == 401


def test_a_client_cannot_name_a_certificate_that_it_does_not_hold(site: Site) -> None:
    der = ssl.PEM_cert_to_DER_cert(site.identity[0].read_text())
    forged = httpx2.Headers({"Client-Cert": f":{base64.b64encode(der).decode()}:"})
    with site.client() as nobody:
        assert poll(nobody, dict(forged)).status_code == 401
    with site.client(site.stranger) as stranger:
        assert poll(stranger, dict(forged)).status_code == 401
        assert poll(stranger).status_code == 401


def test_a_long_poll_waits_and_returns_what_is_posted_meanwhile(site: Site) -> None:
    answers: list[httpx2.Response] = []

    def wait() -> None:
        with site.client(site.identity) as bank:
            answers.append(poll(bank, waitSeconds=60))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(1.0)  # sleeps: the poll should wait at the proxy when the message comes; if not, the test is only weaker
    assert waiting.is_alive(), answers
    with site.client() as buyer:
        body = {"to": [BANK], "documents": [{"text": "pay"}]}
        posted = buyer.post("/v1/messages", json=body, headers=site.bearer(BUYER))
        assert posted.status_code in (200, 201, 202), posted.text
        waiting.join(60)
        assert answers[0].json()["messages"][0]["session"] == posted.json()["session"]


def test_a_body_of_the_largest_message_passes(site: Site) -> None:
    with site.client() as buyer:
        body = {"to": [BUYER], "documents": [{"text": "x" * (9 << 20)}]}
        posted = buyer.post("/v1/messages", json=body, headers=site.bearer(BUYER))
        assert posted.status_code in (200, 201, 202), posted.text
        taken = poll(buyer, site.bearer(BUYER), max=1).json()["messages"]
        assert len(taken[0]["documents"][0]["text"]) == 9 << 20


def test_the_live_page_is_a_stream_and_its_cookie_is_for_tls_only(site: Site) -> None:
    form = {"organization": "Cedar", "email": "ann@cedar.example", "name": "Ann", "password": "a long enough password"}
    with site.client() as browser:
        entered = browser.post("/register", data=form, headers={"Origin": site.url, "Sec-Fetch-Site": "same-origin"})
        assert entered.status_code == 303, entered.text
        assert "; Secure" in entered.headers["set-cookie"]
        assert "strict-transport-security" not in entered.headers, "not for localhost"
        with browser.stream("GET", "/live/events", headers={"Accept": "text/event-stream"}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            first = next(stream.iter_bytes())
            assert first.startswith(b"retry: "), "it comes while the stream is open"


@pytest.mark.parametrize(
    ("language", "name"), [("nginx", "nginx.conf"), ("caddyfile", "Caddyfile"), ("haproxy", "haproxy.cfg")]
)
def test_the_page_shows_the_tested_configuration(language: str, name: str) -> None:
    page = (ROOT / "docs" / "operate" / "tls.md").read_text()
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    assert block in (PROXY / name).read_text()
