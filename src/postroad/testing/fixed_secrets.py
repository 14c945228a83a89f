"""A base class for secrets in tests; it does not prefetch, because no secret is stored in the network."""

from __future__ import annotations

from postroad.core.model.directory import Service


class FixedSecrets:
    """Implements ``prepare`` and ``check`` of ``postroad.ports.Secrets``; a subclass adds ``secret`` and ``file``."""

    async def prepare(self, service: Service, *references: str) -> None:
        """Do nothing: no secret is prefetched."""

    def check(self, service: Service, reference: str) -> None:
        """Raise Misconfigured if the secret is missing."""
        self.secret(service, reference)

    def secret(self, service: Service, reference: str) -> str:
        raise NotImplementedError
