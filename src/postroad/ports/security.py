"""Passwords and secrets."""

from __future__ import annotations

from typing import Protocol

from postroad.core.model.directory import Service


class Passwords(Protocol):
    """Slow hashes for passwords chosen by people."""

    async def hash(self, password: str) -> str: ...

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Return True if the password belongs to the hash; takes as long for None, and returns False."""
        ...


class Secrets(Protocol):
    """The secrets that service profiles refer to; services cannot name each other's secrets."""

    async def prepare(self, service: Service, *references: str) -> None:
        """Read the stored secrets that the service refers to, so that ``secret`` returns the versions in force now.

        ``references`` are further ones that its profile does not contain.
        """
        ...

    def secret(self, service: Service, reference: str) -> str:
        """Resolve ``env:NAME``, ``file:PATH`` or ``secret:NAME``; raises Misconfigured if it is missing or not the service's.

        ``secret:NAME`` needs ``prepare`` before.
        """
        ...

    def file(self, service: Service, reference: str) -> str:
        """Return the path that ``file:PATH`` refers to; raises Misconfigured like ``secret``."""
        ...

    def check(self, service: Service, reference: str) -> None:
        """Raise Misconfigured if the secret is missing, without reading a stored one."""
        ...
