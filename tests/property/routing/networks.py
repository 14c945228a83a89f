"""Random networks of services with rules, and messages posted in them.

Left to itself a random network is all loops and refusals. So services mostly include those with a higher number, everything that
forbids a route is rare, and a few values in conditions are shared by all messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st

from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Accepts, Organization, Routing, Service, Visibility
from postroad.core.model.journal import ObjectChange
from postroad.core.model.message import Argument, Message, MessageType, Part, Property, PropertyType, Recipient
from postroad.core.model.rule import ActionKind, Rule, RuleAction, RuleRole
from postroad.core.model.snapshot import Directory
from tests.property.routing.choices import Choices
from tests.property.routing.random_conditions import NUMBERS, REGIONS, TOPICS, condition

ORGANIZATIONS = ("Ant", "Bee", "Cat")
LISTED = ((ORGANIZATIONS[0],), (f"{1:016x}",), ("Bee/s2",))
ARGUMENTS: tuple[tuple[Argument, ...], ...] = ((), (Argument("a", "1"),), (Argument("b", "2"),))
PROFILE = (
    "gcid",
    "organization",
    "visibility",
    "accepts",
    "accepts_from",
    "suspended",
    "may_include_services",
    "logical_only",
    "routing",
    "returns",
)
MAX_SERVICES = 8
MAX_RULES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A message in a network."""

    message: Message
    sender: Service
    directory: Directory

    def __str__(self) -> str:
        """What a failing example prints: a line for each service and rule, saying only what is out of the ordinary."""
        plain = Service(gcid="", organization="", name="", visibility=Visibility.PUBLIC)
        profiles = [
            {name: getattr(each, name) for name in PROFILE if getattr(each, name) != getattr(plain, name)}
            for each in self.directory.services.values()
        ]
        rules = [msgspec.json.encode(each).decode() for each in self.directory.rules.values()]
        return "\n".join((str(self.message), *map(str, profiles), *rules))


def directory_with(*objects: Any) -> Directory:
    """The directory in which exactly these organizations, services and rules exist."""
    return Directory().apply_changes(
        [ObjectChange(*object_key(each), 1, msgspec.to_builtins(each)) for each in objects], 1
    )


def gcid(number: int) -> str:
    return f"{number:016x}"


def posts() -> st.SearchStrategy[Posted]:
    """A message from the first service of a network of two to eight."""
    rules = st.lists(st.binary(min_size=24, max_size=24), max_size=MAX_RULES)
    services = st.lists(st.tuples(st.binary(min_size=6, max_size=6), rules), min_size=2, max_size=MAX_SERVICES)
    return st.builds(posted, services, st.binary(min_size=24, max_size=24))


def posted(services: list[tuple[bytes, list[bytes]]], message: bytes) -> Posted:
    known = tuple(service(number, Choices(data)) for number, (data, _) in enumerate(services, 1))
    rules = [
        rule(owner, number, known, Choices(data))
        for owner, (_, all_data) in enumerate(services, 1)
        for number, data in enumerate(all_data)
    ]
    choices = Choices(message)
    house = Organization(name=ORGANIZATIONS[2], suspended="unpaid" if choices.rarely(one_in=40) else "")
    directory = directory_with(house, *known, *rules)
    return Posted(message=message_among(known, choices), sender=directory.services[gcid(1)], directory=directory)


# ---- services and their rules

ROLES = (RuleRole.ANY, RuleRole.ANY, RuleRole.IN_TRANSIT, RuleRole.IN_TRANSIT, RuleRole.RECIPIENT, RuleRole.SENDER)
ROLES_OF_SENDER = (RuleRole.SENDER, RuleRole.SENDER, RuleRole.ANY, RuleRole.RECIPIENT)
FITTING = {
    RuleRole.SENDER: (ActionKind.ADD_SERVICE, ActionKind.ADD_SERVICE_AFTER),
    RuleRole.RECIPIENT: (ActionKind.ADD_SERVICE, ActionKind.ADD_SERVICE_BEFORE, ActionKind.REDIRECT),
    RuleRole.IN_TRANSIT: (
        ActionKind.ADD_SERVICE,
        ActionKind.ADD_SERVICE_AFTER,
        ActionKind.ADD_SERVICE_BEFORE,
        ActionKind.REDIRECT,
    ),
    RuleRole.ANY: (ActionKind.ADD_SERVICE,),
}
MISFITTING = (ActionKind.ADD_SERVICE_AFTER, ActionKind.ADD_SERVICE_BEFORE, ActionKind.REDIRECT)


