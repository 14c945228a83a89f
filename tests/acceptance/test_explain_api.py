"""Why a message goes its way, over HTTP: hypothetical and stored, in JSON, text and pictures; and the bench to try things on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest

from postroad.api.application import build_application
from postroad.bootstrap.settings import Settings
from postroad.core.codecs import xml
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.soap import SOAP11
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("R16")

RULES = "/v1/services/Aster/Private/rules"
ORDER = "<Order><Total>150.5</Total></Order>"
RULE = {
    "name": "large orders",
    "role": "sender",
    "when": {"greaterThan": {"body": "/Order/Total", "as": "number", "value": 100}},
    "then": [{"addServiceAfter": "Cedar/Work", "arguments": {"step": "check"}}],
}
POST = {"to": ["Birch/Public"], "documents": [{"contentType": "application/xml", "text": ORDER}]}


async def upper(stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
    """A stand-in for the engine that runs stylesheets."""
    if stylesheet == "<bad/>":
        raise Refused("stylesheet.invalid", "The stylesheet is not XSLT", pointer="line 1")
    return document.upper() + "".join(parameters.values()).encode()


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        running = network.running
        await running.register("Cedar/Work", visibility=Visibility.PUBLIC)
        network.keys["owner of C"] = await running.key_for(
            await running.enroll("owner@cedar.example", organization="Cedar")
        )
        app = build_application(
            running.network, running.authenticator, running.passwords, Settings(), requests_per_s=0, transform=upper
        )
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://network.example") as client:
            network.client = client
            assert (await network.ask("owner of A", "POST", RULES, RULE)).status_code == 201
            yield network


async def explain(asked: Asked, who: str, post: Any, **headers: str) -> httpx2.Response:
    return await asked.ask(who, "POST", "/v1/explain", post, **headers)


async def state(asked: Asked) -> Any:
    return (await asked.running.network.journal.head()).seq


async def test_a_service_learns_which_way_its_message_would_go_and_nothing_is_stored_or_sent(asked: Asked) -> None:
    before = await state(asked)
    told = await explain(asked, "service of A", POST)
    assert told.status_code == 200, told.text
    [tried] = told.json()["services"]
    [rule] = tried["rules"]
    assert (tried["service"], tried["role"], rule["name"], rule["held"]) == (
        "Aster/Private", "sender", "large orders", True,
    )  # fmt: skip
    assert rule["condition"] == {
        "text": "body /Order/Total (as number) is greater than 100",
        "held": True,
        "seen": ["150.5"],
        "conditions": [],
    }
    [copy] = told.json()["copies"]
    assert copy["route"] == ["Cedar/Work", "Birch/Public"]
    assert [(one["service"], one["rule"], one["arguments"]) for one in copy["invocations"]] == [
        ("Cedar/Work", "large orders", {"step": "check"}), ("Birch/Public", "", {}),
    ]  # fmt: skip
    assert await state(asked) == before


@pytest.mark.parametrize("who", ["viewer of A", "owner of A"])
async def test_a_person_explains_as_a_service_of_their_organization(asked: Asked, who: str) -> None:
    told = await explain(asked, who, POST | {"from": "Aster/Private"})
    assert told.json()["copies"][0]["route"] == ["Cedar/Work", "Birch/Public"]
    for sender in ({}, {"from": "Birch/Private"}, {"from": "Birch/Public"}, {"from": "Nobody/Here"}):
        refused = await explain(asked, who, POST | sender)
        assert (refused.status_code, refused.json()["code"], refused.json()["pointer"]) == (
            403, "sender.unknown", "/from",
        )  # fmt: skip


@pytest.mark.parametrize("form", ["soap", "envelope"])
async def test_any_form_that_can_be_posted_can_be_explained(asked: Asked, form: str) -> None:
    message = Message(
        to=(Recipient("Birch/Public"),), parts=(Part(id="1", content_type="text/xml", data=ORDER.encode()),)
    )
    body, kind = {
        "soap": (SOAP11.encode_post(message), "text/xml; charset=utf-8"),
        "envelope": (ENVELOPE_FORM.encode_post(message), ENVELOPES),
    }[form]
    headers = {"Authorization": f"Bearer {asked.keys['service of A']}", "Content-Type": kind}
    told = await asked.client.post("/v1/explain", content=body, headers=headers)
    assert told.json()["copies"][0]["route"] == ["Cedar/Work", "Birch/Public"]


async def test_it_is_told_and_drawn_as_the_client_likes(asked: Asked) -> None:
    text = await explain(asked, "service of A", POST, Accept="text/plain")
    assert text.headers["content-type"].startswith("text/plain")
    assert "Aster/Private -> Cedar/Work -> Birch/Public" in text.text
    drawn = await explain(asked, "service of A", POST, Accept="image/svg+xml, application/json;q=0.5")
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in drawn.headers["content-security-policy"]
    assert xml.parse(drawn.content).tag.endswith("}svg")
    refused = await explain(asked, "service of A", POST, Accept="image/png")
    assert (refused.status_code, refused.json()["code"]) == (406, "wire.not-acceptable")


async def test_what_would_be_refused_is_explained_too(asked: Asked) -> None:
    told = await explain(asked, "service of A", POST | {"to": ["Nobody/Here", "Birch/Public"]})
    assert [copy["code"] for copy in told.json()["copies"]] == ["recipient.unknown", ""]
    nobody = await explain(asked, "service of A", POST | {"to": ["Nobody/Here"]})
    assert (nobody.status_code, nobody.json()["code"]) == (200, "recipient.unknown")
    malformed = await explain(asked, "service of A", {"too": []})
    assert (malformed.status_code, malformed.json()["code"]) == (400, "wire.malformed")


async def posted(asked: Asked) -> str:
    sender = await asked.running.authenticator.authenticate(
        Proof(f"Bearer {asked.keys['service of A']}".encode()), "test"
    )
    part = Part(id="1", content_type="application/xml", data=ORDER.encode())
    message = Message(to=(Recipient("Birch/Public"), Recipient("Aster/Public")), parts=(part,))
    return (await asked.running.network.post(sender, message)).session


async def passed_on(asked: Asked) -> None:
    """Cedar/Work lets go on what waits there."""
    service = asked.running.network.directory.service("Cedar/Work")
    worker = Caller(service=service)
    for delivered in await asked.running.network.poll(worker, PollRequest()):
        answer = Message(type=MessageType.RESPONSE, reference=delivered.token)
        await asked.running.network.post(worker, answer)


@pytest.mark.req("R16", "Z5")
async def test_a_posted_message_is_explained_to_its_parties_as_far_as_they_took_part(asked: Asked) -> None:
    session = await posted(asked)
    here = f"/v1/messages/{session}/explanation"
    own = (await asked.ask("owner of A", "GET", here)).json()
    assert [copy["route"] for copy in own["copies"]] == [["Cedar/Work", "Birch/Public"], ["Cedar/Work", "Aster/Public"]]
    assert own["services"][0]["rules"][0]["condition"]["seen"] == ["150.5"]
    assert (await asked.ask("owner of B", "GET", here)).status_code == 404, "it has not come to them yet"
    await passed_on(asked)
    receiver = (await asked.ask("owner of B", "GET", here)).json()
    assert [copy["route"] for copy in receiver["copies"]] == [["Birch/Public"]]
    assert receiver["services"] == []
    passing = await asked.ask("owner of C", "GET", here)
    assert [copy["route"] for copy in passing.json()["copies"]] == [["Cedar/Work"], ["Cedar/Work"]]
    assert "large orders" not in passing.text
    operator = (await asked.ask("operator", "GET", here)).json()
    assert operator["services"][0]["rules"][0]["condition"] is None, "operators see which rules held, but no values"
    assert (await asked.ask("service of B", "GET", here)).status_code == 404
    drawn = await asked.ask("service of A", "GET", here, Accept="image/svg+xml")
    assert b"Cedar/Work" in drawn.content


async def test_a_posted_message_is_explained_by_the_rule_as_it_was(asked: Asked) -> None:
    session = await posted(asked)
    await asked.ask("owner of A", "DELETE", f"{RULES}/large%20orders", match="*")
    told = (await asked.ask("owner of A", "GET", f"/v1/messages/{session}/explanation")).json()
    assert told["services"][0]["rules"][0]["condition"]["text"].startswith("body /Order/Total")


async def test_reading_what_rules_saw_is_on_record(asked: Asked) -> None:
    session = await posted(asked)
    for who in ("viewer of A", "service of A", "operator"):
        await asked.ask(who, "GET", f"/v1/messages/{session}/explanation")
    await asked.running.network.wait_until_indexed()
    rows = await asked.running.network.index.rows("access")
    assert [(row[2], row[4]) for row in rows if row[3] == "explanation.read"] == [("viewer@aster.example", session)]


# ---- the bench


async def attempt(asked: Asked, who: str, **wish: Any) -> httpx2.Response:
    return await asked.ask(who, "POST", "/v1/try", wish)


@pytest.mark.req("C3")
async def test_a_rule_is_tried_before_it_is_saved(asked: Asked) -> None:
    before = await state(asked)
    rule = RULE | {"name": "new", "then": [{"addServiceAfter": "Aster/Public"}], "enabled": False}
    message = POST | {"from": "Aster/Private"}
    tried = await attempt(asked, "viewer of A", service="Aster/Private", rule=rule, message=message)
    assert (tried.status_code, tried.json()["held"], tried.json()["role"]) == (200, True, "sender")
    assert tried.json()["condition"]["seen"] == ["150.5"]
    explanation = tried.json()["explanation"]
    assert explanation["copies"][0]["route"] == ["Cedar/Work", "Aster/Public", "Birch/Public"]
    assert [one["name"] for one in explanation["services"][0]["rules"]] == ["large orders", "new"]
    assert await state(asked) == before
    replaced = rule | {"name": "large orders"}
    tried = await attempt(asked, "owner of A", service="Aster/Private", rule=replaced, message=message)
    assert tried.json()["explanation"]["copies"][0]["route"] == ["Aster/Public", "Birch/Public"]
    bad = await attempt(asked, "owner of A", service="Aster/Private", rule=rule | {"then": []}, message=message)
    assert bad.json()["code"] in ("rule.invalid", "value.invalid")


@pytest.mark.req("C3")
async def test_a_condition_is_tried_on_a_document_or_a_posted_message(asked: Asked) -> None:
    condition = {"and": [RULE["when"], {"equals": {"header": "topic", "value": "x"}}]}
    tried = await attempt(asked, "service of A", condition=condition, document=ORDER)
    assert (tried.json()["held"], [one["held"] for one in tried.json()["condition"]["conditions"]]) == (
        False, [True, False],
    )  # fmt: skip
    session = await posted(asked)
    stored = await attempt(asked, "owner of A", service="Aster/Private", condition=RULE["when"], session=session)
    assert (stored.json()["held"], stored.json()["role"]) == (True, "sender")
    received = await attempt(asked, "owner of C", service="Cedar/Work", condition=RULE["when"], session=session)
    assert (received.json()["held"], received.json()["role"]) == (True, "inTransit")
    not_yet = await attempt(asked, "owner of B", service="Birch/Public", condition=RULE["when"], session=session)
    assert not_yet.status_code == 404
    foreign = await attempt(asked, "owner of B", service="Birch/Private", condition=RULE["when"], session="0" * 32)
    assert foreign.status_code == 404
    await asked.running.network.wait_until_indexed()
    rows = await asked.running.network.index.rows("access")
    readers = [row[2] for row in rows if row[3] == "payload.read"]
    assert readers == ["owner@aster.example", "owner@cedar.example"]


@pytest.mark.req("C3", "Z5")
@pytest.mark.parametrize("item", ["to.gcid", "to.organization", "from.gcid"])
async def test_a_condition_does_not_tell_whether_a_hidden_service_exists(asked: Asked, item: str) -> None:
    answers = []
    for name in ("Birch/Private", "Nobody/Nothing"):
        condition = {"exists": {"header": item}}
        message = {"from": name, "to": [name]}
        tried = await attempt(asked, "owner of A", service="Aster/Private", condition=condition, message=message)
        answers.append(tried.text.replace(name, "<name>"))
    assert answers[0] == answers[1]


@pytest.mark.req("C3")
async def test_a_stylesheet_is_tried_on_a_document(asked: Asked) -> None:
    tried = await attempt(asked, "developer of A", stylesheet="<x/>", document="<a/>", parameters={"p": "!"})
    assert tried.json() == {"output": "<A/>!"}
    bad = await attempt(asked, "developer of A", stylesheet="<bad/>", document="<a/>")
    assert (bad.status_code, bad.json()["code"], bad.json()["pointer"]) == (422, "stylesheet.invalid", "line 1")
    assert (await attempt(asked, "viewer of A", stylesheet="<x/>", document="<a/>")).status_code == 403
    absent = {"service": "Aster/Private", "name": "none"}
    assert (await attempt(asked, "developer of A", stylesheet=absent, document="<a/>")).status_code == 404


@pytest.mark.parametrize(
    "wish",
    [{}, {"stylesheet": "<x/>"}, {"document": "x"}, {"stylesheet": "<x/>", "document": "x", "session": "y"},
     {"stylesheet": "<x/>", "condition": {"exists": {"header": "to"}}, "document": "x"}],
)  # fmt: skip
async def test_one_thing_is_tried_on_one_other(asked: Asked, wish: dict[str, Any]) -> None:
    refused = await attempt(asked, "owner of A", **wish)
    assert (refused.status_code, refused.json()["code"]) == (422, "value.invalid")


@pytest.mark.req("R12", "Z5")
async def test_a_service_that_another_isolates_is_kept_from_the_sender_and_the_sender_from_it(asked: Asked) -> None:
    await asked.running.register("Dill/Aid", visibility=Visibility.PUBLIC)
    asked.keys["owner of D"] = await asked.running.key_for(
        await asked.running.enroll("owner@dill.example", organization="Dill")
    )
    alone = {"name": "alone", "when": "always", "then": [{"addService": "Dill/Aid", "isolate": True}]}
    idle = {"name": "idle", "when": "always", "then": [{"stopRuleEvaluation": True}]}
    assert (await asked.ask("owner of C", "POST", "/v1/services/Cedar/Work/rules", alone)).status_code == 201
    assert (await asked.ask("owner of D", "POST", "/v1/services/Dill/Aid/rules", idle)).status_code == 201
    told = (await explain(asked, "service of A", POST)).json()
    assert [one["service"] for one in told["services"]] == ["Aster/Private", "Cedar/Work"]
    assert "Dill" not in str(told)
    session = asked.running.network.tokens.pseudonyms.session(await posted(asked))
    known = {"matches": {"header": "from", "value": "^Cedar/Work$"}}
    for unknown in ({"matches": {"header": "from", "value": "Aster"}}, {"exists": {"header": "to"}}):
        condition = {"and": [known, {"not": unknown}]}
        tried = await attempt(asked, "owner of D", service="Dill/Aid", condition=condition, session=session)
        assert (tried.json()["held"], tried.json()["role"]) == (True, "inTransit"), tried.text
    others = {"matches": {"header": "to", "value": "Aster/Public"}}
    seen = await attempt(asked, "owner of D", service="Dill/Aid", condition=others, session=session)
    assert seen.json()["condition"]["seen"] == []
