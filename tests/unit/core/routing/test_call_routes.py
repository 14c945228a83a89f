"""Posts of one call are admitted and routed as if each had come alone, whatever the one before it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.admission.admit import Admitted, admit, admit_next
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.message import Argument, Message, Recipient
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.itinerary import CallRoutes, Routed, itineraries
from postroad.errors import Refused
from postroad.testing.directories import make_directory


def service(number: int, name: str, **profile: object) -> Service:
    organization, _, short = name.partition("/")
    return Service(
        gcid=f"{number:016x}", organization=organization, name=short, visibility=Visibility.PUBLIC, **profile  # type: ignore[arg-type]
    )  # fmt: skip


def by_topic(owner: Service, brings_in: Service, role: RuleRole) -> Rule:
    """A rule by which messages go one way or another, all else being equal."""
    urgent = ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="topic"), values=("urgent",)
    )  # fmt: skip
    then = (RuleAction(kind=ActionKind.ADD_SERVICE, service=brings_in.gcid),)
    return Rule(service=owner.gcid, name="urgent", place=1, role=role, when=urgent, then=then)


BUYER, SUPPLY, RULED = service(1, "MyBiz/Purchasing"), service(2, "Acme/Supply"), service(3, "Acme/Ruled")
CHECK, LOGICAL = service(4, "Trans/Check"), service(5, "Acme/RulesOnly", logical_only=True)
HOUSES = (Organization(name="MyBiz"), BUYER, SUPPLY, RULED, CHECK, LOGICAL)
DIRECTORIES = (
    make_directory(*HOUSES),
    make_directory(*HOUSES, by_topic(RULED, CHECK, RuleRole.RECIPIENT)),
    make_directory(*HOUSES, by_topic(BUYER, CHECK, RuleRole.SENDER)),
)

recipients = st.sampled_from(
    [
        (Recipient("Acme/Supply"),), (Recipient("Acme/Ruled"),), (Recipient("Acme/Supply", (Argument("a", "1"),)),),
        (Recipient("No/Body"),), (Recipient("Acme/Supply"), Recipient("No/Body")), (Recipient("Acme/RulesOnly"),), (),
        (Recipient(SUPPLY.gcid),),
    ]
)  # fmt: skip
messages = st.builds(
    Message,
    to=recipients,
    sender=st.sampled_from(["", "", "", "MyBiz/Purchasing", "Acme/Supply"]),
    topic=st.sampled_from(["", "urgent"]),
    handle=st.sampled_from(["", "h", "h" * 300]),
    route=st.sampled_from([(), (), (Recipient("Trans/Check"),)]),
    expires_at_us=st.sampled_from([0, 1, 1 << 60]),
)

PLAIN = Message(to=(Recipient("Acme/Supply"),))
RULES = (Recipient("Acme/Ruled"),)

Outcome = tuple[Admitted, Routed] | tuple[str, str]


def outcome(work: Callable[[], tuple[Admitted, Routed]]) -> Outcome:
    try:
        return work()
    except Refused as refusal:
        return refusal.code, refusal.detail


@pytest.mark.req("M8")
@given(st.sampled_from(DIRECTORIES), st.lists(messages, max_size=8))
@example(DIRECTORIES[0], [PLAIN, replace(PLAIN, route=(Recipient("Trans/Check"),)), PLAIN])
@example(DIRECTORIES[1], [replace(PLAIN, to=RULES), replace(PLAIN, to=RULES, topic="urgent"), PLAIN])
@example(DIRECTORIES[2], [PLAIN, replace(PLAIN, topic="urgent"), PLAIN])
def test_a_call_decides_as_posts_one_by_one(directory: Directory, posted: list[Message]) -> None:
    caller, routes = Caller(service=BUYER), CallRoutes(directory)
    before: Admitted | None = None

    for message in posted:

        def alone(message: Message = message) -> tuple[Admitted, Routed]:
            admitted = admit(message, caller, directory, 1000)
            return admitted, itineraries(admitted, directory, "bulk")

        def behind(message: Message = message, before: Admitted | None = before) -> tuple[Admitted, Routed]:
            again = before is not None and not message.sender
            admitted = admit_next(message, before) if before and again else admit(message, caller, directory, 1000)
            return admitted, routes.itineraries(admitted, "bulk")

        found = outcome(behind)
        assert found == outcome(alone)
        if isinstance(found[0], Admitted):
            before = found[0]
