"""Trials of one organization keep neither messages nor the trials of others waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person, Role
from postroad.errors import PostroadError, Refused
from postroad.flow.concurrency.heavy_work import WAITING_JOBS
from postroad.flow.concurrency.trial_limit import set_trial_organization
from postroad.services.engines import Transformer

SHEET = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    '<xsl:template match="/">{}</xsl:template></xsl:stylesheet>'
)
QUICK = SHEET.format("<done/>")
ENDLESS = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><!-- {} -->'
    '<xsl:template match="/"><xsl:call-template name="on"><xsl:with-param name="n" select="1"/></xsl:call-template>'
    '</xsl:template><xsl:template name="on"><xsl:param name="n"/><xsl:if test="$n gt 0"><xsl:call-template name="on">'
    '<xsl:with-param name="n" select="$n + 1"/></xsl:call-template></xsl:if></xsl:template></xsl:stylesheet>'
)


async def run(transformer: Transformer, organization: str, sheet: str) -> bytes:
    set_trial_organization(Caller(person=Person(email="p@x.example", organization=organization, role=Role.DEVELOPER)))
    return await transformer.transform(sheet, b"<a/>", {})


@pytest.mark.req("Z7")
async def test_endless_trials_delay_neither_messages_nor_others_trials(tmp_path: Path) -> None:
    async with open_network(Settings(data=tmp_path, index="memory")) as running:
        trials, live = running.trials.transformer, running.engines.transformer
        await run(live, "Alpha", QUICK)  # its worker is started
        endless = [asyncio.create_task(run(trials, "Evil", ENDLESS.format(number))) for number in range(4)]
        await asyncio.sleep(0)
        assert b"done" in await run(live, "Alpha", QUICK)
        assert b"done" in await asyncio.create_task(run(trials, "Alpha", QUICK))
        assert [task.done() for task in endless].count(True) == 1  # Alpha's trial came before Evil's second
        for task in endless:
            task.cancel()
        await asyncio.gather(*endless, return_exceptions=True)


@pytest.mark.req("Z7")
async def test_an_organization_has_so_many_trials_waiting_and_no_more(tmp_path: Path) -> None:
    async with open_network(Settings(data=tmp_path, index="memory")) as running:
        trials = running.trials.transformer
        tasks = [asyncio.create_task(run(trials, "Evil", ENDLESS.format(n))) for n in range(WAITING_JOBS + 1)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        refused = [error for task in done if isinstance(error := task.exception(), PostroadError)]
        assert [error.code for error in refused if isinstance(error, Refused)] == ["rate.exceeded"]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
