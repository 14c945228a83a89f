"""Allow a post what it takes up, as far as its organization may.

Kept rules: only new messages are held back, since answers, polls and acknowledgements make room; nobody is refused by an old
account: the index is asked first, once for all that wait for it, with a pause between two looks; and only a few posts of an
organization wait for that, so a flood of them is refused at once and holds up nobody.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from postroad.core.admission.allowance import Account, Allowance, Amount, Charge, allowance_of, limits_of
from postroad.core.model.directory import OrganizationLimits, Service
from postroad.core.model.message import PostResult
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.posting import Answer, Answered
from postroad.ports import Clock, IndexReader

# A look takes about 3 s for a million deliveries that wait. While a limit matters there is one every few seconds, since other
# nodes accept posts too; but never more than a twentieth of the time, unless somebody is at the limit.
LOOK_EVERY_S = 5.0
LOOKING_SHARE = 20
IDLE_SHARE = 10  # at the limit, a look that takes 10 ms is followed by 100 without one …
IDLE_MOST_S = 5.0  # … but nobody waits for longer than this
WAITING_MOST = 100  # posts of one organization that wait for a look


class AllowStage:
    def __init__(
        self,
        index: IndexReader,
        directory: Callable[[], Directory],
        clock: Clock,
        indexed: Callable[[], Awaitable[None]],
        usual: OrganizationLimits,
    ) -> None:
        self._index = index
        self._directory = directory
        self._clock = clock
        self._indexed = indexed
        self._usual = usual
        self._account = Account()
        self._looking: asyncio.Task[None] | None = None
        self._looks_again_at = float("-inf")
        self._rests_until = 0.0
        self._waiting: Counter[str] = Counter()

    async def open(self) -> None:
        """Know what waits from the start, where anybody has a limit; later looks are made when one is near."""
        none = OrganizationLimits()
        directory = self._directory()
        limits = [self._usual, *(house.limits for house in directory.organizations.values())]
        if any(one != none for one in limits) or any(one.limits.queued_messages for one in directory.services.values()):
            await self.look()

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def allowance(self, sender: Service) -> Allowance:
        return allowance_of(sender, self._directory(), self._usual)

    def limits(self, organization: str) -> OrganizationLimits:
        """What holds for an organization."""
        return limits_of(organization, self._directory(), self._usual)

    async def usage(self, organization: str) -> Amount:
        """What waits of the organization's messages."""
        await self.look()
        return self._account.amount(organization.casefold())

    def take(self, charge: Charge, allowance: Allowance) -> bool:
        """Take up what the charge says, if it fits as far as we know."""
        if self._clock.monotonic() >= self._looks_again_at:
            self._begin_look()
        fits = not self._account.excess(charge, allowance)
        if fits:
            self._account.begin(charge)
        return fits

    async def take_after_looking(self, charge: Charge, allowance: Allowance) -> None:
        """The same with what the index knows now; raises Refused when it does not fit."""
        if self._waiting[charge.organization] < WAITING_MOST:
            self._waiting[charge.organization] += 1
            try:
                await self.look()
            finally:
                self._waiting[charge.organization] -= 1
        excess = self._account.excess(charge, allowance)
        if excess:
            raise Refused("limit.storage", excess)
        self._account.begin(charge)

    def settling(self, charge: Charge, answered: Answered) -> Answered:
        """The answer, after which the charge is no longer under way."""

        def settled(answer: Answer) -> None:
            self._account.end(charge, written=isinstance(answer, PostResult))
            answered(answer)

        return settled

    async def look(self) -> None:
        """Bring the account up to date; whoever asks meanwhile waits for the same look."""
        await asyncio.shield(self._begin_look())

    def _begin_look(self) -> asyncio.Task[None]:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return self._looking

    async def _look(self) -> None:
        if (rest_s := self._rests_until - self._clock.monotonic()) > 0:
            await asyncio.sleep(rest_s)
        started = self._clock.monotonic()
        charges: list[Charge] | None = None
        self._account.begin_look()
        try:
            await self._indexed()
            services = self._directory().services
            charges = [
                Charge(services[gcid].organization.casefold(), gcid, Amount(*amounts))
                for gcid, *amounts in await self._index.query("held")
                if gcid in services
            ]
        except Unavailable:  # what was known before still holds
            pass
        finally:
            self._account.end_look(charges)
            ended = self._clock.monotonic()
            self._rests_until = ended + min(IDLE_MOST_S, IDLE_SHARE * (ended - started))
            self._looks_again_at = ended + max(LOOK_EVERY_S, LOOKING_SHARE * (ended - started))
            self._looking = None
