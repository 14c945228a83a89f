"""What a search has found, on the terminal: one message with its whereabouts, or a line for each thing."""

from __future__ import annotations

from typing import Any

from postroad.cli.output import Output

STYLES = {"waiting": "yellow", "under way": "yellow", "delivered": "green"}
Value = dict[str, Any]


def found_view(out: Output, found: list[Value]) -> None:
    for one in found:
        if one["kind"] == "service":
            out.say(f"service {one['address']}, {one['gcid']}: postroad services show {one['address']}")
        elif one["kind"] == "batch":
            out.say(f"batch {one['id']} at {one['service']}, {one['state']}: postroad batch show {one['id']}")
    messages = [one for one in found if one["kind"] == "message"]
    match messages:
        case [{"whereabouts": [_, *_]} as only]:
            _whereabouts(out, only)
        case [_, *_]:
            columns = ("at", "session", "from", "recipients", "handle", "by", "state")
            out.table(
                [column.upper() for column in columns], [[_cell(one[name]) for name in columns] for one in messages]
            )


def _whereabouts(out: Output, message: Value) -> None:
    """A message that is all there is: who sent it, and of each copy where it is."""
    if out.as_json:
        return
    from rich.padding import Padding
    from rich.text import Text

    line = Text("message ", "bold").append(message["session"]).append(f" of {message['from']}, {message['at']}")
    handle = f", handle {message['handle']}" if message["handle"] else ""
    out.show(line.append(f"{handle}; found by {_cell(message['by'])}", "dim"))
    for one in message["whereabouts"]:
        to = f"to {one['recipient']}: " if one["recipient"] else ""
        out.show(Text(f"  {to}").append(one["state"], STYLES.get(one["state"], "red")))
        out.show(Padding(Text(one["text"]), (0, 0, 0, 4)))
    if message["state"] != "refused":
        out.show(Text(f"  its history: postroad trace {message['session']}", "dim"))


def _cell(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
