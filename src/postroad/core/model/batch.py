"""A batch: messages that will leave as one, and the table of what may happen to it.

The states and moves below are the complete lifecycle of a batch. A batch is a record of fixed size, however many
members it has; these are stored beside it, under its id. Rule: "in a batch", "in an interchange" and "sent" are
different things. A member may leave until its batch is assembled, and a batch that was assembled is sent again with
the same bytes unless it has lost a member.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class BatchState(StrEnum):
    OPEN = "open"  # gathering
    CLOSED = "closed"  # complete; waiting to be assembled
    ASSEMBLED = "assembled"  # one stream, with its numbers drawn; being sent
    SENT = "sent"  # final
    SUSPENDED = "suspended"  # until someone resumes or drops it
    DROPPED = "dropped"  # final
    DISSOLVED = "dissolved"  # all its members have left; final


class Criterion(StrEnum):
    """Why a batch was closed, or what it waits for."""

    COUNT = "count"
    BYTES = "bytes"
    AGE = "age"
    IDLE = "idle"
    SCHEDULE = "schedule"
    WINDOW = "window"
    CONDITION = "condition"
    TYPE = "type"  # a message of another type came
    END = "end"  # the application's last message
    UNFINISHED = "unfinished"  # the application did not end it in time, or began it again
    REQUEST = "request"  # someone asked for it
    RECOVERY = "recovery"
    HOLD = "hold"  # someone holds it back
    PLUG_IN = "plugIn"  # a batcher plug-in decided, or failed


BATCH_MOVES: dict[BatchState, dict[str, BatchState]] = {
    BatchState.OPEN: {
        "joined": BatchState.OPEN,
        "left": BatchState.OPEN,
        "held": BatchState.OPEN,
        "let go": BatchState.OPEN,
        "closed": BatchState.CLOSED,
        "suspended": BatchState.SUSPENDED,
        "emptied": BatchState.DISSOLVED,
    },
    BatchState.CLOSED: {
        "left": BatchState.CLOSED,
        "held": BatchState.CLOSED,
        "let go": BatchState.CLOSED,
        "assembled": BatchState.ASSEMBLED,
        "suspended": BatchState.SUSPENDED,
        "emptied": BatchState.DISSOLVED,
    },
    BatchState.ASSEMBLED: {
        "sent": BatchState.SENT,
        "suspended": BatchState.SUSPENDED,
    },
    BatchState.SUSPENDED: {
        "left": BatchState.SUSPENDED,
        "resumed": BatchState.CLOSED,
        "sent again": BatchState.ASSEMBLED,
        "dropped": BatchState.DROPPED,
        "emptied": BatchState.DISSOLVED,
    },
    BatchState.SENT: {},
    BatchState.DROPPED: {},
    BatchState.DISSOLVED: {},
}


class BatchMember(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """One message in a batch, with the data for ordering and counting, read when it arrived."""

    number: int  # of its delivery; they are in the order of arrival
    bytes: int
    kind: str = ""  # the type of its document: 850, ORDERS …
    sort: tuple[tuple[str, str], ...] = ()  # what stood at the places it is sorted by, under their keys


class Batch(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """A batch after a change. Fields are only added at the end, because journals store them."""

    id: str
    key: tuple[str, ...]  # what its members have in common
    state: BatchState = BatchState.OPEN
    kind: str = ""  # the type of its first member
    opened_at_us: int
    latest_at_us: int  # when the latest member came
    changed_at_us: int
    count: int = 0
    bytes: int = 0
    controlled: bool = False  # the application says when it ends
    started: bool = False  # the application's first message is in it
    held: bool = False  # paused: not assembled until it is resumed
    closed_at_us: int = 0
    closed_by: Criterion | None = None
    why: str = ""  # it was closed or suspended
    interchange: str = ""  # session of the stream that was made of it
    service: str = ""  # GCID of the batcher that it belongs to
    version: int = 0  # grows with every change that is written down; two that change it at the same time collide
    delivery: int = 0  # number under which its interchange is on its way
    resting: bool = False  # the network was stopped in good order while it was open
    numbered: str = ""  # session of the interchange that has drawn numbers for it
    plug_in_state: str = ""  # what a batcher plug-in knows of it
