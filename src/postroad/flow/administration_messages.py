"""Reading what became of messages, for those who took part in them and for nobody else.

Kept rules: an organization's people see what its services sent and received; a service sees its own; an operator sees that and
how, everywhere. What messages consisted of is read in ``administration_contents``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from msgspec.structs import replace

from postroad.core.audit.refused_story import refused_history
from postroad.core.audit.story import History, MessageHistory
from postroad.core.identity.veil import Veil, is_pseudonym
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import State
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import InvocationReturned, MessagePosted, decode
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import QUERIES
from postroad.errors import Refused
from postroad.flow.administration import not_found, visible_service
from postroad.flow.administration_services import owned_services
from postroad.flow.administration_waiting import mark_waiting
from postroad.flow.context import in_seconds
from postroad.flow.network import Network
from postroad.flow.refusing import load_refusal

SCAN_MOST = 4_000  # rows looked at for one page, however few of them fit the filters
PORTION = 200  # rows asked for at once, of all services together …
PORTION_LEAST = 5  # … and of each
NEWEST = 1 << 62

Row = dict[str, Any]
Fates = list[tuple[str, int]]  # the states of its copies, and how many are in each


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which messages somebody wants to see."""

    box: str  # sent, received or refused
    service: str = ""
    type: str = ""
    topic: str = ""
    state: str = ""
    before: int = NEWEST
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: list[Row]
    next_before: int | None  # where the next page begins; None at the end


BOXES = {"sent": ("sent_by", "seq"), "received": ("received_by", "number"), "refused": ("refused_by", "seq")}


async def browse(network: Network, caller: Caller, wish: Wish) -> Page:
    """One page of messages, newest first."""
    await network.indexed()
    services = _services(caller, network.directory, wish.service)
    query, order = BOXES[wish.box]
    rows: list[Row] = []
    before, scanned, read = wish.before, 0, _HeaderReader(network.tokens.veil)
    async for found in _newest(network, query, order, services, before):
        if len(rows) >= wish.limit or scanned == SCAN_MOST:
            return Page(rows=_by_shown_time(rows), next_before=before)
        before = found[order]
        scanned += 1
        row = await _with_refusal(network, found) if wish.box == "refused" else read.readable(found)
        if _fits(row, wish):
            rows.append(row)
    return Page(rows=_by_shown_time(rows), next_before=None)


def _by_shown_time(rows: list[Row]) -> list[Row]:
    """The rows with each hidden message behind all others of its second.

    Else its place among messages with exact times would tell its own. Pages are cut by the order of arrival, in which a mailbox
    hands messages out as well.
    """
    hidden = [row for row in rows if "message" in row and is_pseudonym(row["message"].session)]
    if not hidden:
        return rows
    shown = [row for row in rows if row not in hidden]
    for row in sorted(hidden, key=lambda row: (row["message"].at_us, row["message"].session)):
        older = (place for place, other in enumerate(shown) if other["message"].at_us < row["message"].at_us)
        shown.insert(next(older, len(shown)), row)
    return shown


