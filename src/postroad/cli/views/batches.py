"""Batches on the terminal: fill level, closing criterion and time of each; and one batch in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroad.cli.framework.output import Output
from postroad.core.model.history import shown_state

STYLES = {"suspended": "bold red", "open": "green", "closed": "yellow", "assembled": "cyan", "dropped": "red"}
BAR = 10
Value = dict[str, Any]


def show_batches(out: Output, batches: list[Value]) -> None:
    """Print one line per batch; batches that need attention are highlighted."""
    if out.as_json or not batches:
        return
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False)
    for column in ("BATCH", "AT", "STATE", "MESSAGES", "BYTES", "FILLED", "WAITS FOR"):
        drawn.add_column(column, overflow="fold", justify="right" if column in ("MESSAGES", "BYTES") else "left")
    for batch in batches:
        cells = [batch["id"], _place(batch), _state(batch), str(batch["members"]), str(batch["bytes"])]
        cells += [draw_bar(batch["nearest"]) if batch["state"] == "open" else "", batch["nearest"]["told"]]
        style = STYLES["suspended"] if batch["state"] == "suspended" else ""
        styles = ["", "", STYLES.get(batch["state"], ""), "", "", "cyan", style]
        drawn.add_row(*(Text(cell, one) for cell, one in zip(cells, styles, strict=True)))
    out.show(drawn)


def show_batch(out: Output, batch: Value, members: list[Value], *, is_all: bool) -> None:
    """Print one batch in full, with some of its members or all that ever joined it."""
    for name, value in _facts(batch):
        if value:
            out.say(f"{name:<13}{value}")
    rows = [[one["criterion"], draw_bar(one), one["told"]] for one in batch["criteria"]]
    if rows:
        out.table(["CRITERION", "FILLED", "IN WORDS"], rows)
    answers = [[one["at"], one["verdict"], one["session"], _answer_words(one)] for one in batch["answers"]]
    if answers:
        out.table(["ANSWERED", "VERDICT", "WITH SESSION", "DETAIL"], answers)
    changes = [[one["at"], one["what"], one["by"], _change_words(one)] for one in batch["changes"]]
    out.table(["TIME", "EVENT", "BY", "DETAIL"], changes)
    show_members(out, members)
    if not is_all:
        out.say(f"… and more; all of them: postroad batch members {batch['id']}")


def show_members(out: Output, members: list[Value]) -> None:
    columns = ("delivery", "session", "from", "kind", "bytes", "state", "since", "document")
    members = [one | {"state": shown_state(one["state"])} for one in members]
    rows = [[*(str(one[name]) for name in columns), _member_words(one)] for one in members]
    if rows:
        heads = ["DELIVERY", "SESSION", "FROM", "KIND", "BYTES", "STATE", "SINCE", "DOCUMENT", "PARTNER SAYS"]
        out.table(heads, rows)


def draw_bar(criterion: Value) -> str:
    """Draw how far a criterion is fulfilled."""
    filled = int(criterion["share"] * BAR)
    return "█" * filled + "░" * (BAR - filled) + f" {criterion['share'] * 100:3.0f} %"


def describe_action(done: str, batch: Value) -> str:
    """Describe the result of an action on a batch."""
    return f"{done}: batch {batch['id']} is {_state(batch)}, messages: {batch['members']}"


def _facts(batch: Value) -> Iterator[tuple[str, str]]:
    yield "batch", batch["id"]
    yield "at", _place(batch)
    yield "state", _state(batch) + (f": {batch['why']}" if batch["why"] else "")
    yield "messages", f"{batch['members']}, {batch['bytes']} bytes"
    yield "opened", f"{batch['openedAt']}, latest message {batch['latestAt']}"
    yield "closed", f"{batch['closedAt']} by {batch['closedBy']}" if batch["closedAt"] else ""
    yield "waits for", batch["nearest"]["told"] if batch["state"] in ("open", "closed", "suspended") else ""
    yield "interchange", f"{batch['interchange']} ({batch['standard']})" if batch["interchange"] else ""
    yield "numbers", ", ".join(f"{one['scope']} {_range(one)}" for one in batch["numbers"])
    yield "sending", _sending(batch["sending"]) if batch["sending"] is not None else ""


def _place(batch: Value) -> str:
    return " ".join([batch["service"], *(f"[{value}]" for value in batch["key"])])


def _state(batch: Value) -> str:
    return f"{batch['state']}, paused" if batch["held"] and batch["state"] in ("open", "closed") else batch["state"]


def _range(numbers: Value) -> str:
    first, last = numbers["first"], numbers["last"]
    return str(first) if first == last else f"{first} to {last}"


def _sending(sending: Value) -> str:
    later = f", again at {sending['nextAt']}" if sending["nextAt"] else ""
    reason = f": {sending['reason']}" if sending["reason"] else ""
    return f"to {sending['recipient']}, {shown_state(sending['state'])}, attempts: {sending['attempts']}{later}{reason}"


def _change_words(change: Value) -> str:
    counted = f"messages: {change['messages']}" if change["messages"] else ""
    return "; ".join(filter(None, (counted, change["detail"])))


def _answer_words(answer: Value) -> str:
    otherwise = f"different for {answer['otherwise']} messages" if answer["otherwise"] else ""
    return "; ".join(filter(None, (answer["detail"], otherwise)))


def _member_words(member: Value) -> str:
    reasons = "; ".join(member["reasons"])
    return f"{member['verdict']}: {reasons}" if reasons else str(member["verdict"])
