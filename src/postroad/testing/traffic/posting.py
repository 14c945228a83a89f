"""Opening messages in simulated traffic: requests, notifications, refused posts, and configuration changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from postroad.core.model.configuration_objects import object_key
from postroad.core.model.journal import ConfigurationChanged, MessagePosted, MessageRefused, ObjectChange
from postroad.core.model.message import MessageType
from postroad.core.projection.unique_keys import post_keys
from postroad.testing.traffic.deliveries import deliveries_of
from postroad.testing.traffic.participants import TrafficMember
from postroad.testing.traffic.plan import DAY_US
from postroad.testing.traffic.routes import RouteFinder
from postroad.testing.traffic.shared_state import TrafficState, one_part, wire_bytes
from postroad.testing.traffic.timetable import Story, TimetableStep

OPERATOR = "operator@example.org"
REFUSED_SHARE = 0.008
SEVERAL_SHARE = 0.05  # messages to several recipients
UNKNOWN_SHARE = 0.04  # share of those in which one recipient does not exist
HANDLE_SHARE = 0.6
REQUESTS_SHARE = 0.55
NOBODY = "Nobody/Nowhere"
REFUSALS = (
    ("wire.malformed", "The message could not be read: it ends in the middle of a value"),
    ("recipient.unknown", f"There is no service {NOBODY}, or none that this sender may know of"),
    ("message.duplicate", "This handle has been posted before"),
    ("message.expired", "The expiration is in the past; use a later one, or none"),
)
CHANGE_EVERY_DAYS = 3


def configure_network(scene: TrafficState) -> Story:
    """Write the initial configuration, and disable or enable a rule every few days."""
    at_us = scene.plan.start_us
    cast = scene.cast
    services = [member.service for member in cast.members.values()]
    for objects, reason in ((cast.organizations, "organizations"), (services, "services"), (cast.rules, "rules")):
        if objects:
            yield from _save(scene, at_us, objects, f"the first {reason}")
        at_us += 1
    for _ in range(CHANGE_EVERY_DAYS, scene.plan.days, CHANGE_EVERY_DAYS):
        at_us += CHANGE_EVERY_DAYS * DAY_US
        yield TimetableStep(at_us)
        rules = sorted(scene.routes.directory.rules)
        if rules:
            rule = scene.routes.directory.rules[scene.random.choice(rules)]
            yield from _save(scene, at_us, [replace(rule, enabled=not rule.enabled)], "switched")


def _save(scene: TrafficState, at_us: int, objects: Sequence[Any], reason: str) -> Story:
    directory = scene.routes.directory
    changes = tuple(
        ObjectChange(*object_key(item), directory.object_version(*object_key(item)) + 1, msgspec.to_builtins(item))
        for item in objects
    )
    seq = yield TimetableStep(at_us, ConfigurationChanged(at_us=at_us, by=OPERATOR, reason=reason, objects=changes))
    scene.routes = RouteFinder(directory.apply_changes(changes, seq))


def post_message(scene: TrafficState, member: TrafficMember, at_us: int) -> Story:
    """Post a message from this member to one or several of its partners."""
    random = scene.random
    if random.random() < REFUSED_SHARE:
        yield TimetableStep(at_us, _refused(scene, member, at_us))
        return
    [place] = random.choices(range(len(member.partners)), cum_weights=member.partner_weights)
    topic = member.topics[place]
    to = [member.partners[place].service.address]
    type_ = MessageType.REQUEST if random.random() < REQUESTS_SHARE else MessageType.NOTIFICATION
    if random.random() < SEVERAL_SHARE:
        type_ = MessageType.NOTIFICATION if random.random() < 0.7 else type_
        to = list(dict.fromkeys((*to, *[one.service.address for one in member.partners[: random.randint(2, 5)]])))
        if random.random() < UNKNOWN_SHARE:
            to.append(NOBODY)
    document = scene.documents.order(int(random.paretovariate(1.1) * 500))
    entry, explanation = _posted(
        scene=scene, member=member, to=tuple(to), topic=topic, type_=type_, document=document, at_us=at_us
    )
    seq = yield TimetableStep(at_us, entry, document + explanation)
    for parcel in deliveries_of(entry, seq, document):
        scene.arrive(parcel, at_us)


def _posted(
    scene: TrafficState,
    member: TrafficMember,
    to: tuple[str, ...],
    topic: str,
    type_: MessageType,
    document: bytes,
    at_us: int,
) -> tuple[MessagePosted, bytes]:
    stamp = scene.stamp(member, at_us)
    session = scene.session(stamp)
    handle = f"{topic}-{scene.timetable.seq}" if scene.random.random() < HANDLE_SHARE else ""
    copies, explanation = scene.routes.find(member.service, to, topic, type_, document, at_us)
    entry = MessagePosted(
        at_us=stamp,
        session=session,
        transaction=session,
        sender=member.gcid,
        type=type_,
        topic=topic,
        size=wire_bytes(document),
        form=scene.random.choice(("json", "json", "soap12", "envelope")),
        expires_at_us=at_us + member.service.default_expiration_s * 1_000_000,
        directory=scene.routes.directory.version,
        parts=one_part(document),
        copies=copies,
        handle=handle,
        keys=post_keys(member.gcid, handle, ""),
        explained=len(explanation),
    )
    return entry, explanation


def _refused(scene: TrafficState, member: TrafficMember, at_us: int) -> MessageRefused:
    code, detail = scene.random.choice(REFUSALS)
    stamp = scene.stamp(member, at_us)
    named = () if code == "wire.malformed" else (NOBODY,)
    return MessageRefused(
        at_us=stamp,
        session=scene.session(stamp),
        sender=member.gcid,
        code=code,
        detail=detail,
        size=900,
        form="json",
        handle="",
        named=named,
    )
