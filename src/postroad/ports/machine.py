"""What the machine provides: time, randomness, memory, passwords, secrets, and what leaves the network."""

from __future__ import annotations

from typing import Protocol

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.directory import Service
from postroad.core.model.mail import Mail


class Clock(Protocol):
    """Wall-clock and monotonic time; a simulator supplies its own."""

    def now_us(self) -> int:
        """Wall-clock time in microseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds, for leases and timeouts."""
        ...


class Randomness(Protocol):
    """Random bytes fit for secrets."""

    def bytes(self, count: int) -> bytes: ...


class MemoryGauge(Protocol):
    """Measures the memory of this process."""

    def used_share(self) -> float | None:
        """Return the used share of the memory that the process may use; None if that cannot be measured."""
        ...

    def release(self) -> None:
        """Begin to return freed memory to the system, where that is possible; does not wait for it."""
        ...


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


class Resolver(Protocol):
    """Resolves host names to addresses."""

    async def addresses(self, host: str) -> list[str]:
        """Return all addresses of the name, best first; empty when the name does not exist."""
        ...

    def close(self) -> None: ...


class Pusher(Protocol):
    """Delivers messages to the servers of services."""

    async def push(self, request: PushRequest) -> PushAnswer:
        """Make one attempt within the request's time limit. Every response is a result, never an exception."""
        ...

    async def close(self) -> None: ...


class Mailer(Protocol):
    """Hands e-mail to a mail server."""

    async def send(self, mail: Mail) -> str:
        """Send one e-mail; returns why the server did not accept it, or an empty string."""
        ...

    async def close(self) -> None: ...
