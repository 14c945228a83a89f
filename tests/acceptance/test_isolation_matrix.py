"""Every route × everybody × own, foreign and absent objects: nobody learns, changes or guesses what is not theirs.

The matrix is made from the application's routes, so a new route without an entry below fails here until it has one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from msgspec.structs import replace as replace_fields

from postroad.api.application import ROUTES
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.batching.moves import open_batch
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.billing import Invoice
from postroad.core.model.directory import CredentialKind
from postroad.core.model.exchange import Binding
from postroad.core.model.journal import BatchesChanged
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.selector import Selector
from postroad.core.model.subscription import Channel, Subscription
from postroad.core.model.support import SupportNote, SupportRequest
from postroad.core.model.trust import Provisioning, RegisteredCookie
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.registries.configuration import build_save
from postroad.ports import JournalStep
from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("Z5", "N3", "N1")

INSIDERS = ("service of A", "viewer of A", "developer of A", "owner of A")
EVERYBODY = (*INSIDERS, "service of B", "owner of B", "operator")
OWN_ACCOUNT = re.compile(r"^/v1/(account|logout|support)")  # what everybody may do: change themselves, and ask
HARMLESS = (  # they only say what would be
    "/v1/certificate-challenges",
    "/v1/explain",
    "/v1/try",
    "/v1/provisionings/{service}/inspection",
    "/v1/services/{service}/bindings/try",
)
# What waits for a service, it may fetch anyway.
OWN_MAILBOX = ("/v1/services/{service}/release", "/v1/services/{service}/push/try")
PASSWORD = "seven quiet herons wading"

OWNER = {"owner@aster.example": {"role": "owner"}}
STOPPING = [{"stopRuleEvaluation": True}]

BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/register"): {"organization": "Cedar", "email": "c@cedar.example", "password": PASSWORD},
    ("POST", "/v1/login"): {"email": "owner@aster.example", "password": PASSWORD},
    ("POST", "/v1/logout"): None,
    ("PUT", "/v1/account"): {"name": "New Name"},
    ("PUT", "/v1/account/password"): {"password": PASSWORD},
    ("POST", "/v1/account/keys"): {"label": "mine"},
    ("POST", "/v1/account/login-link"): None,
    ("POST", "/v1/support"): {"subject": "lost", "text": "where is it?", "session": "{session}"},
    ("POST", "/v1/support/{request_id}/notes"): {"text": "and now?"},
    ("PUT", "/v1/organizations/{organization}"): {"description": "changed"},
    ("PUT", "/v1/organizations/{organization}/suspension"): {"reason": "unpaid"},
    ("POST", "/v1/organizations/{organization}/members"): {"email": "new@aster.example"},
    ("PUT", "/v1/organizations/{organization}/members/{email}"): {"role": "viewer"},
    ("POST", "/v1/organizations/{organization}/members/{email}/invitation"): None,
    ("POST", "/v1/organizations/{organization}/confirmations/{credential}"): None,
    ("PUT", "/v1/organizations/{organization}/secrets/{name}"): {"value": "a secret"},
    ("PUT", "/v1/services/{service}/secrets/{name}"): {"value": "a secret"},
    ("PUT", "/v1/organizations/{organization}/notifications/{subscription}"): {
        "channel": "email",
        "address": "owner@aster.example",
    },
    ("POST", "/v1/organizations/{organization}/notifications/{subscription}/test"): None,
    ("PUT", "/v1/notifications/{subscription}"): {"channel": "email", "address": "operator@network.example"},
    ("POST", "/v1/notifications/{subscription}/test"): None,
    ("POST", "/v1/password-reset"): {"email": "owner@aster.example"},
    ("POST", "/v1/password-reset/password"): {"key": "pr_0123456789abcdef_wrong", "password": PASSWORD},
    ("POST", "/v1/keys/rotate-master"): None,
    ("POST", "/v1/keys/rotate-token"): None,
    ("POST", "/v1/services"): {"organization": "{organization}", "name": "Fresh"},
    ("PUT", "/v1/services/{service}"): {"name": "Renamed", "visibility": "public"},
    ("PUT", "/v1/services/{service}/suspension"): {"reason": "abuse"},
    ("POST", "/v1/services/{service}/release"): None,
    ("POST", "/v1/services/{service}/push/try"): None,
    ("POST", "/v1/services/{service}/credentials"): {"kind": "key", "label": "extra"},
    ("POST", "/v1/certificate-challenges"): None,
    ("PUT", "/v1/services/{service}/assets/{kind}/{name}"): "<xs:schema/>",
    ("POST", "/v1/services/{service}/rules"): {"name": "fresh", "when": "always", "then": STOPPING},
    ("PUT", "/v1/services/{service}/rules/{name}"): {"name": "{name}", "when": "always", "then": STOPPING},
    ("PATCH", "/v1/services/{service}/rules/{name}"): {"enabled": False},
    ("POST", "/v1/services/{service}/bindings"): {"name": "fresh", "queue": "{sender}"},
    ("PUT", "/v1/services/{service}/bindings/{name}"): {"queue": "{sender}", "routingKey": "orders"},
    ("POST", "/v1/services/{service}/bindings/try"): {"message": {"from": "{address}"}},
    ("PATCH", "/v1/services/{service}/model"): {"nodes": [{"tag": "root"}]},
    ("POST", "/v1/services/{service}/model/attachments"): {"service": "{sender}", "side": "consumer", "id": "fresh"},
    ("PUT", "/v1/services/{service}/cookies/{sender}"): {"content": "customer 4711"},
    ("POST", "/v1/organizations/{organization}/provisionings"): {"provider": "{address}", "service": "Account"},
    ("POST", "/v1/provisionings/{service}/inspection"): {"token": "0123456789abcdef"},
    ("POST", "/v1/explain"): {"from": "{address}", "to": ["{address}"]},
    ("POST", "/v1/try"): {
        "service": "{address}",
        "condition": {"exists": {"header": "from"}},
        "message": {"from": "{address}"},
    },
    ("POST", "/v1/dead-letters/resend"): {"all": True, "dryRun": True},
    ("POST", "/v1/dead-letters/drop"): {"all": True, "reason": "old"},
    ("POST", "/v1/dead-letters/{delivery}/resend"): {"reason": "mended"},
    ("POST", "/v1/dead-letters/{delivery}/drop"): {"reason": "old"},
    ("POST", "/v1/batches/{batch}/release"): {"reason": "early"},
    ("POST", "/v1/batches/{batch}/pause"): {"reason": "later"},
    ("POST", "/v1/batches/{batch}/hold"): {"reason": "later"},
    ("POST", "/v1/batches/{batch}/let-go"): {"reason": "now"},
    ("POST", "/v1/batches/{batch}/members/{delivery}/take-out"): {"reason": "twice"},
    ("POST", "/v1/batches/{batch}/resume"): {"reason": "mended"},
    ("POST", "/v1/batches/{batch}/drop"): {"reason": "old"},
    ("POST", "/v1/batches/{batch}/members/{delivery}/remove"): {"reason": "twice"},
    ("POST", "/v1/billing/invoices"): {"period": "2026-09", "counted": {"through": 9, "latest": 2**52, "accounts": []}},
    ("POST", "/v1/billing/invoices/{number}/credits"): {"amount": "1.00", "reason": "late"},
    ("POST", "/v1/billing/invoices/{number}/payments"): {"amount": "1.00"},
    ("POST", "/v1/level"): {"level": None},
    ("POST", "/v1/configuration/plan"): {"document": {"postroad": 1, "organizations": {"{organization}": {}}}},
    ("POST", "/v1/configuration/apply"): {
        "document": {"postroad": 1, "organizations": {"{organization}": {}}},
        "version": "0" * 32,
    },
}
ROUTED = [
    (method, route.path_format, route)
    for route in ROUTES
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
]
NAMES = [f"{method} {path}" for method, path, _ in ROUTED]
GUARDED = [(method, path) for method, path, route in ROUTED if isinstance(route, GuardedRoute)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """The names of one set of things: those of A, those of B, or none at all."""

    organization: str
    service: str
    address: str
    email: str
    session: str
    delivery: str
    part: str
    key_id: str
    credential: str
    kind: str = "schema"
    name: str
    sender: str
    batch: str
    request_id: str
    handle: str
    number: str
    subscription: str

    def values(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}

    def fill(self, template: Any) -> Any:
        match template:
            case str():
                return re.sub(r"\{(\w+)\}", lambda found: str(getattr(self, found[1])), template)
            case dict():
                return {self.fill(name): self.fill(value) for name, value in template.items()}
            case list():
                return [self.fill(item) for item in template]
        return template


ABSENT = Objects(
    organization="Nobody",
    service="0123456789abcdef",
    address="Nobody/Nothing",
    email="nobody@nowhere.example",
    session="0" * 32,
    delivery="123456789012345",
    part="1",
    key_id="0123456789abcdef",
    credential="0123456789abcdef",
    name="absent-thing",
    sender="fedcba9876543210",
    batch="0" * 20,
    request_id="f" * 20,
    handle="no-such-handle",
    number="2026-09-9999",
    subscription="absent-subscription",
)


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def objects_of(asked: Asked, house: str, who: str) -> Objects:
    """A private service with a credential, a message between two services of the house, a person's key."""
    directory = asked.running.network.directory
    service = directory.service(f"{house}/Private")
    assert service is not None
    sender = await asked.running.authenticator.authenticate(_proof(asked, who), "test")
    part = Part(id="1", content_type="text/plain", data=f"payload of {house}".encode())
    name = f"thing of {house}"
    schema = Asset(service=service.gcid, kind=AssetKind.SCHEMA, name=name, content="<xs:schema/>")
    entry = RuleEntry.model_validate({"name": name, "when": "always", "then": STOPPING})
    rule = rule_of(entry, service.gcid, 0)
    public = asked.gcid(f"{house}/Public")
    cookie = RegisteredCookie(service=service.gcid, sender=public, content=f"cookie of {house}")
    trust = Provisioning(
        service=service.gcid, provider=public, started_by="test", started_at_us=1, expires_at_us=2, confirmed_at_us=1
    )
    binding = Binding(exchange=service.gcid, name=name, queue=public)
    note = SupportNote(at_us=1, by="test", text=f"words of {house}")
    request = SupportRequest(id=f"{house.encode().hex():e<20}", organization=house, subject=name, notes=(note,))
    invoice = Invoice(
        number=f"2026-09-{house}", organization=house, period="2026-09", currency="EUR", issued_on=date(2026, 10, 1),
        due_on=date(2026, 10, 31), seller="The network", through=1, tariffs={}, lines=(), total=Decimal("1.00"),
    )  # fmt: skip
    told = Subscription(
        organization=house,
        name=f"subscription-of-{house}",
        channel=Channel.EMAIL,
        address=f"ops@{house.casefold()}.example",
    )
    saved = [build_save(item) for item in (schema, rule, cookie, trust, binding, request, invoice, told)]
    await asked.running.network.configuration.change("test", saved)
    vault = asked.running.network.vault
    assert vault is not None
    for scope in ("", service.gcid):
        await vault.set("test", (house, scope, name), f"secret of {house}", lambda directory: None)
    handle = f"handle-of-{house}"
    message = Message(to=(Recipient(f"{house}/Public"),), parts=(part,), handle=handle)
    posted = await asked.running.network.post(sender, message)
    batch = await _batch_of(asked, service.gcid, house)
    person = f"owner@{house.casefold()}.example"
    history = await asked.running.network.trace(posted.session, house)
    assert history is not None
    return Objects(
        organization=house,
        service=service.gcid,
        address=service.address,
        email=person,
        session=posted.session,
        delivery=str(history.messages[0].copies[0].stops[0].delivery),
        part="1",
        key_id=directory.credentials_of(person=person)[0].id,
        credential=directory.credentials_of(service=service.gcid)[0].id,
        name=name,
        sender=public,
        batch=batch,
        request_id=request.id,
        handle=handle,
        number=invoice.number,
        subscription=told.name,
    )


