"""Events of every day, from what people and the network do to an e-mail in a mailbox."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from postroad.core.delivery.push_request import PushAnswer
from postroad.core.model.billing import DocumentKind
from postroad.core.model.billing_entries import InvoiceIssued, IssuedDocument
from postroad.core.model.directory import DeliveryMode, Person, Role
from postroad.core.model.subscription import Channel
from postroad.flow.administration import members, support
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import JournalStep
from tests.samples.mail_server import RunningMailServer, mail_server
from tests.samples.notified_scenario import NotifiedScenario
from tests.unit.flow.notifications.test_channels import sending
from tests.waiting import eventually_async

OPS, NET = "ops@acme.example", "net@acme.example"
INVOICE = IssuedDocument(
    number="2026-1",
    document=DocumentKind.INVOICE,
    organization="Acme",
    period="2026-10",
    currency="EUR",
    issued_on=date(2026, 11, 1),
    due_on=date(2026, 11, 30),
    seller="Network",
    through=1,
    tariffs=(),
    lines=(),
    total=Decimal("12.50"),
)


async def subscribe(scenario: NotifiedScenario) -> None:
    """Let owners of Acme, owners of Globex and operators be notified by e-mail."""
    for name, organization in (("ops", "Acme"), ("others", "Globex"), ("net", "")):
        await scenario.subscribe(name, organization, channel=Channel.EMAIL)


def mailed(server: RunningMailServer) -> list[tuple[str, str]]:
    return [(str(one["to"]), str(one["subject"]).removeprefix("[postroad] ")) for one in server.boxes.accepted]


@pytest.mark.req("O8")
async def test_a_service_whose_endpoint_is_gone() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await subscribe(scenario)
            await scenario.service("Globex/Buyer")
            await scenario.pushed_service("Acme/Pushed")
            scenario.receivers.answer("Acme/Pushed", PushAnswer(status=410))
            await scenario.post("Globex/Buyer", "Acme/Pushed", "x")
            await eventually_async(
                lambda: scenario.profile("Acme/Pushed").delivery is DeliveryMode.POLL, why="it is not switched off"
            )
            await scenario.wait(20)
            assert mailed(server) == [(OPS, "Service switched to polling: Acme/Pushed")]
            assert "its messages wait until they are polled" in server.boxes.text()


@pytest.mark.req("O8")
async def test_an_invited_member() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await subscribe(scenario)
            owner = scenario.caller("owner@acme.example")
            invited = Person(email="new@acme.example", organization="Acme", role=Role.DEVELOPER)
            await members.add(scenario.administration, owner, "Acme", invited)
            await scenario.wait(20)
            assert mailed(server) == [(OPS, "Members invited: new@acme.example")]
            assert "invited by owner@acme.example" in server.boxes.text()


@pytest.mark.req("O8")
async def test_a_support_request_and_its_answer() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await subscribe(scenario)
            owner, operator = scenario.caller("owner@acme.example"), scenario.caller("operator@network.example")
            asked = await support.open_request(scenario.administration, owner, "Late orders", "secret content")
            await scenario.wait(20)
            await support.add_note(scenario.administration, operator, asked.id, "secret content")
            await scenario.wait(20)
            assert mailed(server) == [
                (NET, f"Support requests: Late orders ({asked.id})"),
                (OPS, f"Support answered: Late orders ({asked.id})"),
            ]
            assert "secret content" not in server.boxes.text(0) + server.boxes.text(1)


@pytest.mark.req("O8")
async def test_an_invoice() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await subscribe(scenario)
            entry = InvoiceIssued(scenario.manual.now_us(), "operator@network.example", INVOICE)
            await commit_step(scenario.network.desk, JournalStep(entry, reserve=True))
            await scenario.wait(20)
            assert mailed(server) == [(OPS, "Invoices issued: 2026-1")]
            assert "12.50 EUR for 2026-10" in server.boxes.text()
