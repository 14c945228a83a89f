"""A stored client certificate that is about to expire is reported to the organization whose service pushes with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroad.adapters.mail.smtp import MailServer, SmtpMailer
from postroad.bootstrap.expiry_warnings import list_push_certificates
from postroad.bootstrap.notifications import build_machine_sources
from postroad.bootstrap.secrets import open_operator_secrets
from postroad.bootstrap.settings import Settings
from postroad.core.model.directory import PushAuthentication
from postroad.core.model.subscription import Channel
from postroad.flow.administration.secrets import place_for_organization, set_secret
from postroad.flow.notifications.channels import ChannelSender
from postroad.flow.registries.network_secrets import NetworkSecrets
from postroad.testing.clocks import EPOCH_US
from tests.samples.as2_scenario import key_pem
from tests.samples.cms_people import clerk, identity
from tests.samples.mail_server import mail_server
from tests.samples.notified_scenario import NotifiedScenario

PUSH = {"authentication": PushAuthentication.CERTIFICATE, "secret_from": "secret:client"}


async def store_certificate(scenario: NotifiedScenario, settings: Settings, *, days: int) -> NetworkSecrets:
    """Let Acme/Pushed push with a stored certificate that expires in so many days."""
    await scenario.pushed_service("Acme/Pushed", push=PUSH)
    until = datetime.fromtimestamp(EPOCH_US / 1_000_000, UTC) + timedelta(days=days)
    operator = scenario.caller("operator@network.example")
    place = place_for_organization(operator, "Acme", "client")
    await set_secret(scenario.administration, operator, place, key_pem(identity("Client", clerk().key, until=until)))
    return NetworkSecrets(open_operator_secrets(settings), scenario.network.vault)


@pytest.mark.req("O8")
async def test_its_owners_receive_an_email(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with mail_server() as server:
        async with NotifiedScenario() as scenario:
            secrets = await store_certificate(scenario, settings, days=5)
            mailer = SmtpMailer(MailServer.of(server.url), "hub@hub.example", scenario.clock)
            scenario.channels = ChannelSender(
                scenario.network, scenario.receivers, secrets, mailer, lambda: "https://hub.example"
            )
            machine = build_machine_sources(settings, scenario.network, secrets)
            scenario.sources = [one for one in machine if "certificate.expiring" in one.names]
            scenario.start_notifications()
            for name, organization in (("ops", "Acme"), ("others", "Globex"), ("net", "")):
                await scenario.subscribe(name, organization, channel=Channel.EMAIL)
            await scenario.wait(60)
            await mailer.close()
        [mail] = server.boxes.accepted
        assert mail["to"] == "ops@acme.example"
        assert "the certificate secret:client for pushes to Acme/Pushed" in server.boxes.text()
        assert "in 5 days" in server.boxes.text()


async def test_it_is_of_the_services_organization(tmp_path: Path) -> None:
    async with NotifiedScenario() as scenario:
        secrets = await store_certificate(scenario, Settings(data=tmp_path), days=5)
        await secrets.prepare(scenario.profile("Acme/Pushed"))
        [found] = list_push_certificates(scenario.network.directory, secrets)
        assert found.organization == "Acme"
