"""A base class for secrets in tests: nothing is stored in the network, so nothing is read ahead."""

from __future__ import annotations

from postroad.core.model.directory import Service


class FixedSecrets:
    """Implements ``prepare`` and ``check`` of ``postroad.ports.Secrets``; a subclass adds ``secret`` and ``file``."""

    async def prepare(self, service: Service, *references: str) -> None:
        """Nothing is read ahead."""

    def check(self, service: Service, reference: str) -> None:
        """Raise Misconfigured if the secret is missing."""
        self.secret(service, reference)

    def secret(self, service: Service, reference: str) -> str:
        raise NotImplementedError
