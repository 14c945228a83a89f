"""Quotas: limit how many bytes and messages of an organization may wait in the network.

Rules: only new messages are refused, since answers, polls and acknowledgments free space. No post is refused by
outdated totals: the index is queried first, once for all posts that wait for it, with a pause between two queries.
Only a few posts of an organization may wait for that, so a flood of them is refused at once and delays no one.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from postroad.core.admission.quota import Allowance, QuotaAccount, QuotaAmount, QuotaCharge, allowance_of, limits_of
from postroad.core.model.directory import OrganizationLimits, Service
from postroad.core.model.message import PostResult
from postroad.errors import Refused, Unavailable
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages.posting import Answer, Answered

# A refresh takes about 3 s for a million waiting deliveries. Near a limit there is one every few seconds, since other
# nodes accept posts too; it uses at most a twentieth of the time, unless an organization is at its limit.
REFRESH_EVERY_S = 5.0
REFRESH_SHARE = 20
IDLE_SHARE = 10  # at the limit, a refresh that takes 10 ms is followed by a pause of 100 ms …
MAX_IDLE_S = 5.0  # … but at most this long
MAX_WAITING = 100  # posts of one organization that wait for a refresh


class Quota:
    """Reserves quota for new posts, using totals that are refreshed from the index when a limit is near."""

    def __init__(self, plumbing: Plumbing, usual: OrganizationLimits) -> None:
        self._index, self._clock, self._directory = plumbing.index, plumbing.clock, plumbing.directory
        self._wait_until_indexed = plumbing.wait_until_indexed
        self._usual = usual
        self._account = QuotaAccount()
        self._refreshing: asyncio.Task[None] | None = None
        self._refresh_at = float("-inf")
        self._rests_until = 0.0
        self._waiting: Counter[str] = Counter()

    async def open(self) -> None:
        """Load the current totals at the start if any organization has a limit; refresh later when a limit is near."""
        none = OrganizationLimits()
        directory = self._directory()
        limits = [self._usual, *(organization.limits for organization in directory.organizations.values())]
        if any(one != none for one in limits) or any(one.limits.queued_messages for one in directory.services.values()):
            await self.refresh()

    async def close(self) -> None:
        """Stop refreshing."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def allowance(self, sender: Service) -> Allowance:
        return allowance_of(sender, self._directory(), self._usual)

    def limits(self, organization: str) -> OrganizationLimits:
        """Return the limits that apply to an organization."""
        return limits_of(organization, self._directory(), self._usual)

    async def usage(self, organization: str) -> QuotaAmount:
        """Return how many messages and bytes of the organization wait now."""
        await self.refresh()
        return self._account.amount(organization.casefold())

    def reserve(self, charge: QuotaCharge, allowance: Allowance) -> bool:
        """Reserve quota for the charge if it fits by the totals known now."""
        if self._clock.monotonic() >= self._refresh_at:
            self._begin_refresh()
        fits = not self._account.excess(charge, allowance)
        if fits:
            self._account.begin(charge)
        return fits

    async def reserve_after_refresh(self, charge: QuotaCharge, allowance: Allowance) -> None:
        """Reserve quota using fresh index totals; raises Refused if the charge does not fit."""
        if self._waiting[charge.organization] < MAX_WAITING:
            self._waiting[charge.organization] += 1
            try:
                await self.refresh()
            finally:
                self._waiting[charge.organization] -= 1
        excess = self._account.excess(charge, allowance)
        if excess:
            raise Refused("limit.storage", excess)
        self._account.begin(charge)

    def settle_after(self, charge: QuotaCharge, answered: Answered) -> Answered:
        """Wrap ``answered`` so that the charge is no longer counted as pending once the post is answered."""

        def settled(answer: Answer) -> None:
            self._account.end(charge, written=isinstance(answer, PostResult))
            answered(answer)

        return settled

    async def refresh(self) -> None:
        """Refresh the totals from the index; concurrent callers wait for the same refresh."""
        await asyncio.shield(self._begin_refresh())

    def _begin_refresh(self) -> asyncio.Task[None]:
        if self._refreshing is None:
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())
        return self._refreshing

    async def _refresh(self) -> None:
        if (rest_s := self._rests_until - self._clock.monotonic()) > 0:
            await asyncio.sleep(rest_s)
        started = self._clock.monotonic()
        charges: list[QuotaCharge] | None = None
        self._account.begin_refresh()
        try:
            await self._wait_until_indexed()
            services = self._directory().services
            charges = [
                QuotaCharge(services[gcid].organization.casefold(), gcid, QuotaAmount(*amounts))
                for gcid, *amounts in await self._index.query("held")
                if gcid in services
            ]
        except Unavailable:  # the previous totals stay valid
            pass
        finally:
            self._account.end_refresh(charges)
            ended = self._clock.monotonic()
            self._rests_until = ended + min(MAX_IDLE_S, IDLE_SHARE * (ended - started))
            self._refresh_at = ended + max(REFRESH_EVERY_S, REFRESH_SHARE * (ended - started))
            self._refreshing = None
