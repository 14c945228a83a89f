"""Heads of the journal as text that can be kept elsewhere: ``SEQ:HASH``, or a line with a time and an Ed25519 signature.

    postroad-head 1 2026-11-18T09:15:00Z 1777:9f86d081…  BASE64

The signature covers everything before it. Rule: a line is used only if its signature fits; a line without one is accepted only
where no public key is given.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_PLAIN = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})\Z")
_LABEL = "postroad-head 1"
_SIGNED = re.compile(rf"({_LABEL} (\S+) ([0-9]{{1,18}}:[0-9a-f]{{64}})) ([A-Za-z0-9+/=]{{88}})\Z")


class NotedHead(NamedTuple):
    """The journal's last entry and its chain value, as someone noted them."""

    seq: int
    chain: bytes


class BadHead(ValueError):
    """Raised for a text that is not a journal head, or whose signature is wrong."""


def head_text(seq: int, chain: bytes) -> str:
    return f"{seq}:{chain.hex()}"


def sign_head(seq: int, chain: bytes, time: str, key: Ed25519PrivateKey) -> str:
    """A line that states this head and when it was noted."""
    statement = f"{_LABEL} {time} {head_text(seq, chain)}"
    return f"{statement} {base64.b64encode(key.sign(statement.encode())).decode()}"


def parse_head(text: str) -> NotedHead:
    """A head without signature."""
    found = _PLAIN.match(text)
    if found is None:
        raise BadHead(f"{text[:100]!r} is not a head; a head is SEQ:HASH with 64 hexadecimal digits")
    return NotedHead(int(found[1]), bytes.fromhex(found[2]))


def parse_noted_heads(text: str, public_key: Ed25519PublicKey | None) -> Iterator[NotedHead]:
    """The heads of a file, one a line; empty lines are skipped."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield _parse_line(line.strip(), public_key)
            except BadHead as bad:
                raise BadHead(f"line {number}: {bad}") from None


def _parse_line(line: str, public_key: Ed25519PublicKey | None) -> NotedHead:
    found = _SIGNED.match(line)
    if found is None:
        if line.startswith(_LABEL) or public_key is not None:
            raise BadHead("it is not a signed head, as `postroad head --sign` prints it")
        return parse_head(line)
    if public_key is None:
        raise BadHead("it is signed; use --public-key to verify it")
    try:
        public_key.verify(base64.b64decode(found[4], validate=True), found[1].encode())
    except (InvalidSignature, binascii.Error):
        raise BadHead("its signature does not fit the line and the public key") from None
    return parse_head(found[3])
