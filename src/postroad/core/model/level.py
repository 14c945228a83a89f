"""The network level: the newest formats that the nodes of a network may write.

Each release that adds a kind of journal entry or configuration object adds a level. A program reads every level up to its
``NEWEST``, and writes only what the level of its network allows, so nodes of two releases can work side by side. The level is
a configuration object (``NetworkLevel``); a network without one was created before levels existed, and is at level 1.

Rules: a released level never changes. The level of a network only rises. A kind that is not in ``LEVELS`` cannot be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from postroad import __version__
from postroad.errors import Misconfigured, Refused

LEVEL_KIND = "level"  # the kind of configuration object
LEVEL_KEY = "network"  # its key; there is one


class Level(NamedTuple):
    """The formats that a level adds to the level below it.

    A field is named ``KIND.FIELD``. It is listed if an older node would lose or misunderstand it; other fields that are added at
    the end of an entry are ignored by older nodes, and are not listed.
    """

    number: int
    release: str  # the first version that reads it
    entries: frozenset[str] = frozenset()  # kinds of journal entries
    objects: frozenset[str] = frozenset()  # kinds of configuration objects
    fields: frozenset[str] = frozenset()


LEVELS = (
    Level(
        number=1,
        release="0.1",
        entries=frozenset(
            {
                "message.posted",
                "message.refused",
                "invocation.returned",
                "delivery.leased",
                "delivery.acknowledged",
                "delivery.returned",
                "delivery.attempted",
                "delivery.translated",
                "delivery.ended",
                "delivery.resent",
                "delivery.dropped",
                "delivery.released",
                "batch.changed",
                "interchange.answered",
                "crossreference.changed",
                "configuration.changed",
                "access.recorded",
            }
        ),
        objects=frozenset(
            {
                "organization",
                "person",
                "service",
                "credential",
                "rule",
                "asset",
                "provisioning",
                "cookie",
                "books",
                "tariff",
                "invoice",
                "payment",
                "binding",
                "node",
                "attachment",
                "topic",
                "support",
                "as2-stations",
                "address",
            }
        ),
    ),
    Level(
        number=2,
        release="0.2",
        entries=frozenset(
            {"invoice.issued", "invoice.credited", "payment.recorded", "network.restored", "secret.changed"}
        ),
        objects=frozenset({LEVEL_KIND, "restore", "secret", "subscription"}),
    ),
)
FIRST, NEWEST = LEVELS[0].number, LEVELS[-1].number
LEVEL_OF = {name: level.number for level in LEVELS for name in sorted(level.entries | level.objects | level.fields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLevel:
    """The configuration object that sets the level of a network."""

    level: int
    release: str = ""  # the first version that reads this level, for the message of older versions


class LevelTooHigh(Misconfigured):
    """The network is at a level that this version cannot read."""


def read_level(value: Mapping[str, Any] | None) -> NetworkLevel:
    """Return the level that a stored object sets, also if a later version wrote it."""
    value = value or {}
    return NetworkLevel(level=int(value.get("level", FIRST)), release=str(value.get("release", "")))


def newest_level() -> NetworkLevel:
    """Return the level of a new network."""
    return NetworkLevel(level=NEWEST, release=LEVELS[-1].release)


def can_write(network_level: int, name: str) -> bool:
    """Whether a network at this level may write a kind of entry, a kind of object, or a field named ``KIND.FIELD``."""
    return LEVEL_OF[name] <= network_level


def require_level(network_level: int, *names: str) -> None:
    """Raise Refused if the network's level is too low to write one of these kinds or fields.

    Call it with ``directory.level`` before an entry with a new kind or field is made.
    """
    needed = max(map(LEVEL_OF.__getitem__, names), default=FIRST)
    if needed > network_level:
        raise Refused(
            "network.level-too-low",
            f"This needs network level {needed}, and the network is at level {network_level}. "
            "When all nodes run a version that reads it, an operator can run `postroad level raise`",
        )


def require_readable(level: NetworkLevel) -> None:
    """Raise LevelTooHigh if this version cannot read the level."""
    if level.level > NEWEST:
        needed = f"postroad {level.release} or later" if level.release else "a later version of postroad"
        raise LevelTooHigh(
            [
                f"network level: this network is at level {level.level}, which needs {needed}; "
                f"this is postroad {__version__}, which reads up to level {NEWEST}. Start the later version"
            ]
        )


def describe_unknown_kind(number: int, kind: str) -> Misconfigured:
    """Return the error for an entry whose kind no level up to ``NEWEST`` has."""
    return Misconfigured(
        [
            f"journal: entry {number} has the kind {kind!r}, which no network level up to {NEWEST} has. "
            "Another program wrote it, or the journal is damaged: run `postroad verify`"
        ]
    )
