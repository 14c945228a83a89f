"""The state of a random journal: its entries so far, and what can happen next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from postroad.core.model.batch import Batch
from postroad.core.model.delivery import is_followed
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry, MessagePosted
from postroad.core.model.route import Hop
from postroad.testing.random_journals.values import Draw


@dataclass(slots=True)
class WaitingDelivery:
    """A delivery that later random events may use."""

    number: int
    message_seq: int
    message: MessagePosted
    copy: int
    hop: int
    route: tuple[Hop, ...]  # its current state
    content_seq: int
    journey: int = 0
    origin: int = 0  # of a later round


@dataclass(slots=True)
class JournalState:
    """The state of a random journal while it is generated."""

    entries: list[Entry] = field(default_factory=list)
    waiting: list[WaitingDelivery] = field(default_factory=list)
    dead: list[WaitingDelivery] = field(default_factory=list)  # open dead letters
    journeys: dict[int, int] = field(default_factory=dict)  # open journeys, with their current delivery
    versions: dict[tuple[str, str], int] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)  # current state of batches, by id
    gathered: set[int] = field(default_factory=set)  # deliveries that joined a batch
    numbers: int = 0  # control numbers drawn so far

    @property
    def next_seq(self) -> int:
        return len(self.entries) + 1

    def session(self) -> str:
        return f"{self.next_seq:032x}"

    @property
    def free(self) -> list[WaitingDelivery]:
        """Return waiting deliveries that are in no batch and can be handed out."""
        return [one for one in self.waiting if one.number not in self.gathered]

    def choose(self, draw: Draw, among: list[WaitingDelivery] | None = None) -> tuple[int, ...]:
        """Draw some waiting deliveries, in any order."""
        few = st.lists(st.sampled_from(among or self.waiting), min_size=1, max_size=4, unique_by=lambda one: one.number)
        return tuple(one.number for one in draw(few))

    def forget(self, numbers: Sequence[int], state: str = "") -> None:
        if state == "failed":
            self.dead += [one for one in self.waiting if one.number in numbers]
        self.waiting = [one for one in self.waiting if one.number not in numbers]

    def end_journeys_at(self, draw: Draw, numbers: Sequence[int]) -> tuple[int, ...]:
        """End some of the journeys that are at these deliveries."""
        ended = tuple(journey for journey, at in self.journeys.items() if at in numbers and draw(st.booleans()))
        self.end_journeys(ended)
        return ended

    def end_journeys(self, ended: Sequence[int]) -> None:
        for journey in ended:
            del self.journeys[journey]

    def queue(self, entry: MessagePosted) -> None:
        """Add the deliveries of a post as waiting."""
        for ordinal, copy in enumerate(entry.copies):
            if copy.code:
                continue
            number = delivery_number(self.next_seq, ordinal)
            journey = entry.answers.journey if entry.answers else number if is_followed(entry, ordinal) else 0
            seq = self.next_seq
            self.waiting.append(
                WaitingDelivery(
                    number=number,
                    message_seq=seq,
                    message=entry,
                    copy=ordinal,
                    hop=0,
                    route=copy.hops,
                    content_seq=seq,
                    journey=journey,
                )
            )
            if journey == number:
                self.journeys[journey] = number
