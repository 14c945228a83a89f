"""A scenario with a mapped service: an enterprise's service that is linked to its account at a provider.

``FIRST`` writes to ``ACCOUNT``, which delivers to ``SECOND``: neither may learn of the other.
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

from postroad.core.model.directory import Accepts, Visibility
from postroad.core.model.message import Cookie, Delivered, MessageType
from postroad.core.model.selector import Selector
from postroad.core.model.trust import Provisioning, token_hash
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from postroad.testing import Scenario
from postroad.testing.scenario import Who

FIRST, ENTERPRISE, ACCOUNT = "First/Out", "Enterprise/Office", "Enterprise/Account"
SECOND, OTHER = "Second/In", "Second/Other"
OWNER = "p@enterprise.example"
ORDER = "one order"
TOKEN = "0123456789abcdef"
COOKIE = Cookie("account 4711")
FIRST_SENDER = ("first", "spy@first", "h-1")  # words by which the provider would recognise the first sender


class AccountScenario(Scenario):
    """``ACCOUNT`` waits for its provider's confirmation."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.service(FIRST)
        await self.service(ENTERPRISE, visibility=Visibility.PRIVATE)
        await self.service(SECOND, accepts=Accepts.PROVISIONED)
        await self.service(OTHER)
        await self.person(OWNER, "Enterprise")
        await self.service(ACCOUNT, visibility=Visibility.PRIVATE, accepts=Accepts.LISTED, accepts_from=("First",))
        await self.begin_provisioning()
        return self

    @property
    def trust(self) -> ProvisioningChanges:
        return ProvisioningChanges(self.network.configuration, self.network.clock)

    async def begin_provisioning(self, *, expires_in_s: int = 3_600) -> None:
        now_us = self.clock.now_us()
        await self.save(
            Provisioning(
                service=self.gcid(ACCOUNT),
                provider=self.gcid(SECOND),
                started_by=OWNER,
                started_at_us=now_us,
                expires_at_us=now_us + expires_in_s * 1_000_000,
                token_hash=token_hash(TOKEN),
            )
        )

    async def confirm(self) -> None:
        """Let the provider confirm the account."""
        await self.trust.confirm(self.profile(SECOND), self.gcid(ACCOUNT), TOKEN, COOKIE)

    async def request(self, sender: Who, *to: str, type: MessageType = MessageType.REQUEST) -> str:
        return (await self.post(sender, to, ORDER, type=type, handle="h-1", topic="order")).session

    async def received(self, receiver: Who, **selected: Any) -> list[Delivered]:
        return await self.poll(receiver, max=10, trace=True, select=Selector(**selected))

    def assert_hides_first_sender(self, *told: Any) -> None:
        """Assert that nothing that the provider was told names the first sender."""
        _assert_hides((*FIRST_SENDER, self.gcid(FIRST)), told)

    def assert_hides_provider(self, *told: Any) -> None:
        """Assert that nothing that the first sender was told names the provider."""
        _assert_hides(("second", self.gcid(SECOND)), told)


def _assert_hides(words: tuple[str, ...], told: tuple[Any, ...]) -> None:
    text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode().casefold()
    for word in words:
        assert word not in text, f"{word!r} is named: {text}"
