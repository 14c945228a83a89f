"""The interfaces between the flow and the outside world, as small Protocols; adapters implement them.

Rule: nothing here depends on a database, a file or a socket. A new adapter is finished when it passes the contract suite of
its port in ``postroad.testing``.
"""

from __future__ import annotations

from postroad.ports.desk import Committed, Conflict, Desk, EndJourney, JournalStep, StepOutcome
from postroad.ports.engines import ItemValue, QueryEngine, QueryVerdict, Validator
from postroad.ports.journal import (
    Appended,
    BodyAt,
    Index,
    IndexReader,
    Journal,
    JournalBatch,
    JournalHead,
    JournalRecord,
    NewRecord,
)
from postroad.ports.machine import Clock, Mailer, MemoryGauge, Passwords, Pusher, Randomness, Resolver, Secrets
from postroad.ports.memories import FollowerCursors, NetworkNode, NodeRegistry, NotificationStore

__all__ = (
    "Appended",
    "BodyAt",
    "Clock",
    "Committed",
    "Conflict",
    "Desk",
    "EndJourney",
    "FollowerCursors",
    "Index",
    "IndexReader",
    "ItemValue",
    "Journal",
    "JournalBatch",
    "JournalHead",
    "JournalRecord",
    "JournalStep",
    "Mailer",
    "MemoryGauge",
    "NetworkNode",
    "NewRecord",
    "NodeRegistry",
    "NotificationStore",
    "Passwords",
    "Pusher",
    "QueryEngine",
    "QueryVerdict",
    "Randomness",
    "Resolver",
    "Secrets",
    "StepOutcome",
    "Validator",
)