def service(number: int, choices: Choices) -> Service:
    forbidding = choices.number(40)
    return Service(
        gcid=gcid(number),
        organization=choices.one_of(ORGANIZATIONS),
        name=f"s{number}",
        visibility=Visibility.PRIVATE if forbidding == 39 else Visibility.PUBLIC,
        accepts={38: Accepts.LISTED, 37: Accepts.PROVISIONED}.get(forbidding, Accepts.ANYONE),
        accepts_from=choices.one_of(LISTED) if forbidding == 38 else (),
        suspended="unpaid" if forbidding == 36 else "",
        may_include_services=forbidding != 35,
        logical_only=choices.rarely(one_in=6),
        routing=Routing.DYNAMIC if choices.rarely(one_in=6) else Routing.STATIC,
        returns=choices.rarely(one_in=4),
    )


def name_of_one(owner: int, known: tuple[Service, ...], choices: Choices) -> str:
    """Mostly of a service with a higher number than the owner's, so that most networks are free of loops; else none."""
    doubt = choices.number(60)
    if doubt == 59:
        return "No/Body"
    if doubt < 58 and not known[owner:]:
        return ""
    chosen = choices.one_of(known[owner:] if doubt < 58 else known)
    return chosen.address if doubt % 2 else chosen.gcid


def action(role: RuleRole, owner: int, known: tuple[Service, ...], choices: Choices) -> RuleAction:
    context = choices.number(16)
    return RuleAction(
        kind=choices.one_of(MISFITTING if choices.rarely(one_in=30) else FITTING[role]),
        service=name_of_one(owner, known, choices),
        arguments=choices.one_of(ARGUMENTS),
        topic=TOPICS[1] if context in (8, 9) else "",
        pays=context in (10, 11, 15),
        isolates=context in (12, 13, 15),
        absorbs=context in (13, 14, 15),
    )


def rule(owner: int, number: int, known: tuple[Service, ...], choices: Choices) -> Rule:
    role = choices.one_of(ROLES_OF_SENDER if owner == 1 else ROLES)
    when = condition(choices)
    enabled = not choices.rarely(one_in=15)
    place = 1 + choices.number(3)
    extra = choices.number(6)
    drawn = [action(role, owner, known, choices) for _ in range(1 + choices.number(2))]
    then = [each for each in drawn if each.service]
    if extra == 4 or not then:
        then.insert(choices.number(len(then) + 1), RuleAction(kind=ActionKind.STOP_RULE_EVALUATION))
    if extra == 5:
        then.insert(
            choices.number(len(then) + 1), RuleAction(kind=ActionKind.CHANGE_TOPIC, topic=choices.one_of(TOPICS))
        )
    return Rule(
        service=gcid(owner), name=f"r{number}", place=place, role=role, when=when, then=tuple(then), enabled=enabled
    )


# ---- messages

DOCUMENTS = (
    ("application/json", b'{"total": 5, "lines": [0, 10]}'),
    ("application/json", b'{"total": 10}'),
    ("application/xml", b'<order total="5"><total>10</total></order>'),
    ("application/xml", b"<order><line>0</line><line>5</line></order>"),
    ("text/plain", b"total 5"),
)


def message_among(known: tuple[Service, ...], choices: Choices) -> Message:
    def receivers(count: int) -> tuple[Recipient, ...]:
        return tuple(Recipient(name_of_one(1, known, choices), choices.one_of(ARGUMENTS)) for _ in range(count))

    return Message(
        to=receivers(1 + choices.number(3)),
        type=choices.one_of((MessageType.NOTIFICATION, MessageType.REQUEST)),
        topic=choices.one_of(TOPICS),
        route=receivers(choices.one_of((0, 0, 0, 0, 1, 2))),
        properties=properties(choices),
        parts=tuple(part(number, choices) for number in range(choices.number(3))),
        routing=choices.one_of(("", "", "", "", "", "", "", "static", "dynamic")),
    )


def properties(choices: Choices) -> tuple[Property, ...]:
    region = choices.one_of(("", *REGIONS))
    amount = choices.one_of(("", *NUMBERS))
    given = (Property("region", region), Property("amount", amount, PropertyType.NUMBER))
    return tuple(each for each in given if each.value)


def part(number: int, choices: Choices) -> Part:
    content_type, data = choices.one_of(DOCUMENTS)
    return part_from(number, content_type, data, attachment=choices.rarely(one_in=2))


def part_from(number: int, content_type: str, data: bytes, *, attachment: bool = False) -> Part:
    return Part(id=f"p{number}", content_type=content_type, data=data, attachment=attachment)
