"""Real SWIFT files, ISO 20022 and GS1 documents, and flat files, taken apart and put together; lxml as the second opinion."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from lxml import etree

from postroad.core.interchange import flat, swift
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.interchange.xml_wrapper import gs1, iso20022, own_root
from postroad.core.interchange.xml_wrapper.outline import root_of
from postroad.errors import Refused
from tests.samples.x12 import Counting, envelope

FIXTURES = Path(__file__).parents[3] / "shared/fixtures"
needs_collection = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real files beside the repository"
)

# All others in the collection are right; statements without FIN blocks (.sta) are no messages at all.
WRONG_FIN = {
    "prowide-core/MT103-out-ack.rje": ["swift.truncated"],  # the tenth message was cut inside a block
    "prowide-core/MT320.txt": ["swift.stray"],
    "prowide-core/MT341.fin": ["swift.stray"],
}
SEVERAL = {"mt940/ASNB/mt940.txt": 31, "prowide-core/MT103-bulk-with-ack.rje": 3, "prowide-core/MT103-out-ack.rje": 10}


def files(area: str, *endings: str) -> dict[str, bytes]:
    found = sorted(
        path for path in (FIXTURES / area).rglob("*") if path.suffix in endings and path.name != "SOURCES.txt"
    )
    return {path.relative_to(FIXTURES / area).as_posix(): path.read_bytes() for path in found}


def with_line_ends(message: bytes) -> bytes:
    return message.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@needs_collection
@pytest.mark.req("B10")
def test_every_swift_file_gets_its_verdict() -> None:
    collection = files("swift_mt", ".fin", ".rje", ".txt")
    found = {name: swift.examine(data) for name, data in collection.items()}
    assert len(found) == 12
    assert {name: [one.code for one in part.faults] for name, part in found.items() if part.faults} == WRONG_FIN
    assert {name: len(part.members) for name, part in found.items() if len(part.members) > 1} == SEVERAL
    assert all(one.kind in name for name, part in found.items() if "MT1" in name for one in part.members)


@needs_collection
def test_statements_without_blocks_are_no_messages() -> None:
    for data in files("swift_mt", ".sta").values():
        with pytest.raises(Refused, match="no SWIFT message begins here"):
            swift.examine(data)


@needs_collection
@pytest.mark.req("B6")
@pytest.mark.parametrize("form", ["rje", "dos_pcc"])
def test_every_right_swift_file_is_put_together_again(form: str) -> None:
    members = [data for name, data in files("swift_mt", ".fin", ".rje", ".txt").items() if name not in WRONG_FIN]
    expected = [with_line_ends(bytes(one.data)) for data in members for one in swift.split(data).members]
    whole = b"".join(swift.assemble(members, envelope({"form": form, "charset": "any"}), Counting()))
    assert [bytes(one.data) for one in swift.split(whole).members] == expected
    assert len(expected) == 41


@needs_collection
@pytest.mark.req("B6")
@pytest.mark.parametrize("standard", [own_root, iso20022])
def test_every_iso_20022_document_keeps_its_meaning_in_a_wrapper(standard: ModuleType) -> None:
    documents = list(files("iso20022", ".xml").values())
    whole = b"".join(standard.assemble(documents, envelope({"members": str(len(documents))}), Counting()))
    found = standard.split(whole).members
    assert len(found) == len(documents) > 30
    for document, member in zip(documents, found, strict=True):
        assert bytes(member.data) == bytes(root_of(document))
        assert meaning(bytes(member.data)) == meaning(document)
    inside = etree.fromstring(whole)
    carriers = inside if standard is own_root else inside.findall(f"{{{iso20022.FILE}}}Pyld")
    assert sum(1 for _ in carriers) == len(documents)


def meaning(document: bytes) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Every element with its namespace, text and attributes."""
    root = etree.fromstring(document)
    return [
        (str(one.tag), one.text or "", sorted((str(key), str(value)) for key, value in one.items()))
        for one in root.iter("*")
    ]


@needs_collection
@pytest.mark.req("B6")
def test_orders_of_gs1_messages_are_put_into_one() -> None:
    message = files("gs1xml", ".xml")["grid/order.xml"]
    whole = b"".join(gs1.assemble([message, message], envelope(), Counting()))
    [order] = gs1.split(message).members
    assert [bytes(one.data) for one in gs1.split(whole).members] == [bytes(order.data)] * 2
    assert etree.fromstring(whole).tag == "{urn:gs1:ecom:order:xsd:3}orderMessage"


@needs_collection
@pytest.mark.req("B6")
def test_flat_files_are_put_together_to_the_same_bytes() -> None:
    collection = files("flat", ".idoc", ".csv")
    assert len(collection) == 7
    for name, data in collection.items():
        idoc = {"form": "positional", "charset": "latin-1", "member_start": "EDI_DC40"}
        facts = (idoc if name.endswith(".idoc") else {"total": "1"}) | {
            "record_end": "crlf" if b"\r\n" in data else "lf"
        }
        found = flat.split(data, OnEnvelopeError.REPAIR, facts)
        assert len(found.members) == (1 if name.endswith(".idoc") else data.count(b"\n"))
        again = b"".join(flat.assemble([one.data for one in found.members], envelope(facts), Counting()))
        assert again == data, name
