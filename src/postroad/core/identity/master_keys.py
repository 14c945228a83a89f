"""Reads master keys from text: one key of 32 bytes on each line, as 64 hex digits or in base64.

Empty lines and lines that begin with ``#`` are skipped; a comma ends a line too. While keys are exchanged, the text has
several; the first is the newest. Rule: no error quotes the text, since it is a key or nearly one.
"""

from __future__ import annotations

import re
from base64 import b64decode

from postroad.core.identity.sealing import KEY_BYTES, SealingKey, SealingKeys
from postroad.errors import Misconfigured

MAX_KEYS = 10
_HEX = re.compile(r"[0-9a-fA-F]{64}\Z")


def parse_master_keys(text: str, source: str) -> SealingKeys:
    """Return the keys in a text; raises Misconfigured with every line that is not a key."""
    lines = [(number, line.strip()) for number, line in enumerate(text.replace(",", "\n").splitlines(), 1)]
    given = [(number, line) for number, line in lines if line and not line.startswith("#")]
    keys = [(number, _parse_key(line)) for number, line in given]
    faults = [
        f"{source}: line {number} is not a key; a master key is 32 random bytes as 64 hex digits or in base64 "
        "(`postroad secrets new-master-key` prints one)"
        for number, key in keys
        if key is None
    ]
    if not given:
        faults.append(f"{source}: contains no key; `postroad secrets new-master-key` prints one")
    if len(given) > MAX_KEYS:
        faults.append(f"{source}: has {len(given)} keys; at most {MAX_KEYS} are allowed, so remove old ones")
    if faults:
        raise Misconfigured(faults)
    return SealingKeys(SealingKey(key) for _, key in keys if key is not None)


def _parse_key(line: str) -> bytes | None:
    if _HEX.match(line):
        return bytes.fromhex(line)
    try:
        key = b64decode(line, validate=True)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None
