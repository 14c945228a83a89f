"""The result of ``postroad try`` on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SIGNS = {True: "x", False: " ", None: "?"}


def trial_lines(trial: dict[str, Any]) -> Iterator[str]:
    if "output" in trial:
        yield trial["output"].rstrip("\n")
        return
    if trial.get("valid") is not None:
        yield "the document is valid" if trial["valid"] else "the document is not valid"
        yield from (f"  ! {fault}" for fault in trial["faults"])
        return
    yield f"as {trial['role']}: {'the condition holds' if trial['held'] else 'the condition does not hold'}"
    for fault in trial["faults"]:
        yield f"  ! {fault}"
    yield from _condition(trial["condition"], 2)
    explanation = trial["explanation"]
    if explanation is None:
        return
    if explanation["code"]:
        yield f"the message would be refused: {explanation['detail']} [{explanation['code']}]"
    for copy in explanation["copies"]:
        if copy["code"]:
            yield f"not sent to {copy['recipient']}: {copy['detail']} [{copy['code']}]"
        else:
            yield "route: " + " -> ".join([explanation["sender"], *copy["route"]])


def _condition(told: dict[str, Any], indent: int) -> Iterator[str]:
    seen = "; found " + ", ".join(f'"{text}"' for text in told["seen"]) if told["seen"] else ""
    yield f"{' ' * indent}[{SIGNS[told['held']]}] {told['text']}{seen}"
    for inner in told["conditions"]:
        yield from _condition(inner, indent + 4)
