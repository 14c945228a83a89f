"""Journal heads that were stored elsewhere, and the keys that sign them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from postroad.core.identity.signed_head import BadHead, parse_head, parse_noted_heads
from postroad.errors import Misconfigured
from postroad.ports import JournalHead

_PEM = serialization.Encoding.PEM


def read_noted_heads(heads: Sequence[str], public_key: Path | None) -> list[JournalHead]:
    """Read the heads given on the command line: each is SEQ:HASH or a file of heads."""
    key = read_public_key(public_key) if public_key else None
    found: list[JournalHead] = []
    for text in heads:
        try:
            if re.match(r"[0-9]+:", text):
                found.append(JournalHead(*parse_head(text)))
            else:
                found += (
                    JournalHead(*noted)
                    for noted in parse_noted_heads(_read(Path(text)).decode("utf-8", "replace"), key)
                )
        except BadHead as bad:
            raise Misconfigured([f"--head {text}: {bad}"]) from None
    if heads and not found:
        raise Misconfigured([f"--head {' '.join(heads)}: it contains no head"])
    return found


def read_public_key(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Misconfigured([f"{path} is not a public key in PEM form: {error}"]) from None
    if not isinstance(key, Ed25519PublicKey):
        raise Misconfigured([f"{path} is not an Ed25519 key; make one with `postroad head --new-key FILE`"])
    return key


def read_private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(_read(path), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Misconfigured([f"{path} is not a private key in PEM form without a password: {error}"]) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Misconfigured([f"{path} is not an Ed25519 key; make one with `postroad head --new-key FILE`"])
    return key


def write_new_key(path: Path) -> Path:
    """Make a key pair: the private key in ``path``, readable by its owner only, and the public key in ``path``.pub."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    public_path = path.with_name(path.name + ".pub")
    try:
        for file, content, mode in ((path, private, 0o600), (public_path, public, 0o644)):
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
                opened.write(content)
    except OSError as error:
        raise Misconfigured([f"{file} cannot be created: {error.strerror}"]) from None
    return public_path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Misconfigured([f"{path} cannot be read: {error.strerror}"]) from None
