"""A binding as a form: the queue, the routing key, and one choice of how messages are selected.

Rule: the result of a form is checked like the same binding in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.console.page_guards import Form

CHECKED = "yes"
DECIDERS = (
    ("", "the routing key only; without one, every message"),
    ("query", "a query (XQuery), below"),
    ("script", "a script, below"),
    ("routing", "an installed routing, named below"),
)
FIELDS = ("name", "queue", "routingKey", "decider", "program", "description", "enabled")
EMPTY = dict.fromkeys(FIELDS, "") | {"enabled": CHECKED}
PLACES = {
    "/name": "name", "/queue": "queue", "/routingKey": "routingKey", "/query": "program", "/script": "program",
    "/routing": "program", "/description": "description",
}  # fmt: skip


def binding_entry(form: Form) -> dict[str, Any]:
    """Return the binding of a form in the file format, without its name."""
    given = {name: form.get(name, "").strip() for name in ("queue", "routingKey", "description")}
    program, decider = form.get("program", "").strip(), form.get("decider", "")
    given |= {decider: program} if decider in ("query", "script", "routing") else {}
    return {name: value for name, value in given.items() if value} | {"enabled": form.get("enabled") == CHECKED}


def binding_fields(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return a binding in the file format as form fields."""
    decider = next((name for name in ("query", "script", "routing") if entry.get(name)), "")
    return {
        "name": entry.get("name", ""),
        "queue": entry.get("queue", ""),
        "routingKey": entry.get("routingKey", ""),
        "decider": decider,
        "program": entry.get(decider, "") if decider else "",
        "description": entry.get("description", ""),
        "enabled": CHECKED if entry.get("enabled", True) else "",
    }
