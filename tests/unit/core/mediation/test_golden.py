"""The exact bytes of one message in every external format, kept in ``golden/``, and the message read from them.

A change of these files is a change that partners see. ``python -m tests.unit.core.mediation.test_golden`` writes them again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.core.codecs.mime import read_entity
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.mime_format import decode_entity
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import PLAIN, Format
from tests.samples.external_messages import DRAWING, MESSAGE, NOTE, ORDER

GOLDEN = Path(__file__).parent / "golden"


def written(format: Format) -> bytes:
    """Header lines, an empty line and the body."""
    given = encode_message(MESSAGE, format)
    return given.entity_head + b"\r\n" + given.data


def wire_in(file: bytes) -> Wire:
    entity = read_entity(file)
    return Wire([(name.lower(), value) for name, value in entity.headers()], bytes(entity.body))


@pytest.mark.req("T3")
@pytest.mark.parametrize("format", PLAIN)
def test_what_is_written_is_what_it_was(format: Format) -> None:
    assert written(format) == (GOLDEN / format.value).read_bytes()


@pytest.mark.req("T2", "T3", "T9")
@pytest.mark.parametrize("format", [Format.SOAP, Format.SWA, Format.MIME, Format.CLOUDEVENTS])
def test_the_golden_messages_are_read(format: Format) -> None:
    taken = decode_wire(wire_in((GOLDEN / format.value).read_bytes()))
    assert (taken.format, taken.parts, taken.notes) == (format, (ORDER, DRAWING, NOTE), ())
    assert encode_message(MESSAGE, format).dropped == ()


def test_the_entity_for_as2_is_read() -> None:
    taken = decode_entity(read_entity((GOLDEN / "as2").read_bytes()), format=Format.AS2)
    assert taken.parts == (ORDER, DRAWING, NOTE)


@pytest.mark.req("T4", "T9")
def test_dime_carries_headers_in_options() -> None:
    taken = decode_wire(wire_in((GOLDEN / "dime").read_bytes()))
    assert (taken.parts, taken.notes) == (MESSAGE.parts, ())
    assert encode_message(MESSAGE, Format.DIME).dropped == ()


def test_dime_of_earlier_versions_without_options_is_read() -> None:
    taken = decode_wire(wire_in((GOLDEN / "dime-without-options").read_bytes()))
    assert [(part.id, part.content_type, part.data) for part in taken.parts] == [
        (part.id, part.content_type, part.data) for part in MESSAGE.parts
    ]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for plain in PLAIN:
        (GOLDEN / plain.value).write_bytes(written(plain))
