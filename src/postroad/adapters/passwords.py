"""Passwords: argon2id, a few at a time and never on the event loop, so that logins cannot exhaust memory or stall posts."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

AT_ONCE = 2


class Argon2Passwords:
    """Argon2id with 46 MiB, one pass and one lane: OWASP's recommendation, which takes about 70 ms."""

    def __init__(self, *, memory_kib: int = 47_104, passes: int = 1) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=1)
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="argon2")
        # Verified against when there is no one of that name, so that the answer takes as long either way.
        self._nobody = self._hasher.hash("no one has this password")

    async def hash(self, password: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._hasher.hash, password)

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Whether the password matches the hash; for None it takes the same time and returns False."""
        matches = await asyncio.get_running_loop().run_in_executor(
            self._pool, self._verify, password, hashed or self._nobody
        )
        return matches and hashed is not None

    def _verify(self, password: str, hashed: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
