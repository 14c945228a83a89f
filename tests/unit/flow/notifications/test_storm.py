"""A storm of dead letters, from a journal in files to a mail server: one e-mail for each organization, in little memory."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.adapters.journal.segments import SegmentJournal
from postroad.adapters.mail.smtp import MailServer, SmtpMailer
from postroad.core.model.subscription import Channel
from postroad.flow.notifications.channels import ChannelSender
from postroad.testing.network import MemoryStorage
from tests.samples.mail_server import RunningMailServer, mail_server
from tests.samples.notified_scenario import NotifiedScenario

LETTERS = int(os.environ.get("POSTROAD_TEST_DEAD_LETTERS", "5000"))
TOGETHER = 500
MAX_BYTES = 16 << 20  # 5,000 dead letters as well as 100,000
MAX_STATE_BYTES = 10_000
TICK_S, STORM_S, DIGEST_S = 5, 60, 15 * 60
ACME, GLOBEX = "ops@acme.example", "ops@globex.example"


@asynccontextmanager
async def mailing(folder: Path, server: RunningMailServer) -> AsyncIterator[NotifiedScenario]:
    """A network with its journal in files, whose organizations Acme and Globex are notified by e-mail."""
    journal = SegmentJournal.open(folder / "journal")
    scenario = NotifiedScenario([], storage=MemoryStorage(journal=journal))
    try:
        async with scenario:
            mailer = SmtpMailer(MailServer.of(server.url), "hub@hub.example", scenario.clock)
            scenario.channels = ChannelSender(
                scenario.network, scenario.receivers, scenario.secrets, mailer, lambda: "https://hub.example"
            )
            scenario.start_notifications()
            await scenario.service("Globex/Buyer")
            for organization, address in (("Acme", ACME), ("Globex", GLOBEX)):
                await scenario.subscribe("ops", organization, channel=Channel.EMAIL, address=address)
            await scenario.work()
            yield scenario
            await mailer.close()
    finally:
        await journal.close()


async def fail_orders(scenario: NotifiedScenario, count: int) -> None:
    """Post and fail so many messages; each is a dead letter with an entry of its own."""
    for start in range(0, count, TOGETHER):
        number = min(TOGETHER, count - start)
        await asyncio.gather(*[scenario.post("Globex/Buyer", "Acme/Supply", "x") for _ in range(number)])
        found = await scenario.poll("Acme/Supply", max=number)
        await asyncio.gather(*[scenario.fail(one) for one in found])


def subjects(server: RunningMailServer, address: str) -> list[str]:
    return [str(one["subject"]) for one in server.boxes.to(address)]


@pytest.mark.req("O8")
async def test_a_storm_is_one_email_for_each_organization_and_needs_little_memory(tmp_path: Path) -> None:
    with mail_server() as server:
        async with mailing(tmp_path, server) as scenario:
            await fail_orders(scenario, LETTERS)
            tracemalloc.start()
            try:
                await scenario.wait(20)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            await scenario.wait(3_600)
            assert subjects(server, ACME) == [f"[postroad] Dead letters ({LETTERS}): Acme/Supply, server-error"]
            assert len(subjects(server, GLOBEX)) == 1
            assert len(server.boxes.accepted) == 2
            assert peak < MAX_BYTES, f"{peak >> 10} KiB"
            assert len(await scenario.store.load() or b"") < MAX_STATE_BYTES


@pytest.mark.req("O8")
async def test_a_storm_longer_than_the_gather_time_is_one_email_in_the_digest_time(tmp_path: Path) -> None:
    """It sends the first e-mail while the storm goes on, and counts the rest in the next one."""
    with mail_server() as server:
        async with mailing(tmp_path, server) as scenario:
            steps = STORM_S // TICK_S
            for _ in range(steps):
                await fail_orders(scenario, 20)
                await scenario.work()
                scenario.manual.advance(TICK_S)
            for _ in range((DIGEST_S - STORM_S) // TICK_S):
                await scenario.work()
                assert len(subjects(server, ACME)) == len(subjects(server, GLOBEX)) == 1
                scenario.manual.advance(TICK_S)
            await scenario.wait(60)
            first, last = subjects(server, ACME)
            assert (first, last) == (
                "[postroad] Dead letters (80): Acme/Supply, server-error",
                f"[postroad] Dead letters ({20 * steps - 80}): Acme/Supply, server-error",
            )
