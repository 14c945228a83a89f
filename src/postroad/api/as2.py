"""The addresses for AS2: partners post messages and MDNs to `/as2/ORGANIZATION` or `/as2`, and are answered with MDNs.

Kept rule: the signature says who it is; HTTP credentials count only for partners that are allowed to send without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import unquote

from postroad.api.answers import answer_refused, answer_unavailable
from postroad.api.asked import asked
from postroad.api.http.mistakes import log_mistake
from postroad.api.http.request import FastRoute, FastRoutes, Reply, Request
from postroad.api.plain_messages import wire_of
from postroad.bootstrap.as2 import PATH
from postroad.core.admission.rate import RateState
from postroad.core.codecs.as2 import BuiltMdn
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.caller import Caller
from postroad.errors import Refused, Unavailable
from postroad.flow.as2_receive import Incoming
from postroad.flow.as2_reception import Reception
from postroad.flow.authenticate import Authenticator

BELOW = f"{PATH}/*".encode()  # with the name of an organization as the last part of the path
FRONT_WRITES = frozenset({"content-type", "date"})


class As2Endpoint:
    def __init__(
        self,
        reception: Reception,
        authenticator: Authenticator,
        rate: Callable[[Caller, int], RateState],
        *,
        message_bytes: int,
    ) -> None:
        self._reception = reception
        self._authenticator = authenticator
        self._rate = rate
        self._message_bytes = message_bytes
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> FastRoutes:
        route = FastRoute(self._serve, self._message_bytes)
        return {(b"POST", PATH.encode()): route, (b"POST", BELOW): route}

    def _serve(self, request: Request, reply: Reply) -> None:
        task = asyncio.get_running_loop().create_task(self._served(request, reply))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _served(self, request: Request, reply: Reply) -> None:
        try:
            _answer(reply, await self._reception.take(self._incoming(request)))
        except Refused as refusal:
            answer_refused(reply, JSON_FORM, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, JSON_FORM, unavailable)
        except Exception as error:
            log_mistake(request.method, request.path, error)
            answer_refused(reply, JSON_FORM, Refused("internal", "The message was not taken; send it again"))

    def _incoming(self, request: Request) -> Incoming:
        return Incoming(
            headers=wire_of(request).headers,
            body=request.body,
            secure=request.secure,
            authenticated=lambda: self._authenticator.authenticate(asked(request).proof, request.peer),
            charge=self._charge,
            organization=_organization_in(request.path),
        )

    def _charge(self, caller: Caller) -> None:
        rate = self._rate(caller, 1)
        if not rate.allowed:
            detail = f"Your organization's allowance is used up; try again in {rate.retry_after_s} seconds"
            raise Refused("rate.exceeded", detail, retry_after_s=rate.retry_after_s)


def _organization_in(path: bytes) -> str:
    """The organization whose address this is; empty for the address that all share."""
    name = path.removeprefix(PATH.encode()).removeprefix(b"/")
    return unquote(name.decode("latin-1")) or ("" if path == PATH.encode() else "?")


def _answer(reply: Reply, receipt: BuiltMdn | None) -> None:
    if receipt is None:
        reply(200, b"", b"")
        return
    fields = {name.lower(): value for name, value in receipt.headers}
    headers = [(name.encode(), value.encode()) for name, value in fields.items() if name not in FRONT_WRITES]
    reply(200, receipt.body, fields["content-type"].encode(), headers)
