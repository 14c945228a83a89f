"""The contract of every codec: Wire ⇄ Message, and the requests and responses around it.

- Pure: the same bytes give the same message, the same message the same bytes. Times, ids and boundaries are
  arguments.
- On any input whatever a decoder returns or raises ``Refused`` with a ``wire.*`` code and, where there is one, a
  pointer to the offending place (JSON pointer, XML path or line). Nothing else ever comes out of it.
- Time and memory grow at most linearly with the input and stop at ``WireLimits``.
- The bytes of a part come out as they went in. ``decode(encode(x)) == x`` for posts, deliveries, requests and
  answers.
- A decoder does not judge what a message means (is the recipient known, does a response have a reference): admission
  does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused


class Codec(Protocol):
    """One wire form. The server decodes requests and encodes answers; the client does the opposite."""

    @property
    def media_type(self) -> str:
        """The content type of what ``encode_*`` makes, except for refusals."""
        ...

    @property
    def refusal_media_type(self) -> str: ...

    def decode_post(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Message: ...
    def encode_post(self, message: Message) -> bytes: ...
    def encode_result(self, result: PostResult) -> bytes: ...
    def decode_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PostResult: ...

    def encode_poll(self, request: PollRequest) -> bytes: ...
    def decode_poll(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PollRequest: ...
    def encode_delivered(self, messages: Sequence[Delivered]) -> bytes: ...
    def decode_delivered(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Delivered]: ...

    def encode_settlement(self, settlement: Settlement) -> bytes: ...
    def decode_settlement(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Settlement: ...
    def encode_settlement_result(self, result: SettlementResult) -> bytes: ...
    def decode_settlement_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> SettlementResult: ...

    def encode_refusal(
        self, code: str, title: str, detail: str, pointer: str = "", session: str = "", status: int = 400
    ) -> bytes: ...
    def decode_refusal(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Refused: ...


def refusal_bytes(codec: Codec, refused: Refused) -> bytes:
    """A refusal in a codec's form, with the title and status that belong to its code."""
    status, title = REFUSALS[refused.code]
    return codec.encode_refusal(refused.code, title, refused.detail, refused.pointer, refused.session, status)
