"""The AS2 endpoints: partners post messages and MDNs to `/as2/ORGANIZATION` or `/as2`, and receive MDNs.

Rule: the signature identifies the sender; HTTP credentials count only for partners that may send without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import unquote

from postroad.api.error_responses import answer_refused, answer_unavailable
from postroad.api.external_messages import wire_of
from postroad.api.http.error_log import log_error
from postroad.api.http.request import FastReply, FastRequest, FastRoute, FastRoutes, is_always_post
from postroad.api.message_headers import read_message_headers
from postroad.bootstrap.as2 import PATH
from postroad.core.admission.rate_limit import RateState
from postroad.core.codecs.as2 import BuiltMdn
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.caller import Caller
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.as2.receive import As2Request

BELOW = f"{PATH}/*".encode()  # the last part of the path is the name of an organization
FRONT_WRITES = frozenset({"content-type", "date"})


class As2Endpoint:
    def __init__(
        self,
        reception: As2Gateway,
        authenticator: Authenticator,
        rate: Callable[[Caller, int], RateState],
        *,
        message_bytes: int,
    ) -> None:
        self._endpoint = reception
        self._authenticator = authenticator
        self._rate = rate
        self._message_bytes = message_bytes
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> FastRoutes:
        route = FastRoute(self._serve, self._message_bytes, "as2", is_always_post)
        return {(b"POST", PATH.encode()): route, (b"POST", BELOW): route}

    def _serve(self, request: FastRequest, reply: FastReply) -> None:
        task = asyncio.get_running_loop().create_task(self._served(request, reply))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _served(self, request: FastRequest, reply: FastReply) -> None:
        try:
            _answer(reply, await self._endpoint.receive(self._incoming(request)))
        except Refused as refusal:
            answer_refused(reply, JSON_FORM, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, JSON_FORM, unavailable)
        except Exception as error:
            log_error(request.method, request.path, error)
            answer_refused(reply, JSON_FORM, Refused("internal", "The message was not accepted; send it again"))

    def _incoming(self, request: FastRequest) -> As2Request:
        return As2Request(
            headers=wire_of(request).headers,
            body=request.body,
            secure=request.secure,
            authenticated=lambda: self._authenticator.authenticate(read_message_headers(request).proof, request.peer),
            charge=self._charge,
            organization=_organization_in(request.path),
        )

    def _charge(self, caller: Caller) -> None:
        rate = self._rate(caller, 1)
        if not rate.allowed:
            detail = f"Your organization's rate limit is exceeded; try again in {rate.retry_after_s} seconds"
            raise Refused("rate.exceeded", detail, retry_after_s=rate.retry_after_s)


def _organization_in(path: bytes) -> str:
    """Return the organization in the path; empty for the shared address."""
    name = path.removeprefix(PATH.encode()).removeprefix(b"/")
    return unquote(name.decode("latin-1")) or ("" if path == PATH.encode() else "?")


def _answer(reply: FastReply, mdn: BuiltMdn | None) -> None:
    if mdn is None:
        reply(200, b"", b"")
        return
    fields = {name.lower(): value for name, value in mdn.headers}
    headers = [(name.encode(), value.encode()) for name, value in fields.items() if name not in FRONT_WRITES]
    reply(200, mdn.body, fields["content-type"].encode(), headers)
