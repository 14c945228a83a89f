"""Dead letters for those who own them: the organization that sent the message, and the one whose service it failed at.

Kept rules: what is asked for is compared with what the caller may know of a letter, never with the letter itself; everybody of
an organization may look, its developers may deal with them (``administration_resending``). Letters come oldest first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from postroad.core.audit.letters import Letter, Sight
from postroad.core.audit.story import Event
from postroad.core.delivery.dead_letters import DeadLetter, Group, grouped
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.part_facts import PartFacts
from postroad.errors import Refused
from postroad.flow import administration_contents as contents
from postroad.flow import administration_messages as messages
from postroad.flow.administration import denied, not_found
from postroad.flow.network import Network

PORTION = 200
SCAN_MOST = 4_000  # letters looked at for one page, however few of them fit
COUNT_MOST = 20_000  # letters looked at to count them
SAMPLE = 5
NUMBER_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which dead letters somebody means; the texts and times are compared with what is told of a letter."""

    service: str = ""  # GCID or address
    sender: str = ""
    cause: str = ""
    topic: str = ""
    session: str = ""
    since_us: int = 0
    until_us: int = 0
    after: int = 0  # a page begins behind this number …
    upto: int = NUMBER_MOST  # … and ends with it
    limit: int = 50

    def fits(self, letter: Letter) -> bool:
        return (
            _is_named(self.service, letter.service, letter.gcid)
            and _is_named(self.sender, letter.sender, letter.sender_gcid)
            and self.cause in ("", letter.cause)
            and self.topic in ("", letter.topic)
            and self.session in ("", letter.session)
            and self.since_us <= letter.failed_at_us
            and (not self.until_us or letter.failed_at_us < self.until_us)
        )


def _is_named(wanted: str, address: str, gcid: str) -> bool:
    return not wanted or wanted == gcid or wanted.casefold() == address.casefold()


class Found(NamedTuple):
    """A letter, and what the caller is told of it."""

    dead: DeadLetter
    letter: Letter


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    found: list[Found]
    next_after: int | None  # where the next page begins; None at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many letters fit, the first few of them, and whether all were looked at."""

    matches: int
    sample: list[Letter]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    letter: Letter
    events: list[Event]
    parts: tuple[PartFacts, ...]


async def browse(network: Network, caller: Caller, wish: Wish) -> Page:
    """One page of letters, oldest first."""
    found: list[Found] = []
    after, scanned = wish.after, 0
    async for one in _letters(network, caller, wish):
        after, scanned = one.dead.queued.number, scanned + 1
        if wish.fits(one.letter):
            found.append(one)
        if len(found) == wish.limit or scanned == SCAN_MOST:
            return Page(found=found, next_after=after)
    return Page(found=found, next_after=None)


async def groups(network: Network, caller: Caller, wish: Wish, most: int = COUNT_MOST) -> tuple[list[Group], bool]:
    """The letters by service and cause, and whether all were looked at."""
    letters, complete = await _all(network, caller, wish, most)
    return grouped(letters), complete


async def count(network: Network, caller: Caller, wish: Wish) -> Counted:
    """What a resend or a drop would mean."""
    check_may_deal(caller)
    letters, complete = await _all(network, caller, wish)
    return Counted(matches=len(letters), sample=letters[:SAMPLE], complete=complete)


async def inspect(network: Network, caller: Caller, shown: int) -> Inspected:
    """A letter with all that happened to it there, and the documents that it has, as far as the caller may know."""
    letter = (await found_by(network, caller, shown)).letter
    if letter.is_kept:
        return Inspected(letter=letter, events=[], parts=())
    history = await messages.history(network, caller, letter.session)
    stops = [stop for message in history.messages for copy in message.copies for stop in copy.stops]
    events = next((stop.events for stop in stops if stop.delivery == letter.id), [])
    return Inspected(letter=letter, events=events, parts=await _parts(network, caller, letter))


async def _parts(network: Network, caller: Caller, letter: Letter) -> tuple[PartFacts, ...]:
    try:
        return await contents.parts_at_stop(network, caller, letter.session, letter.id)
    except Refused:  # an operator sees that and how, not what
        return ()


async def _all(network: Network, caller: Caller, wish: Wish, most: int = COUNT_MOST) -> tuple[list[Letter], bool]:
    letters: list[Letter] = []
    scanned = 0
    async for one in _letters(network, caller, wish):
        scanned += 1
        if scanned > most:
            return letters, False
        if wish.fits(one.letter):
            letters.append(one.letter)
    return letters, True


async def found_by(network: Network, caller: Caller, shown: int) -> Found:
    """The letter that the caller knows by this number."""
    await network.indexed()
    number = network.tokens.veil.real_number(shown) if 0 < shown <= NUMBER_MOST else 0
    dead = await network.dead_letters.find(network.index, number) if number else None
    letter = _sight(network, caller).letter(dead) if dead is not None else None
    if dead is None or letter is None or letter.id != shown:
        raise not_found()
    return Found(dead, letter)


async def _letters(network: Network, caller: Caller, wish: Wish) -> AsyncIterator[Found]:
    """Every letter of the caller's, oldest first, from where the page begins."""
    await network.indexed()
    sight, questions = _sight(network, caller), _questions(network, caller, wish)
    after = wish.after
    while rows := await _portion(network, questions, after):
        for number, row in rows.items():
            after = number
            if number > wish.upto:
                return
            dead = network.dead_letters.from_row(row)
            letter = sight.letter(dead)
            if letter is not None:
                yield Found(dead, letter)


Question = tuple[str, tuple[str, ...]]


def _questions(network: Network, caller: Caller, wish: Wish) -> list[Question]:
    """What to ask the index: for everything, or for what failed at the caller's services and what they sent."""
    if caller.operator:
        return [("dead_letters", ())]
    own = network.directory.services_of(caller.organization) if caller.organization else []
    services = [caller.service] if caller.service is not None else own
    for one in services:  # all that can fit failed at this one, or was sent by it
        if wish.service and _is_named(wish.service, one.address, one.gcid):
            return [("dead_letters_at", (one.gcid,))]
        if wish.sender and _is_named(wish.sender, one.address, one.gcid):
            return [("dead_letters_of", (one.gcid,))]
    return [(name, (one.gcid,)) for one in services for name in ("dead_letters_at", "dead_letters_of")]


async def _portion(network: Network, questions: list[Question], after: int) -> dict[int, tuple[object, ...]]:
    """The next rows by number, each once."""
    rows: dict[int, tuple[object, ...]] = {}
    for name, parameters in questions:
        for row in await network.index.query(name, *parameters, after, PORTION):
            rows[row[3]] = row
    return {number: rows[number] for number in sorted(rows)[:PORTION]}


def _sight(network: Network, caller: Caller) -> Sight:
    owns = None if caller.operator else contents.is_mine(caller, network.directory)
    return Sight(network.directory, network.tokens.veil, owns)


def check_may_deal(caller: Caller) -> None:
    if not caller.has_role(caller.organization, Role.DEVELOPER):
        raise denied("Only a person with the role developer may resend or drop dead letters")
