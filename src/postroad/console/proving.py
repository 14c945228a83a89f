"""A person proves by a password who they are; slowly, for whoever guesses."""

from __future__ import annotations

import base64

from starlette.requests import Request

from postroad.console.context import console_of
from postroad.console.guarding import (
    peer_of,
)
from postroad.core.model.caller import Caller
from postroad.errors import Refused
from postroad.flow.authenticate import Proof

WRONG = "E-mail or password is wrong. Check both, letter by letter; passwords tell small letters from capitals."


async def by_password(request: Request, email: str, password: str) -> Caller:
    pair = base64.b64encode(f"{email}:{password}".encode())
    proof = Proof(b"Basic " + pair, None, request.scope.get("scheme") == "https")
    caller = await console_of(request).running.authenticator.authenticate(proof, peer_of(request))
    if caller.person is None or caller.person.email.casefold() != email.casefold():
        raise Refused("authentication.required", WRONG)
    return caller
