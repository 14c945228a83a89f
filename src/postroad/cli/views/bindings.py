"""Bindings on the terminal: what each selects, how it is decided, and its counts and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

COLUMNS = ("NAME", "QUEUE", "ROUTING KEY", "MATCHED", "ERRORS", "EVALUATION")
Value = dict[str, Any]


def binding_rows(bindings: list[Value]) -> list[list[str]]:
    return [
        [
            one["name"],
            one["queue"],
            one["routingKey"],
            str(one["state"]["matched"]),
            str(one["state"]["errors"]),
            one["state"]["explanation"],
        ]
        for one in bindings
    ]


def error_lines(bindings: list[Value]) -> Iterator[str]:
    """Yield the last error of each binding that has one."""
    for one in bindings:
        if last := one["state"]["lastError"]:
            yield f"{one['name']}: last error at {one['state']['lastErrorAt']}: {last}"


def bound_line(bound: Value, exchange: str) -> str:
    switched = "" if bound["enabled"] else ", disabled"
    return f"{bound['name']}: {bound['queue']} bound to {exchange} (version {bound['version']}{switched})"


def explanation_lines(name: str, found: Value) -> Iterator[str]:
    yield f"{name}: {found['explanation']}"
    yield f"matched {found['matched']}" + (f", last at {found['matchedAt']}" if found["matchedAt"] else "")
    last = f", last at {found['lastErrorAt']}: {found['lastError']}" if found["lastError"] else ""
    yield f"errors {found['errors']}{last}"


def trial_lines(found: Value) -> Iterator[str]:
    for one in found["items"]:
        yield f"{one['name']}: {_outcome(one)}"
        yield f"  {one['explanation']}"
        for line in (one["content"] or "").splitlines():
            yield f"    {line}"
    goes = sum(one["outcome"] == "goes" for one in found["items"])
    yield f"{goes} of {found['tried']} bindings match; nothing was sent."


def _outcome(one: Value) -> str:
    if one["outcome"] == "fails":
        return f"fails: {one['error']}"
    made = f"as {one['contentType']}" if one["content"] is not None else "unchanged"
    return f"goes to {one['queue']} {made}"
