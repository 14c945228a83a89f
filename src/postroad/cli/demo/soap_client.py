"""A minimal SOAP client: writes envelopes, posts them to ``/soap`` and reads the responses."""

from __future__ import annotations

from types import TracebackType

import httpx2

from postroad.core.codecs.soap import SOAP11
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement

GRACE_S = 10.0


class SoapClient:
    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": SOAP11.media_type, "SOAPAction": '""'}
        self._http = httpx2.AsyncClient(base_url=url, headers=headers)

    async def __aenter__(self) -> SoapClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def post(self, message: Message) -> PostResult:
        return SOAP11.decode_result(await self._answer(SOAP11.encode_post(message)))

    async def poll(self, most: int = 10, *, wait_s: float = 0.0) -> list[Delivered]:
        request = SOAP11.encode_poll(PollRequest(max=most, wait_s=wait_s))
        return SOAP11.decode_delivered(await self._answer(request, wait_s))

    async def acknowledge(self, *messages: Delivered) -> None:
        settlement = Settlement(tokens=tuple(delivered.token for delivered in messages))
        SOAP11.decode_settlement_result(await self._answer(SOAP11.encode_settlement(settlement)))

    async def _answer(self, envelope: bytes, wait_s: float = 0.0) -> bytes:
        """Return the envelope of the answer; reading it raises the refusal in a fault."""
        answer = await self._http.post("/soap", content=envelope, timeout=wait_s + GRACE_S)
        return answer.content
