"""Batches on the terminal: fill level, closing criterion and time of each; and one batch in full."""

from __future__ import annotations

from collections.abc import Iterator

from postroad.cli.framework.output import Output
from postroad.core.model.history import shown_state
from postroad.core.resources.batches import (
    BatchChangeView,
    BatchDetails,
    BatchMemberView,
    BatchView,
    CriterionView,
    SendingView,
)
from postroad.core.resources.histories import DrawnView, PartnerAnswerView

STYLES = {"suspended": "bold red", "open": "green", "closed": "yellow", "assembled": "cyan", "dropped": "red"}
BAR = 10


def show_batches(out: Output, batches: list[BatchView]) -> None:
    """Print one line per batch; batches that need attention are highlighted."""
    if out.as_json or not batches:
        return
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False)
    for column in ("BATCH", "AT", "STATE", "MESSAGES", "BYTES", "FILLED", "WAITS FOR"):
        drawn.add_column(column, overflow="fold", justify="right" if column in ("MESSAGES", "BYTES") else "left")
    for batch in batches:
        cells = [batch.id, _place(batch), _state(batch), str(batch.members), str(batch.bytes)]
        cells += [draw_bar(batch.nearest) if batch.state == "open" else "", batch.nearest.told]
        style = STYLES["suspended"] if batch.state == "suspended" else ""
        styles = ["", "", STYLES.get(batch.state, ""), "", "", "cyan", style]
        drawn.add_row(*(Text(cell, one) for cell, one in zip(cells, styles, strict=True)))
    out.show(drawn)


def show_batch(out: Output, batch: BatchDetails, members: list[BatchMemberView], *, is_all: bool) -> None:
    """Print one batch in full, with some of its members or all that ever joined it."""
    for name, value in _facts(batch):
        if value:
            out.print(f"{name:<13}{value}")
    rows = [[one.criterion or "", draw_bar(one), one.told] for one in batch.criteria]
    if rows:
        out.table(["CRITERION", "FILLED", "PROGRESS"], rows)
    answers = [[one.at, one.verdict, one.session, _answer_words(one)] for one in batch.answers]
    if answers:
        out.table(["ANSWERED", "VERDICT", "WITH SESSION", "DETAIL"], answers)
    changes = [[one.at, one.what, one.by, _change_words(one)] for one in batch.changes]
    out.table(["TIME", "EVENT", "BY", "DETAIL"], changes)
    show_members(out, members)
    if not is_all:
        out.print(f"… and more; all of them: postroad batch members {batch.id}")


def show_members(out: Output, members: list[BatchMemberView]) -> None:
    rows = [
        [
            str(one.delivery), one.session, one.sender, one.kind, str(one.bytes), shown_state(one.state), one.since,
            one.document, _member_words(one),
        ]
        for one in members
    ]  # fmt: skip
    if rows:
        heads = ["DELIVERY", "SESSION", "FROM", "KIND", "BYTES", "STATE", "SINCE", "DOCUMENT", "PARTNER STATUS"]
        out.table(heads, rows)


def draw_bar(criterion: CriterionView) -> str:
    """Draw how far a criterion is fulfilled."""
    filled = int(criterion.share * BAR)
    return "█" * filled + "░" * (BAR - filled) + f" {criterion.share * 100:3.0f} %"


def describe_action(done: str, batch: BatchView) -> str:
    """Describe the result of an action on a batch."""
    return f"{done}: batch {batch.id} is {_state(batch)}, messages: {batch.members}"


def _facts(batch: BatchDetails) -> Iterator[tuple[str, str]]:
    yield "batch", batch.id
    yield "at", _place(batch)
    yield "state", _state(batch) + (f": {batch.why}" if batch.why else "")
    yield "messages", f"{batch.members}, {batch.bytes} bytes"
    yield "opened", f"{batch.opened_at}, latest message {batch.latest_at}"
    yield "closed", f"{batch.closed_at} by {batch.closed_by}" if batch.closed_at else ""
    yield "waits for", batch.nearest.told if batch.state in ("open", "closed", "suspended") else ""
    yield "interchange", f"{batch.interchange} ({batch.standard})" if batch.interchange else ""
    yield "numbers", ", ".join(f"{one.scope} {_range(one)}" for one in batch.numbers)
    yield "sending", _sending(batch.sending) if batch.sending is not None else ""


def _place(batch: BatchView) -> str:
    return " ".join([batch.service, *(f"[{value}]" for value in batch.key)])


def _state(batch: BatchView) -> str:
    return f"{batch.state}, paused" if batch.held and batch.state in ("open", "closed") else batch.state


def _range(numbers: DrawnView) -> str:
    first, last = numbers.first, numbers.last
    return str(first) if first == last else f"{first} to {last}"


def _sending(sending: SendingView) -> str:
    later = f", again at {sending.next_at}" if sending.next_at else ""
    reason = f": {sending.reason}" if sending.reason else ""
    return f"to {sending.recipient}, {shown_state(sending.state)}, attempts: {sending.attempts}{later}{reason}"


def _change_words(change: BatchChangeView) -> str:
    counted = f"messages: {change.messages}" if change.messages else ""
    return "; ".join(filter(None, (counted, change.detail)))


def _answer_words(answer: PartnerAnswerView) -> str:
    otherwise = f"different for {answer.otherwise} messages" if answer.otherwise else ""
    return "; ".join(filter(None, (answer.detail, otherwise)))


def _member_words(member: BatchMemberView) -> str:
    reasons = "; ".join(member.reasons)
    return f"{member.verdict}: {reasons}" if reasons else member.verdict
