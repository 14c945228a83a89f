"""A simulated delivery: the message, its route, the current hop, and its journey."""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.delivery import is_followed
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import MessagePosted
from postroad.core.model.route import Hop


class TrafficDelivery(Struct, kw_only=True, gc=False):
    """A simulated delivery; ``opening`` is the message that began the journey: this one, or the request to which it responds."""

    message: MessagePosted
    opening: MessagePosted
    message_seq: int
    copy: int
    hop: int
    number: int
    journey: int  # 0 if the journey is only this delivery
    document: bytes | None
    attempt: int = 0

    @property
    def hops(self) -> tuple[Hop, ...]:
        return self.message.copies[self.copy].hops

    @property
    def service(self) -> str:
        return self.hops[self.hop].service

    @property
    def in_transit(self) -> bool:
        return self.hop < len(self.hops) - 1

    @property
    def expires_at_us(self) -> int:
        return self.message.expires_at_us

    def moved(self, seq: int, hop: int) -> TrafficDelivery:
        """Return this copy at the next service, delivered by entry ``seq``."""
        return TrafficDelivery(
            message=self.message,
            opening=self.opening,
            message_seq=self.message_seq,
            copy=self.copy,
            hop=hop,
            number=delivery_number(seq, 0),
            journey=self.journey,
            document=self.document,
        )


def deliveries_of(
    message: MessagePosted, seq: int, document: bytes | None, request: TrafficDelivery | None = None
) -> list[TrafficDelivery]:
    """Return the deliveries that a post begins; a response has the journey of its ``request``."""
    found = []
    for ordinal, copy in enumerate(message.copies):
        if copy.code:
            continue
        number = delivery_number(seq, ordinal)
        journey = number if is_followed(message, ordinal) else 0
        if message.answers is not None:
            journey = message.answers.journey
        found.append(
            TrafficDelivery(
                message=message,
                opening=request.opening if request is not None else message,
                message_seq=seq,
                copy=ordinal,
                hop=0,
                number=number,
                journey=journey,
                document=document,
            )
        )
    return found
