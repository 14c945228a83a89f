"""Sealing: only the right key and the right context open sealed bytes, and no error reveals a key."""

from __future__ import annotations

import pytest

from postroad.core.identity.sealing import (
    NONCE_BYTES,
    SealingKey,
    SealingKeys,
    UnsealError,
    derive_key_id,
    find_key_id,
    seal,
    unseal,
)

OLD, NEW = SealingKey(bytes(range(32))), SealingKey(bytes(range(32, 64)))
NONCE = bytes(range(NONCE_BYTES))
CONTEXT = ("net", "Acme", "hook", "1")
TEXT = b"the secret"


def test_the_right_key_and_context_open_it() -> None:
    sealed = seal(NEW, TEXT, NONCE, *CONTEXT)
    assert TEXT not in sealed
    assert unseal(NEW, sealed, *CONTEXT) == TEXT
    assert SealingKeys([OLD, NEW]).unseal(sealed, *CONTEXT) == TEXT
    assert find_key_id(sealed) == NEW.id == derive_key_id(NEW.key)


def test_the_format_does_not_change() -> None:
    """Stored secrets must open in later versions."""
    stored = bytes.fromhex(
        "011039613033326331616630663961643461000102030405060708090a0b"
        "336ab33bb680a169e835dec084e1dbfe2b82036a4136a868b904"
    )
    assert unseal(OLD, stored, *CONTEXT) == TEXT


@pytest.mark.parametrize(
    "context",
    [("net", "Acme", "hook", "2"), ("net", "Birch", "hook", "1"), ("other", "Acme", "hook", "1"),
     ("net", "Acme", "hook"), ("net", "Acmeh", "ook", "1"), ("net", "Acme", "hook1", ""), ()],
)  # fmt: skip
def test_another_context_does_not_open_it(context: tuple[str, ...]) -> None:
    with pytest.raises(UnsealError, match="do not fit"):
        unseal(NEW, seal(NEW, TEXT, NONCE, *CONTEXT), *context)


def test_no_changed_byte_is_accepted() -> None:
    sealed = seal(NEW, TEXT, NONCE, *CONTEXT)
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(UnsealError):
            SealingKeys([OLD, NEW]).unseal(bytes(changed), *CONTEXT)
    for length in range(len(sealed)):
        with pytest.raises(UnsealError):
            unseal(NEW, sealed[:length], *CONTEXT)


def test_a_missing_key_is_named() -> None:
    sealed = seal(NEW, TEXT, NONCE, *CONTEXT)
    with pytest.raises(UnsealError, match=f"{NEW.id}.*{OLD.id}"):
        SealingKeys([OLD]).unseal(sealed, *CONTEXT)
    with pytest.raises(UnsealError, match=NEW.id):
        unseal(OLD, sealed, *CONTEXT)


def test_keys_are_not_shown() -> None:
    assert OLD.key.hex() not in repr(OLD) + repr(SealingKeys([OLD]))
    assert str(OLD.key) not in repr(OLD)
    assert OLD.key.hex().find(OLD.id) == -1


def test_keys_and_nonces_have_their_size() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SealingKey(b"short")
    with pytest.raises(ValueError, match="12 bytes"):
        seal(NEW, TEXT, b"short", *CONTEXT)
    with pytest.raises(ValueError, match="ASCII"):
        SealingKey(bytes(32), "ä")
    with pytest.raises(ValueError, match="at least one"):
        SealingKeys([])
