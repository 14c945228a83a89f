"""The keys of delivery tokens on this node, and their rotation.

Rules: the store holds the keys, sealed, and each step of a rotation, so every node follows and a crash loses no step. The
network's first key stays where it always was (``token.secret`` or the setting ``secret``), and is never stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from postroad.core.identity.sealing import KEY_BYTES, SealingKey, UnsealError, derive_key_id
from postroad.core.identity.token_ring import RingSituation, RingStep, RingStepKind, is_in_progress, next_step
from postroad.core.identity.tokens import TokenKey, Tokens
from postroad.core.model.stored_secrets import StoredTokenKey
from postroad.errors import Misconfigured, Refused, Unavailable
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_store import SecretStore

FOLLOW_S = 1.0
SPREAD_US = 10_000_000  # ten times FOLLOW_S
KEEP_US = 24 * 3_600 * 1_000_000
RETIRE_EVERY = 60  # of so many looks, one asks whether the old key is still needed

log = logging.getLogger(__name__)


class TokenKeyRing:
    """Loads the keys into the network's ``Tokens``, rotates them, and follows what other nodes do."""

    def __init__(
        self,
        plumbing: Plumbing,
        tokens: Tokens,
        store: SecretStore,
        keys: SecretKeys,
        base_key: bytes,
        leads: Callable[[], Awaitable[bool]],
        *,
        is_shared: bool,
        spread_us: int = SPREAD_US,
        keep_us: int = KEEP_US,
    ) -> None:
        self._plumbing = plumbing
        self._tokens = tokens
        self._store = store
        self._keys = keys
        self._base_key = base_key
        self._leads = leads
        self._is_shared = is_shared
        self._spread_us = spread_us
        self._keep_us = keep_us
        self._stored: list[StoredTokenKey] = []

    @property
    def stored(self) -> list[StoredTokenKey]:
        """Return the keys as they were loaded last, oldest first; empty if they were never rotated."""
        return list(self._stored)

    async def load(self) -> None:
        """Read the keys, and use them from now on; raises Misconfigured if one cannot be opened."""
        stored = await self._store.list_token_keys()
        if stored == self._stored:
            return
        ring = [
            TokenKey(self._open(key), key.from_seq, key.overlap_to_seq) for key in stored if key.from_seq is not None
        ]
        announced = [self._open(key) for key in stored if key.from_seq is None]
        self._stored = stored
        self._tokens.adopt(ring or [TokenKey(self._base_key, 0)], announced)

    async def make_key(self) -> SealingKey:
        """Return a new key, which is not in use yet; raises Refused while a rotation is in progress."""
        await self._require_settled()
        return SealingKey(self._plumbing.randomness.bytes(KEY_BYTES))

    async def _require_settled(self) -> None:
        await self.load()
        if is_in_progress(self._stored):
            raise Refused(
                "secrets.rotating",
                "A rotation of the token key is in progress; wait until `postroad secrets keys` shows its end",
            )

    async def rotate(self, new: SealingKey) -> StoredTokenKey:
        """Begin to use a new key; tokens of the old one stay valid until their deliveries have ended."""
        await self._require_settled()
        now_us = self._plumbing.clock.now_us()
        if not self._stored:
            base = StoredTokenKey(derive_key_id(self._base_key), b"", now_us - 1, 0, now_us - 1, 0)
            await self._store.save_token_key(base)
        added = StoredTokenKey(new.id, await self._keys.wrap_token_key(new), now_us, None, None, None)
        await self._store.save_token_key(added)
        await self.advance()
        return next(key for key in self._stored if key.id == added.id)

    async def advance(self) -> None:
        """Take the steps that are due, one after the other, and load the keys after each."""
        await self.load()
        while (step := next_step(self._stored, await self._situation())) is not None:
            await self._take(step)
            await self.load()

    async def run(self) -> None:
        """Follow other nodes and take due steps, until cancelled."""
        looks = 0
        while True:
            await asyncio.sleep(FOLLOW_S)
            looks += 1
            try:
                if self._is_shared:
                    await self.load()
                if self._is_work_due(looks) and await self._leads():
                    await self.advance()
            except Unavailable as error:
                log.warning("token_keys.waiting: the token keys cannot be read now: %s", error)
            except Misconfigured as error:
                log.error("token_keys.unusable: a new token key cannot be used: %s", error)
            except Exception:
                log.exception("token_keys.failed: the token keys could not be followed; trying again")

    def _is_work_due(self, looks: int) -> bool:
        return is_in_progress(self._stored) or (len(self._stored) > 1 and looks % RETIRE_EVERY == 0)

    async def _take(self, step: RingStep) -> None:
        if step.kind is RingStepKind.RETIRE:
            await self._store.remove_token_key(step.key.id)
        else:
            await self._store.save_token_key(step.key)
        log.info("token_keys.changed: token key %s: %s", step.key.id, step.kind.value)

    async def _situation(self) -> RingSituation:
        network = self._plumbing
        rows = await network.index.query("oldest_queued") if len(self._stored) > 1 else []
        position = (await network.index.position()).seq
        oldest = rows[0][0] if rows and rows[0][0] is not None else position + 1  # what is not indexed may be open
        return RingSituation(
            now_us=network.clock.now_us(),
            head_seq=(await network.journal.head()).seq,
            oldest_open_seq=oldest,
            spread_us=self._spread_us if self._is_shared else 0,
            keep_us=self._keep_us,
        )

    def _open(self, key: StoredTokenKey) -> bytes:
        if key.wrapped:
            try:
                return self._keys.unwrap_token_key(key)
            except UnsealError as error:
                raise Misconfigured([f"token key {key.id}: {error}"]) from None
        if key.id != derive_key_id(self._base_key):
            raise Misconfigured(
                [
                    "token.secret (or the setting secret) is not the one this network was created with; restore it from a backup"
                ]
            )
        return self._base_key
