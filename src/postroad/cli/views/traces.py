"""A transaction's history as a tree: messages, their copies, the stops of each copy, and events with times.

Answers are listed below the message they answer, and forwards of an exchange or a model below the original. Times
count from the transaction's first message. If the contents are known, each message shows its documents and each stop
the changes of its service: removed and added lines of each part. XML and JSON are first split into a line for each
element or member, so that a document in one long line shows small changes too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import zip_longest

from rich.text import Text
from rich.tree import Tree

from postroad.cli.framework.output import strip_controls
from postroad.core.codecs.lexical import write_time
from postroad.core.model.history import shown_state
from postroad.core.model.message import Part
from postroad.core.resources.histories import (
    ArrivalView,
    ContainedView,
    CopyView,
    DrawnView,
    GatheredView,
    HeldBackView,
    MessageView,
    StopView,
    Trace,
)
from postroad.core.routing.explain.explanation import FOREIGN_RULE

BETWEEN_TAGS = re.compile(r">\s*<")
MAX_LINES = 40
STYLES = {"-": "red", "+": "green"}


def part_lines(part: Part) -> list[str]:
    """Split a part into lines that can be compared and read; for a binary part, only its size."""
    try:
        text = part.data.decode()
    except UnicodeDecodeError:
        return [f"({len(part.data)} bytes)"]
    kind = part.content_type.partition(";")[0].strip().lower()
    if kind.endswith("json"):
        return _json_lines(text)
    broken = BETWEEN_TAGS.sub(">\n<", text) if kind.endswith("xml") else text
    return [line.rstrip() for line in broken.splitlines()]


def _json_lines(text: str) -> list[str]:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()


def show_part(part: Part) -> Text:
    """Render the whole part; text that has lines keeps them."""
    try:
        lines = part.data.decode().rstrip().splitlines()
    except UnicodeDecodeError:
        lines = []
    return join_lines([Text(strip_controls(line)) for line in (lines if len(lines) > 1 else part_lines(part))])


def join_lines(lines: list[Text]) -> Text:
    left = len(lines) - MAX_LINES
    return Text("\n").join(lines if left <= 0 else [*lines[:MAX_LINES], Text(f"… and {left} more lines", "dim")])


def part_name(part: Part) -> str:
    kind = "attachment" if part.attachment else "document"
    return f"{kind} {part.id} ({part.content_type}, {len(part.data)} bytes)"


def list_changes(before: Sequence[Part], after: Sequence[Part]) -> Iterator[tuple[str, Text]]:
    """Yield each part that has changed, with a description and the difference."""
    was, is_now = ({part.id: part for part in parts} for parts in (before, after))
    for name in dict.fromkeys((*was, *is_now)):
        old, new = was.get(name), is_now.get(name)
        if new is None or old is None:
            part = new or was[name]
            yield f"{'added' if old is None else 'removed'} {part_name(part)}", Text()
        elif old != new:
            yield f"changed {'attachment' if new.attachment else 'document'} {name}", join_lines(_difference(old, new))


def _difference(old: Part, new: Part) -> list[Text]:
    lines = list(unified_diff(part_lines(old), part_lines(new), lineterm="", n=0))[2:]
    return [
        Text(f"{line[0]} {strip_controls(line[1:].strip())}", STYLES[line[0]]) for line in lines if line[0] in STYLES
    ]


STATES = {"delivered": "green", "queued": "yellow"}
ENDS = ("rejected", "failed", "expired", "cancelled")
GOING = ("open", "closed", "assembled", "suspended")  # states of batches in which members still wait
Contents = Mapping[int, Sequence[Part]]  # of deliveries, by number


def trace_tree(history: Trace, contents: Contents | None = None) -> Tree:
    begin_us = min((message.at_us for message in history.messages), default=0)
    tree = Tree(Text(f"transaction {history.transaction}", style="bold").append(f"  {write_time(begin_us)}", "dim"))
    drawing = _Drawing(begin_us, contents or {})
    branches: dict[str, Tree] = {}
    for message in history.messages:
        above = branches.get(message.answers or message.forwards, tree)
        branches[message.session] = drawing.message(above, message)
    return tree


def _is_special(copy: CopyView, message: MessageView) -> bool:
    """Return True if a recipient of a rejected post was refused for another reason than the whole post."""
    return (copy.code, copy.detail) != (message.code, message.detail)


class _Drawing:
    def __init__(self, begin_us: int, contents: Contents) -> None:
        self._begin_us = begin_us
        self._contents = contents

    def message(self, above: Tree, message: MessageView) -> Tree:
        to = ", ".join(copy.recipient for copy in message.copies)
        line = Text(f"{message.type or 'unreadable post'} ", style="bold").append(
            f"{message.sender} → {to}", "bold cyan"
        )
        facts = [message.topic, message.handle, f"{message.size} bytes", message.form]
        line.append("  " + ", ".join(fact for fact in facts if fact), "dim").append(self._after(message.at_us), "dim")
        branch = above.add(line)
        branch.add(Text(f"session {message.session}", "dim"))
        for words in _arrived(message.came) if message.came is not None else ():
            branch.add(Text(words, "dim"))
        for words in _made_of(message.contained) if message.contained is not None else ():
            branch.add(Text(words))
        self._documents(branch, message)
        if message.code:
            branch.add(Text(f"rejected: {message.detail} [{message.code}]", "red"))
        for copy in (
            message.copies if not message.code else [one for one in message.copies if _is_special(one, message)]
        ):
            self._copy(branch, copy, alone=len(message.copies) == 1)
        return branch

    def _documents(self, branch: Tree, message: MessageView) -> None:
        """The message as its first stop was given it."""
        first = next((stop.delivery for copy in message.copies for stop in copy.stops), 0)
        for part in self._contents.get(first, ()):
            branch.add(Text(part_name(part))).add(show_part(part))

    def _copy(self, branch: Tree, copy: CopyView, *, alone: bool) -> None:
        if copy.code:
            branch.add(Text(f"{copy.recipient}: not sent: {copy.detail} [{copy.code}]", "red"))
            return
        below = branch if alone else branch.add(Text(f"copy for {copy.recipient}"))
        for stop, following in zip_longest(copy.stops, copy.stops[1:]):
            self._changed(self._stop(below, stop), stop, following)
        for service in copy.route[len(copy.stops) :]:
            below.add(Text(f"{service}  not reached" + (" yet" if _goes_on(copy) else ""), "dim"))

    def _stop(self, above: Tree, stop: StopView) -> Tree:
        line = Text(stop.service + (" (in transit)" if stop.in_transit else "") + "  ")
        line.append(shown_state(stop.state), STATES.get(stop.state, "red"))
        if stop.rule:
            rule = "a rule" if stop.rule == FOREIGN_RULE else f"rule {stop.rule}"
            line.append(f"  by {rule} of {stop.invoker}", "dim")
        branch = above.add(line)
        for event in stop.events:
            words = f"{event.what} by {event.by}" + (f": {event.detail}" if event.detail else "")
            branch.add(Text(words).append(self._after(event.at_us), "dim"))
        for words in _went_with(stop.gathered) if stop.gathered is not None else ():
            branch.add(Text(words))
        if stop.held is not None:
            branch.add(Text(_held_back(stop.held, stop.service)))
        if stop.paused is not None:
            branch.add(Text(f"pushes are paused until {write_time(stop.paused.until_us)}: {stop.paused.why}", "yellow"))
        return branch

    def _changed(self, branch: Tree, stop: StopView, following: StopView | None) -> None:
        if following is None or not {stop.delivery, following.delivery} <= self._contents.keys():
            return
        found = list(list_changes(self._contents[stop.delivery], self._contents[following.delivery]))
        for words, lines in found:
            below = branch.add(Text(words))
            if lines:
                below.add(lines)
        if not found:
            branch.add(Text("changed nothing", "dim"))

    def _after(self, at_us: int) -> str:
        past_us = at_us - self._begin_us
        return f"  +{past_us / 1000:.1f} ms" if past_us < 10_000_000 else f"  +{past_us / 1_000_000:.1f} s"


def _arrived(came: ArrivalView) -> Iterator[str]:
    if came.message_id:
        layers = ", ".join(came.layers) or "neither signed nor encrypted"
        yield f"by AS2 as {came.message_id}, {layers}" + (f"; MIC {came.mic}" if came.mic else "")
    for note in came.notes:
        yield f"note: {note}"


def _went_with(gathered: GatheredView) -> Iterator[str]:
    """Yield the outcome of a message in its batch, beyond its own events."""
    if gathered.state in GOING:
        yield f"batch {gathered.batch} is {gathered.state}"
    if gathered.reference:
        document = f" as {gathered.document}" if gathered.document else ""
        yield f"in interchange {gathered.interchange}, control number {gathered.reference}{document}"
    if gathered.verdict:
        reasons = f": {'; '.join(gathered.reasons)}" if gathered.reasons else ""
        yield f"the partner reports: {gathered.verdict}{reasons}"


def _held_back(held: HeldBackView, service: str) -> str:
    """Describe why a delivery is not pushed yet: it waits for release."""
    if held.until_us:
        return f"waits for release until {write_time(held.until_us)} at the latest"
    return f"waits for release until enough messages wait, or {service} requests it"


def _made_of(contained: ContainedView) -> Iterator[str]:
    numbers = ", ".join(f"{one.scope} {number_text(one)}" for one in contained.numbers)
    what = (
        f"of batch {contained.batch}, members: {contained.members}"
        if contained.batch
        else "an acknowledgment to a partner"
    )
    yield f"{contained.standard} interchange {what}; control numbers: {numbers or 'none'}"
    for answer in contained.answers:
        otherwise = f", different for {answer.otherwise} of its messages" if answer.otherwise else ""
        detail = f": {answer.detail}" if answer.detail else ""
        yield f"the partner reports with session {answer.session}: {answer.verdict}{otherwise}{detail}"


def number_text(drawn: DrawnView) -> str:
    return str(drawn.first) if drawn.first == drawn.last else f"{drawn.first} to {drawn.last}"


def _goes_on(copy: CopyView) -> bool:
    return copy.state not in ENDS and (not copy.stops or copy.stops[-1].state in STATES)