async def _batch_of(asked: Asked, gcid: str, house: str) -> str:
    """The id of a batch at a service, as its batcher would have written it down."""
    batch = open_batch(f"{house.encode().hex():0<20}", ("group", f"key of {house}"), 1)
    entry = BatchesChanged(1, gcid, gcid, "held", (replace_fields(batch, service=gcid, version=1),))
    await commit_step(asked.running.network.desk, JournalStep(entry, reserve=True))
    return batch.id


def _proof(asked: Asked, who: str) -> Proof:
    return Proof(f"Bearer {asked.keys[who]}".encode())


async def put(asked: Asked, who: str, method: str, path: str, things: Objects) -> httpx2.Response:
    body = things.fill(BODIES[method, path]) if (method, path) in BODIES else None
    return await asked.ask(who, method, things.fill(path), body, match=_match(method))


def answered(response: httpx2.Response, things: Objects) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers, with the names that the client itself gave replaced."""
    text = response.text
    for name, value in sorted(things.values().items(), key=lambda item: -len(item[1])):
        if len(value) > 1 and name != "kind":
            text = text.replace(value, f"<{name}>")
    headers = {name: value for name, value in response.headers.items() if name not in ("content-length", "date")}
    return response.status_code, text, headers


def state(asked: Asked) -> Any:
    directory = asked.running.network.directory
    return (
        directory.organizations,
        directory.people,
        directory.services,
        directory.credentials,
        directory.rules,
        directory.assets,
        directory.provisionings,
        directory.cookies,
        dict(directory.bindings),
        dict(directory.support),
        dict(directory.secrets),
        dict(directory.subscriptions),
        directory.billing,
    )


def test_every_route_that_takes_a_body_is_in_the_matrix() -> None:
    writes = {(method, path) for method, path, _ in ROUTED if method in ("POST", "PUT", "PATCH")}
    assert writes == set(BODIES)


@pytest.mark.parametrize("who", INSIDERS)
async def test_what_belongs_to_others_is_as_if_it_did_not_exist(asked: Asked, who: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    before = state(asked)
    leaks = []
    for method, path in GUARDED:
        if not re.search(r"\{\w+\}", path + str(BODIES.get((method, path)))):
            continue
        for template in {path, path.replace("{service}", "{address}")}:
            one = await asked.ask(
                who, method, foreign.fill(template), _body(method, path, foreign), match=_match(method)
            )
            other = await asked.ask(
                who, method, ABSENT.fill(template), _body(method, path, ABSENT), match=_match(method)
            )
            if answered(one, foreign) != answered(other, ABSENT) or one.status_code < 400:
                leaks.append((method, template, one.status_code, other.status_code, one.text[:200], other.text[:200]))
    assert leaks == []
    assert state(asked) == before


def _body(method: str, path: str, things: Objects) -> Any:
    return things.fill(BODIES.get((method, path)))


def _match(method: str) -> str | None:
    return "*" if method in ("PUT", "PATCH", "DELETE") else None


@pytest.mark.parametrize(
    "query",
    ["/v1/services?organization={organization}", "/v1/messages?service={service}", "/v1/messages?service={address}",
     "/v1/messages?box=received&service={service}", "/v1/messages?box=refused&service={address}",
     "/v1/billing/invoices?organization={organization}", "/v1/billing/documents?organization={organization}",
     "/v1/billing/usage?organization={organization}",
     "/v1/batches?service={service}", "/v1/batches?state=all&service={address}"],
)  # fmt: skip
@pytest.mark.parametrize("who", INSIDERS)
async def test_filters_find_nothing_of_others_either(asked: Asked, who: str, query: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    one = await asked.ask(who, "GET", foreign.fill(query))
    other = await asked.ask(who, "GET", ABSENT.fill(query))
    assert answered(one, foreign) == answered(other, ABSENT)
    assert one.status_code == 404


FINDABLE = ("session", "handle", "service", "address", "batch")


@pytest.mark.req("C2")
@pytest.mark.parametrize("who", INSIDERS)
async def test_nothing_of_others_is_found_by_whatever_is_known_of_it(asked: Asked, who: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    for name in FINDABLE:
        for query in (f"/v1/find?q={{{name}}}", f"/v1/find?limit=1&q={{{name}}}"):
            one = await asked.ask(who, "GET", foreign.fill(query))
            other = await asked.ask(who, "GET", ABSENT.fill(query))
            assert answered(one, foreign) == answered(other, ABSENT)
            assert one.json() == {"items": []}


@pytest.mark.parametrize("who", ["owner of B", "service of B", "operator"])
async def test_what_is_ones_own_is_found_by_the_same(asked: Asked, who: str) -> None:
    own = await objects_of(asked, "Birch", "service of B")
    kinds = {}
    for name in FINDABLE:
        [found] = (await asked.ask(who, "GET", own.fill(f"/v1/find?q={{{name}}}"))).json()["items"]
        kinds[name] = found["kind"]
    assert kinds == {
        "session": "message", "handle": "message", "service": "service", "address": "service", "batch": "batch",
    }  # fmt: skip


@pytest.mark.parametrize("who", INSIDERS)
async def test_lists_hold_nothing_private_of_others(asked: Asked, who: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    hidden = [foreign.service, foreign.session, foreign.email, foreign.key_id, foreign.credential, "payload of Birch",
              "cookie of Birch", "secret of Birch", foreign.batch, "key of Birch", "words of Birch", foreign.number]  # fmt: skip
    for method, path in GUARDED:
        if method == "GET" and "{" not in path:
            response = await asked.ask(who, method, path)
            found = [name for name in hidden if name in response.text]
            assert found == [], (path, found)


@pytest.mark.parametrize("who", INSIDERS)
async def test_what_belongs_to_others_cannot_be_reached_through_ones_own(asked: Asked, who: str) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    foreign = await objects_of(asked, "Birch", "service of B")
    before = state(asked)
    tried = 0
    for method, path in GUARDED:
        _outer, *inner = re.findall(r"\{(\w+)\}", path) or [""]
        if not inner or inner == ["part"]:
            continue
        tried += 1
        one, other = (replace(own, **{inner[-1]: getattr(things, inner[-1])}) for things in (foreign, ABSENT))
        assert answered(await put(asked, who, method, path, one), one) == answered(
            await put(asked, who, method, path, other), other
        ), (method, path)
    assert tried >= 4
    assert state(asked) == before


@pytest.mark.parametrize("who", INSIDERS)
@pytest.mark.parametrize("box", ["sent", "received", "refused"])
async def test_a_public_service_does_not_show_its_messages(asked: Asked, who: str, box: str) -> None:
    await objects_of(asked, "Birch", "service of B")  # a message to Birch/Public
    response = await asked.ask(who, "GET", f"/v1/messages?box={box}&service=Birch/Public")
    assert response.status_code == 404


async def test_strangers_get_the_same_answer_everywhere(asked: Asked) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    before = state(asked)
    seen = set()
    for method, path in GUARDED:
        for things in (own, ABSENT):
            response = await put(asked, "anonymous", method, path, things)
            assert response.headers["www-authenticate"].startswith("Bearer")
            seen.add((response.status_code, response.text))
    assert len(seen) == 1
    assert next(iter(seen))[0] == 401
    assert state(asked) == before


@pytest.mark.parametrize("who", ["viewer of A", "service of A"])
async def test_those_who_may_only_look_change_nothing(asked: Asked, who: str) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    before = state(asked)
    for method, path in GUARDED:
        if method == "GET" or OWN_ACCOUNT.match(path) or path in HARMLESS:
            continue
        response = await put(asked, who, method, path, own)
        if who == "service of A" and path in OWN_MAILBOX:
            assert (response.status_code, response.json().get("going", 0)) == (200, 0)
            continue
        assert response.status_code == 403, (method, path, response.text)
    assert state(asked) == before


async def test_a_developer_changes_services_and_nothing_else(asked: Asked) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    for method, path in GUARDED:
        if method == "GET" or OWN_ACCOUNT.match(path) or path in HARMLESS:
            continue
        response = await put(asked, "developer of A", method, path, own)
        is_theirs = (path.startswith("/v1/services") and "suspension" not in path) or any(
            word in path for word in ("provisionings", "dead-letters", "batches")
        )
        assert (response.status_code != 403) is is_theirs, (method, path, response.text)


@pytest.mark.parametrize("who", ["owner of A", "developer of A", "viewer of A", "service of A"])
async def test_only_operators_suspend(asked: Asked, who: str) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    for method in ("PUT", "DELETE"):
        for path in ("/v1/organizations/{organization}/suspension", "/v1/services/{service}/suspension"):
            assert (await put(asked, who, method, path, own)).status_code == 403
            assert (await put(asked, "operator", method, path, own)).status_code == 204


@pytest.mark.parametrize(
    ("method", "path"), [key for key, body in BODIES.items() if isinstance(body, dict) and key[1] != "/v1/explain"]
)
async def test_fields_that_are_not_offered_are_refused(asked: Asked, method: str, path: str) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    before = state(asked)
    for smuggled in ("operator", "gcid", "suspended", "version", "id", "secret", "createdAt", "__class__"):
        if smuggled in BODIES[method, path]:
            continue
        body = own.fill(BODIES[method, path]) | {smuggled: "0123456789abcdef"}
        response = await asked.ask("owner of A", method, own.fill(path), body, match=_match(method))
        assert response.status_code == 422, (smuggled, response.text)
        assert any(smuggled in fault["pointer"] for fault in response.json()["errors"])
    assert state(asked) == before


async def test_a_payload_is_for_parties_and_reading_it_is_on_record(asked: Asked) -> None:
    own = await objects_of(asked, "Aster", "service of A")
    path = f"/v1/messages/{own.session}/parts/1"
    for who in ("owner of A", "viewer of A", "service of A"):
        assert (await asked.ask(who, "GET", path)).text == "payload of Aster"
    for who in ("owner of B", "service of B", "operator"):
        assert (await asked.ask(who, "GET", path)).status_code == 404
    await asked.running.network.wait_until_indexed()
    rows = await asked.running.network.index.rows("access")
    readers = [row[2] for row in rows if row[3] == "payload.read"]
    assert readers == ["owner@aster.example", "viewer@aster.example"]


@pytest.mark.req("M5")
@pytest.mark.parametrize("named", ["service", "address"])
async def test_posting_to_what_is_hidden_is_as_posting_to_nobody(asked: Asked, named: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    sender = await asked.running.authenticator.authenticate(_proof(asked, "service of A"), "test")
    answers = []
    for things in (foreign, ABSENT):
        recipient = getattr(things, named)
        for message in (
            Message(to=(Recipient(recipient),)),
            Message(to=(Recipient("Birch/Public"),), route=(Recipient(recipient),)),
        ):
            with pytest.raises(Refused) as refused:
                await asked.running.network.post(sender, message)
            answers.append(
                (refused.value.code, refused.value.detail.replace(recipient, "<name>"), refused.value.pointer)
            )
    assert answers[:2] == answers[2:]


@pytest.mark.req("D2")
@pytest.mark.parametrize("named", ["service", "address"])
async def test_waiting_for_what_is_hidden_is_as_waiting_for_nobody(asked: Asked, named: str) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    network = asked.running.network
    receiver = await asked.running.authenticator.authenticate(_proof(asked, "service of A"), "test")
    for things in (foreign, ABSENT):
        began = network.clock.monotonic()
        select = Selector(sender=getattr(things, named))
        assert await network.poll(receiver, PollRequest(select=select, wait_s=0.05)) == []
        assert network.clock.monotonic() - began >= 0.05, things


NAMING: dict[str, dict[str, Any]] = {  # wherever a service can be named in the profile of another one
    "rule": {"rules": [{"name": "r", "when": "always", "then": [{"addServiceAfter": "{address}"}]}]},
    "redirect": {"rules": [{"name": "r", "when": "always", "then": [{"redirect": "{service}"}]}]},
    "acceptsFrom": {"accepts": "listed", "acceptsFrom": ["{address}", "{service}"]},
    "documentAccess": {"documentAccess": [{"service": "{address}"}]},
    "exceptFor": {"policy": {"exceptFor": ["{address}"]}},
    "openTo": {"hosted": "exchange", "openTo": ["{service}", "{address}"]},
    "binding": {"hosted": "exchange", "openTo": ["*"], "bindings": {"b": {"queue": "{address}"}}},
    "binding by GCID": {"hosted": "exchange", "openTo": ["*"], "bindings": {"b": {"queue": "{service}"}}},
    "cookie": {"cookies": [{"from": "{address}", "content": "x"}]},
    "cookie by GCID": {"cookies": [{"from": "{service}", "content": "x"}]},
    "batching": {"hosted": "batcher", "batching": {"sendsTo": "{address}", "standard": "x12", "count": 2}},
    "splitting": {"hosted": "splitter", "splitting": {"sendsTo": "{service}", "answersTo": "{address}"}},
    "gcid": {"gcid": "{service}"},
}


@pytest.mark.req("N13")
@pytest.mark.parametrize("prune", [False, True])
async def test_no_plan_tells_what_is_hidden_from_what_does_not_exist(asked: Asked, prune: bool) -> None:
    foreign = await objects_of(asked, "Birch", "service of B")
    for name, profile in NAMING.items():
        answers = []
        for things in (foreign, ABSENT):
            services = {"Fresh": things.fill(profile)}
            document = {"postroad": 1, "organizations": {"Aster": {"people": OWNER, "services": services}}}
            wish = {"document": document, "prune": prune}
            status, text, headers = answered(
                await asked.ask("owner of A", "POST", "/v1/configuration/plan", wish), things
            )
            answers.append((status, re.sub(r'"version":"\w+"', "", text), headers))
        assert answers[0] == answers[1], name


async def test_secrets_are_in_no_answer_and_in_no_log(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary sings a long song"
    shown: list[str] = []
    await asked.ask(
        "anonymous", "POST", "/v1/register", {"organization": "Cedar", "email": "c@c.example", "password": canary}
    )
    asked.keys["owner of C"] = (
        await asked.ask("anonymous", "POST", "/v1/login", {"email": "c@c.example", "password": canary})
    ).json()["key"]
    shown.append(asked.keys["owner of C"])
    made = await asked.ask("owner of C", "POST", "/v1/services", {"organization": "Cedar", "name": "In"})
    here = f"/v1/services/{made.json()['gcid']}/credentials"
    shown.append((await asked.ask("owner of C", "POST", here, {"kind": "key", "label": "k"})).json()["key"])
    await asked.ask("owner of C", "POST", here, {"kind": "password", "label": "p", "password": canary})
    await asked.ask("owner of C", "POST", here, {"kind": "password", "label": "p", "password": canary, "extra": canary})
    await asked.ask("anonymous", "POST", "/v1/login", {"email": "c@c.example", "password": canary + "!"})
    asked.seen.clear()
    own = await objects_of(asked, "Aster", "service of A")
    for who in (*EVERYBODY, "owner of C"):
        for method, path in GUARDED:
            if method == "GET":
                await put(asked, who, method, path, own)
        await asked.ask(who, "GET", here)
        await asked.ask(who, "GET", "/v1/configuration", Accept="application/yaml")
    credentials = asked.running.network.directory.credentials.values()
    kept = [item.secret for item in credentials if item.kind is not CredentialKind.CERTIFICATE]
    secrets = [canary, "secret of Aster", *shown, *asked.keys.values(), *kept]
    told = "\n".join(response.text for response in asked.seen)
    assert [secret for secret in secrets if secret in told] == []
    assert [secret for secret in secrets if secret in caplog.text] == []
