"""A transaction's history as a tree: messages, their copies, the stops of each copy, and what happened there and when.

Answers stand below the message they answer. Times count from the transaction's first message.
"""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from postroad.core.audit.history import CopyHistory, History, MessageHistory, Stop
from postroad.core.codecs.lexical import write_time

STATES = {"delivered": "green", "queued": "yellow"}


def trace_tree(history: History) -> Tree:
    begin_us = min((message.at_us for message in history.messages), default=0)
    tree = Tree(Text(f"transaction {history.transaction}", style="bold").append(f"  {write_time(begin_us)}", "dim"))
    branches: dict[str, Tree] = {}
    for message in history.messages:
        above = branches.get(message.answers, tree)
        branches[message.session] = _message_branch(above, message, begin_us)
    return tree


def _message_branch(above: Tree, message: MessageHistory, begin_us: int) -> Tree:
    to = ", ".join(copy.recipient for copy in message.copies)
    line = Text(f"{message.type} ", style="bold").append(f"{message.sender} → {to}", "bold cyan")
    facts = [message.topic, message.handle, f"{message.size} bytes", message.form]
    line.append("  " + ", ".join(fact for fact in facts if fact), "dim").append(_after(message.at_us, begin_us), "dim")
    branch = above.add(line)
    branch.add(Text(f"session {message.session}", "dim"))
    for copy in message.copies:
        _copy_branch(branch, copy, begin_us, alone=len(message.copies) == 1)
    return branch


def _copy_branch(branch: Tree, copy: CopyHistory, begin_us: int, *, alone: bool) -> None:
    if copy.code:
        branch.add(Text(f"{copy.recipient}: not sent: {copy.detail} [{copy.code}]", "red"))
        return
    below = branch if alone else branch.add(Text(f"copy for {copy.recipient}"))
    for stop in copy.stops:
        _stop_branch(below, stop, begin_us)
    for service in copy.route[len(copy.stops) :]:
        below.add(Text(f"{service}  not reached yet", "dim"))


def _stop_branch(above: Tree, stop: Stop, begin_us: int) -> None:
    line = Text(stop.service + (" (in transit)" if stop.in_transit else "") + "  ")
    branch = above.add(line.append(stop.state, STATES.get(stop.state, "red")))
    for event in stop.events:
        words = f"{event.what} by {event.by}" + (f": {event.detail}" if event.detail else "")
        branch.add(Text(words).append(_after(event.at_us, begin_us), "dim"))


def _after(at_us: int, begin_us: int) -> str:
    past_us = at_us - begin_us
    return f"  +{past_us / 1000:.1f} ms" if past_us < 10_000_000 else f"  +{past_us / 1_000_000:.1f} s"
