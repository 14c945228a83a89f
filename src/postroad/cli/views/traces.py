"""A transaction's history as a tree: messages, their copies, the stops of each copy, and events with times.

Answers are listed below the message they answer, and forwards of an exchange or a model below the original. Times
count from the transaction's first message. If the contents are known, each message shows its documents and each stop
the changes of its service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.text import Text
from rich.tree import Tree

from postroad.cli.views.document_changes import list_changes, part_name, show_part
from postroad.core.codecs.lexical import write_time
from postroad.core.model.history import (
    ArrivalNotes,
    BatchMembership,
    CopyHistory,
    History,
    InterchangeContents,
    MessageHistory,
    NumberRange,
    ReleaseHold,
    Stop,
    shown_state,
)
from postroad.core.model.message import Part
from postroad.core.routing.explain.explanation import FOREIGN_RULE

STATES = {"delivered": "green", "queued": "yellow"}
ENDS = ("rejected", "failed", "expired", "cancelled")
GOING = ("open", "closed", "assembled", "suspended")  # states of batches in which members still wait
Contents = Mapping[int, Sequence[Part]]  # of deliveries, by number


def trace_tree(history: History, contents: Contents | None = None) -> Tree:
    begin_us = min((message.at_us for message in history.messages), default=0)
    tree = Tree(Text(f"transaction {history.transaction}", style="bold").append(f"  {write_time(begin_us)}", "dim"))
    drawing = _Drawing(begin_us, contents or {})
    branches: dict[str, Tree] = {}
    for message in history.messages:
        above = branches.get(message.answers or message.forwards, tree)
        branches[message.session] = drawing.message(above, message)
    return tree


def _is_special(copy: CopyHistory, message: MessageHistory) -> bool:
    """Return True if a recipient of a rejected post was refused for another reason than the whole post."""
    return (copy.code, copy.detail) != (message.code, message.detail)


class _Drawing:
    def __init__(self, begin_us: int, contents: Contents) -> None:
        self._begin_us = begin_us
        self._contents = contents

    def message(self, above: Tree, message: MessageHistory) -> Tree:
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

    def _documents(self, branch: Tree, message: MessageHistory) -> None:
        """The message as its first stop was given it."""
        first = next((stop.delivery for copy in message.copies for stop in copy.stops), 0)
        for part in self._contents.get(first, ()):
            branch.add(Text(part_name(part))).add(show_part(part))

    def _copy(self, branch: Tree, copy: CopyHistory, *, alone: bool) -> None:
        if copy.code:
            branch.add(Text(f"{copy.recipient}: not sent: {copy.detail} [{copy.code}]", "red"))
            return
        below = branch if alone else branch.add(Text(f"copy for {copy.recipient}"))
        for stop, following in zip_longest(copy.stops, copy.stops[1:]):
            self._changed(self._stop(below, stop), stop, following)
        for service in copy.route[len(copy.stops) :]:
            below.add(Text(f"{service}  not reached" + (" yet" if _goes_on(copy) else ""), "dim"))

    def _stop(self, above: Tree, stop: Stop) -> Tree:
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

    def _changed(self, branch: Tree, stop: Stop, following: Stop | None) -> None:
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


def _arrived(came: ArrivalNotes) -> Iterator[str]:
    if came.message_id:
        layers = ", ".join(came.layers) or "neither signed nor encrypted"
        yield f"by AS2 as {came.message_id}, {layers}" + (f"; MIC {came.mic}" if came.mic else "")
    for note in came.notes:
        yield f"note: {note}"


def _went_with(gathered: BatchMembership) -> Iterator[str]:
    """Yield the outcome of a message in its batch, beyond its own events."""
    if gathered.state in GOING:
        yield f"batch {gathered.batch} is {gathered.state}"
    if gathered.reference:
        document = f" as {gathered.document}" if gathered.document else ""
        yield f"in interchange {gathered.interchange}, control number {gathered.reference}{document}"
    if gathered.verdict:
        reasons = f": {'; '.join(gathered.reasons)}" if gathered.reasons else ""
        yield f"the partner reports: {gathered.verdict}{reasons}"


def _held_back(held: ReleaseHold, service: str) -> str:
    """Describe why a delivery is not pushed yet: it waits for release."""
    if held.until_us:
        return f"waits for release until {write_time(held.until_us)} at the latest"
    return f"waits for release until enough messages wait, or {service} requests it"


def _made_of(contained: InterchangeContents) -> Iterator[str]:
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


def number_text(drawn: NumberRange) -> str:
    return str(drawn.first) if drawn.first == drawn.last else f"{drawn.first} to {drawn.last}"


def _goes_on(copy: CopyHistory) -> bool:
    return copy.state not in ENDS and (not copy.stops or copy.stops[-1].state in STATES)
