"""Cursors of followers: one small file each, beside the journal.

Rule: a cursor is replaced atomically. It is not synced: losing the newest one only repeats a batch.
"""

from __future__ import annotations

from pathlib import Path

from postroad.ports import JournalHead


class FileCursors:
    """Files ``NAME.cursor`` with the entry number and the chain value, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, name: str) -> JournalHead | None:
        try:
            seq, _, chain = (self._folder / f"{name}.cursor").read_text().strip().partition(":")
        except FileNotFoundError:
            return None
        return JournalHead(int(seq), bytes.fromhex(chain))

    async def save(self, name: str, head: JournalHead) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        new = self._folder / f"{name}.cursor.new"
        new.write_text(f"{head.seq}:{head.chain.hex()}\n")
        new.replace(self._folder / f"{name}.cursor")
