"""The lists that filters go by: ``{"allow": […], "deny": […], "when": …, "otherwise": "allow" | "deny"}``.

``allow`` and ``deny`` name organizations, addresses or GCIDs; ``when`` is a condition as rules have it. Left out,
``otherwise`` is ``deny`` where the list says who may pass, and ``allow`` where it only says who may not.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from postroad.core.configuration.document import Fault
from postroad.core.configuration.rules import RuleEntry, rule_of
from postroad.core.configuration.shapes import Shape, Word
from postroad.core.model.directory import Service
from postroad.core.model.rule import Rule
from postroad.core.model.snapshot import Directory
from postroad.core.routing.checking import rule_faults
from postroad.core.routing.conditions import Test, compiled

NAMED_MOST = 100_000

Named = Annotated[tuple[Word, ...], Field(max_length=NAMED_MOST)]


class ListEntry(Shape):
    """A list as it is written."""

    allow: Named = ()
    deny: Named = ()
    when: Any = None
    otherwise: Literal["allow", "deny"] | None = None


class FilterList:
    """A list as it is gone by."""

    __slots__ = ("allow", "deny", "holds", "otherwise")

    def __init__(self, entry: ListEntry) -> None:
        self.allow = frozenset(name.casefold() for name in entry.allow)
        self.deny = frozenset(name.casefold() for name in entry.deny)
        self.holds: Test | None = None if entry.when is None else compiled(_rule(entry.when, "").when)
        self.otherwise = entry.otherwise or ("deny" if entry.allow or entry.when is not None else "allow")


def read_list(content: str) -> FilterList:
    return FilterList(ListEntry.model_validate_json(content))


def list_faults(content: str, service: str) -> list[Fault]:
    """What is wrong with a list of the service with this GCID."""
    try:
        entry = ListEntry.model_validate_json(content)
        if entry.when is None:
            return []
        rule = _rule(entry.when, service)
    except ValidationError as error:
        return [Fault("".join(f"/{step}" for step in fault["loc"]), fault["msg"]) for fault in error.errors()]
    owner = Service(gcid=service, organization="", name="")
    return [Fault(fault.pointer, fault.detail) for fault in rule_faults(rule, Directory(), owner)]


def _rule(when: Any, service: str) -> Rule:
    """A rule with this condition, since conditions are read and checked as parts of rules."""
    entry = {"name": "list", "when": when, "then": [{"stopRuleEvaluation": True}]}
    return rule_of(RuleEntry.model_validate(entry), service, 0)
