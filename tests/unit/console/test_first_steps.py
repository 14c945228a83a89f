"""Whoever is new is told what to do next, by what they may do and have done."""

from __future__ import annotations

import pytest

from postroad.console.pages.home import list_first_steps
from postroad.core.model.directory import Role
from postroad.testing.network import memory_network


@pytest.mark.req("C1")
async def test_steps_lead_to_the_first_message_and_end_there() -> None:
    async with memory_network() as running:
        oak = await running.register("Oak/orders")
        assert oak.service is not None
        owner = await running.enroll("o@oak.example", organization="Oak", role=Role.OWNER)
        viewer = await running.enroll("v@oak.example", organization="Oak", role=Role.VIEWER)
        new = await running.enroll("n@new.example", organization="New", role=Role.DEVELOPER)
        operator = await running.enroll("op@network.example", operator=True)
        directory = running.network.directory
        assert [(one.path, one.is_done) for one in list_first_steps(new, directory, has_messages=False)] == [
            ("/services/new", False), ("/services/new", False), ("/directory", False), ("/live", False),
        ]  # fmt: skip
        first = f"/services/{oak.service.gcid}"
        for has_key in (False, True):
            steps = list_first_steps(owner, running.network.directory, has_messages=False)
            assert [(one.path, one.is_done) for one in steps[:2]] == [("/services/new", True), (first, has_key)]
            await running.key_for(oak)
        assert list_first_steps(viewer, directory, has_messages=False)[0].title == "Have a service created"
        assert list_first_steps(owner, directory, has_messages=True) == []
        assert list_first_steps(operator, directory, has_messages=False) == []
