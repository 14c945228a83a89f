"""CSRF protection: proof that this network showed the form to the person who submits it.

A browser adds a person's password to whatever request some other site makes it send; only a page of ours can hold a proof.

Rule: a proof is for one person and one subject, expires soon, and nothing is stored for it.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

VALID_S = 15 * 60
DIGEST_BYTES = 20


class FormProofs:
    def __init__(self, key: bytes) -> None:
        self._key = key[:64]

    def make(self, person: str, subject: str, now_us: int) -> str:
        until_s = now_us // 1_000_000 + VALID_S
        return f"{until_s:x}.{self._digest(person, subject, until_s)}"

    def holds(self, proof: str, person: str, subject: str, now_us: int) -> bool:
        until, _, digest = proof.partition(".")
        try:
            until_s = int(until, 16) if len(until) <= 16 else 0
        except ValueError:
            return False
        left_s = until_s - now_us // 1_000_000
        genuine = compare_digest(digest.encode(), self._digest(person, subject, until_s).encode())
        return genuine and 0 <= left_s <= VALID_S

    def _digest(self, person: str, subject: str, until_s: int) -> str:
        text = f"{person.casefold()}\0{subject}\0{until_s}".encode()
        return blake2b(text, key=self._key, person=b"form", digest_size=DIGEST_BYTES).hexdigest()
