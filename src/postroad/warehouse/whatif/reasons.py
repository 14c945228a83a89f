"""The reasons why a copy takes another route: rules that apply on one side only, or a refusal.

Rule: a reason is the same text for all messages that have it, so that reasons can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from postroad.core.model.route import Context, Hop
from postroad.core.model.rule import rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import RuleTried, ServiceTried
from postroad.warehouse.whatif.comparison import CopyChange, RouteComparison, RouteDifference

OTHER_PROFILES = "services on the way have another profile"

_Held = dict[str, RuleTried]  # by the rules' keys


def explain_change(
    change: CopyChange, compared: RouteComparison, before: Directory, after: Directory
) -> tuple[str, ...]:
    """Return the reasons as text, rules first; at least one."""
    found = explain_rule_differences(compared.before.tried, compared.after.tried, before, after)
    if change.difference is RouteDifference.REFUSED:
        found.append(f"refused: {change.after.code}")
    elif change.difference is RouteDifference.ACCEPTED:
        found.append(f"no longer refused: {change.before.code}")
    elif change.difference is RouteDifference.CIRCUMSTANCES:
        found += _circumstances(change, before, after)
    return tuple(found) or (OTHER_PROFILES,)


def _circumstances(change: CopyChange, before: Directory, after: Directory) -> list[str]:
    """Return the differences at each service that are not caused by rules."""
    found = []
    for was, is_now in zip(change.before.hops, change.after.hops, strict=True):
        service = address_of(is_now.service, after, before)
        found += [f"another {what} at {service}" for what, look in CIRCUMSTANCES.items() if look(was) != look(is_now)]
    return found


def _of_context(field: str) -> Callable[[Hop], object]:
    return lambda hop: getattr(hop.context or Context(0), field)


CIRCUMSTANCES: dict[str, Callable[[Hop], object]] = {
    "invoker": lambda hop: hop.invoker,
    "set of arguments": lambda hop: hop.arguments,
    "topic": _of_context("topic"),
    "payer": _of_context("payer"),
    "treatment of errors": _of_context("absorbs"),
    "isolation": _of_context("shown_sender"),
    "moment for its rules": _of_context("dynamic"),
    "redirection": _of_context("through"),
}


def explain_rule_differences(
    tried_before: Iterable[ServiceTried], tried_after: Iterable[ServiceTried], before: Directory, after: Directory
) -> list[str]:
    """Return rules that apply on one side only, or with another action."""
    was, is_now = _held(tried_before), _held(tried_after)
    found = []
    for key, tried in is_now.items():
        known = was.get(key)
        if known is None:
            found.append(f"{_rule(key, tried, after)} holds: {_describe_action(tried)}")
        elif known.did and known.did != tried.did:  # if its action is known
            found.append(f"{_rule(key, tried, after)} has another effect: {_describe_action(tried)}")
    found += [f"{_rule(key, was[key], before)} {_no_longer(key, after)}" for key in was if key not in is_now]
    return found


def _no_longer(key: str, after: Directory) -> str:
    rule = after.rules.get(key)
    if rule is None:
        return "was removed"
    return "does not hold" if rule.enabled else "is disabled"


def _held(tried: Iterable[ServiceTried]) -> _Held:
    return {rule_key(one.service, rule.name): rule for one in tried for rule in one.rules if rule.held}


def _describe_action(tried: RuleTried) -> str:
    return "; ".join(tried.did) or "nothing to the route"


def _rule(key: str, tried: RuleTried, directory: Directory) -> str:
    rule = directory.rules.get(key)
    name = rule.name if rule is not None else tried.name
    return f"rule '{name}' of {address_of(key.partition('/')[0], directory)}"


def address_of(gcid: str, *directories: Directory) -> str:
    """Return the address of a service; its GCID if no directory has it."""
    found = (directory.services.get(gcid) for directory in directories)
    return next((service.address for service in found if service is not None), gcid)


def addresses_of(hops: Iterable[Hop], *directories: Directory) -> list[str]:
    return [address_of(hop.service, *directories) for hop in hops]
