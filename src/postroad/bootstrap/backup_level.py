"""The network level for ``backup.json``, as the index knows it.

Rule: a network without an index can be backed up, too; its level is then unknown.
"""

from __future__ import annotations

import logging

import msgspec

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteReader
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import INDEX_FILE
from postroad.core.model.level import FIRST, LEVEL_KEY, LEVEL_KIND, read_level
from postroad.core.projection.queries import QUERIES
from postroad.errors import PostroadError
from postroad.ports import Clock, IndexReader

UNKNOWN = 0
EVERY_US = 60_000_000
VALUE = QUERIES["object_versions"][1].index("value")

log = logging.getLogger(__name__)


class LevelReader:
    """Reads the level of a network, and again a minute later, for backups that follow it."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._level = UNKNOWN
        self._read_at_us = 0

    async def read(self) -> int:
        """Return the level; 0 if it is unknown."""
        now_us = self._clock.now_us()
        if abs(now_us - self._read_at_us) >= EVERY_US:
            self._level, self._read_at_us = await read_indexed_level(self._settings), now_us
        return self._level


async def read_indexed_level(settings: Settings) -> int:
    """Return the network's level; 0 if there is no index, or it cannot be read."""
    index: IndexReader
    try:
        if settings.index == "postgres":
            index = await PostgresIndex.open(settings.postgres)
        elif (settings.data / INDEX_FILE).exists():
            index = SqliteReader(settings.data / INDEX_FILE, threads=1)
        else:
            return UNKNOWN
        try:
            rows = await index.query("object_versions", LEVEL_KIND, LEVEL_KEY)
        finally:
            await index.close()
    except PostroadError as error:
        log.warning("backup.level_unknown: the index cannot be read, so the backup names no network level: %s", error)
        return UNKNOWN
    return read_level(msgspec.json.decode(rows[0][VALUE])).level if rows else FIRST
