"""What partners are told of interchanges that came from them, and what they tell of ours, written down.

Kept rules: an answer is posted with the numbers that it uses as one entry, and once for each interchange that came, however often
its delivery comes again; numbers that others were quicker to draw are drawn again. What a partner says is written down once for
each batch that it speaks of, and what speaks of none is written down too. Anybody may call itself by any name in an interchange:
a splitter hears of the batches of its own organization and of no others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postroad.core.interchange.answers import Became, Said, Scope, matched, same_name
from postroad.core.interchange.catalogue import Standard
from postroad.core.interchange.hearing import Heard, heard
from postroad.core.interchange.nouns import Split, Verdict
from postroad.core.interchange.numbering import Drawing, Sides
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Service
from postroad.core.model.interchange import AnsweredMember, Assembled, Filed
from postroad.core.model.journal import InterchangeAnswered
from postroad.core.model.message import Delivered, Part, Property
from postroad.core.projection.keys import unique_keys
from postroad.core.routing.forwards import Forward
from postroad.errors import Unavailable
from postroad.flow.answer import AnswerStage
from postroad.flow.commit import committed
from postroad.flow.forward import ForwardStage
from postroad.flow.interchange_book import InterchangeBook
from postroad.ports import Clock, Desk, Step

DRAWS_MOST = 10  # times that others may draw the same numbers at the same moment
DIGITS_MOST = 18  # of a control number that could be ours
DETAIL_CHARS = 1_000
UNMATCHED_TOLD = 20  # things said of nothing that was sent, in one entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What a partner is to be told of one of its interchanges."""

    receiver: str  # GCID of the service by which it is told
    name: str  # of this answer, among those to one delivery
    standard: Standard
    found: Split
    facts: tuple[tuple[str, str], ...] = ()  # agreed on
    taken: bool = True
    rejected: tuple[int, ...] = ()  # places of members that were not taken though the others were


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What a partner says of interchanges that went to it."""

    standard: str
    ours: str  # as the interchanges name both sides
    partner: str
    said: tuple[Said, ...]


class PartnerStage:
    def __init__(
        self,
        desk: Desk,
        clock: Clock,
        book: InterchangeBook,
        answers: AnswerStage,
        forwarding: ForwardStage,
    ) -> None:
        self._desk = desk
        self._clock = clock
        self._book = book
        self._answers = answers
        self._forwarding = forwarding
        self._drawing = asyncio.Lock()  # one at a time: those of other processes are collisions enough

    async def came_before(self, delivered: Delivered, forwards: Sequence[Forward]) -> list[Forward]:
        """Those of which another delivery has brought the same."""
        queued = (await self._answers.delivery(delivered.token, delivered.recipient_gcid)).queued
        return [one for one in forwards if await self._forwarding.came_before(queued, one)]

    async def tell(self, splitter: Service, delivered: Delivered, telling: Telling) -> None:
        """Send the partner its answer, if there is one to be given; raises Refused where none can be written."""
        caller = Caller(service=splitter, level=AuthenticationLevel.CERTIFICATE, secure=True)
        queued = (await self._answers.delivery(delivered.token, delivered.recipient_gcid)).queued
        async with self._drawing:
            for _ in range(DRAWS_MOST):
                forward = await self._answer(splitter.organization, telling)
                if forward is None or await self._forwarding.tell(caller, delivered, queued, forward) is None:
                    return
        raise Unavailable("network.busy", "Others draw the same control numbers; the partner is told in a moment")

    async def _answer(self, organization: str, telling: Telling) -> Forward | None:
        standard, found = telling.standard, telling.found
        if standard.acknowledge is None or standard.answering is None:
            return None
        envelope = standard.answering(found, self._clock.now_us(), dict(telling.facts))
        sides = Sides(organization, standard.name, envelope.sender, envelope.receiver)
        drawing = await self._book.drawing(sides)
        pieces = standard.acknowledge(found, envelope, drawing, taken=telling.taken, rejected=telling.rejected)
        stream = await asyncio.to_thread(b"".join, pieces)
        return _as_forward(telling, stream, drawing) if stream else None

    async def hear(self, splitter: Service, delivered: Delivered, hearings: Iterable[Hearing]) -> None:
        """Write down what was said in one message: once for each batch that it is about, wherever in the message it stands.

        Batches of other organizations are not spoken of at this splitter, whatever names an interchange has.
        """
        queued = (await self._answers.delivery(delivered.token, delivered.recipient_gcid)).queued
        told = _Told(queued.recipient, queued.message.session, self._clock.now_us())
        of_nothing: list[tuple[Hearing, Said]] = []
        for hearing in _by_sides(hearings):
            sent = _Sent(self._book, splitter.organization, hearing)
            of_nothing += [(hearing, said) for said in await self._hear(told, hearing, sent)]
        if of_nothing:
            await self._write(told.of_nothing(of_nothing))

    async def _hear(self, told: _Told, hearing: Hearing, sent: _Sent) -> tuple[Said, ...]:
        """Gives back what speaks of nothing that was sent."""
        about = {batch: filed async for batch, filed in sent.spoken_of()}
        # There may be a hundred thousand documents, each with a word about it: others are not kept waiting for that.
        by_batch, unmatched = await asyncio.to_thread(_heard_of, hearing.said, about)
        for batch, found in by_batch.items():
            await self._write(told.of_batch(hearing, batch, found))
        return unmatched

    async def _write(self, entry: InterchangeAnswered) -> None:
        await committed(self._desk, Step(entry, None, tuple(unique_keys(entry)), reserve=True))


class _Sent:
    """Interchanges that went to a partner, as far as something is said of them."""

    def __init__(self, book: InterchangeBook, organization: str, hearing: Hearing) -> None:
        self._book, self._said = book, hearing.said
        self._sides = Sides(organization, hearing.standard, hearing.ours, hearing.partner)

    async def spoken_of(self) -> AsyncIterator[tuple[str, tuple[Filed, ...]]]:
        """Batches that may be meant, each with all its documents."""
        seen: set[str] = set()
        async for assembled in self._interchanges():
            if assembled.batch is not None and assembled.batch.id not in seen:
                seen.add(assembled.batch.id)
                yield assembled.batch.id, assembled.filed

    async def _interchanges(self) -> AsyncIterator[Assembled]:
        """By their numbers where these are said; otherwise by the documents, unless an interchange found before has them."""
        held: set[str] = set()
        await self._book.caught_up()
        for scope, number in dict.fromkeys([named for one in self._said if (named := _number_named(one))]):
            found = await self._by_number(self._sides.series(scope), number)
            if found is not None:
                yield found
        for document in dict.fromkeys([same_name(one.document) for one in self._said if not _number_named(one)]):
            found = await self._by_document(document) if document not in held else None
            if found is not None:
                held.update(same_name(name) for one in found.filed for name in one.names)
                yield found

    async def _by_number(self, series: str, number: str) -> Assembled | None:
        """A partner may write anything; numbers that are longer than ours can be are nobody's."""
        could_be = number.isdecimal() and len(number.lstrip("0")) <= DIGITS_MOST
        return await self._book.sent(series, int(number)) if could_be else None

    async def _by_document(self, document: str) -> Assembled | None:
        return await self._book.holding(self._sides.series(Scope.MEMBER), document) if document else None


