"""The secrets that profiles refer to: those of the operator, and those that owners have stored in the network.

Rule: ``secret:NAME`` is the service's own secret NAME, or else its organization's; never another organization's.
"""

from __future__ import annotations

from postroad.core.model.directory import Service
from postroad.errors import Misconfigured
from postroad.flow.registries.named_secrets import STORED, list_references
from postroad.flow.registries.secret_reader import SecretReader
from postroad.ports import Secrets

NO_MASTER_KEY = "this network stores no secrets, because its operator has not set a master key"


class NetworkSecrets:
    """Implements ``postroad.ports.Secrets``."""

    def __init__(self, operators: Secrets, vault: SecretReader | None) -> None:
        self._operators = operators
        self._vault = vault

    async def prepare(self, service: Service, *references: str) -> None:
        """Read what the service refers to; a secret that is missing or damaged is reported when it is used."""
        if self._vault is None:
            return
        for reference in (*references, *[named for named, _ in list_references(service)]):
            if reference.startswith(STORED):
                await self._vault.prepare(service, reference.removeprefix(STORED))

    def secret(self, service: Service, reference: str) -> str:
        if not reference.startswith(STORED):
            return self._operators.secret(service, reference)
        text = self._stored(reference).recall(service, reference.removeprefix(STORED)).strip()
        if not text:
            raise Misconfigured([f"{reference} is empty"])
        return text

    def file(self, service: Service, reference: str) -> str:
        return self._operators.file(service, reference)

    def check(self, service: Service, reference: str) -> None:
        if not reference.startswith(STORED):
            self._operators.check(service, reference)
        else:
            self._stored(reference).check(service, reference.removeprefix(STORED))

    def _stored(self, reference: str) -> SecretReader:
        if self._vault is None:
            raise Misconfigured([f"{reference}: {NO_MASTER_KEY}"])
        return self._vault
