"""Services: identity, profiles, credentials, versions, visibility and the directory; and what every answer keeps to."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from postroad.core.model.directory import Service
from postroad.core.model.ids import GCID
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration.base import build_address_claims
from postroad.flow.registries.configuration import Configuration, build_save
from tests.acceptance.asking import Asked, asked_network
from tests.samples.service_profile import PROFILE


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


def certificate(days: int) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "orders.aster.example")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=5))
    made = builder.not_valid_after(now + timedelta(days=days)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.req("N2", "N4", "N5")
async def test_every_field_of_a_profile_is_kept(asked: Asked) -> None:
    made = await asked.ask("developer of A", "POST", "/v1/services", {"organization": "Aster", **PROFILE})
    assert made.status_code == 201
    gcid = made.json()["gcid"]
    assert GCID.match(gcid)
    assert made.headers["location"] == f"/v1/services/{gcid}"
    for named in (gcid, "Aster/Orders", "aster/orders"):
        read = (await asked.ask("viewer of A", "GET", f"/v1/services/{named}")).json()
        assert {name: read[name] for name in PROFILE} == PROFILE
        assert (read["gcid"], read["address"], read["version"]) == (gcid, "Aster/Orders", 1)


@pytest.mark.req("N4")
@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"timeZone": "Europe/Atlantis"}, "/timeZone"),
        ({"windows": [{"opens": "10:00", "closes": "10:00"}]}, "/windows/0"),
        ({"windows": [{"days": [], "opens": "10:00"}]}, "/windows/0/days"),
        ({"push": {"url": "ftp://aster.example"}}, "/push/url"),
        ({"push": {"url": "https://user:secret@aster.example/"}}, "/push/url"),
        ({"push": {"url": "https://aster.example/", "tries": 0}}, "/push/tries"),
        ({"push": {"url": "https://aster.example/", "authentication": "bearer"}}, "/push"),
        ({"push": {"url": "http://aster.example/", "authentication": "none"}}, ""),
        ({"delivery": "push", "push": None}, ""),
        ({"documentationUrl": "javascript:alert(1)"}, "/documentationUrl"),
        ({"defaultExpirationSeconds": "60"}, "/defaultExpirationSeconds"),
        ({"logicalOnly": 0}, "/logicalOnly"),
        ({"authentication": []}, "/authentication"),
        ({"operations": ["a", "a"]}, "/operations"),
        ({"visibility": "secret"}, "/visibility"),
        ({"name": "a/b"}, "/name"),
        ({"unknown": 1}, "/unknown"),
    ],
)
async def test_a_profile_that_makes_no_sense_is_refused_with_its_place(
    asked: Asked, changed: dict[str, object], pointer: str
) -> None:
    response = await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", **PROFILE, **changed})
    assert (response.status_code, response.json()["code"]) == (422, "value.invalid")
    assert pointer in [fault["pointer"] for fault in response.json()["errors"]]


async def test_a_service_is_replaced_by_whoever_has_read_it(asked: Asked) -> None:
    path = "/v1/services/Aster/Private"
    read = await asked.ask("owner of A", "GET", path)
    wish = {"name": "Private", "description": "first"}
    assert (await asked.ask("owner of A", "PUT", path, wish)).json()["code"] == "version.required"
    first = await asked.ask("owner of A", "PUT", path, wish, match=read.headers["etag"])
    assert (first.status_code, first.json()["version"]) == (200, 2)
    second = await asked.ask("owner of A", "PUT", path, wish, match=read.headers["etag"])
    assert (second.status_code, second.json()["code"]) == (412, "version.conflict")
    unchanged = await asked.ask("owner of A", "GET", path, If_None_Match=first.headers["etag"])
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    history = (await asked.ask("viewer of A", "GET", f"{path}/versions")).json()["items"]
    assert [(item["version"], item["by"], item["value"]["description"]) for item in history] == [
        (2, "owner@aster.example", "first"),
        (1, "test", ""),
    ]


async def test_names_are_unique_in_an_organization_whatever_their_case(asked: Asked) -> None:
    taken = await asked.ask("owner of A", "POST", "/v1/services", {"organization": "ASTER", "name": "PUBLIC"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name.taken")
    renamed = await asked.ask("owner of A", "PUT", "/v1/services/Aster/Private", {"name": "Public"}, match="*")
    assert renamed.status_code == 409


async def test_a_removed_service_is_gone_and_its_keys_with_it(asked: Asked) -> None:
    assert (await asked.ask("service of A", "GET", "/v1/status")).status_code == 200
    assert (await asked.ask("owner of A", "DELETE", "/v1/services/Aster/Private", match="*")).status_code == 204
    assert (await asked.ask("owner of A", "GET", "/v1/services/Aster/Private")).status_code == 404
    assert (await asked.ask("service of A", "GET", "/v1/status")).status_code == 401


@pytest.mark.req("N3")
async def test_others_see_a_public_service_as_the_directory_shows_it(asked: Asked) -> None:
    seen = await asked.ask("owner of A", "GET", "/v1/services/Birch/Public")
    assert seen.status_code == 200
    assert not {"push", "acceptsFrom", "limits", "version", "suspended", "authentication"} & set(seen.json())
    own = await asked.ask("owner of B", "GET", "/v1/services/Birch/Public")
    assert seen.headers["etag"] != own.headers["etag"]
    here, wish = (
        "/v1/services/Birch/Public",
        {"name": "Public", "visibility": "public", "limits": {"queuedMessages": 7}},
    )
    changed = await asked.ask("owner of B", "PUT", here, wish, match="*")
    assert changed.headers["etag"] != own.headers["etag"]
    again = await asked.ask("owner of A", "GET", here, **{"If-None-Match": seen.headers["etag"]})
    assert again.status_code == 304, "what others are not shown changes nothing for them"
    await asked.ask("owner of B", "PUT", here, wish | {"category": "new"}, match="*")
    assert (await asked.ask("owner of A", "GET", here, **{"If-None-Match": seen.headers["etag"]})).status_code == 200
    assert (
        await asked.ask("owner of A", "PUT", "/v1/services/Birch/Public", {"name": "X"}, match="*")
    ).status_code == 403


@pytest.mark.req("N3")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"Aster/Private", "Aster/Public", "Birch/Public", "Aster/Orders"}),
        ("?text=ORDERS%20takes", {"Aster/Orders"}),
        ("?category=Supply", {"Aster/Orders"}),
        ("?format=soap12", {"Aster/Orders"}),
        ("?operation=cancel", {"Aster/Orders"}),
        ("?text=private", {"Aster/Private"}),
        ("?text=birch&category=supply", set()),
    ],
)
async def test_the_directory_is_searched(asked: Asked, query: str, found: set[str]) -> None:
    await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", **PROFILE})
    response = await asked.ask("viewer of A", "GET", f"/v1/directory{query}")
    assert {item["address"] for item in response.json()["items"]} == found


async def test_pages_follow_each_other_without_gaps_or_repetition(asked: Asked) -> None:
    for number in range(7):
        await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", "name": f"S{number}"})
    names: list[str] = []
    path = "/v1/services?limit=2"
    while path:
        page = await asked.ask("owner of A", "GET", path)
        names += [item["name"] for item in page.json()["items"]]
        link = page.headers.get("link", "")
        assert bool(link) is ("next" in page.json())
        path = link.partition(">")[0][1:] if link else ""
    assert sorted(names) == ["Private", "Public", *(f"S{number}" for number in range(7))]


async def test_support_requests_come_page_by_page_the_newest_first(asked: Asked) -> None:
    for number in range(5):
        await asked.ask("viewer of A", "POST", "/v1/support", {"subject": f"Lost {number}", "text": "Where is it?"})
    whole = (await asked.ask("viewer of A", "GET", "/v1/support")).json()["items"]
    assert [one["id"] for one in whole] == sorted((one["id"] for one in whole), reverse=True)
    seen, path = [], "/v1/support?limit=2"
    for _ in range(3):
        page = (await asked.ask("viewer of A", "GET", path)).json()
        seen += page["items"]
        path = f"/v1/support?limit=2&cursor={page.get('next')}"
    assert (seen, page.get("next")) == (whole, None)


async def test_a_cursor_is_good_for_one_question_of_one_person(asked: Asked) -> None:
    cursor = (await asked.ask("operator", "GET", "/v1/directory?limit=1")).json()["next"]
    for who, path in (
        ("operator", f"/v1/services?cursor={cursor}"),
        ("operator", f"/v1/directory?text=a&cursor={cursor}"),
        ("owner of A", f"/v1/directory?cursor={cursor}"),
        ("operator", f"/v1/directory?cursor={cursor[:-2]}AA"),
        ("operator", "/v1/directory?cursor=made-up"),
    ):
        response = await asked.ask(who, "GET", path)
        assert (response.status_code, response.json()["code"]) == (400, "cursor.invalid")
    for limit in ("0", "201", "-1", "1.0", "many"):
        assert (await asked.ask("operator", "GET", f"/v1/directory?limit={limit}")).status_code == 422


@pytest.mark.req("N4")
async def test_a_service_proves_itself_by_key_password_or_certificate(asked: Asked) -> None:
    here = f"/v1/services/{asked.gcid('Aster/Public')}/credentials"
    key = await asked.ask("developer of A", "POST", here, {"kind": "key", "label": "main"})
    asked.keys["by key"] = key.json()["key"]
    assert (await asked.ask("by key", "GET", here)).status_code == 200
    assert (await asked.ask("owner of A", "POST", here, {"kind": "key", "label": "main"})).status_code == 409
    wish = {"kind": "password", "label": "old client", "password": "seven quiet herons wading"}
    assert (await asked.ask("developer of A", "POST", here, wish)).status_code == 201
    next_one, third = (wish | {"label": label} for label in ("its successor", "one too many"))
    assert (await asked.ask("developer of A", "POST", here, next_one)).status_code == 201
    assert (await asked.ask("developer of A", "POST", here, third)).status_code == 422
    pem = certificate(10)
    made = await asked.ask("operator", "POST", here, {"kind": "certificate", "label": "tls", "certificate": pem})
    confirm = f"/v1/organizations/Aster/confirmations/{made.json()['id']}"
    assert (await asked.ask("owner of A", "POST", confirm)).status_code == 204
    assert made.json()["warning"].startswith("It expires in")
    der = x509.load_pem_x509_certificate(pem.encode()).public_bytes(serialization.Encoding.DER)
    caller = await asked.running.authenticator.authenticate(Proof(b"", der, True), "test")
    assert caller.service is not None
    assert caller.service.address == "Aster/Public"
    listed = (await asked.ask("viewer of A", "GET", here)).json()["items"]
    assert {(item["kind"], item["label"]) for item in listed} == {
        ("key", "main"),
        ("password", "old client"),
        ("password", "its successor"),
        ("certificate", "tls"),
    }
    for item in listed:
        assert (await asked.ask("developer of A", "DELETE", f"{here}/{item['id']}")).status_code == 204
    assert (await asked.ask("by key", "GET", here)).status_code == 401


@pytest.mark.req("Z1")
async def test_a_certificate_that_the_front_hands_on_is_believed_over_tls_alone(asked: Asked) -> None:
    pem = certificate(90)
    here = "/v1/services/Aster/Public/credentials"
    made = await asked.ask("operator", "POST", here, {"kind": "certificate", "label": "tls", "certificate": pem})
    confirm = f"/v1/organizations/Aster/confirmations/{made.json()['id']}"
    assert (await asked.ask("owner of A", "POST", confirm)).status_code == 204
    assert (made.status_code, made.json()["warning"]) == (201, "")
    der = x509.load_pem_x509_certificate(pem.encode()).public_bytes(serialization.Encoding.DER)
    application = asked.client._transport.app  # type: ignore[attr-defined]

    async def front(scope: Any, receive: Any, send: Any) -> None:
        await application({**scope, "scheme": "https", "extensions": {"tls": {"client_cert_der": der}}}, receive, send)

    transport = httpx2.ASGITransport(app=front)
    async with httpx2.AsyncClient(transport=transport, base_url="https://network.example") as client:
        assert (await client.get("/v1/status")).json()["queues"] == [{"service": "Aster/Public", "waiting": 0}]
    assert (
        await asked.ask("anonymous", "GET", "/v1/status", Client_Cert=f":{base64.b64encode(der).decode()}:")
    ).status_code == 401


@pytest.mark.parametrize("pem", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
async def test_what_is_no_certificate_is_refused(asked: Asked, pem: str) -> None:
    here = "/v1/services/Aster/Public/credentials"
    response = await asked.ask("owner of A", "POST", here, {"kind": "certificate", "label": "x", "certificate": pem})
    assert (response.status_code, response.json()["pointer"]) == (422, "/certificate")


async def test_an_operator_suspends_and_lets_go_again(asked: Asked) -> None:
    path = "/v1/services/Aster/Public"
    assert (await asked.ask("operator", "PUT", f"{path}/suspension", {"reason": "abuse"})).status_code == 204
    assert (await asked.ask("owner of A", "GET", path)).json()["suspended"] == "abuse"
    kept = await asked.ask("owner of A", "PUT", path, {"name": "Public"}, match="*")
    assert kept.json()["suspended"] == "abuse", "an owner's change does not end a suspension"
    assert (await asked.ask("operator", "DELETE", f"{path}/suspension")).status_code == 204
    assert (await asked.ask("owner of A", "GET", path)).json()["suspended"] == ""


@pytest.mark.req("Z6")
async def test_limits_are_set_by_operators_and_seen_by_members(asked: Asked) -> None:
    path = "/v1/organizations/Aster"
    limits = {"messageBytes": 1_000, "storedBytes": 5_000, "queuedMessages": 7}
    wish = {"limits": limits}
    assert (await asked.ask("owner of A", "PUT", path, wish, match="*")).status_code == 403
    assert (await asked.ask("operator", "PUT", path, wish, match="*")).json()["limits"] == limits
    kept = await asked.ask("owner of A", "PUT", path, {"description": "Flowers"}, match="*")
    assert kept.json()["limits"] == limits
    usage = await asked.ask("viewer of A", "GET", f"{path}/usage")
    assert usage.json() == {
        "organization": "Aster",
        "postsPerSecond": 0,
        "messageBytes": 1_000,
        "storedBytes": {"used": 0, "limit": 5_000},
        "queuedMessages": {"used": 0, "limit": 7},
    }
    assert (await asked.ask("owner of B", "GET", f"{path}/usage")).status_code == 404


@pytest.mark.req("Z1")
async def test_a_certificate_must_not_be_over(asked: Asked) -> None:
    wish = {"kind": "certificate", "label": "old", "certificate": certificate(days=-1)}
    response = await asked.ask("owner of A", "POST", "/v1/services/Aster/Public/credentials", wish)
    assert (response.status_code, response.json()["code"]) == (422, "certificate.expired")
    credential = {"label": "old", "certificate": wish["certificate"]}
    document = {
        "postroad": 1,
        "organizations": {
            "Aster": {
                "people": {"owner@aster.example": {"role": "owner"}},
                "services": {"Public": {"credentials": [credential]}},
            }
        },
    }
    refused = await asked.ask("owner of A", "POST", "/v1/configuration/plan", {"document": document})
    [fault] = refused.json()["errors"]
    assert fault["pointer"] == "/organizations/Aster/services/Public/credentials/0/certificate"


async def test_rates_are_limited_by_operators_alone(asked: Asked) -> None:
    path = "/v1/organizations/Aster"
    wish = {"description": "Flowers", "postsPerSecond": 1000}
    assert (await asked.ask("owner of A", "PUT", path, wish, match="*")).status_code == 403
    assert (await asked.ask("operator", "PUT", path, wish, match="*")).json()["postsPerSecond"] == 1000
    assert (await asked.ask("owner of A", "PUT", path, wish, match="*")).status_code == 200
    unsaid = await asked.ask("owner of A", "PUT", path, {"description": "Bulbs"}, match="*")
    assert (unsaid.status_code, unsaid.json()["postsPerSecond"]) == (200, 1000), "what is not theirs need not be said"
    versions = (await asked.ask("owner of A", "GET", f"{path}/versions")).json()["items"]
    assert [item["value"]["postsPerSecond"] for item in versions] == [1000, 1000, 1000, 0]


@pytest.mark.req("N2", "O3")
async def test_two_nodes_cannot_give_one_address_to_two_services(asked: Asked) -> None:
    network = asked.running.network
    elsewhere = Configuration(network.desk, network.index, network.clock)  # another node, as up to date as this one
    await network.wait_until_indexed()
    await elsewhere.load()
    made = await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", "name": "Fresh"})
    assert made.status_code == 201
    twin = Service(gcid="00000000000000ff", organization="Aster", name="FRESH")
    with pytest.raises(Refused) as refused:
        await elsewhere.change("node 2", [build_save(twin), *build_address_claims(None, twin, Directory())])
    assert refused.value.code == "version.conflict"
    gone = await asked.ask("owner of A", "DELETE", "/v1/services/Aster/Fresh", match="*")
    again = await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", "name": "Fresh"})
    assert (gone.status_code, again.status_code) == (204, 201), "an address that was left can be taken again"
