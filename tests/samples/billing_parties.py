"""A small network for tests of billing: who owns what, and entries as the journal would have them."""

from __future__ import annotations

from datetime import UTC, datetime

from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.model.route import Context, Copy, Hop

BUYER, SELLER, XSLT, ZIP = "a" * 16, "b" * 16, "c" * 16, "d" * 16
OWNERS = {BUYER: "MyBiz", SELLER: "Acme", XSLT: "Transmatics", ZIP: "XpandiCo"}


def us(text: str) -> int:
    """A moment, in UTC, as microseconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def hop(service: str, payer: str = "") -> Hop:
    return Hop(service, context=Context(1, payer=payer) if payer else None)


def posted(
    *routes: tuple[Hop, ...],
    at: str = "2026-10-05T12:00:00",
    size: int = 1_500,
    type: MessageType = MessageType.NOTIFICATION,
    sender: str = BUYER,
    form: str = "json",
    code: str = "",
) -> MessagePosted:
    copies = tuple(Copy(f"to {number}", hops, code) for number, hops in enumerate(routes))
    return MessagePosted(us(at), "s", "s", sender, type, "", size, form, 0, 1, (), copies)


def returned(
    message: int, copy: int, hop: int, *, at: str = "2026-10-05T13:00:00", size: int = 900, failed: bool = False,
    hops: tuple[Hop, ...] = (),
) -> InvocationReturned:  # fmt: skip
    status = Status("broken", "") if failed else None
    return InvocationReturned(
        us(at), 1, "s", "s", XSLT, message, copy, hop, SELLER, size, 0, (), hops=hops, status=status
    )


def numbered(*entries: Entry) -> list[tuple[int, Entry]]:
    return list(enumerate(entries, 1))
