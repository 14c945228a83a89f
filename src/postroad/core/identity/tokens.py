"""Tokens: the receipt handle of a delivery, which proves that its holder received it.

Rules: a token is derived from a key, so neither journal nor index stores a secret. A token for a receiver that must not
recognise the message contains the pseudonym of the delivery's number instead of the number. Keys can be rotated: the number of a
delivery determines its key, so a delivery keeps its token. Pseudonyms, form proofs and ``secret_for`` (webhook secrets,
unsubscribe links, console logins) always come from the network's first key, because parties have stored what they were shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from hmac import compare_digest
from typing import NamedTuple

from postroad.core.identity.form_proof import FormProofs
from postroad.core.model import ids
from postroad.core.visibility.pseudonyms import Pseudonyms


class TokenKey(NamedTuple):
    """A key, and the journal entries whose deliveries get their tokens from it."""

    key: bytes
    from_seq: int
    overlap_to_seq: int | None = 0  # up to this entry, tokens of the key before are accepted, too; None: no limit yet

    def is_for(self, number: int) -> bool:
        return ids.delivery_origin(number)[0] >= self.from_seq

    def overlaps(self, number: int) -> bool:
        return self.overlap_to_seq is None or ids.delivery_origin(number)[0] <= self.overlap_to_seq


class Tokens:
    def __init__(self, key: bytes) -> None:
        self._key = key
        self._ring: tuple[TokenKey, ...] = (TokenKey(key, 0),)  # newest first
        self._announced: tuple[bytes, ...] = ()
        self.pseudonyms = Pseudonyms(key)
        self.forms = FormProofs(key)

    def adopt(self, ring: Sequence[TokenKey], announced: Sequence[bytes] = ()) -> None:
        """Use these keys from now on, at least one; the oldest one is also used for older deliveries.

        Tokens of announced keys are accepted, since another node may use them already.
        """
        self._announced = tuple(announced)
        newest_first = sorted(ring, key=lambda one: one.from_seq, reverse=True)
        self._ring = (*newest_first[:-1], newest_first[-1]._replace(from_seq=0))

    def secret_for(self, purpose: str) -> bytes:
        """Return the key for another purpose: the same on every node, after every restart, and after every rotation."""
        return blake2b(purpose.encode(), key=self._key[:64], person=b"purpose", digest_size=32).digest()

    def token(self, number: int, session: str, recipient: str, *, hidden: bool = False) -> str:
        """Return the token of a delivery; ``hidden`` uses the pseudonym of its number."""
        return self._token(self._keys_of(number)[0], number, session, recipient, hidden)

    def _token(self, key: bytes, number: int, session: str, recipient: str, hidden: bool) -> str:
        text = ids.token(number, session, recipient, key)
        return f"{self.pseudonyms.number(number):x}.{text.partition('.')[2]}" if hidden else text

    def _keys_of(self, number: int) -> list[bytes]:
        """Return the key of a delivery; and the one before, if a node may have used that one for it."""
        if len(self._ring) == 1:
            return [self._ring[0].key]
        place = next(place for place, one in enumerate(self._ring) if one.is_for(number))
        mine, *before = self._ring[place : place + 2]
        return [mine.key, *(one.key for one in before if mine.overlaps(number))]

    def number(self, text: str) -> int | None:
        """Return the delivery number in a token; None if malformed."""
        shown = ids.token_number(text)
        return self.pseudonyms.real_number(shown) if shown is not None else None

    def holds(self, text: str, number: int, session: str, recipient: str, *, hidden: bool = False) -> bool:
        """True if this is exactly the token that was issued for that delivery.

        To the letter: if a real number did as well as its pseudonym, it could be found by trying.
        """
        given = text.encode()
        return any(
            compare_digest(given, self._token(key, number, session, recipient, hidden).encode())
            for key in (*self._keys_of(number), *self._announced)
        )
