"""The exact bytes of our signatures, and messages that were made once and must stay readable, kept in ``golden/``.

``python -m tests.unit.core.codecs.cms.test_golden`` writes what is missing; what is there is never written again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from postroad.core.codecs.cms import compress, decompress, decrypt, encrypt, sign, verify
from tests.samples.cms_people import CONTENT, SIGNED_AT, clerk, notary

GOLDEN = Path(__file__).parent / "golden"
SIGNED: dict[str, Callable[[], bytes]] = {  # RSA with PKCS#1 padding signs the same bytes the same way every time
    "signed-detached.der": lambda: sign([CONTENT], [clerk()], signed_at=SIGNED_AT),
    "signed-attached.der": lambda: sign([CONTENT], [clerk()], detached=False, signed_at=SIGNED_AT),
    "signed-sha512.der": lambda: sign([CONTENT], [clerk()], digest="sha512", signed_at=None),
    "signed-sha1.der": lambda: sign([CONTENT], [clerk()], digest="sha1", signed_at=SIGNED_AT),
}
SIGNED_ONCE: dict[str, Callable[[], bytes]] = {
    "signed-pss.der": lambda: sign([CONTENT], [clerk()], signed_at=SIGNED_AT, pss=True),
    "signed-by-two.der": lambda: sign([CONTENT], [clerk(), notary()], signed_at=SIGNED_AT),
}
_encrypted = partial(encrypt, CONTENT, randomness=os.urandom)
ENVELOPED_ONCE: dict[str, Callable[[], bytes]] = {
    "enveloped-cbc.der": lambda: _encrypted([clerk().certificate]),
    "enveloped-oaep.der": lambda: _encrypted([clerk().certificate], oaep=True),
    "enveloped-gcm.der": lambda: _encrypted([clerk().certificate], cipher="aes128-gcm"),
}
COMPRESSED_ONCE: dict[str, Callable[[], bytes]] = {"compressed.der": lambda: compress(CONTENT)}


@pytest.mark.parametrize("name", SIGNED)
def test_signatures_are_written_as_ever(name: str) -> None:
    assert SIGNED[name]() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", [*SIGNED, *SIGNED_ONCE])
def test_signatures_verify_as_ever(name: str) -> None:
    found = verify((GOLDEN / name).read_bytes(), [CONTENT], [clerk().certificate], at=SIGNED_AT)
    assert found.signers == (clerk().certificate,)


@pytest.mark.parametrize("name", ENVELOPED_ONCE)
def test_enveloped_messages_can_be_read_as_ever(name: str) -> None:
    assert decrypt((GOLDEN / name).read_bytes(), [clerk()]) == CONTENT


@pytest.mark.parametrize("name", COMPRESSED_ONCE)
def test_compressed_messages_can_be_read_as_ever(name: str) -> None:
    assert decompress((GOLDEN / name).read_bytes()) == CONTENT


if __name__ == "__main__":
    for name, make in (SIGNED | SIGNED_ONCE | ENVELOPED_ONCE | COMPRESSED_ONCE).items():
        if not (GOLDEN / name).exists():
            (GOLDEN / name).write_bytes(make())
