"""The interface of a batcher plug-in: code that decides when a batch is complete.

A package names a ``BatcherPlugIn`` in its entry points, in the group ``postroad.batchers``, under the plug-in's own
name. A batch stores the plug-in's data as text (``state``), in the journal with every change of the batch. Rules:
every function returns the same result for the same arguments and never blocks, so that a batch continues after a
restart, on another node and in a warehouse job. A function that raises suspends the batch, with the error as the
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

BATCHERS = "postroad.batchers"
Settings = Mapping[str, str]


class AddedMessage(Struct, frozen=True, gc=False):
    """A message that joins a batch, and the size of the batch with it."""

    bytes: int
    kind: str  # the type of its document: 850, ORDERS …
    at_us: int  # when it arrived, in microseconds since 1970
    count: int  # messages in the batch, this one included
    total_bytes: int
    values: Mapping[str, str]  # its values at the locations of ``sortBy``, by key


class Decision(NamedTuple):
    """A plug-in's decision about a batch: it continues, or it is complete."""

    state: str
    complete: bool = False
    why: str = ""  # the reason shown to people, if it is complete


def no_timer(_settings: Settings, _state: str) -> int | None:
    """Set no timer; for plug-ins that decide only when a message joins."""
    return None


def any_settings(_settings: Settings) -> None:
    """Accept any settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatcherPlugIn:
    """One plug-in; ``settings`` are those of ``batching.batcherSettings``."""

    name: str
    initialise: Callable[[Settings, int], str]  # settings and time of a new batch → its state
    add: Callable[[Settings, str, AddedMessage], Decision]
    timer: Callable[[Settings, str], int | None] = no_timer  # when the batch is complete if no message joins
    check: Callable[[Settings], None] = any_settings  # raises Refused for settings that cannot be used
    persist_at: int = 0  # joins recorded together; the larger of this and ``persistAt`` counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBatcher:
    """A plug-in with the settings of one send port; the plug-in is missing if its package is not installed."""

    name: str
    plug_in: BatcherPlugIn | None = None
    settings: tuple[tuple[str, str], ...] = field(default=())
