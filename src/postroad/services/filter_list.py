"""The list of a filter: ``{"allow": […], "deny": […], "when": …, "otherwise": "allow" | "deny"}``.

``allow`` and ``deny`` name organizations, addresses or GCIDs; ``when`` is a condition as in rules. The default of
``otherwise`` is ``deny`` if the list has ``allow`` or ``when``, and ``allow`` otherwise.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.configuration.shapes import StrictShape, Word
from postroad.core.model.directory import Service
from postroad.core.model.rule import Rule
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.compiled_rule import ConditionTest, compile_condition
from postroad.core.routing.rules.rule_check import find_rule_errors

MAX_NAMED = 100_000

Named = Annotated[tuple[Word, ...], Field(max_length=MAX_NAMED)]


class ListEntry(StrictShape):
    """A filter list as it is written."""

    allow: Named = ()
    deny: Named = ()
    when: Any = None
    otherwise: Literal["allow", "deny"] | None = None


class FilterList:
    """A filter list ready for use."""

    __slots__ = ("allow", "deny", "holds", "otherwise")

    def __init__(self, entry: ListEntry) -> None:
        self.allow = frozenset(name.casefold() for name in entry.allow)
        self.deny = frozenset(name.casefold() for name in entry.deny)
        self.holds: ConditionTest | None = None if entry.when is None else compile_condition(_rule(entry.when, "").when)
        self.otherwise = entry.otherwise or ("deny" if entry.allow or entry.when is not None else "allow")


def read_list(content: str) -> FilterList:
    return FilterList(ListEntry.model_validate_json(content))


def find_list_errors(content: str, service: str) -> list[DocumentError]:
    """Return the errors in a list of the service with this GCID."""
    try:
        entry = ListEntry.model_validate_json(content)
        if entry.when is None:
            return []
        rule = _rule(entry.when, service)
    except ValidationError as error:
        return [DocumentError("".join(f"/{step}" for step in fault["loc"]), fault["msg"]) for fault in error.errors()]
    owner = Service(gcid=service, organization="", name="")
    return [DocumentError(fault.pointer, fault.detail) for fault in find_rule_errors(rule, Directory(), owner)]


def _rule(when: Any, service: str) -> Rule:
    """Return a rule with this condition, because conditions are parsed as parts of rules."""
    entry = {"name": "list", "when": when, "then": [{"stopRuleEvaluation": True}]}
    return rule_of(RuleEntry.model_validate(entry), service, 0)
