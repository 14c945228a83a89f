"""Messages that others wrote, through all of mediation: found out, taken apart, given in every format and as they came.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from postroad.cli.input.messages import read_wire
from postroad.core.codecs.cloudevents import CloudEvent, write_binary, write_structured
from postroad.core.mediation.formats import decode_wire, message_of
from postroad.core.mediation.model import DecodedMessage, Wire
from postroad.core.mediation.soap_root import is_envelope
from postroad.core.model.formats import Format
from postroad.errors import Refused
from tests.samples.external_messages import given_again
from tests.samples.mediation_strategies import READABLE, wire_of

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
pytestmark = pytest.mark.skipif(
    not (FIXTURES / "mime_swa").is_dir(),
    reason="needs the collection of real documents in ../shared/fixtures, which is not there",
)

# The format, the content type of the first part, the ids of the others.
ATTACHED: dict[str, tuple[str, str, list[str]]] = {
    "mime_swa/axiom/quoted-printable.msg": ("swa", "application/xml", ["SDESS_COREP_00000_KO_SNG.xml"]),
    "mime_swa/axiom/sample1_1.msg": ("swa", "application/xml", ["BAttachment", "AAttachment"]),
    "mime_swa/axiom/sample2.msg": ("swa", "application/xml", ["-1609420109260943731"]),
    "mime_swa/axis2/swainput.bin": ("swa", "application/xml", ["3936AE19FBED55AE4620B81C73BDD76E"]),
    "mime_swa/cxf/swadata": ("swa", "application/xml", ["02506EC1DE5431C3D3BF8E780FC4A65A"]),
    "mime_swa/cxf/swareq": ("swa", "application/xml", ["02506EC1DE5431C3D3BF8E780FC4A65A"]),
    "mime_swa/saaj-ri/message1.txt": ("swa", "application/xml", ["attachmentPart"]),
    "dime/axis14_dime_2att.dime": ("dime", "application/xml", ["att-1@example.com", "att-2@example.com"]),
    "dime/gsoap_dime.dime": (
        "dime",
        "application/xml",
        ["uuid:09233523-345b-4351-b623-5dsf35sgs5d6", "note-1"],
    ),
    "dime/gsoap_dime.http": ("dime", "application/xml", ["uuid:09233523-345b-4351-b623-5dsf35sgs5d6", "note-1"]),
    "dime/perl_soap_jpeg_chunked.dime": ("dime", "application/xml", ["uuid:6f1c2d5a-0000-11d8-8000-0123456789ab"]),
    "soap/phase4/UserMessage.xml": ("soap", "text/xml", []),
    "soap/phase4/UserMessage12.xml": ("soap", "application/soap+xml", []),
    "soap/phase4/helger.as4in": ("soap", "application/soap+xml", []),
}
SOAP_ROOTED = {
    "mime_swa/axiom", "mime_swa/axis2", "mime_swa/cxf", "mime_swa/hermes-ebms", "mime_swa/saaj-ri", "dime", "soap/phase4",
}  # fmt: skip
NO_SOAP = {"mime_swa/saaj-ri/slide.xml", "dime/debian_dime_tools_example.dime"}
REFUSED = {
    "mime_swa/cpython-email/msg_33.txt": ("wire.malformed", "must specify its boundary"),
    "mime_swa/cpython-email/msg_38.txt": ("wire.malformed", "of a header cannot be read"),
    "mime_swa/cpython-email/msg_47.txt": ("wire.malformed", "of a header cannot be read"),
    "mime_swa/mime4j-torture/badbound.msg": ("wire.malformed", "does not occur in the body"),
    "mime_swa/mime4j-torture/multi-bad.msg": ("wire.malformed", "no closing boundary"),
    "mime_swa/mime4j-torture/multipartemptypart.msg": ("wire.malformed", "at least one part"),
    "mime_swa/mime4j-torture/multipartnopart.msg": ("wire.malformed", "at least one part"),
    "mime_swa/mime4j-torture/weird-boundary.msg": ("wire.malformed", "no closing boundary"),
    "mime_swa/mime4j-torture/x-gzip64.msg": ("wire.unsupported", "x-gzip64"),
    "mime_swa/saaj-ri/rejectDtd.xml": ("wire.forbidden-markup", "DOCTYPE"),
}


def is_message(path: Path) -> bool:
    is_other = "_decoded" in path.name or path.name.endswith((".content-type", ".wsdl")) or "LICENSE" in path.name
    return path.is_file() and path.name not in ("SOURCES.txt", "EXPECTED.txt") and not is_other


NAMES = [
    path.relative_to(FIXTURES).as_posix()
    for folder in ("mime_swa", "dime", "soap")
    for path in sorted((FIXTURES / folder).rglob("*"))
    if is_message(path)
]
READ = [name for name in NAMES if name not in REFUSED]


def wire_of_file(name: str) -> Wire:
    return read_wire(str(FIXTURES / name))


@pytest.mark.req("T2")
@pytest.mark.parametrize("name", ATTACHED)
def test_roots_and_attachments_are_found(name: str) -> None:
    format, content_type, ids = ATTACHED[name]
    taken = decode_wire(wire_of_file(name))
    assert (taken.format, taken.parts[0].content_type) == (format, content_type)
    assert [part.id for part in taken.parts[1:]] == ids
    assert all(part.attachment for part in taken.parts[1:])


@pytest.mark.req("T2")
@pytest.mark.parametrize("name", READ)
def test_every_message_is_of_the_format_that_its_makers_wrote(name: str) -> None:
    is_rooted = any(name.startswith(folder + "/") for folder in SOAP_ROOTED) and name not in NO_SOAP
    taken = decode_wire(wire_of_file(name))
    assert (taken.format is Format.MIME) == (not is_rooted and not name.startswith("dime/"))
    assert taken.parts


@pytest.mark.req("Z2")
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_for_certain_is_refused(name: str) -> None:
    code, why = REFUSED[name]
    with pytest.raises(Refused, match=why) as refused:
        decode_wire(wire_of_file(name))
    assert refused.value.code == code


@pytest.mark.req("T3")
@pytest.mark.parametrize("name", READ)
def test_each_is_given_again_to_the_byte(name: str) -> None:
    wire = wire_of_file(name)
    taken = decode_wire(wire)
    assert given_again(taken, taken.format).data == wire.body


@pytest.mark.req("T3", "T9")
@pytest.mark.parametrize("format", READABLE)
@pytest.mark.parametrize("name", READ)
def test_each_goes_into_every_format_and_back_with_the_same_parts(name: str, format: Format) -> None:
    first = decode_wire(wire_of_file(name))
    there = decode_wire(wire_of(given_again(first, format)))
    assert contents(there) == contents(first)
    if there.format is format:
        back = decode_wire(wire_of(given_again(there, first.format)))
        assert contents(back) == contents(first)


def contents(taken: DecodedMessage) -> list[bytes]:
    """What the parts hold; an envelope that is a document may be taken apart by one format and not by another."""
    return [inside(part.data).strip() for part in taken.parts]


def inside(data: bytes) -> bytes:
    if is_envelope(data):
        [part, *_] = decode_wire(Wire([], data)).parts
        return part.data
    return data.partition(b"?>")[2] if data.startswith(b"<?xml") else data


def events() -> list[CloudEvent]:
    """The events of the conformance suite, with any bytes for those whose data are elsewhere."""
    found = []
    for path in sorted((FIXTURES / "cloudevents").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            said = {name: str(value) for name, value in document["ContextAttributes"].items() if name != "Extensions"}
            extensions = document["ContextAttributes"].get("Extensions") or {}
            found.append(
                CloudEvent(
                    id=said["id"],
                    source=said["source"],
                    type=said["type"],
                    data_content_type=said.get("datacontenttype", "application/json"),
                    extensions=tuple((name, str(value).strip()) for name, value in extensions.items()),
                    data=str(document["Data"]).encode(),
                )
            )
    return found


@pytest.mark.req("T8")
def test_events_of_the_conformance_suite_are_taken_in_both_modes_and_given_in_every_format() -> None:
    every = events()
    assert len(every) > 5
    for event in every:
        structured = Wire([("content-type", "application/cloudevents+json")], write_structured(event))
        headers, body = write_binary(event)
        binary = Wire([(name.lower(), value) for name, value in headers], body)
        for wire in (structured, binary):
            taken = decode_wire(wire)
            message = message_of(wire, taken)
            assert (message.topic, message.handle) == (event.type, event.id)
            assert {"ce.source": event.source, **{f"ce.{name}": value for name, value in event.extensions}} == {
                entry.name: entry.value for entry in message.properties
            }
            for format in READABLE:
                again = decode_wire(wire_of(given_again(taken, format)))
                assert [part.data.strip() for part in again.parts] == [part.data.strip() for part in taken.parts]
