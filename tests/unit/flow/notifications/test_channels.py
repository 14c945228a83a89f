"""The four channels, with real receivers: a mailbox of the network, a mail server, and HTTP servers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from postroad.adapters.mail.smtp import MailServer, SmtpMailer
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.core.identity.tokens import Tokens
from postroad.core.model.message import MessageType
from postroad.core.model.subscription import Channel, Subscription
from postroad.flow.notifications.channels import ChannelSender, signing_secret
from postroad.flow.notifications.own_service import find_own_service
from tests.samples.mail_server import mail_server
from tests.samples.notified_scenario import NotifiedScenario
from tests.samples.push_receiver import Answer, receiver
from tests.samples.subscriptions import subscription

URL = "https://hub.example"


@asynccontextmanager
async def sending(smtp_url: str = "", *, private: bool = True) -> AsyncIterator[NotifiedScenario]:
    """A network that sends over real channels; ``private``: it may send to this machine."""
    scenario = NotifiedScenario([])
    allowed = Permission.of(("127.0.0.0/8",) if private else ())
    async with scenario:
        pusher = HttpPusher(resolver=SystemResolver(), clock=scenario.clock, permission=allowed)
        mailer = SmtpMailer(MailServer.of(smtp_url), "hub@hub.example", scenario.clock) if smtp_url else None
        scenario.channels = ChannelSender(scenario.network, pusher, scenario.secrets, mailer, lambda: URL)
        scenario.start_notifications()
        try:
            yield scenario
        finally:
            await pusher.close()
            if mailer is not None:
                await mailer.close()


async def fail_order(scenario: NotifiedScenario) -> None:
    await scenario.service("Globex/Buyer")
    await scenario.post("Globex/Buyer", "Acme/Supply", "secret content")
    await scenario.fail(await scenario.receive("Acme/Supply"))


async def fault_of(scenario: NotifiedScenario, channel: Channel, address: str, organization: str = "Acme") -> str:
    """Return why a test notification cannot be sent."""
    return await scenario.notifications.send_test(
        Subscription(organization=organization, name="x", channel=channel, address=address)
    )


@pytest.mark.req("O8")
async def test_a_webhook_is_signed_as_pushes_are() -> None:
    with receiver() as server:
        async with sending() as scenario:
            wanted = await scenario.subscribe(channel=Channel.WEBHOOK, address=server.url("/hook"))
            await fail_order(scenario)
            await scenario.wait(20)
            [pushed] = server.at("/hook")
            headers = {name.lower(): value for name, value in pushed.headers.items()}
            secret = signing_secret(scenario.network.tokens, wanted)
            _verify(secret, pushed.body, headers)
            document = json.loads(pushed.body)
            assert (document["event"], document["count"], document["organization"]) == ("dead-letter", 1, "Acme")
            assert pushed.id == f"msg_{document['id']}"
            assert b"secret content" not in pushed.body


def _verify(secret: str, body: bytes, headers: dict[str, str]) -> None:
    """Check the signature with the standard's own library; the clock of the scenario is not the machine's."""
    signed = Webhook(secret).sign(
        headers["webhook-id"], datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC), body.decode()
    )
    assert signed == headers["webhook-signature"]


async def test_slack_gets_text() -> None:
    with receiver() as server:
        async with sending() as scenario:
            await scenario.subscribe(channel=Channel.SLACK, address=server.url("/slack"))
            await fail_order(scenario)
            await scenario.wait(20)
            [pushed] = server.at("/slack")
            text = json.loads(pushed.body)
            assert list(text) == ["text"]
            assert text["text"].startswith("[postroad] Dead letters: Acme/Supply, server-error\n")
            assert "webhook-signature" not in pushed.headers


async def test_a_message_to_a_service_is_posted_once_by_the_networks_own_service() -> None:
    async with sending() as scenario:
        await scenario.service("Acme/Alerts")
        await scenario.subscribe(channel=Channel.MESSAGE, address="Acme/Alerts")
        await fail_order(scenario)
        await scenario.wait(20)
        own = find_own_service(scenario.network.directory)
        assert own is not None
        delivered = await scenario.receive("Acme/Alerts")
        assert (delivered.sender, delivered.type, delivered.topic) == (
            "Network/Notifications", MessageType.NOTIFICATION, "notification.dead-letter",
        )  # fmt: skip
        assert json.loads(delivered.parts[0].data)["causes"][0]["subject"] == "Acme/Supply, server-error"
        await scenario.fail(delivered)
        await scenario.wait(3_600)
        assert await scenario.poll("Acme/Alerts") == []


@pytest.mark.req("O8")
async def test_an_email_without_content_that_can_be_unsubscribed() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await scenario.subscribe(channel=Channel.EMAIL, address="ops@acme.example")
            await fail_order(scenario)
            await scenario.wait(20)
            [mail] = server.boxes.accepted
            assert mail["subject"] == "[postroad] Dead letters: Acme/Supply, server-error"
            assert "secret content" not in server.boxes.text()
            assert mail["list-unsubscribe"].startswith(f"<{URL}/notifications/unsubscribe?token=")


async def test_a_mail_server_that_is_away_and_back_gets_one_email_for_all() -> None:
    with mail_server() as server:
        async with sending(server.url) as scenario:
            await scenario.subscribe(channel=Channel.EMAIL, address="ops@acme.example")
            server.stop()
            await fail_order(scenario)
            await scenario.wait(60)
            health = (await scenario.network.notifications.read_health("acme/ops"))["acme/ops"]
            assert health.failures >= 1
            assert "cannot be used" in health.fault
            server.start()
            await scenario.wait(3_600)
            assert len(server.boxes.accepted) == 1


async def test_why_a_channel_cannot_be_used() -> None:
    async with sending(private=False) as scenario:
        assert "smtp_url" in await fault_of(scenario, Channel.EMAIL, "ops@acme.example")
        assert "cannot be pushed to" in await fault_of(scenario, Channel.WEBHOOK, "http://127.0.0.1:9/")
        assert "cannot be pushed to" in await fault_of(scenario, Channel.SLACK, "https://169.254.169.254/latest")
        assert "does not exist" in await fault_of(scenario, Channel.MESSAGE, "Acme/Nothing")
        await scenario.service("Globex/Desk")
        assert "another organization" in await fault_of(scenario, Channel.MESSAGE, "Globex/Desk")
        assert await fault_of(scenario, Channel.MESSAGE, "Globex/Desk", organization="") == ""
        assert "missing" in await fault_of(scenario, Channel.SLACK, "file:missing")


async def test_a_url_that_is_a_secret_is_read_when_it_is_needed() -> None:
    with receiver() as server:
        server.answers["/down"] = lambda pushed: Answer(status=503)
        async with sending() as scenario:
            scenario.secrets.values["file:slack"] = server.url("/secret-path")
            assert await fault_of(scenario, Channel.SLACK, "file:slack") == ""
            assert len(server.at("/secret-path")) == 1
            assert await fault_of(scenario, Channel.WEBHOOK, server.url("/down")) == "the receiver answered 503"


def test_the_secret_of_a_subscription_is_its_own() -> None:
    tokens = Tokens(bytes(32))
    secrets = {signing_secret(tokens, subscription(name, organization)) for name in "ab" for organization in ("x", "y")}
    assert len(secrets) == 4
