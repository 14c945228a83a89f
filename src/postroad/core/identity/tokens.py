"""Tokens: the receipt handle of a delivery, which proves that its holder received it.

Rules: a token is derived from the network's key, so neither journal nor index stores a secret. A token for a receiver
that must not recognise the message contains the pseudonym of the delivery's number instead of the number.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

from postroad.core.identity.form_proof import FormProofs
from postroad.core.model import ids
from postroad.core.visibility.pseudonyms import Pseudonyms


class Tokens:
    def __init__(self, key: bytes) -> None:
        self._key = key
        self.pseudonyms = Pseudonyms(key)
        self.forms = FormProofs(key)

    def secret_for(self, purpose: str) -> bytes:
        """A key of its own for another purpose, the same on every node and after every restart."""
        return blake2b(purpose.encode(), key=self._key[:64], person=b"purpose", digest_size=32).digest()

    def token(self, number: int, session: str, recipient: str, *, hidden: bool = False) -> str:
        """Return the token of a delivery; ``hidden`` uses the pseudonym of its number."""
        text = ids.token(number, session, recipient, self._key)
        return f"{self.pseudonyms.number(number):x}.{text.partition('.')[2]}" if hidden else text

    def number(self, text: str) -> int | None:
        """The delivery number that a token speaks of, or None when it is not even shaped like one."""
        shown = ids.token_number(text)
        return self.pseudonyms.real_number(shown) if shown is not None else None

    def holds(self, text: str, number: int, session: str, recipient: str, *, hidden: bool = False) -> bool:
        """True if this is exactly the token that was issued for that delivery.

        To the letter: if a real number did as well as its pseudonym, it could be found by trying.
        """
        return compare_digest(text.encode(), self.token(number, session, recipient, hidden=hidden).encode())
