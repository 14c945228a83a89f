"""An explanation as plain text: the evaluated rules, then each route as a tree.

Rule: only plain characters, and the same explanation gives the same text, so that it can be compared and quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postroad.core.audit.pictures.route_rows import RouteRow, route_rows
from postroad.core.routing.explain.condition_text import ExplainedCondition
from postroad.core.routing.explain.explanation import ExplainedCopy, ExplainedRule, ExplainedService, RouteExplanation

Lines = Iterator[str]
SHOWN_CHARS = 80


def explanation_text(explanation: RouteExplanation) -> str:
    """The whole explanation, ending in a line break."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: RouteExplanation) -> Lines:
    what = f"message {explanation.session}" if explanation.session else "a message that has not been posted"
    by = f", by the rules of directory version {explanation.directory}" if explanation.directory else ""
    yield f"{what} from {explanation.sender}{by}"
    if explanation.code:
        yield f"refused: {explanation.detail} [{explanation.code}]"
    yield ""
    yield "Rules evaluated"
    if explanation.forgotten:
        yield "  no longer stored: the evaluated values quote the message, and were deleted with its body"
    elif not explanation.services:
        yield "  none that you may see"
    for service in explanation.services:
        yield from _service(service)
    for copy in explanation.copies:
        yield ""
        yield from _copy(explanation.sender, copy)


def _service(service: ExplainedService) -> Lines:
    brought = f", inserted by {service.invoker}" if service.invoker else ""
    yield f"  {service.service} ({service.role.value}{brought})"
    for fault in service.faults:
        yield f"    ! {fault}"
    if service.withheld:
        yield "    only its owner may see its rules"
    for rule in service.rules:
        yield from _rule(rule)


def _rule(rule: ExplainedRule) -> Lines:
    yield f"    [{_sign(rule.held)}] {rule.name} (version {rule.version})"
    if rule.told is not None:
        yield from _condition_lines(rule.told, 8)
    for did in rule.did:
        yield f"        => {did}"


def _condition_lines(told: ExplainedCondition, indent: int) -> Lines:
    seen = f"; found {_quoted(told.seen)}" if told.seen else "; found no value" if _was_evaluated(told) else ""
    yield f"{' ' * indent}[{_sign(told.held)}] {told.text}{seen}"
    for child in told.children:
        yield from _condition_lines(child, indent + 4)


def _was_evaluated(told: ExplainedCondition) -> bool:
    return told.held is not None and not told.children


def _quoted(seen: Sequence[str]) -> str:
    return ", ".join(f'"{text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"}"' for text in seen)


def _sign(held: bool | None) -> str:
    return "?" if held is None else "x" if held else " "


def _copy(sender: str, copy: ExplainedCopy) -> Lines:
    if copy.code:
        yield f"Not sent to {copy.recipient}: {copy.detail} [{copy.code}]"
        return
    yield f"Route to {copy.recipient}"
    rows = route_rows(sender, copy)
    yield "  " + " -> ".join([sender, *(row.service for row in rows if row.turn is not None)])
    yield f"  {sender}"
    yield from _branches(rows, 0, "  ")


def _branches(rows: Sequence[RouteRow], invoker: int, before: str) -> Lines:
    brought = [number for number, row in enumerate(rows) if row.invoker == invoker]
    for number in brought:
        row, last = rows[number], number == brought[-1]
        turn = f"{row.turn}. " if row.turn is not None else ""
        yield f"{before}{'`-' if last else '|-'} {turn}{row.service} ({'; '.join(row.notes)})"
        yield from _branches(rows, number, before + ("   " if last else "|  "))