def _heard_of(
    said: tuple[Said, ...], about: Mapping[str, tuple[Filed, ...]]
) -> tuple[dict[str, Heard], tuple[Said, ...]]:
    """What it comes to for each batch, and what is about none of them."""
    batch_of = {id(one): batch for batch, filed in about.items() for one in filed}
    found = matched(said, [one for filed in about.values() for one in filed])
    became: defaultdict[str, list[Became]] = defaultdict(list)
    for one in found.became:
        became[batch_of[id(one.filed)]].append(one)
    return {batch: heard(of_batch, about[batch]) for batch, of_batch in became.items()}, found.unmatched


def _as_forward(telling: Telling, stream: bytes, drawing: Drawing) -> Forward:
    standard, numbers = telling.standard, drawing.used()
    properties = (
        Property("interchange.standard", standard.name),
        Property("interchange.reference", str(numbers[0].number)),
        Property("interchange.answers", telling.found.reference),
    )
    return Forward(
        telling.receiver,
        telling.name,
        Part(id="answer", content_type=standard.content_type, data=stream),
        alone=True,
        topic="",
        properties=properties,
        assembled=Assembled(standard.name, numbers),
    )


def _by_sides(hearings: Iterable[Hearing]) -> Iterator[Hearing]:
    """All that is said between the same two sides as one, in the order in which it was said."""
    said: dict[tuple[str, str, str], list[Said]] = {}
    for one in hearings:
        said.setdefault((one.standard, one.ours, one.partner), []).extend(one.said)
    for (standard, ours, partner), every in said.items():
        yield Hearing(standard=standard, ours=ours, partner=partner, said=tuple(every))


def _number_named(said: Said) -> tuple[Scope, str] | None:
    """By which number what was sent is looked for: that of the interchange, or of the group; by none where it names none."""
    if said.interchange:
        return Scope.INTERCHANGE, said.interchange.strip()
    return (Scope.GROUP, said.group.strip()) if said.group else None


class _Told:
    """What was said in one message, as the journal keeps it."""

    def __init__(self, splitter: str, session: str, now_us: int) -> None:
        self._splitter, self._session, self._now_us = splitter, session, now_us

    def of_batch(self, hearing: Hearing, batch: str, found: Heard) -> InterchangeAnswered:
        return self._entry(hearing.standard, batch, found.verdict, "; ".join(found.reasons), found.members)

    def of_nothing(self, unmatched: Sequence[tuple[Hearing, Said]]) -> InterchangeAnswered:
        """What speaks of nothing that was sent; a rejection is its verdict, if there is one."""
        first, said = unmatched[0]
        rejected = any(one.verdict is Verdict.REJECTED for _, one in unmatched)
        told: dict[str, list[str]] = {}
        for hearing, one in unmatched[:UNMATCHED_TOLD]:
            told.setdefault(f"from {hearing.partner} to {hearing.ours}", []).append(f"{one.named}: {one.verdict}")
        detail = "; ".join(f"{sides}: {'; '.join(every)}" for sides, every in told.items())
        return self._entry(first.standard, "", Verdict.REJECTED if rejected else said.verdict, detail)

    def _entry(
        self, standard: str, batch: str, verdict: Verdict, detail: str, members: tuple[AnsweredMember, ...] = ()
    ) -> InterchangeAnswered:
        return InterchangeAnswered(
            at_us=self._now_us,
            by=self._splitter,
            session=self._session,
            standard=standard,
            batch=batch,
            verdict=verdict.value,
            members=members,
            detail=detail[:DETAIL_CHARS],
        )
