"""A person proves by a password who they are; slowly, for whoever guesses."""

from __future__ import annotations

from starlette.requests import Request

from postroad.console.context import console_of
from postroad.console.guarding import peer_of
from postroad.core.model.caller import Caller

WRONG = "E-mail or password is wrong. Check both, letter by letter; passwords tell small letters from capitals."


async def by_password(request: Request, email: str, password: str) -> Caller:
    secure = request.scope.get("scheme") == "https"
    authenticator = console_of(request).running.authenticator
    return await authenticator.by_password(email, password, peer_of(request), secure=secure)
