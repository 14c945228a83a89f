"""Forms that shape ways, sent by people to whom they were never shown: nothing is changed, and strangers learn nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from postroad.client import Client
from tests.console.conftest import Demo
from tests.samples.routing_organization import HOUSE, PASSWORD, PEOPLE, RoutingOrganization

ANY = {
    "name": "intruding",
    "operator": "always",
    "action": "addService",
    "service": f"{HOUSE}/Desk",
    "reason": "because",
}
BINDING = {"name": "intruding", "queue": f"{HOUSE}/Desk", "enabled": "yes"}
FORMS: dict[str, dict[str, str]] = {
    "/rules/{Weekly}/new": ANY,
    "/rules/{Weekly}/check": ANY,
    "/rules/{Weekly}/write": {"text": "when: always\nthen: []"},
    "/rules/{Weekly}/of/kept/edit": ANY,
    "/rules/{Weekly}/of/kept/switch": {"enabled": "false"},
    "/rules/{Weekly}/of/kept/move": {"to": "up"},
    "/rules/{Weekly}/of/kept/remove": {},
    "/exchanges/{Orders}/new": BINDING,
    "/exchanges/{Orders}/bindings/kept/edit": BINDING,
    "/exchanges/{Orders}/bindings/kept/switch": {"enabled": "false"},
    "/exchanges/{Orders}/bindings/kept/remove": {},
    "/models/{Regions}/attach": {"service": f"{HOUSE}/Desk", "side": "consumer", "topics": "news"},
    "/models/{Regions}/detach": {"id": "anything"},
    "/models/{Regions}/nodes": {"tag": "intruding"},
    "/models/{Regions}/change": {"piece": "nodes: [{tag: intruding}]"},
    "/batches/ports/{Nightly}": {"sendsTo": f"{HOUSE}/Desk", "standard": "x12", "count": "1"},
    "/batches/ports/{Nightly}/check": {},
    "/batches/ports/{Nightly}/write": {},
    "/batches/{batch}/release": {},
    "/batches/{batch}/pause": {},
    "/batches/{batch}/drop": ANY,
    "/batches/{batch}/members/1/remove": ANY,
    "/tariffs/edit": {"text": ""},
    "/tariffs/check": {"text": ""},
}
PATIENCE_S = 60
FOR_OPERATORS = ("/tariffs/edit", "/tariffs/check")


@pytest.fixture(scope="module")
def places(workshop: RoutingOrganization, demo: Demo) -> dict[str, str]:
    """What there is to intrude upon: a rule, a binding, and a batch."""
    with Client(demo.url, demo.operator_key) as operator:
        rule = {
            "name": "kept",
            "enabled": False,
            "role": "recipient",
            "when": "always",
            "then": [{"addServiceBefore": f"{HOUSE}/Buyer"}],
        }
        operator.change("POST", f"/v1/services/{workshop.gcids['Weekly']}/rules", rule)
        binding = {"name": "kept", "queue": f"{HOUSE}/Shop", "routingKey": "kept"}
        operator.change("POST", f"/v1/services/{workshop.gcids['Orders']}/bindings", binding)
        workshop.gather(30)
        found: list[dict[str, Any]] = []
        end = time.monotonic() + PATIENCE_S
        while not found:
            assert time.monotonic() < end, "nothing is gathered"
            found = operator.get("/v1/batches", service=f"{HOUSE}/Nightly", state="all")["items"]
    return workshop.gcids | {"batch": found[0]["id"]}


@contextmanager
def _entered(url: str, email: str) -> Iterator[tuple[httpx2.Client, str]]:
    with httpx2.Client(base_url=url, follow_redirects=False) as client:
        client.post("/login", data={"email": email, "password": PASSWORD})
        found = re.search(r'name="csrf" value="([^"]+)"', client.get("/account").text)
        assert found is not None
        yield client, found.group(1)


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404)])
def test_forms_of_others_change_nothing(
    workshop: RoutingOrganization, places: dict[str, str], demo: Demo, who: str, status: int
) -> None:
    with Client(demo.url, demo.operator_key) as operator:
        before = operator.export()["organizations"][HOUSE]
        with _entered(demo.url, PEOPLE[who]) as (client, csrf):
            answers = {
                path: client.post(path.format(**places), data=fields | {"csrf": csrf}).status_code
                for path, fields in FORMS.items()
            }
        assert answers == {path: 403 if path in FOR_OPERATORS else status for path in FORMS}
        assert operator.export()["organizations"][HOUSE] == before
