"""What is decided in one place is not decided again elsewhere: who owns a service, its address, how exact
times are shown, which delivery a token is for, and which member of a batch an error is about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

import pytest

from tests.source_tree import modules


def compares_organizations(node: ast.AST) -> bool:
    """Whether two names are compared in lower case, one of them an organization's."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    sides = [node.left, *node.comparators]
    lowered = [isinstance(side, ast.Call) and getattr(side.func, "attr", "") == "casefold" for side in sides]
    return all(lowered) and any("organization" in ast.unparse(side) for side in sides)


def falls_back_on_name(node: ast.AST) -> bool:
    """Whether this is the address of a service, or else another name."""
    if not isinstance(node, ast.IfExp) or not isinstance(node.body, ast.Attribute) or node.body.attr != "address":
        return False
    is_found = ast.unparse(node.test) == f"{ast.unparse(node.body.value)} is not None"
    return is_found and isinstance(node.body.value, ast.Name) and not isinstance(node.orelse, ast.Constant)


def truncates(node: ast.AST) -> bool:
    """Whether a remainder by a million is subtracted from the number itself."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.BinOp):
        return False
    remainder = node.right
    is_remainder = isinstance(remainder.op, ast.Mod)
    return is_remainder and ast.unparse(remainder.left) == ast.unparse(node.left)


def numbers_delivery(node: ast.AST) -> bool:
    """Whether an entry's number is shifted to make or split the number of a delivery."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.LShift | ast.RShift):
        return False
    return getattr(node.right, "value", None) == 16 and not isinstance(node.left, ast.Constant)


def numbers_token(node: ast.AST) -> bool:
    """Whether the number of a delivery is read from a token."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "number":
        return False
    return ast.unparse(node.func.value).casefold().endswith("tokens")


def matches_member(node: ast.AST) -> bool:
    """Whether this is a pattern that finds a batch's member in an error's pointer."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "/members/(" in node.value


RULES: dict[Callable[[ast.AST], bool], tuple[str, str, set[str]]] = {
    compares_organizations: (
        "use is_same_organization",
        "service.organization.casefold() != name.casefold()",
        {"core/model/directory.py"},
    ),
    falls_back_on_name: (
        "use Directory.address_of or address_named",
        "service.address if service is not None else gcid",
        {"core/model/snapshot.py"},
    ),
    truncates: ("use truncate_to_second", "at_us - at_us % 1_000_000", {"core/model/contexts.py"}),
    numbers_delivery: ("use the functions of core/model/ids", "seq << 16", {"core/model/ids.py"}),
    numbers_token: (
        "use DeliveryLookup, which also checks for whom the token was made",
        "self._tokens.number(token)",
        {"flow/stages/lookup.py", "testing/simulation/observations.py"},  # the observer of simulations has no network
    ),
    matches_member: (
        "use find_unfit_member",
        're.compile(r"/members/([0-9]+)")',
        {"core/interchange/assembly_errors.py"},
    ),
}


CHECKED = (ast.Compare, ast.IfExp, ast.BinOp, ast.Call, ast.Constant)


@cache
def broken_rules() -> dict[Callable[[ast.AST], bool], list[str]]:
    """Return the places outside the allowed modules where each rule is written again."""
    found: dict[Callable[[ast.AST], bool], list[str]] = {rule: [] for rule in RULES}
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, CHECKED):
                for rule, (_, _, allowed) in RULES.items():
                    if rule(node) and module.name not in allowed:
                        found[rule].append(f"{module.name}:{node.lineno}")
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_is_written_in_one_place(rule: Callable[[ast.AST], bool]) -> None:
    advice, _, _ = RULES[rule]
    assert broken_rules()[rule] == [], advice


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_check_sees_what_it_forbids(rule: Callable[[ast.AST], bool]) -> None:
    _, forbidden, _ = RULES[rule]
    assert any(rule(node) for node in ast.walk(ast.parse(forbidden)))
