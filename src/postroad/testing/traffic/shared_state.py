"""The state that all processes of simulated traffic share: random numbers, clocks, participants, directory, timetable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from postroad.core.model.ids import session
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.snapshot import Directory
from postroad.testing.traffic.deliveries import TrafficDelivery
from postroad.testing.traffic.documents import CONTENT_TYPE, TrafficDocuments
from postroad.testing.traffic.node_clocks import NodeClocks
from postroad.testing.traffic.participants import Participants, TrafficMember
from postroad.testing.traffic.plan import DAY_US, Incident, TrafficPlan, Trouble
from postroad.testing.traffic.routes import RouteFinder
from postroad.testing.traffic.timetable import Timetable

HEADER_BYTES = 260  # bytes around the document in the wire form

Arrived = Callable[["TrafficState", TrafficDelivery, int], None]


class TrafficState:
    def __init__(
        self, plan: TrafficPlan, random: Random, cast: Participants, incidents: Sequence[Incident], arrived: Arrived
    ) -> None:
        self._arrived = arrived
        self.plan = plan
        self.random = random
        self.cast = cast
        self.clocks = NodeClocks(plan, random)
        self.documents = TrafficDocuments(plan.body_bytes, random)
        self.timetable = Timetable()
        self.routes = RouteFinder(Directory())
        self._troubles = {
            (incident.organization, (incident.day - plan.first_day).days): incident.trouble for incident in incidents
        }

    def stamp(self, member: TrafficMember, at_us: int) -> int:
        """Return the time on the clock of the node that the member uses."""
        return self.clocks.stamp(member.node, at_us)

    def session(self, at_us: int) -> str:
        return session(at_us, self.random.randbytes(10))

    def trouble(self, member: TrafficMember, at_us: int) -> Trouble | None:
        if not self._troubles:
            return None
        return self._troubles.get((member.service.organization, (at_us - self.plan.start_us) // DAY_US))

    def arrive(self, parcel: TrafficDelivery, at_us: int) -> None:
        """Begin a delivery, and start its receiver's generator."""
        self._arrived(self, parcel, at_us)

    def after(self, at_us: int, middle_s: float, spread: float = 0.6) -> int:
        """Return a later time: about ``middle_s`` later, sometimes much more."""
        return at_us + 1_000 + int(middle_s * self.random.lognormvariate(0, spread) * 1_000_000)


def wire_bytes(document: bytes) -> int:
    """Return the size of the message as received."""
    return len(document) + HEADER_BYTES


def one_part(document: bytes | None) -> tuple[PartFacts, ...]:
    return (PartFacts("order", CONTENT_TYPE, len(document)),) if document is not None else ()
