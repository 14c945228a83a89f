"""Bindings on the terminal: what each selects, how it is decided, and its counts and errors."""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.resources.bindings import (
    BindingExplanation,
    BindingView,
    ListedBinding,
    TrialResult,
    TriedBindingView,
)

COLUMNS = ("NAME", "QUEUE", "ROUTING KEY", "MATCHED", "ERRORS", "EVALUATION")


def binding_rows(bindings: list[ListedBinding]) -> list[list[str]]:
    return [
        [
            one.name,
            one.queue,
            one.routing_key,
            str(one.state.matched),
            str(one.state.errors),
            one.state.explanation,
        ]
        for one in bindings
    ]


def error_lines(bindings: list[ListedBinding]) -> Iterator[str]:
    """Yield the last error of each binding that has one."""
    for one in bindings:
        if last := one.state.last_error:
            yield f"{one.name}: last error at {one.state.last_error_at}: {last}"


def bound_line(bound: BindingView, exchange: str) -> str:
    switched = "" if bound.enabled else ", disabled"
    return f"{bound.name}: {bound.queue} bound to {exchange} (version {bound.version}{switched})"


def explanation_lines(name: str, found: BindingExplanation) -> Iterator[str]:
    yield f"{name}: {found.explanation}"
    yield f"matched {found.matched}" + (f", last at {found.matched_at}" if found.matched_at else "")
    last = f", last at {found.last_error_at}: {found.last_error}" if found.last_error else ""
    yield f"errors {found.errors}{last}"


def trial_lines(found: TrialResult) -> Iterator[str]:
    for one in found.items:
        yield f"{one.name}: {_outcome(one)}"
        yield f"  {one.explanation}"
        for line in (one.content or "").splitlines():
            yield f"    {line}"
    goes = sum(one.outcome == "goes" for one in found.items)
    yield f"{goes} of {found.tried} bindings match; nothing was sent."


def _outcome(one: TriedBindingView) -> str:
    if one.outcome == "fails":
        return f"fails: {one.error}"
    made = f"as {one.content_type}" if one.content is not None else "unchanged"
    return f"goes to {one.queue} {made}"
