"""Seals small secrets with AES-256-GCM, so that they can be stored, copied and backed up without revealing them.

    01 │ length of key id │ key id │ nonce (12) │ ciphertext and tag (16)

A master key seals data keys; a data key seals the secrets of one organization. Rules: the context (network, organization,
name, version …) is authenticated with the text, so sealed bytes that are moved elsewhere cannot be opened. The nonce is an
argument and must be random and new for each call. No error contains a key or a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
MAX_KEY_ID = 64


class UnsealError(ValueError):
    """Raised for sealed bytes that cannot be opened: damaged, moved from elsewhere, or sealed with an unknown key."""


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A key of 32 bytes with its ID; the ID is derived from the key unless it is given."""

    key: bytes = field(repr=False)
    id: str = ""

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise ValueError(f"a sealing key has {KEY_BYTES} bytes, not {len(self.key)}")
        if not self.id:
            object.__setattr__(self, "id", derive_key_id(self.key))
        if not (self.id.isascii() and len(self.id) <= MAX_KEY_ID):
            raise ValueError(f"a key ID has at most {MAX_KEY_ID} ASCII characters")


def derive_key_id(key: bytes) -> str:
    """Return the ID of a key: 16 hex digits that reveal nothing about it."""
    return blake2b(b"key id", key=key, person=b"sealing", digest_size=8).hexdigest()


class SealingKeys:
    """Several keys by ID; the first one seals, and each can open what it has sealed."""

    def __init__(self, keys: Iterable[SealingKey]) -> None:
        self._keys = {one.id: one for one in keys}
        if not self._keys:
            raise ValueError("at least one key is needed")

    @property
    def first(self) -> SealingKey:
        return next(iter(self._keys.values()))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def find(self, key_id: str) -> SealingKey | None:
        return self._keys.get(key_id)

    def unseal(self, sealed: bytes, *context: str) -> bytes:
        """Return the text; raises UnsealError if its key is missing or it does not belong to this context."""
        key = self._keys.get(find_key_id(sealed))
        if key is None:
            raise UnsealError(
                f"It was sealed with the key {find_key_id(sealed)}; the keys that are available are {', '.join(self.ids)}"
            )
        return unseal(key, sealed, *context)


def seal(key: SealingKey, text: bytes, nonce: bytes, *context: str) -> bytes:
    """Return the sealed bytes of a text, bound to the context."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    head = bytes((VERSION, len(key.id))) + key.id.encode("ascii")
    return head + nonce + AESGCM(key.key).encrypt(nonce, text, head + _encode_context(context))


def unseal(key: SealingKey, sealed: bytes, *context: str) -> bytes:
    """Return the text of sealed bytes; raises UnsealError unless key and context are those of ``seal``."""
    if find_key_id(sealed) != key.id:
        raise UnsealError(f"It was sealed with the key {find_key_id(sealed)}, not with {key.id}")
    head_end = 2 + len(key.id)
    nonce, ciphertext = sealed[head_end : head_end + NONCE_BYTES], sealed[head_end + NONCE_BYTES :]
    try:
        return AESGCM(key.key).decrypt(nonce, ciphertext, sealed[:head_end] + _encode_context(context))
    except InvalidTag:
        raise UnsealError("It was changed, or belongs elsewhere: key and context do not fit") from None


def find_key_id(sealed: bytes) -> str:
    """Return the ID of the key that sealed these bytes; raises UnsealError if they are not sealed bytes."""
    if len(sealed) < 2 or sealed[0] != VERSION or len(sealed) < 2 + sealed[1] + NONCE_BYTES + TAG_BYTES:
        raise UnsealError("It is not in the format of sealed secrets, or was written by a newer version")
    try:
        return sealed[2 : 2 + sealed[1]].decode("ascii")
    except UnicodeDecodeError:
        raise UnsealError("It is not in the format of sealed secrets") from None


def _encode_context(context: Iterable[str]) -> bytes:
    """Encode the parts with their lengths, so that no two contexts are encoded alike."""
    parts = [part.encode() for part in context]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
