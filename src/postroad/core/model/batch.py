"""A batch: messages that are sent together, and the table of its states and moves.

The states and moves below are the complete lifecycle of a batch. A batch is a record of fixed size: its members are
stored beside it, under its id. Rule: "in a batch", "in an interchange" and "sent" are
three different states. A member may leave until its batch is assembled. An assembled batch is resent with
the same bytes, unless it has lost a member.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class BatchState(StrEnum):
    OPEN = "open"  # accepts members
    CLOSED = "closed"  # complete; waits to be assembled
    ASSEMBLED = "assembled"  # one stream with its control numbers; being sent
    SENT = "sent"  # final
    SUSPENDED = "suspended"  # until an owner resumes or drops it
    DROPPED = "dropped"  # final
    DISSOLVED = "dissolved"  # all members have left; final


class Criterion(StrEnum):
    """The reason why a batch was closed, or what it waits for."""

    COUNT = "count"
    BYTES = "bytes"
    AGE = "age"
    IDLE = "idle"
    SCHEDULE = "schedule"
    WINDOW = "window"
    CONDITION = "condition"
    TYPE = "type"  # a message of another type arrived
    END = "end"  # the application's last message
    UNFINISHED = "unfinished"  # the application did not end it in time, or started it again
    REQUEST = "request"  # a client requested it
    RECOVERY = "recovery"
    HOLD = "hold"  # the batch is paused
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

    number: int  # of its delivery; numbers are in the order of arrival
    bytes: int
    kind: str = ""  # the type of its document: 850, ORDERS …
    sort: tuple[tuple[str, str], ...] = ()  # the values at the locations of ``sortBy``, by key


class Batch(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """A batch after a change. Fields are only added at the end, because journals store them."""

    id: str
    key: tuple[str, ...]  # the values that all members have in common
    state: BatchState = BatchState.OPEN
    kind: str = ""  # the type of its first member
    opened_at_us: int
    latest_at_us: int  # when the latest member joined
    changed_at_us: int
    count: int = 0
    bytes: int = 0
    controlled: bool = False  # the application marks its end
    started: bool = False  # it contains the application's first message
    held: bool = False  # paused: not assembled until it is resumed
    closed_at_us: int = 0
    closed_by: Criterion | None = None
    why: str = ""  # the reason why it was closed or suspended
    interchange: str = ""  # session of the stream assembled from it
    service: str = ""  # GCID of its batcher
    version: int = 0  # grows with every recorded change, so that concurrent changes collide
    delivery: int = 0  # number of the delivery that carries its interchange
    resting: bool = False  # the network was shut down cleanly while it was open
    numbered: str = ""  # session of the interchange that drew numbers for it
    plug_in_state: str = ""  # the data of its batcher plug-in
