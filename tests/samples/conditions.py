"""Messages and comparisons for the tests of conditions, made in one line each."""

from __future__ import annotations

import msgspec

from postroad.core.model.configuration_objects import object_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.message import Argument, MessageType, Part, Property, Status
from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.compiled_rule import compile_rule
from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader, Subject

BUYER = NamedService(address="MyBiz/Purchasing", gcid="00000000000000a1", organization="MyBiz")
SUPPLY = NamedService(address="Acme/Supply", gcid="00000000000000b2", organization="Acme")
BILLING = NamedService(address="Acme/Billing", gcid="00000000000000b3", organization="Acme")
XSLT = NamedService(address="Transmatics/xslt", gcid="00000000000000c4", organization="Transmatics")

HEADER = RuleHeader(
    sender=BUYER,
    to=(Addressed(party=SUPPLY, arguments=(Argument("urgency", "high"),)), Addressed(party=BILLING)),
    type=MessageType.REQUEST,
    topic="purchaseOrder",
    handle="po-17",
    reference="5e55",
    expires_at_us=1_794_787_200_000_000,  # 2026-11-16T00:00:00Z
    routing="dynamic",
    route_arguments=(Argument("pin", "1234"),),
    route=(XSLT, "Other/ByAddress"),
    properties=(Property("region", "EU"), Property("weight", "12.50"), Property("empty", "")),
    status=Status("ok", "all well"),
    posted_at_us=1_794_700_800_000_000,  # 2026-11-15T00:00:00Z
    form="json",
)


def xml(data: str | bytes, id: str = "1", *, attachment: bool = False, content_type: str = "application/xml") -> Part:
    return Part(
        id=id,
        content_type=content_type,
        data=data if isinstance(data, bytes) else data.encode(),
        attachment=attachment,
    )


def json(data: str | bytes, id: str = "1", *, attachment: bool = False) -> Part:
    return xml(data, id, attachment=attachment, content_type="application/json")


def subject(*parts: Part, header: RuleHeader = HEADER) -> Subject:
    return Subject(header=header, parts=parts)


def header(path: str) -> ValueLocation:
    return ValueLocation(where=MessageSection.HEADER, path=path)


def body(path: str, *, document: str = "", schema: str = "", **namespaces: str) -> ValueLocation:
    return ValueLocation(
        where=MessageSection.BODY, path=path, document=document, schema=schema, namespaces=tuple(namespaces.items())
    )


def attachment(path: str, document: str = "") -> ValueLocation:
    return ValueLocation(where=MessageSection.ATTACHMENT, path=path, document=document)


def compare(
    operator: str,
    place: ValueLocation,
    *values: str,
    kind: str = "string",
    content: str = "",
    other: ValueLocation | None = None,
) -> ValueComparison:
    return ValueComparison(
        operator=Comparing(operator), place=place, type=ValueType(kind), values=values, content=content, other=other
    )  # fmt: skip


def combine(operator: str, *conditions: Condition) -> Combination:
    return Combination(operator=Combining(operator), conditions=conditions)


def rule(when: Condition, *then: RuleAction, role: RuleRole = RuleRole.ANY, name: str = "test") -> Rule:
    actions = then or (RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),)
    return Rule(service="00000000000000a1", name=name, place=0, role=role, when=when, then=actions)


def holds(when: Condition, looked_at: Subject) -> bool:
    return compile_rule(rule(when)).holds(looked_at)


def directory(*objects: object) -> Directory:
    """The directory in which these objects exist, rules and assets too."""
    return Directory().apply_changes(
        [ObjectChange(*object_key(item), 1, msgspec.to_builtins(item)) for item in objects], 1
    )
