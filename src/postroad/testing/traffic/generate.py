"""Generates a journal on disk from a traffic plan."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from random import Random

from postroad.adapters.journal.segments import SegmentJournal
from postroad.ports import JournalHead, NewRecord
from postroad.testing.traffic.participants import Participants, TrafficMember, make_participants
from postroad.testing.traffic.plan import DAY_US, HOUR_US, Incident, TrafficPlan, Trouble
from postroad.testing.traffic.posting import configure_network, post_message
from postroad.testing.traffic.receiving import begin_delivery
from postroad.testing.traffic.shared_state import TrafficState

TOGETHER = 2_000  # records per group: one write and one sync
BURST = 4.0  # factor of the volume during a volume incident
TROUBLED_AMONG = 0.2  # incidents are added to the largest organizations, which have enough messages per day

Advance = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """Figures of a generated journal; ``messages`` counts the planned opening messages."""

    messages: int
    entries: int
    head: JournalHead
    incidents: tuple[Incident, ...]


async def generate(plan: TrafficPlan, path: Path, advance: Advance = lambda done: None) -> Generated:
    """Write the planned journal to a folder without a journal; ``advance`` is called for each finished opening."""
    traffic = Traffic(plan)
    journal = SegmentJournal.open(path)
    try:
        records = traffic.records()
        while group := list(islice(records, TOGETHER)):
            await journal.append(group)
            advance(traffic.opened)
        head = await journal.head()
    finally:
        await journal.close()
    return Generated(messages=traffic.opened, entries=head.seq, head=head, incidents=traffic.incidents)


class Traffic:
    """The records of a plan, without a journal."""

    def __init__(self, plan: TrafficPlan) -> None:
        self.plan = plan
        self.opened = 0
        random = Random(plan.seed)  # noqa: S311 - the same journal for the same seed, not a secret
        everyone = make_participants(plan, random)
        self.incidents = tuple(_incidents(plan, everyone, random))
        self._scene = TrafficState(plan, random, everyone, self.incidents, begin_delivery)

    def records(self) -> Iterator[NewRecord]:
        scene, timetable = self._scene, self._scene.timetable
        timetable.begin(configure_network(scene))
        yield from timetable.until(self.plan.start_us + 10)
        for at_us, member in self._openings():
            yield from timetable.until(at_us)
            timetable.begin(post_message(scene, member, at_us))
            self.opened += 1
        yield from timetable.until(self.plan.end_us)

    def _openings(self) -> Iterator[tuple[int, TrafficMember]]:
        """Yield the sender and time of each opening message, bursts included."""
        random, everyone = self._scene.random, self._scene.cast
        total = everyone.sender_weights[-1]
        times = opening_times(self.plan, random)
        bursts = sorted(self._bursts(), key=lambda opening: opening[0], reverse=True)
        for at_us in times:
            while bursts and bursts[-1][0] <= at_us:
                yield bursts.pop()
            yield at_us, everyone.senders[bisect(everyone.sender_weights, random.random() * total)]

    def _bursts(self) -> Iterator[tuple[int, TrafficMember]]:
        random, everyone = self._scene.random, self._scene.cast
        weights = day_weights(self.plan)
        for incident in self.incidents:
            if incident.trouble is not Trouble.VOLUME:
                continue
            day = (incident.day - self.plan.first_day).days
            members = [one for one in everyone.senders if one.service.organization == incident.organization]
            share = sum(one.weight for one in members) / everyone.sender_weights[-1]
            usual = self.plan.messages * share * weights[day] / sum(weights)
            begin_us = self.plan.start_us + day * DAY_US
            for _ in range(int(usual * (BURST - 1))):
                yield begin_us + random.randrange(DAY_US), random.choice(members)


def max_incidents(plan: TrafficPlan) -> int:
    """Return the maximum number of incidents: one for each of the largest organizations, on working days only."""
    return max(1, round(plan.organizations * TROUBLED_AMONG)) if _days_for_incidents(plan) else 0


def _days_for_incidents(plan: TrafficPlan) -> list[date]:
    """Return the working days of the second half; the first half is the baseline."""
    return [day for day in map(plan.day, range(plan.days // 2, plan.days)) if day.weekday() < 5]


def _incidents(plan: TrafficPlan, everyone: Participants, random: Random) -> Iterator[Incident]:
    """Yield incidents of all kinds in turn, each at another organization."""
    names = [organization.name for organization in everyone.organizations]
    largest = names[: max(1, round(len(names) * TROUBLED_AMONG))]
    kinds = tuple(Trouble)
    days = _days_for_incidents(plan)
    planted = random.sample(largest, min(plan.incidents, len(largest))) if days else []
    for number, name in enumerate(planted):
        yield Incident(organization=name, day=random.choice(days), trouble=kinds[number % len(kinds)])


HOURS = (4, 3, 3, 3, 4, 8, 18, 40, 70, 90, 98, 92, 74, 82, 90, 84, 70, 50, 34, 24, 18, 12, 8, 6)
WEEKDAYS = (1.0, 1.06, 1.04, 1.0, 0.92, 0.26, 0.2)  # Monday first
UNLIKE = 0.05  # random variation of days


def opening_times(plan: TrafficPlan, random: Random) -> Iterator[int]:
    """Return the times of all posts, in order, and exactly as many as planned."""
    counts = _counts(plan, random)
    for hour, count in enumerate(counts):
        begin_us = plan.start_us + hour * HOUR_US
        yield from sorted([begin_us + random.randrange(HOUR_US) for _ in range(count)])


def day_weights(plan: TrafficPlan) -> list[float]:
    return [WEEKDAYS[plan.day(number).weekday()] for number in range(plan.days)]


def _counts(plan: TrafficPlan, random: Random) -> list[int]:
    """Return the number of messages posted in each hour."""
    weights = [
        day * max(0.5, random.gauss(1, UNLIKE)) * hour * max(0.5, random.gauss(1, UNLIKE))
        for day in day_weights(plan)
        for hour in HOURS
    ]
    share = plan.messages / sum(weights)
    counts, carried = [], 0.0
    for weight in weights:
        carried += weight * share
        counts.append(int(carried))
        carried -= counts[-1]
    counts[-1] += plan.messages - sum(counts)  # rounding remainder
    return counts
