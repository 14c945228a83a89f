"""X12 that others wrote, from other products' test suites, and pyx12 as a second opinion on it and on what we write.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyx12.errors import X12Error
from pyx12.params import ParamsBase
from pyx12.x12file import X12Reader
from pyx12.x12n_document import x12n_document

from postroad.core.interchange.model import Envelope, InterchangeFault, OnEnvelopeError, Placed, Split
from postroad.core.interchange.x12 import (
    PartnerStatus,
    acknowledge,
    answering,
    assemble,
    examine,
    examine_stream,
    split_stream,
)
from postroad.core.interchange.x12.acknowledgement_codes import GROUP_CODES, INTERCHANGE_CODES, SET_CODES
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.x12 import GS, NOON, ORDER, Counting, header, interchange

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "x12"
needs_collection = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)
COUNT, CONTROL, ISA = "x12.count", "x12.control", "x12.isa"
BAD_COUNTS = (
    "bad_valid_code", "loop_errors2_exceeds_max_repeats_multiple_parents", "missing_elements", "segment_errors",
    "segments_out_of_order", "valid_different_separators", "writer_test",
)  # fmt: skip
# Every file with something wrong in it, and what; all others have nothing. What is not in NEVER can be repaired.
WRONG: dict[str, list[str]] = {
    **{f"imsweb/x12_{name}.txt": [COUNT] for name in BAD_COUNTS},
    "imsweb/x223-test.txt": [COUNT],
    "imsweb/x12_complex.txt": [COUNT] * 3,
    "imsweb/x12_999_accepted.txt": [CONTROL],
    "imsweb/x12_bad_first_line.txt": [ISA, COUNT],
    "oopfactory/MAN/_852/hdexchange.txt": [CONTROL],
    "oopfactory/ORD/_816/Steinmart_Example1.txt": [CONTROL],
    "oopfactory/ORD/_816/Steinmart_Example2.txt": [CONTROL],
    "oopfactory/ORD/_820/Example2_ScanaEnergy.txt": [CONTROL] * 3,  # blanks around numbers
    "oopfactory/ORD/_820/Example3_HomeDepot.txt": [CONTROL],
    "oopfactory/ORD/_820/Example5_Wikipedia.txt": [CONTROL],
    "oopfactory/ORD/_865/FromTyco.txt": [CONTROL],
    "oopfactory/TAM/_110/FedEx_SampleInvoice1.txt": [CONTROL],
    "oopfactory/TAM/_210/DBSchenker_SampleMotorFreightDetailsAndInvoice.txt": [CONTROL],
    "oopfactory/WAR/_940/simplot.txt": [CONTROL] * 2,
    "oopfactory/WAR/_945/inter-americanproducts.txt": [CONTROL],
    "staedi/invalid999.edi": [COUNT],
    "staedi/x12_interchange_ack.txt": [COUNT],
    "staedi/nonnumeric_BIN01.edi": ["x12.binary"],
    "staedi/sample275_with_HL7_invalid_BIN01.edi": ["x12.binary"],
    "stupidedi/002001/PO830/fail/1.edi": [ISA],
    "stupidedi/003010/PC860/fail/1.edi": [ISA],
    "stupidedi/003010/PO850/fail/1.edi": [ISA, COUNT],
    "stupidedi/003010/RA820/pass/1.edi": [ISA],
    "stupidedi/003050/PO850/fail/1.edi": [ISA],
    "stupidedi/004010/FA997/pass/1.edi": [ISA],
    "stupidedi/004010/PR855/fail/2.edi": ["x12.delimiters", ISA],  # lines were broken inside ISA
    "stupidedi/004010/PS830/pass/1.edi": [ISA],
    "stupidedi/004010/SQ866/pass/1.edi": [ISA],
    "stupidedi/004010/SS862/fail/1.edi": [ISA],
}
NEVER = (
    "staedi/nonnumeric_BIN01.edi",
    "staedi/sample275_with_HL7_invalid_BIN01.edi",
    "stupidedi/004010/PR855/fail/2.edi",
)
TOO_LONG = tuple(
    f"oopfactory/TAM/_210/CN_FreightInvoiceSample{number}.txt" for number in (1, 2)
)  # GS03, to be written again
SEVERAL = {
    "bots/testx12020.x12.txt": 2,
    "oopfactory/INS/_835/_5010/ExampleFromNth.txt": 3,
    "staedi/simple997-multiple-interchanges.edi": 3,
}
# Where pyx12 is of another opinion, and why we stay with ours.
OTHER_OPINIONS: dict[str, str] = {
    "staedi/nonnumeric_BIN01.edi": "it does not know that BIN says its length",
    "staedi/sample275_with_HL7_invalid_BIN01.edi": "the same",
    "oopfactory/ORD/_856/Example3.txt": "a terminator of one character in UTF-8 is three to it",
}


def files() -> dict[str, bytes]:
    found = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "SOURCES.txt")
    return {path.relative_to(FIXTURES).as_posix(): path.read_bytes() for path in found}


def is_taken(data: bytes, on_error: OnEnvelopeError) -> bool:
    try:
        list(split_stream(data, on_error))
    except Refused as refused:
        if refused.code != "interchange.malformed":
            raise
        return False
    return True


@needs_collection
@pytest.mark.req("B10")
def test_every_file_gets_its_verdict() -> None:
    collection = files()
    assert len(collection) == 142
    found = {
        name: [one.code for part in examine_stream(data) for one in part.faults] for name, data in collection.items()
    }
    assert {name: codes for name, codes in found.items() if codes} == WRONG
    for name, data in collection.items():
        verdicts = [
            is_taken(data, on_error)
            for on_error in (OnEnvelopeError.REFUSE, OnEnvelopeError.REPAIR, OnEnvelopeError.PASS)
        ]
        assert verdicts == [name not in WRONG, name not in NEVER, name not in NEVER], name


@needs_collection
def test_several_interchanges_in_a_file_are_all_found() -> None:
    found = {name: sum(1 for _ in examine_stream(data)) for name, data in files().items()}
    assert {name: count for name, count in found.items() if count > 1} == SEVERAL


def envelope_like(found: Split) -> Envelope:
    """The parties, the version and the delimiters of what came."""
    return Envelope(
        sender=found.sender, receiver=found.receiver, at_us=NOON, options={**found.facts, "counts": "repair"}
    )


def sets_in(data: bytes) -> list[tuple[bytes | str, ...]]:
    """Every set as it is, and the kind, parties and version of its group; what is wrong is repaired."""
    parts = split_stream(data, OnEnvelopeError.REPAIR)
    return [(bytes(one.data), *group_of(one.group, part)) for part in parts for one in part.members]


@needs_collection
@pytest.mark.req("B6", "B10")
def test_every_file_is_put_together_again() -> None:
    tried = 0
    for name, data in files().items():
        if name in (*NEVER, *TOO_LONG):
            continue
        envelope = envelope_like(next(split_stream(data, OnEnvelopeError.REPAIR)))
        whole = b"".join(assemble([data], envelope, Counting()))
        assert all(not part.faults for part in split_stream(whole))
        assert sets_in(whole) == sets_in(data), name
        tried += len(sets_in(data))
    assert tried > 150


def group_of(place: int, found: Split) -> tuple[str, ...]:
    group = found.groups[place]
    return (group.kind, *(group.facts[name] for name in ("sender", "receiver", "version")))


# ---- pyx12 -----------------------------------------------------------------------------------------------------------


def pyx12_reads(data: bytes) -> tuple[int, list[str]]:
    """How many sets, and what is wrong with envelopes, by the codes that TA1, AK9 and AK5 have for it."""
    reader = X12Reader(io.StringIO(data.removeprefix(b"\xef\xbb\xbf").decode("latin-1"), newline=""))
    sets = sum(1 for segment in reader_with_errors(reader) if segment == "ST")
    reader.cleanup()
    return sets, sorted(f"{level} {code}" for level, code, *_ in reader.kept + reader.pop_errors() if level != "seg")


def reader_with_errors(reader: X12Reader) -> Iterator[str]:
    reader.kept = []
    for segment in reader:
        reader.kept += reader.pop_errors()
        yield segment.get_seg_id()


def our_codes(found: Split) -> Iterator[str]:
    for fault in found.faults:
        yield _code_of(fault)


def _code_of(fault: InterchangeFault) -> str:
    if fault.member >= 0:
        return f"st {SET_CODES[fault.code]}"
    return f"gs {GROUP_CODES[fault.code]}" if fault.group >= 0 else f"isa {INTERCHANGE_CODES[fault.code]}"


@needs_collection
@pytest.mark.req("B10")
def test_pyx12_is_of_the_same_opinion() -> None:
    agreed = 0
    for name, data in files().items():
        try:
            theirs = pyx12_reads(data)
        except X12Error:  # it knows two versions only, and no ISA but one of 106 characters
            continue
        parts = list(examine_stream(data))
        ours = sum(len(part.members) for part in parts), sorted(code for part in parts for code in our_codes(part))
        if parts[0].facts["terminator"] in "\r\n" and theirs[1] == ["isa 023"]:
            theirs = theirs[0], []  # it wants a line end behind the last line too
        assert (theirs == ours) is (name not in OTHER_OPINIONS), f"{name}: pyx12 {theirs}, we {ours}"
        agreed += theirs == ours
    assert agreed >= 100


@needs_collection
@pytest.mark.req("B6")
def test_pyx12_finds_nothing_wrong_with_what_we_write() -> None:
    """Every set of the collection that can be read at all, in two interchanges; numbered again, since many have the same."""
    for version in ("00401", "00501"):
        facts = {"version": version, "counts": "repair", "set_numbers": "group", "functional_group": "PO"}
        envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=facts)
        members = [data for name, data in files().items() if name not in (*NEVER, *TOO_LONG)]
        whole = b"".join(assemble(fitting(members, envelope), envelope, Counting()))
        parts = list(split_stream(whole))
        assert sum(len(part.members) for part in parts) > 130
        for part, data in zip(parts, one_by_one(whole, parts), strict=True):
            if len(part.facts["terminator"].encode()) == 1:
                assert pyx12_reads(data) == (len(part.members), [])


def fitting(members: list[bytes], envelope: Envelope) -> list[bytes]:
    """Those that this version can say: repetitions cannot be said in 00401."""
    return [one for one in members if _fits(one, envelope)]


def _fits(member: bytes, envelope: Envelope) -> bool:
    try:
        b"".join(assemble([member], envelope, Counting()))
    except Refused as refused:
        if "repeats elements" not in refused.detail:
            raise
        return False
    return True


def one_by_one(whole: bytes, parts: list[Split]) -> list[bytes]:
    begins = [whole.index(b"ISA" + part.facts["element"].encode() + b"00") for part in parts[:1]]
    for part in parts[1:]:
        begins.append(whole.index(b"ISA" + part.facts["element"].encode() + b"00", begins[-1] + 1))
    return [whole[begin:end] for begin, end in zip(begins, [*begins[1:], len(whole)], strict=True)]


CLAIM = ORDER.replace(b"ST*850*0001", b"ST*837*0001*005010X222A1")
CLAIMS = {"isa": header(b"^", b"00501"), "gs": GS.replace(b"PO*", b"HC*").replace(b"004010", b"005010X222A1")}
OLD_CLAIM = ORDER.replace(b"850", b"837")  # pyx12 knows no orders
OLD_CLAIMS = {"gs": GS.replace(b"PO*", b"HC*")}


@pytest.mark.req("B10")
@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    "data",
    [
        interchange([CLAIM, CLAIM.replace(b"0001", b"0002")], **CLAIMS),
        interchange([CLAIM.replace(b"SE*4", b"SE*5")], **CLAIMS),
        interchange([CLAIM], ge=b"GE*2*13~", **CLAIMS),
        interchange([OLD_CLAIM], **OLD_CLAIMS),
        interchange([OLD_CLAIM.replace(b"SE*4*0001", b"SE*5*0002")], **OLD_CLAIMS),
    ],
)
def test_pyx12_accepts_our_acknowledgements_by_its_own_map_of_them(data: bytes, taken: bool) -> None:
    found = examine(data)
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting(), taken=taken))
    assert x12n_document(ParamsBase(), io.StringIO(answer.decode()), None, None), answer


@pytest.mark.req("B10")
def test_an_acknowledgement_by_pyx12_is_understood() -> None:
    """It looks into claims, and finds that these are none."""
    places: list[Placed] = []
    facts = {"version": "00501", "acknowledgment": "1"}
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=facts)
    members = [CLAIM, CLAIM.replace(b"0001", b"0002")]
    sent, written = b"".join(assemble(members, envelope, Counting(), places.append)), io.StringIO()
    assert not x12n_document(ParamsBase(), io.StringIO(sent.decode()), written, None)
    found = became_of(places, said_in("x12", written.getvalue().encode(), OnEnvelopeError.REPAIR))
    assert verdicts(found) == [(0, PartnerStatus.REJECTED), (1, PartnerStatus.REJECTED)]
    assert [one.filed.reference for one in found.became] == ["0001", "0002"]
    assert any(reason.startswith(("AK3", "IK3")) for reason in found.became[0].reasons)
