"""Derives billable uses from journal entries.

Rules: messages count, not attempts. A copy counts when the message is accepted; refused copies never count. An
in-transit service counts when it has returned without an error. The network's own messages count for no one. So each
use depends on one entry, and on nothing later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from postroad.core.model.billing import BilledService, Use, UseKind
from postroad.core.model.journal import BY_NETWORK, Entry, InvocationReturned, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.route import Hop


class _SentCopy(NamedTuple):
    """The facts of a sent copy that its invocations refer to."""

    sender: str
    type: MessageType
    hops: tuple[Hop, ...]


def list_uses(entries: Iterable[tuple[int, Entry]]) -> Iterator[Use]:
    """The uses of a journal's entries, given with their numbers and in their order."""
    sent: dict[tuple[int, int], _SentCopy] = {}
    for seq, entry in entries:
        if isinstance(entry, MessagePosted):
            for ordinal, copy in enumerate(entry.copies):
                if copy.code:
                    continue
                if len(copy.hops) > 1:
                    sent[seq, ordinal] = _SentCopy(entry.sender, entry.type, copy.hops)
                if entry.form != BY_NETWORK:
                    yield _message(seq, ordinal, entry, copy.hops)
        elif isinstance(entry, InvocationReturned) and entry.status is None:
            origin = sent.get((entry.message, entry.copy))
            if origin is not None:
                yield _invocation(seq, entry, origin)


def _message(seq: int, ordinal: int, entry: MessagePosted, hops: tuple[Hop, ...]) -> Use:
    return Use(
        seq=seq,
        ordinal=ordinal,
        at_us=entry.at_us,
        kind=UseKind.MESSAGE,
        type=entry.type,
        size=entry.size,
        originator=entry.sender,
        transit=tuple(_party(hop) for hop in hops[:-1]),
        recipient=_party(hops[-1]),
    )


def _invocation(seq: int, entry: InvocationReturned, origin: _SentCopy) -> Use:
    """Return the use of the in-transit service that has just returned."""
    hops = entry.hops or origin.hops
    return Use(
        seq=seq,
        ordinal=0,
        at_us=entry.at_us,
        kind=UseKind.INVOCATION,
        type=origin.type,
        size=entry.size,
        originator=origin.sender,
        transit=(_party(hops[entry.hop - 1]),),
        recipient=_party(hops[-1]),
    )


def _party(hop: Hop) -> BilledService:
    return BilledService(hop.service, hop.context.payer if hop.context is not None else "")
