"""What providers may ask of the network's own service, and what it makes of documents and arguments."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from postroad.core.model.message import Cookie, Delivered, Part
from postroad.errors import Refused
from postroad.services.provisioning import CONFIRM, REGISTER, REVOKE, ProvisioningService
from tests.samples.service_tools import ACME, MYBIZ, NO_ARGUMENTS, RememberedTrust, delivered, document, tools

ACCOUNT = Cookie("<account>4711</account>", "application/xml")


async def asked_for(topic: str, *parts: Part, arguments: Mapping[str, str]) -> list[tuple[str | Cookie | None, ...]]:
    """What the provider's message makes the service ask of the network."""
    bench = tools()
    returned = await ProvisioningService().work(posted(topic, *parts, arguments=arguments), bench)
    assert (returned.parts, returned.status) == ((), None), "success is told without a word"
    assert isinstance(bench.trust, RememberedTrust)
    return bench.trust.asked


def posted(topic: str, *parts: Part, arguments: Mapping[str, str] = NO_ARGUMENTS) -> Delivered:
    return replace(delivered(*parts, sender=ACME, in_transit=False, arguments=arguments), topic=topic)


@pytest.mark.req("N8", "N9")
async def test_a_confirmation_brings_the_cookie_as_a_document() -> None:
    given = {"GCID": MYBIZ.gcid, "token": "t"}
    confirmed = ("confirm", ACME.gcid, MYBIZ.gcid, "t")
    cookie = document(ACCOUNT.content, id="account")
    assert await asked_for(CONFIRM, arguments=given) == [(*confirmed, None)]
    assert await asked_for(CONFIRM, cookie, arguments=given) == [(*confirmed, ACCOUNT)]
    assert await asked_for(CONFIRM, document("x"), cookie, arguments=given | {"cookie": "account"}) == [
        (*confirmed, ACCOUNT)
    ]


@pytest.mark.req("N9", "N10")
async def test_a_service_acts_for_itself_alone() -> None:
    assert await asked_for(REVOKE, arguments={"GCID": MYBIZ.gcid}) == [("revoke", ACME.gcid, MYBIZ.gcid, ACME.gcid)]
    assert await asked_for(REGISTER, arguments={"GCID": MYBIZ.gcid}) == [
        ("cookie", ACME.gcid, ACME.gcid, MYBIZ.gcid, None)
    ]


@pytest.mark.req("N8")
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (posted("order", arguments={"GCID": "x"}), "value.invalid"),
        (posted(CONFIRM, arguments={"token": "t"}), "value.invalid"),
        (posted(CONFIRM, arguments={"GCID": "x"}), "value.invalid"),
        (posted(CONFIRM, arguments={"GCID": "x", "token": "wrong"}), "provisioning.invalid"),
        (posted(CONFIRM, document("a"), document("b", id="2"), arguments={"GCID": "x", "token": "t"}), "value.invalid"),
        (posted(CONFIRM, document("a"), arguments={"GCID": "x", "token": "t", "cookie": "other"}), "value.invalid"),
        (posted(CONFIRM, document(b"\xff"), arguments={"GCID": "x", "token": "t"}), "cookie.invalid"),
        (replace(posted(REVOKE, arguments={"GCID": "x"}), in_transit=True), "route.invalid"),
        (replace(posted(REVOKE, arguments={"GCID": "x"}), sender_gcid="0" * 16), "route.invalid"),
    ],
)
async def test_an_invalid_request_is_refused_and_changes_nothing(message: Delivered, code: str) -> None:
    bench = tools()
    with pytest.raises(Refused) as refused:
        await ProvisioningService().work(message, bench)
    assert refused.value.code == code
    assert isinstance(bench.trust, RememberedTrust)
    assert bench.trust.asked == []
