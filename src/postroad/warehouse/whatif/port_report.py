"""What a what-if report says of a send port: the batches that it makes, before and after."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSide:
    """One side. Waits are those of messages, from when they came until their batch was closed."""

    messages: int = 0  # that are gathered
    alone: int = 0  # that go by themselves
    undecided: int = 0  # whose bodies are no longer kept
    batches: int = 0  # that are closed, each of which is an interchange
    left_open: int = 0  # messages in batches that nothing closes
    bytes: int = 0  # of all batches
    largest_bytes: int = 0
    wait_s: float = 0.0  # on average
    wait_p95_s: float = 0.0
    wait_most_s: float = 0.0

    @property
    def messages_each(self) -> float:
        return round((self.messages - self.left_open) / self.batches, 1) if self.batches else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PortChange:
    port: str
    before: PortSide
    after: PortSide
    in_other_batches: int  # messages that would not leave with the same others

    @property
    def is_changed(self) -> bool:
        return self.before != self.after or self.in_other_batches > 0