async def _newest(network: Network, query: str, order: str, services: list[str], before: int) -> AsyncIterator[Row]:
    """The rows of all services, newest first, with headers as they are stored.

    A service is asked again only when all that it has given is told, so that others, however many, cost nothing more.
    """
    columns = QUERIES[query][1]
    place = columns.index(order)
    size = max(PORTION_LEAST, PORTION // max(1, len(services)))
    first = [(gcid, await network.index.query(query, gcid, before, size)) for gcid in services]
    given = [_Given(-rows[0][place], gcid, rows[::-1], len(rows) == size) for gcid, rows in first if rows]
    heapify(given)
    while given:
        _, gcid, rows, has_more = heappop(given)
        row = rows.pop()
        yield dict(zip(columns, row, strict=True))
        if not rows and has_more:
            rows = (await network.index.query(query, gcid, row[place], size))[::-1]
            has_more = len(rows) == size
        if rows:
            heappush(given, _Given(-rows[-1][place], gcid, rows, has_more))


class _Given(NamedTuple):
    """What a service has given and is not told yet; sorts by its newest."""

    place: int
    gcid: str
    rows: list[tuple[Any, ...]]  # the newest last
    has_more: bool


async def received(network: Network, number: int) -> Row | None:
    """One delivery as the list of what its service received has it; whose that is, is for whoever asks to know."""
    columns = QUERIES["delivery"][1]
    rows = await network.index.query("delivery", number)
    return _HeaderReader(network.tokens.veil).readable(dict(zip(columns, rows[0], strict=True))) if rows else None


class _HeaderReader:
    """Reads the headers of rows, and each only once: a message to very many has a long one, and a row for each of them."""

    def __init__(self, veil: Veil) -> None:
        self._veil = veil
        self._known: dict[bytes, Any] = {}

    def readable(self, row: Row) -> Row:
        """The row with what its header says, where it has one, as whoever sent or received it was told."""
        if "header" in row:
            row["message"] = self._read(row["header"])
        if "content_facts" in row:
            row["message"] = _as_told(row["message"], row, self._veil)
        return row

    def _read(self, header: bytes) -> Any:
        if header not in self._known:
            self._known[header] = decode(header)
        return self._known[header]


def _as_told(message: MessagePosted, row: Row, veil: Veil) -> MessagePosted:
    """The message as its receiver knows it: one that is isolated knows whoever isolates it as the sender."""
    if message.shown_sender:
        return replace(message, sender=message.shown_sender)
    changed = decode(row["content_facts"]) if row["content_facts"] else None
    hops = (changed.hops if isinstance(changed, InvocationReturned) else ()) or message.copies[row["copy"]].hops
    context = hops[row["hop"]].context
    if context is None or not context.shown_sender:
        return message
    session, at_us = veil.session(message.session), in_seconds(message.at_us)
    return replace(message, session=session, at_us=at_us, sender=context.shown_sender, handle="")


def _services(caller: Caller, directory: Directory, named: str) -> list[str]:
    """GCIDs of the services whose messages are wanted and may be seen."""
    if named:
        service = visible_service(caller, directory, named)
        own = (
            service.gcid == caller.service.gcid
            if caller.service
            else service.organization.casefold() == caller.organization.casefold()
        )
        if not own and not caller.operator:
            raise not_found()
        return [service.gcid]
    if caller.service is not None:
        return [caller.service.gcid]
    return [service.gcid for service in owned_services(caller, directory)]


def _fits(row: Row, wish: Wish) -> bool:
    message: MessagePosted | None = row.get("message")
    if wish.type and (message is None or message.type.value != wish.type):
        return False
    if wish.topic and (message is None or message.topic != wish.topic):
        return False
    if wish.state:
        state = State(row["state"]).name.lower() if "state" in row else ("refused" if message is None else "accepted")
        return state == wish.state
    return True


async def history(network: Network, caller: Caller, session: str) -> History:
    """The whole transaction, as far as the caller took part in it."""
    if not SESSION.match(session):
        raise not_found()
    service = caller.service.gcid if caller.service is not None else ""
    found = await network.trace(session, None if caller.operator else caller.organization, service)
    if found is None:
        raise not_found()
    if caller.service is not None:
        _cut_to_service(found, caller.service.address, caller.service.gcid)
    if not any(message.session == found.asked for message in found.messages):
        raise not_found()
    await mark_waiting(network, found.messages)
    return found


def _cut_to_service(found: History, address: str, gcid: str) -> None:
    for message in found.messages:
        if message.sender != address:
            for copy in message.copies:
                copy.stops = [stop for stop in copy.stops if stop.gcid == gcid or stop.invoker == address]
                copy.route = [stop.service for stop in copy.stops]
            message.copies = [copy for copy in message.copies if copy.stops]
    found.messages = [message for message in found.messages if message.sender == address or message.copies]


async def message(network: Network, caller: Caller, session: str) -> MessageHistory:
    found = await history(network, caller, session)
    return next(item for item in found.messages if item.session == found.asked)


async def fates(network: Network, caller: Caller, sessions: Iterable[str]) -> dict[str, Fates]:
    """What has become of messages that the caller may see; those of one transaction are looked up once."""
    found: dict[str, Fates] = {}
    for session in sessions:
        if session not in found:
            told = await history(network, caller, session)
            found |= {one.session: fates_of(one) for one in told.messages}
    return found


def fates_of(message: MessageHistory) -> Fates:
    return list(Counter(copy.shown_state for copy in message.copies).items())


async def refusal(network: Network, caller: Caller, session: str) -> Row:
    """A refused post, for the one who tried."""
    await network.indexed()
    for row in await network.index.query("refused", session) if SESSION.match(session) else []:
        found = dict(zip(QUERIES["refused"][1], row, strict=True))
        if caller.operator or found["sender"] in _services(caller, network.directory, ""):
            return await _with_refusal(network, found)
    raise not_found()


async def _with_refusal(network: Network, row: Row) -> Row:
    """Return the row of a rejected post with its entry, which knows more than the index."""
    return row | {"refusal": await load_refusal(network.journal, row["seq"])}


async def trace(network: Network, caller: Caller, session: str) -> History:
    """Return the history of a message; of a rejected post, what is known of it, for the sender's organization."""
    try:
        return await history(network, caller, session)
    except Refused as unknown:
        if unknown.code != "not-found":
            raise
    row = await refusal(network, caller, session)
    return refused_history(row["seq"], row["refusal"], network.directory)


async def waiting(network: Network, caller: Caller) -> list[tuple[str, int]]:
    """Addresses of the caller's services and how much waits in their mailboxes."""
    await network.indexed()
    counts = dict(await network.index.query("mailboxes"))
    directory = network.directory
    return [(directory.services[gcid].address, counts.get(gcid, 0)) for gcid in _services(caller, directory, "")]
