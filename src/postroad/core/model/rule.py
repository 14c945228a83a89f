"""Routing rules: one condition, one or more actions, at a position in a service's order.

Rules are data. They are saved completely as configuration objects, so every version of every rule can be found later,
and a message is explained by the versions that were in force. ``core.routing`` interprets them; here they are only
described.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from postroad.core.model.message import Argument


class RuleRole(StrEnum):
    """The role of the rule's service for a message when the rule is tried."""

    SENDER = "sender"
    RECIPIENT = "recipient"
    IN_TRANSIT = "inTransit"
    ANY = "any"


class MessageSection(StrEnum):
    HEADER = "header"
    BODY = "body"
    ATTACHMENT = "attachment"


class ValueType(StrEnum):
    """The type as which a value is compared."""

    STRING = "string"
    NUMBER = "number"
    DATE = "date"


class Comparing(StrEnum):
    EQUALS = "equals"
    NOT_EQUALS = "notEquals"
    EQUALS_ONE_OF = "equalsOneOf"
    LESS_THAN = "lessThan"
    GREATER_THAN = "greaterThan"
    EXISTS = "exists"
    MATCHES = "matches"


class Combining(StrEnum):
    AND = "and"
    OR = "or"
    XOR = "xor"  # holds if an odd number of its conditions hold
    NOT = "not"


class ValueLocation(Struct, frozen=True, kw_only=True):
    """The location of a value in a message: a header item, or a path into documents."""

    where: MessageSection
    path: str  # header: a name such as topic or properties.region; documents: /a/b/@c for XML, $.a.b for JSON
    document: str = ""  # the id of a document or attachment; empty: any
    namespaces: tuple[tuple[str, str], ...] = ()  # prefix and namespace of the names in an XML path
    schema: str = ""  # a registered schema whose default attributes count as present


class ValueComparison(Struct, frozen=True, kw_only=True, tag_field="kind", tag="comparison"):
    """Compares a value in the message with literals, element content, or another value in the message."""

    operator: Comparing
    place: ValueLocation
    type: ValueType = ValueType.STRING
    values: tuple[str, ...] = ()
    content: str = ""  # element content (XML) or a JSON value, compared as a whole
    other: ValueLocation | None = None


class Combination(Struct, frozen=True, kw_only=True, tag_field="kind", tag="combination"):
    operator: Combining
    conditions: tuple[Condition, ...]


Condition = ValueComparison | Combination


class ActionKind(StrEnum):
    ADD_SERVICE_AFTER = "addServiceAfter"
    ADD_SERVICE_BEFORE = "addServiceBefore"
    ADD_SERVICE = "addService"
    REDIRECT = "redirect"
    CHANGE_TOPIC = "changeTopic"
    STOP_RULE_EVALUATION = "stopRuleEvaluation"


INCLUDING = frozenset(
    {ActionKind.ADD_SERVICE_AFTER, ActionKind.ADD_SERVICE_BEFORE, ActionKind.ADD_SERVICE, ActionKind.REDIRECT}
)


class RuleAction(Struct, frozen=True, kw_only=True):
    """An action of a rule, with the arguments and the context for a service that it adds."""

    kind: ActionKind
    service: str = ""  # GCID or address
    arguments: tuple[Argument, ...] = ()
    topic: str = ""  # of ChangeTopic; with an including action, the topic for that service only
    pays: bool = False  # the rule's service pays for the included service, and for what that one includes
    isolates: bool = False  # the included service sees the rule's service as sender, and not the wider route
    absorbs: bool = False  # an error of the included service does not end the route: the message continues without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of one service; names are unique in a service, and ``place`` orders its rules.

    ``positions`` changes its order for single roles, since a service has one order per role.
    """

    service: str  # GCID of the service it belongs to
    name: str
    place: int
    role: RuleRole
    when: Condition
    then: tuple[RuleAction, ...]
    enabled: bool = True
    description: str = ""
    positions: tuple[tuple[RuleRole, int], ...] = ()  # counted from 1, among the rules that are tried for the role


def rules_in_order(rules: Iterable[Rule], role: RuleRole) -> list[Rule]:
    """Return the rules that are tried for a role, in that role's order; ``rules`` must be ordered by place."""
    mine = [rule for rule in rules if rule.role in (role, RuleRole.ANY)]
    placed = [(position, rule) for rule in mine for one, position in rule.positions if one is role]
    if not placed:
        return mine
    moved = [rule for _, rule in placed]
    found = [rule for rule in mine if rule not in moved]
    for position, rule in sorted(placed, key=lambda one: one[0]):
        found.insert(position - 1, rule)
    return found


def rule_key(service: str, name: str) -> str:
    """Return the key under which a rule is saved."""
    return f"{service}/{name.casefold()}"
