"""What all stories share: chance, clocks, who takes part, the directory of the moment, and the timetable they are told on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from postroad.core.model.ids import session
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.snapshot import Directory
from postroad.testing.traffic.cast import Cast, Member
from postroad.testing.traffic.clocks import Clocks
from postroad.testing.traffic.documents import CONTENT_TYPE, Documents
from postroad.testing.traffic.parcel import Parcel
from postroad.testing.traffic.plan import DAY_US, Incident, TrafficPlan, Trouble
from postroad.testing.traffic.routes import Routes
from postroad.testing.traffic.timetable import Timetable

HEADER_BYTES = 260  # of a wire, around the document

Arrived = Callable[["Scene", Parcel, int], None]


class Scene:
    def __init__(
        self, plan: TrafficPlan, random: Random, cast: Cast, incidents: Sequence[Incident], arrived: Arrived
    ) -> None:
        self._arrived = arrived
        self.plan = plan
        self.random = random
        self.cast = cast
        self.clocks = Clocks(plan, random)
        self.documents = Documents(plan.body_bytes, random)
        self.timetable = Timetable()
        self.routes = Routes(Directory())
        self._troubles = {
            (incident.organization, (incident.day - plan.first_day).days): incident.trouble for incident in incidents
        }

    def stamp(self, member: Member, at_us: int) -> int:
        """What the clock of the node says that the member talks to."""
        return self.clocks.stamp(member.node, at_us)

    def session(self, at_us: int) -> str:
        return session(at_us, self.random.randbytes(10))

    def trouble(self, member: Member, at_us: int) -> Trouble | None:
        if not self._troubles:
            return None
        return self._troubles.get((member.service.organization, (at_us - self.plan.start_us) // DAY_US))

    def arrive(self, parcel: Parcel, at_us: int) -> None:
        """A delivery has been made; its receiver's part of the story begins."""
        self._arrived(self, parcel, at_us)

    def after(self, at_us: int, middle_s: float, spread: float = 0.6) -> int:
        """Some time later: about ``middle_s``, sometimes much more."""
        return at_us + 1_000 + int(middle_s * self.random.lognormvariate(0, spread) * 1_000_000)


def wire_bytes(document: bytes) -> int:
    """How long the message was as it arrived."""
    return len(document) + HEADER_BYTES


def one_part(document: bytes | None) -> tuple[PartFacts, ...]:
    return (PartFacts("order", CONTENT_TYPE, len(document)),) if document is not None else ()
