"""New API keys, and the private files that they are written to."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from postroad.core.identity import api_key
from postroad.core.identity.api_key import ApiKey


def make_api_key() -> ApiKey:
    return api_key.make(secrets.token_bytes(api_key.RANDOM_BYTES))


def write_new_key_file(path: Path) -> str:
    """Make a new key and write it to a private file; returns its text."""
    key = make_api_key()
    write_private(path, key.text)
    return key.text


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read; an existing file is not touched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
