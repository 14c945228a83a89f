"""Search: find services, batches and messages by any identifier that the caller knows.

A text can identify a service (its GCID or address), a batch (its id), and messages: by session, token, handle,
control number, a partner's reference or a search key. The console and the API use the same search. Rules: a search
finds nothing that the caller could not open, and gives the same empty result for hidden and missing things. A page
links to a next page only if the caller will find more there, so that the number of other parties' messages stays
hidden.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from postroad.core.audit.history.copy_status import CopyStatus, list_copy_statuses, refused_post_status
from postroad.core.model.batch import Batch
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.history import MessageHistory
from postroad.core.model.snapshot import Directory
from postroad.core.projection.search_keys import is_same_value
from postroad.errors import Refused
from postroad.flow.administration.base import find_visible_service
from postroad.flow.administration.batches import find_visible_batch
from postroad.flow.administration.messages import message_list as reading
from postroad.flow.administration.messages.search_candidates import (
    MAX_SENDERS,
    SearchCandidate,
    find_by_own_handle,
    find_by_value,
    find_exact,
)
from postroad.flow.network import Network

MAX_FOUND = 50
MAX_ASKED = 500  # characters; nothing by which a message is known has more
# Places in the list. What a text means by itself comes first; entry numbers never come near either of these.
FIRST = 1 << 61
LONG_AGO = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundService:
    service: Service
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBatch:
    batch: Batch
    by: tuple[str, ...] = ("id",)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    session: str
    at_us: int
    sender: str
    handle: str
    by: tuple[str, ...]  # what was known of it: session, token, handle …
    recipients: tuple[str, ...] = ()
    state: str = ""  # empty where its copies differ
    whereabouts: tuple[CopyStatus, ...] = ()  # of the only thing that was found
    history: MessageHistory | None = field(default=None, repr=False)
    refusal: reading.Row | None = field(default=None, repr=False)


SearchResult = FoundService | FoundBatch | FoundMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    things: list[SearchResult]
    next_before: int | None = None  # where the next page begins; None at the end

    @property
    def messages(self) -> list[FoundMessage]:
        return [one for one in self.things if isinstance(one, FoundMessage)]


async def find(
    network: Network, caller: Caller, asked: str, before: int = FIRST, limit: int = MAX_FOUND
) -> SearchResults:
    """Return one page of matches: unique ones first, then messages, newest first."""
    things: list[SearchResult] = []
    last = before
    async for place, thing in _everything(network, caller, asked.strip()[:MAX_ASKED], before):
        if len(things) == limit:
            return SearchResults(things=things, next_before=last)
        things.append(thing)
        last = place
    match things:
        case [FoundMessage() as only] if before == FIRST:
            things = [_with_whereabouts(only, network)]
    return SearchResults(things=things)


async def _everything(
    network: Network, caller: Caller, asked: str, before: int
) -> AsyncIterator[tuple[int, SearchResult]]:
    """Yield each match once, with its position in the list."""
    certain = await _certain(network, caller, asked)
    for number, thing in enumerate(certain, 1):
        if FIRST - number < before:
            yield FIRST - number, thing
    known = {one.session for one in certain if isinstance(one, FoundMessage)}
    is_by_value = before <= LONG_AGO - MAX_SENDERS
    async for candidate in find_by_value(network, caller, asked, before):
        is_by_value = True
        one = await _seen(network, caller, candidate, asked) if candidate.session not in known else None
        if one is not None:
            yield candidate.seq, one
    if is_by_value:
        return
    for number, candidate in enumerate(await find_by_own_handle(network, caller, asked), 1):
        one = await _seen(network, caller, candidate, asked) if candidate.session not in known else None
        if one is not None and LONG_AGO - number < before:
            yield LONG_AGO - number, one


async def _certain(network: Network, caller: Caller, asked: str) -> list[SearchResult]:
    """Return the things that the text identifies uniquely; a few at most, the same for every page."""
    messages = [await _seen(network, caller, one, asked) for one in await find_exact(network, caller, asked)]
    found = [_service(network.directory, caller, asked), await _batch(network, caller, asked), *messages]
    return [one for one in found if one is not None]


def _service(directory: Directory, caller: Caller, asked: str) -> FoundService | None:
    try:
        service = find_visible_service(caller, directory, asked)
    except Refused:
        return None
    return FoundService(service=service, by=("GCID" if service.gcid == asked.lower() else "address",))


async def _batch(network: Network, caller: Caller, asked: str) -> FoundBatch | None:
    try:
        return FoundBatch(batch=await find_visible_batch(network, caller, asked.lower()))
    except Refused:
        return None


async def _seen(network: Network, caller: Caller, candidate: SearchCandidate, asked: str) -> FoundMessage | None:
    if candidate.is_refused:
        return await _refused(network, caller, candidate, asked)
    try:
        message = await reading.load_message(network, caller, candidate.session)
    except Refused:
        return await _refused(network, caller, candidate, asked)
    states = {copy.shown_state for copy in message.copies}
    return FoundMessage(
        session=message.session,
        at_us=message.at_us,
        sender=message.sender,
        handle=message.handle,
        by=candidate.by,
        recipients=tuple([copy.recipient for copy in message.copies]),
        state=states.pop() if len(states) == 1 else "",
        history=message,
    )


async def _refused(network: Network, caller: Caller, candidate: SearchCandidate, asked: str) -> FoundMessage | None:
    try:
        row = await reading.find_refusal(network, caller, candidate.session)
    except Refused:
        return None
    if candidate.is_refused and not is_same_value(row["handle"], asked):
        return None  # only the hash is the same
    return FoundMessage(
        session=candidate.session,
        at_us=row["at_us"],
        sender=network.directory.address_of(row["sender"]),
        handle=row["handle"],
        by=candidate.by,
        state="refused",
        refusal=row,
    )


def _with_whereabouts(found: FoundMessage, network: Network) -> FoundMessage:
    if found.history is not None:
        told = list_copy_statuses(found.history, network.directory, network.clock.now_us())
        return replace(found, whereabouts=tuple(told))
    if found.refusal is not None:
        row = found.refusal
        return replace(found, whereabouts=(refused_post_status(row["code"], row["detail"], row["at_us"]),))
    return found
