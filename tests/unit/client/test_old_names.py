"""Names that the Python clients had before keep working."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi.routing import APIRoute

from postroad.api.resources import stop_contents
from postroad.client import AsyncClient, Client, PlainMessage
from postroad.client.certificates import add_certificate, add_certificate_async, with_proofs


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_the_receipt_of_a_stop(client: Any) -> None:
    assert client.receipt_at is client.mdn_at


def test_the_old_url_of_an_mdn() -> None:
    routes = [route for route in stop_contents.router.routes if isinstance(route, APIRoute)]
    ends = {route.path.rpartition("/")[2]: route.endpoint for route in routes}
    assert ends["receipt"] is ends["mdn"]


def test_a_header_field_of_the_network() -> None:
    plain = PlainMessage(body=b"", content_type="text/plain", headers={"postroad-token": "t1"})
    assert plain.said("Token") == plain.network_field("Token") == "t1"


class Certificates:
    """Answers with the name of the method that was called, and its arguments."""

    def add(self, *arguments: Any) -> Any:
        return ("add", *arguments)

    def prove(self, *arguments: Any) -> Any:
        return ("prove", *arguments)


class AsyncCertificates:
    async def add(self, *arguments: Any) -> Any:
        return ("add", *arguments)


class Holder:
    def __init__(self, certificates: Any) -> None:
        self.certificates = certificates


def test_functions_that_register_certificates() -> None:
    client: Any = Holder(Certificates())
    added: Any = add_certificate(client, "Acme/Supply", "one", "PEM", b"key")
    assert added == ("add", "Acme/Supply", "one", "PEM", b"key")
    proven: Any = with_proofs(client, {"postroad": 1}, [b"key"])
    assert proven == ("prove", {"postroad": 1}, [b"key"])
    waiting: Any = Holder(AsyncCertificates())
    added = asyncio.run(add_certificate_async(waiting, "Acme/Supply", "one", "PEM", b"key"))
    assert added == ("add", "Acme/Supply", "one", "PEM", b"key")
