"""Search results on the terminal: one message with its status, or a line for each result."""

from __future__ import annotations

from shlex import quote

from postroad.cli.framework.output import Output
from postroad.core.resources.messages import (
    Found,
    FoundBatchView,
    FoundMessageView,
    FoundServiceView,
    WhereaboutsView,
)

STYLES = {"waiting": "yellow", "in transit": "yellow", "delivered": "green"}
COLUMNS = ("at", "session", "from", "recipients", "handle", "by", "state")


def show_search_results(out: Output, found: list[Found]) -> None:
    if out.as_json:
        return
    for one in found:
        match one:
            case FoundServiceView():
                out.print(f"service {one.address}, {one.gcid}: postroad services show {quote(one.address)}")
            case FoundBatchView():
                out.print(f"batch {one.id} at {one.service}, {one.state}: postroad batch show {one.id}")
    messages = [one for one in found if isinstance(one, FoundMessageView)]
    match messages:
        case [FoundMessageView(whereabouts=[_, *_]) as only]:
            _whereabouts(out, only)
        case [_, *_]:
            _table(out, messages)


def _whereabouts(out: Output, message: FoundMessageView) -> None:
    """Print a single result: its sender, and the status of each copy."""
    from rich.padding import Padding
    from rich.text import Text

    handle = f", handle {message.handle}" if message.handle else ""
    out.show(
        Text.assemble(
            ("message ", "bold"),
            f"{message.session} of {message.sender}, {message.at}",
            (f"{handle}; found by {', '.join(message.by)}", "dim"),
        )
    )
    for one in message.whereabouts:
        to = f"to {one.recipient}: " if one.recipient else ""
        out.show(Text.assemble(f"  {to}", (one.state, _style(one))))
        out.show(Padding(Text(one.text), (0, 0, 0, 4), expand=False))
        if one.batch:
            out.show(Text(f"    its batch: postroad batch show {one.batch}", "dim"))
    if message.state != "refused":
        out.show(Text(f"  its history: postroad trace {message.session}", "dim"))


def _table(out: Output, messages: list[FoundMessageView]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        drawn.add_column(column.upper(), overflow="fold", no_wrap=column == "session")  # it is there to be copied
    for one in messages:
        shown = dict(one) | {"at": f"{one.at[:19]}Z"}
        drawn.add_row(*(Text(_cell(shown[name]), _style(one) if name == "state" else "") for name in COLUMNS))
    out.show(drawn)


def _style(of_something: FoundMessageView | WhereaboutsView) -> str:
    return STYLES.get(of_something.state, "red")


def _cell(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
