"""What leaves the network: pushes, e-mail, and the resolution of host names."""

from __future__ import annotations

from typing import Protocol

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.mail import Mail


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
