"""The fields of a disposition notification are found however a product wrote them."""

from __future__ import annotations

import pytest

from postroad.core.codecs.as2.mdn_reader import read_notification

FOUND = {
    "original-message-id": "<1@x>",
    "disposition": "a/b; processed/error: no such directory, or none that we may write",
}


@pytest.mark.parametrize(
    "content",
    [
        b"Original-Message-ID: <1@x>\r\nDisposition: a/b; processed/error: no such directory, or none that we may write\r\n",
        b"\n\nORIGINAL-MESSAGE-ID :<1@x>\n\nDisposition:a/b; processed/error: no such directory,\n\t or none that we may write",
        b"Original-Message-ID: <1@x>\rDisposition: a/b; processed/error: no such directory,\ror none that we may write\r\r",
        b"no field\r\nOriginal-Message-ID:\r\n <1@x>\r\nDisposition: a/b; processed/error: no such directory, or none\r\n"
        b"that we may write\r\nDisposition: a/b; processed\r\n and more\r\n",
    ],
    ids=["plain", "blank lines", "not indented", "twice"],
)
def test_fields_are_found(content: bytes) -> None:
    assert read_notification(content) == FOUND


def test_a_value_is_one_printable_line() -> None:
    assert read_notification(b"A: b\x00\x1b[1m\x7fc\r\n\td\xff\r\n") == {"a": "b [1m c d\ufffd"}


def test_fields_are_limited_in_number_and_size() -> None:
    assert len(read_notification(b"".join(b"f%d: x\r\n" % number for number in range(5000)))) == 200
    assert read_notification(b"a: b\n" + b"\n" * (1 << 16) + b"c: d\n") == {"a": "b"}
