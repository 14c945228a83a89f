"""Finds deliveries by their receivers' tokens; no other stage reads tokens.

Rule: a token finds its delivery for the receiver that it was issued to, and nothing for anyone else.
"""

from __future__ import annotations

from collections.abc import Collection
from hmac import compare_digest

from postroad.core.identity.tokens import Tokens
from postroad.core.model.delivery import FoundDelivery, Queued
from postroad.core.model.message import Delivered
from postroad.errors import Refused
from postroad.ports import Desk


class DeliveryLookup:
    """Finds deliveries by token."""

    def __init__(self, desk: Desk, tokens: Tokens) -> None:
        self._desk = desk
        self._tokens = tokens

    async def find(self, token: str, receiver: str) -> FoundDelivery:
        """Return the delivery of a token that was issued to this receiver (GCID); raises Refused if there is none."""
        found = (await self.find_all((token,), receiver)).get(token)
        if found is None:
            raise Refused(
                "reference.invalid",
                (
                    "The reference is not the token of a message that this service received; use the token of the "
                    "delivery"
                ),
                pointer="/reference",
            )
        return found

    async def find_all(self, tokens: Collection[str], receiver: str) -> dict[str, FoundDelivery]:
        """Return the deliveries of this receiver's tokens; unknown tokens and those of other receivers are left out."""
        numbers = {token: number for token in tokens if (number := self._tokens.number(token)) is not None}
        found = await self._desk.find_all(numbers.values())
        return {
            token: one
            for token, number in numbers.items()
            if (one := found.get(number)) is not None
            and one.queued.recipient == receiver
            and self._holds(token, one.queued)
        }

    async def find_of_any(self, text: str) -> Queued | None:
        """Return the delivery of a token of any receiver; None if the text is not a valid token."""
        number = self._tokens.number(text)
        found = await self._desk.find(number) if number is not None else None
        return found.queued if found is not None and self._holds(text, found.queued) else None

    def number(self, delivered: Delivered) -> int:
        """Return the number of a delivery of this network, which its token contains."""
        number = self._tokens.number(delivered.token)
        if number is None:
            raise RuntimeError("a delivery of this network has a token of another")
        return number

    def _holds(self, token: str, queued: Queued) -> bool:
        if queued.token:  # computed at the hand-out
            return compare_digest(token.encode(), queued.token.encode())
        session, hidden = queued.message.session, bool(queued.shown_sender)
        return self._tokens.holds(token, queued.number, session, queued.recipient, hidden=hidden)
