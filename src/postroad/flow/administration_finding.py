"""Where is my message? One question for whatever somebody knows of it, for the pages of people and for programs alike.

A text can mean a service (its GCID or address), a batch (its id), and messages: by session, token, handle, control number, a
partner's reference, a business key. Kept rules: nobody finds what they could not open; whoever may not know of something is told
that there is nothing. A page is followed by another only where the caller finds more on it, so that not even the number of what
others have can be seen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from postroad.core.audit.story import MessageHistory
from postroad.core.audit.whereabouts import Whereabouts, whereabouts, whereabouts_of_refused
from postroad.core.model.batch import Batch
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.core.projection.found_by import is_same
from postroad.errors import Refused
from postroad.flow import administration_messages as reading
from postroad.flow.administration import visible_service
from postroad.flow.administration_batch_reading import visible_batch
from postroad.flow.administration_candidates import SENDERS_MOST, Candidate, by_itself, by_own_handle, by_value
from postroad.flow.network import Network

FOUND_MOST = 50
ASKED_MOST = 500  # characters; nothing by which a message is known has more
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
    whereabouts: tuple[Whereabouts, ...] = ()  # of the only thing that was found
    history: MessageHistory | None = field(default=None, repr=False)
    refusal: reading.Row | None = field(default=None, repr=False)


Finding = FoundService | FoundBatch | FoundMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    things: list[Finding]
    next_before: int | None = None  # where the next page begins; None at the end

    @property
    def messages(self) -> list[FoundMessage]:
        return [one for one in self.things if isinstance(one, FoundMessage)]


async def find(network: Network, caller: Caller, asked: str, before: int = FIRST, limit: int = FOUND_MOST) -> Findings:
    """One page of what the caller may see and the text means: what it means by itself, then messages, newest first."""
    things: list[Finding] = []
    last = before
    async for place, thing in _everything(network, caller, asked.strip()[:ASKED_MOST], before):
        if len(things) == limit:
            return Findings(things=things, next_before=last)
        things.append(thing)
        last = place
    match things:
        case [FoundMessage() as only] if before == FIRST:
            things = [_with_whereabouts(only, network)]
    return Findings(things=things)


async def _everything(network: Network, caller: Caller, asked: str, before: int) -> AsyncIterator[tuple[int, Finding]]:
    """Each thing once, with its place in the list."""
    certain = await _certain(network, caller, asked)
    for number, thing in enumerate(certain, 1):
        if FIRST - number < before:
            yield FIRST - number, thing
    known = {one.session for one in certain if isinstance(one, FoundMessage)}
    is_by_value = before <= LONG_AGO - SENDERS_MOST
    async for candidate in by_value(network, caller, asked, before):
        is_by_value = True
        one = await _seen(network, caller, candidate, asked) if candidate.session not in known else None
        if one is not None:
            yield candidate.seq, one
    if is_by_value:
        return
    for number, candidate in enumerate(await by_own_handle(network, caller, asked), 1):
        one = await _seen(network, caller, candidate, asked) if candidate.session not in known else None
        if one is not None and LONG_AGO - number < before:
            yield LONG_AGO - number, one


async def _certain(network: Network, caller: Caller, asked: str) -> list[Finding]:
    """What the text means by itself; at most a handful, and the same for every page."""
    messages = [await _seen(network, caller, one, asked) for one in await by_itself(network, caller, asked)]
    found = [_service(network.directory, caller, asked), await _batch(network, caller, asked), *messages]
    return [one for one in found if one is not None]


def _service(directory: Directory, caller: Caller, asked: str) -> FoundService | None:
    try:
        service = visible_service(caller, directory, asked)
    except Refused:
        return None
    return FoundService(service=service, by=("GCID" if service.gcid == asked.lower() else "address",))


async def _batch(network: Network, caller: Caller, asked: str) -> FoundBatch | None:
    try:
        return FoundBatch(batch=await visible_batch(network, caller, asked.lower()))
    except Refused:
        return None


async def _seen(network: Network, caller: Caller, candidate: Candidate, asked: str) -> FoundMessage | None:
    if candidate.is_refused:
        return await _refused(network, caller, candidate, asked)
    try:
        message = await reading.message(network, caller, candidate.session)
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


async def _refused(network: Network, caller: Caller, candidate: Candidate, asked: str) -> FoundMessage | None:
    try:
        row = await reading.refusal(network, caller, candidate.session)
    except Refused:
        return None
    if candidate.is_refused and not is_same(row["handle"], asked):
        return None  # only the hash is the same
    sender = network.directory.services.get(row["sender"])
    return FoundMessage(
        session=candidate.session,
        at_us=row["at_us"],
        sender=sender.address if sender is not None else row["sender"],
        handle=row["handle"],
        by=candidate.by,
        state="refused",
        refusal=row,
    )


def _with_whereabouts(found: FoundMessage, network: Network) -> FoundMessage:
    if found.history is not None:
        told = whereabouts(found.history, network.directory, network.clock.now_us())
        return replace(found, whereabouts=tuple(told))
    if found.refusal is not None:
        row = found.refusal
        return replace(found, whereabouts=(whereabouts_of_refused(row["code"], row["detail"], row["at_us"]),))
    return found
