"""The AS2 partnership of a service, loaded with our private key.

Rule: keys belong to the operator and are read for every message, so that a new one applies at once. A key is parsed
again only when its text has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from postroad.core.mediation.as2_partnerships import Partnership, partner_between, partnership
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured, Refused
from postroad.flow.log_fields import describe_service
from postroad.ports import Secrets

FORGET_EVERY_S = 60.0  # not with each message: all that are awaited are searched

log = logging.getLogger(__name__)


class AwaitedMdns:
    """The messages for which a partner still owes an MDN, as far as this process has sent them.

    Rule: an MDN may come before the response to its push. Those that do not come in time are forgotten, since the message is
    sent again.
    """

    def __init__(self) -> None:
        self._sending: set[str] = set()  # tokens
        self._until: dict[str, float] = {}  # monotonic seconds, by token
        self._forget_at = 0.0

    def begin(self, token: str) -> None:
        """Note that a message is being sent."""
        self._sending.add(token)

    def wait(self, token: str, now: float, waits_s: float) -> None:
        """Note that a message was sent and its MDN is owed, unless that has come meanwhile."""
        if token in self._sending:
            self._sending.discard(token)
            self._until[token] = now + waits_s
        if now >= self._forget_at:
            self.count(now)
            self._forget_at = now + FORGET_EVERY_S

    def end(self, token: str) -> None:
        """Note that no MDN is owed for a message."""
        self._sending.discard(token)
        self._until.pop(token, None)

    def count(self, now: float) -> int:
        """Return how many are awaited."""
        for token in [token for token, until in self._until.items() if until <= now]:
            del self._until[token]
        return len(self._until)


class As2Partners:
    """Loads AS2 partnerships by service or by AS2 names."""

    def __init__(self, secrets: Secrets, receipt_url: Callable[[Service], str]) -> None:
        self._secrets = secrets
        self.awaited = AwaitedMdns()
        self._receipt_url = receipt_url  # where the partner behind a service posts asynchronous MDNs for what we send

    def of(self, service: Service) -> Partnership:
        """Return the service's partnership; raises Misconfigured if our key is missing or not valid.

        A stored key must be prepared before.
        """
        as2 = service.as2
        if as2 is None:
            raise Misconfigured([f"{service.address} has no section as2; add one with the settings of the partnership"])
        key_pem = self._secrets.secret(service, as2.secret_from) if as2.secret_from else ""
        try:
            return partnership(as2, key_pem, self._receipt_url(service))
        except Refused as refused:
            raise Misconfigured([f"{as2.secret_from}: {refused.detail}"]) from None

    async def find_fault(self, service: Service) -> str:
        """Return what is wrong with our side of the partnership, or an empty text."""
        try:
            await self._secrets.prepare(service)
            self.of(service)
        except Misconfigured as fault:
            return str(fault)
        return ""

    async def find(
        self, directory: Directory, partner: str, own: str, organization: str = ""
    ) -> tuple[Service, Partnership]:
        """Return the service that sends under these AS2 names to the organization's address or the shared one.

        Raises Refused if there is no such service, or if our key is not available.
        """
        service = partner_between(directory, partner, own, organization)
        if service is None:
            raise Refused(
                "as2.partner-unknown",
                f"{partner!r} has no partnership with {own!r} here; check both names, including case",
            )
        await self._secrets.prepare(service)
        try:
            return service, self.of(service)
        except Misconfigured as fault:
            log.error(
                "as2.partner_misconfigured: nothing can be received from %s: %s",
                service.address,
                fault,
                extra=describe_service(service),
            )
            raise Refused(
                "as2.unexpected-processing-error",
                "The network's key is not available; try again later, and contact the operator",
            ) from None
