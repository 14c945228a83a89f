"""Clients that people really use: httpx2, the standard library's http.client, and curl."""

from __future__ import annotations

import http.client
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.samples.front_door import Served, echo, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving({("POST", "/m"): echo, ("GET", "/m"): echo}, max_body=5_000_000) as served:
        yield served


def test_httpx2(served: Served) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{served.port}") as client:
        assert client.post("/m", content=b"counted").content == b"counted"
        assert client.post("/m", content=(piece for piece in (b"chun", b"ked"))).content == b"chunked"
        assert client.post("/m", content=b"a" * 4_000_000).content == b"a" * 4_000_000
        assert client.head("/m").headers["content-length"] == "0"
        assert client.get("/nowhere").status_code == 404
        assert client.post("/m", content=b"a" * 5_000_001).status_code == 413


def test_http_client(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    for number in range(3):
        connection.request("POST", f"/m?n={number}", body=b"body", headers={"Content-Type": "text/plain"})
        response = connection.getresponse()
        assert (response.status, response.read(), response.headers["x-query"]) == (200, b"body", f"n={number}")
    connection.request("POST", "/m", body=iter([b"a", b"bc"]), encode_chunked=True)
    assert connection.getresponse().read() == b"abc"
    connection.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(served: Served, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"a" * 3_000_000)
    url = f"http://127.0.0.1:{served.port}/m"

    def curl(*arguments: str) -> bytes:
        return subprocess.run(["curl", "-sS", "-m", "10", *arguments, url], capture_output=True, check=True).stdout

    assert curl("--data-binary", "hello") == b"hello"
    assert curl("--data-binary", f"@{large}") == large.read_bytes()  # curl asks with Expect: 100-continue
    assert curl("-H", "Transfer-Encoding: chunked", "--data-binary", f"@{large}") == large.read_bytes()
    assert curl("--http1.0", "--data-binary", "old") == b"old"
    assert curl("--http2", "--data-binary", "offered") == b"offered"
    assert curl("-I").startswith(b"HTTP/1.1 200 OK\r\n")
