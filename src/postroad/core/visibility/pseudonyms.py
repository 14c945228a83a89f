"""Pseudonyms of session IDs and delivery numbers, for parties from which the real ones are hidden.

The copies of a message share one session, and its deliveries have neighbouring numbers; both reveal when it was
posted. A party from which the sender is hidden could use them to find the sender among the messages it receives
openly. So it is shown pseudonyms, which the network decrypts with its key. Rules: a pseudonym is a permutation under
a key, so nothing is stored. It has the format of the value it replaces. Its first bit distinguishes it from a real
value, so neither is taken for the other.
"""

from __future__ import annotations

from hashlib import blake2b

from postroad.core.model.ids import SESSION

ROUNDS = 4
SESSION_HALF_BITS = 62  # a session's first hex digit is 0 for some centuries; that of its pseudonym is f
NUMBER_HALF_BITS = 31
PSEUDONYM_BIT = 1 << 62  # no delivery number comes near it


class Pseudonyms:
    def __init__(self, key: bytes) -> None:
        self._key = key[:64]

    def session(self, session: str) -> str:
        """The pseudonym of a session."""
        return f"f{self._mixed(int(session[1:], 16), SESSION_HALF_BITS):031x}"

    def real_session(self, shown: str) -> str:
        """Return the session ID behind a pseudonym; any other text is returned unchanged."""
        if not is_pseudonym(shown):
            return shown
        return f"0{self._unmixed(int(shown[1:], 16), SESSION_HALF_BITS):031x}"

    def number(self, number: int) -> int:
        """The pseudonym of a delivery's number."""
        return PSEUDONYM_BIT | self._mixed(number, NUMBER_HALF_BITS)

    def real_number(self, shown: int) -> int:
        return self._unmixed(shown ^ PSEUDONYM_BIT, NUMBER_HALF_BITS) if shown & PSEUDONYM_BIT else shown

    def _mixed(self, value: int, half_bits: int) -> int:
        """Apply a Feistel network: each round mixes one half with a keyed hash of the other, so it can be reversed."""
        left, right = value >> half_bits, value & ((1 << half_bits) - 1)
        for number in range(ROUNDS):
            left, right = right, left ^ self._hashed(right, half_bits, number)
        return left << half_bits | right

    def _unmixed(self, value: int, half_bits: int) -> int:
        left, right = value >> half_bits, value & ((1 << half_bits) - 1)
        for number in reversed(range(ROUNDS)):
            left, right = right ^ self._hashed(left, half_bits, number), left
        return left << half_bits | right

    def _hashed(self, half: int, half_bits: int, number: int) -> int:
        text = b"%d.%d.%d" % (half_bits, number, half)
        # Parties keep the pseudonyms that they were shown, so the personal string never changes.
        digest = blake2b(text, key=self._key, person=b"veil", digest_size=8).digest()
        return int.from_bytes(digest, "big") & ((1 << half_bits) - 1)


def is_pseudonym(session: str) -> bool:
    """True if a text is the pseudonym of a session ID."""
    return session[:1] == "f" and SESSION.match(session) is not None
