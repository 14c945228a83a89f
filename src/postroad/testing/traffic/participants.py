"""The participants of simulated traffic: organizations of different sizes, their services, habits and partners.

Rule: a member's habits do not change, except in planned incidents; so every unusual day is intended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, count
from random import Random

from postroad.core.model.directory import DeliveryMode, Organization, Push, Service, Visibility
from postroad.core.model.rule import Rule
from postroad.testing.traffic.deliveries import TrafficDelivery
from postroad.testing.traffic.node_clocks import NODES
from postroad.testing.traffic.plan import DAY_US, HOUR_US, TrafficPlan
from postroad.testing.traffic.rules import random_vendor_rules

FIRST = ("Aster", "Birch", "Cedar", "Dune", "Elm", "Fjord", "Grove", "Harbour", "Iris", "Juniper", "Kestrel", "Larch", "Maple",
         "North", "Orchid", "Pine", "Quarry", "River", "Stone", "Thistle", "Umber", "Valley", "Willow", "Yarrow")  # fmt: skip
SECOND = (
    "Foods",
    "Steel",
    "Logistics",
    "Textiles",
    "Tools",
    "Paper",
    "Chemicals",
    "Motors",
    "Glass",
    "Health",
    "Energy",
    "Books",
)
TRADES = ("Purchasing", "Sales", "Billing", "Shipping")
IN_TRANSIT = ("Translate", "Archive", "Check")
TOPICS = ("orders", "invoices", "shipping", "stock", "prices")
SIZES_DIFFER = 0.85  # the second largest organization is this power of two smaller than the largest, and so on
VENDORS_SHARE = 0.03


@dataclass(slots=True, kw_only=True, eq=False)
class TrafficMember:
    """A service with its habits and its mailbox."""

    service: Service
    node: int
    weight: float
    pushed: bool
    poll_every_s: float
    thinking_s: float  # median of the distribution
    error_share: float
    acknowledges_first: bool
    absent: list[tuple[int, int]] = field(default_factory=list)  # periods in which it neither polls nor accepts pushes
    partners: list[TrafficMember] = field(default_factory=list)
    partner_weights: list[float] = field(default_factory=list)  # accumulated
    topics: list[str] = field(default_factory=list)  # by partner
    mailbox: list[TrafficDelivery] = field(default_factory=list)
    poll_at_us: int = 0  # time of the next poll; 0 if there is none

    @property
    def gcid(self) -> str:
        return self.service.gcid

    def back_at_us(self, at_us: int) -> int:
        """Return this time, or the end of the member's absence."""
        for begin_us, end_us in self.absent:
            if begin_us <= at_us < end_us:
                return end_us
        return at_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    organizations: list[Organization]
    members: dict[str, TrafficMember]  # by GCID
    senders: list[TrafficMember]
    sender_weights: list[float]  # accumulated
    rules: list[Rule]


def make_participants(plan: TrafficPlan, random: Random) -> Participants:
    """Draw all participants from the seed."""
    vendors = max(1, round(plan.organizations * VENDORS_SHARE))
    organizations = [Organization(name=name) for name in _names(plan.organizations)]
    members: list[TrafficMember] = []
    in_transit: list[TrafficMember] = []
    for place, organization in enumerate(organizations):
        weight = (place + 1) ** -SIZES_DIFFER
        if place >= plan.organizations - vendors:
            in_transit += [_member(plan, random, organization, name, 0.0) for name in IN_TRANSIT]
        else:
            names = random.sample(TRADES, random.randint(2, 4))
            members += [_member(plan, random, organization, name, weight / len(names)) for name in names]
    for member in members:
        _find_partners(member, members, random)
    rules = random_vendor_rules(
        [(one.service, one.topics) for one in members], [one.service for one in in_transit], random
    )
    return Participants(
        organizations=organizations,
        members={member.gcid: member for member in (*members, *in_transit)},
        senders=members,
        sender_weights=list(accumulate(member.weight for member in members)),
        rules=rules,
    )


def _names(how_many: int) -> list[str]:
    found: list[str] = []
    for number in count():
        for place in range(len(FIRST) * len(SECOND)):
            name = f"{FIRST[place % len(FIRST)]} {SECOND[place // len(FIRST)]}"
            found.append(name if not number else f"{name} {number + 1}")
            if len(found) == how_many:
                return found
    raise AssertionError("there is no end to numbers")


def _member(plan: TrafficPlan, random: Random, organization: Organization, name: str, weight: float) -> TrafficMember:
    is_vendor = not weight
    pushed = random.random() < 0.3
    gcid = random.randbytes(8).hex()
    push = Push(url=f"https://{gcid}.example/postroad", secret_from=f"env:PUSH_{gcid.upper()}")
    service = Service(
        gcid=gcid,
        organization=organization.name,
        name=name,
        visibility=Visibility.PUBLIC,
        delivery=DeliveryMode.PUSH if pushed else DeliveryMode.POLL,
        push=push if pushed else None,
        default_expiration_s=random.choice((4 * 3_600, 86_400, 172_800, 172_800)),
    )
    return TrafficMember(
        service=service,
        node=random.randrange(NODES),
        weight=weight,
        pushed=pushed,
        poll_every_s=random.choice((0.2, 1.0, 5.0, 60.0)) if not is_vendor else 0.1,
        thinking_s=random.lognormvariate(1.5, 1.2) if not is_vendor else random.lognormvariate(-2, 0.7),
        error_share=min(0.1, random.lognormvariate(-4, 0.6)) if not is_vendor else 0.002,
        acknowledges_first=random.random() < 0.4,
        absent=sorted(_absences(plan, random)) if not is_vendor else [],
    )


def _absences(plan: TrafficPlan, random: Random) -> Iterator[tuple[int, int]]:
    """Return the absences of a member: most have none, some an hour now and then, a few several days."""
    for _ in range(plan.days // 10 + 1):
        chance = random.random()
        length_us = int(random.uniform(0.3, 3) * HOUR_US) if chance < 0.15 else int(random.uniform(1, 3) * DAY_US)
        if chance < 0.17:
            begin_us = plan.start_us + random.randrange(plan.days * DAY_US)
            yield begin_us, begin_us + length_us


def _find_partners(member: TrafficMember, members: list[TrafficMember], random: Random) -> None:
    """Choose a few partners, larger ones more likely; one of them gets half of the messages."""
    others = [other for other in members if other.service.organization != member.service.organization]
    weights = [other.weight for other in others]
    chosen = dict.fromkeys(random.choices(range(len(others)), weights, k=random.randint(3, 12))) if others else {}
    member.partners = [others[place] for place in chosen]
    member.partner_weights = list(accumulate(1.0 / (rank + 1) for rank in range(len(chosen))))
    member.topics = [random.choice(TOPICS) for _ in chosen]
