"""Contract of desks under load: counts of waiting deliveries, and which organization's posts are refused first."""

from __future__ import annotations

import pytest

from postroad.errors import Unavailable
from postroad.ports import Committed, JournalStep, StepOutcome
from postroad.testing.contracts.desk.desk_under_test import BUYER, CARRIER, SELLER, DeskHarness, DeskUnderTest

MIB = 1 << 20


class OverloadContract(DeskUnderTest):
    async def test_waiting_deliveries_are_counted_for_each_service(self, network: DeskHarness) -> None:
        assert network.desk.waiting(SELLER) == 0
        for _ in range(3):
            await network.post(network.message())
        await network.post(network.message(to=(SELLER, CARRIER)))
        assert (network.desk.waiting(SELLER), network.desk.waiting(CARRIER)) == (4, 1)
        one, two = (await network.poll())[:2]
        assert network.desk.waiting(SELLER) == 4  # leased deliveries count
        await network.acknowledge(one.number, two.number)
        assert network.desk.waiting(SELLER) == 2
        await network.acknowledge(one.number)
        await network.desk.count_waiting()
        assert (network.desk.waiting(SELLER), network.desk.waiting(BUYER)) == (2, 0)

    async def test_the_count_survives_a_restart(self, network: DeskHarness) -> None:
        for _ in range(3):
            await network.post(network.message())
        [first, *_] = await network.poll()
        network.desk = await self.restart(network.desk)
        assert network.desk.waiting(SELLER) == 3
        await network.acknowledge(first.number)
        await network.desk.count_waiting()
        assert network.desk.waiting(SELLER) == 2

    async def test_the_organization_with_the_most_waiting_bytes_is_refused_first(self, network: DeskHarness) -> None:
        outcomes: list[StepOutcome] = []

        def post(organization: str, size: int = MIB) -> None:
            step = JournalStep(network.message(to=("?",)), bytes(size), organization=organization)
            network.desk.submit(step, outcomes.append)

        def flood() -> None:
            for _ in range(200):
                post("Flooder")

        desk = network.desk
        async with self.stalled(desk):
            with pytest.raises(Unavailable, match=r"network\.busy.*Flooder"):
                flood()
            assert desk.waiting_bytes_most / 2 < desk.waiting_bytes < desk.waiting_bytes_most / 2 + 2 * MIB
            for _ in range(10):
                post("Village")
            with pytest.raises(Unavailable, match=r"network\.busy"):
                post("Flooder", 1)
            post("Village")
        await network.post(network.message())
        assert len(outcomes) >= 11
        assert all(isinstance(outcome, Committed) for outcome in outcomes)
        post("Flooder")  # no delivery waits
