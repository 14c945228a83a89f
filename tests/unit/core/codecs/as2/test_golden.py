"""The exact bytes of messages and receipts, kept in ``golden/``.

A change of these files is a change that partners see. ``python -m tests.unit.core.codecs.as2.test_golden`` writes them again.
Encrypted and compressed messages are not among them: OpenSSL and zlib have a hand in those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from postroad.core.codecs.as2 import BuiltMdn, BuiltMessage, MdnRequest, error, read_heading
from postroad.core.codecs.mime import write_head
from tests.samples.as2_parties import ANYTHING, message, receipt, seller
from tests.samples.cms_people import clerk

GOLDEN = Path(__file__).parent / "golden"
CLEAR = replace(ANYTHING, encrypt="")
HEADING = read_heading(message(CLEAR).headers)
MADE: dict[str, Callable[[], BuiltMessage | BuiltMdn]] = {
    "signed.as2": lambda: message(CLEAR, subject="Größe"),
    "plain.as2": lambda: message(replace(CLEAR, sign="", mdn="async", mdn_url="https://mybiz.example/as2")),
    "signed.mdn": lambda: receipt(HEADING, message(CLEAR).sent.mic, own=seller(clerk())),
    "error.mdn": lambda: receipt(replace(HEADING, wish=MdnRequest(wanted=True)), None, error("authentication-failed")),
}


def written(made: BuiltMessage | BuiltMdn) -> bytes:
    return write_head(made.headers) + b"\r\n" + made.body


@pytest.mark.req("T7")
@pytest.mark.parametrize("name", MADE)
def test_messages_and_receipts_are_written_as_ever(name: str) -> None:
    assert written(MADE[name]()) == (GOLDEN / name).read_bytes()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, make in MADE.items():
        (GOLDEN / name).write_bytes(written(make()))
