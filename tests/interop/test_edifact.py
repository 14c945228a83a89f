"""EDIFACT that others wrote, from other products' test suites, and pydifact as a second opinion on it and on what we write.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pydifact.segmentcollection import Interchange

from postroad.core.interchange.edifact import acknowledge, answering, assemble, examine, examine_stream, split_stream
from postroad.core.interchange.model import Envelope, OnEnvelopeError
from postroad.errors import Refused
from tests.samples.edifact import NOON, ORDER, SECOND, Counting, interchange

# It has no directory of service segments for every version, and dislikes segments without elements; both it says each time.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydifact.exceptions.MissingImplementationWarning"),
    pytest.mark.filterwarnings("ignore:Segment .* is empty:SyntaxWarning"),
]
FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "edifact"
needs_collection = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)
COUNT, CONTROL, CHARSET, UNB = "edifact.count", "edifact.control", "edifact.charset", "edifact.unb"
MIXED = [COUNT, COUNT, COUNT, "edifact.duplicate", "edifact.mixed", CONTROL]
# Every interchange with something wrong in it, and what; all others have nothing.
WRONG: dict[str, list[str]] = {
    "oboe/orders.escape": [COUNT, CONTROL],
    "oboe/orders.missingMandatorySegments": [COUNT],
    "oboe/orders.newdelimiters": ["edifact.una"],
    "php-edifact/example_multiline.edi": [COUNT],
    "pydifact/aperak.edi": [COUNT],
    "pydifact/aperak_rejected.edi": [COUNT],
    "pydifact/hl7.lab": [UNB, "edifact.truncated"],  # it has an envelope's beginning only
    "pydifact/patient2.edi": [UNB],  # date and time as two elements
    "pydifact/patient3.edi": [UNB, "edifact.truncated"],
    "smooks/BAD_ORDERS_D.03B_Interchange.txt": [COUNT],
    "smooks/INVOIC_D.03B_Interchange_with_UNA.txt": [COUNT],
    "smooks/bad-paxlst.txt": [COUNT],
    "smooks/recadv.txt": [CHARSET],
    "smooks/unedifact-msg-01_1.edi": MIXED,
    "smooks/unedifact-msg-02_1.edi": MIXED,
    "smooks/unedifact-msg-03.edi": [COUNT, CONTROL, *MIXED[1:]],
    "smooks/unedifact-msg-04.edi": [COUNT, CONTROL],
    "smooks/unedifact-msg-05.edi": ["edifact.stray", COUNT, CONTROL],
    "staedi/invoic_d93a_una.edi": [CHARSET],
    "staedi/invoic_d97b.edi": [CHARSET],
    "staedi/wrapped_invoic_d97b.edi": [UNB, CONTROL, CHARSET],  # lines were broken inside segments
}
NEVER = ("pydifact/hl7.lab", "pydifact/patient3.edi")
REPAIRED = (
    "oboe/orders.missingMandatorySegments", "oboe/orders.newdelimiters", "php-edifact/example_multiline.edi",
    "pydifact/aperak.edi", "pydifact/aperak_rejected.edi", "pydifact/patient2.edi",
    "smooks/BAD_ORDERS_D.03B_Interchange.txt", "smooks/INVOIC_D.03B_Interchange_with_UNA.txt", "smooks/bad-paxlst.txt",
    "smooks/unedifact-msg-04.edi",
)  # fmt: skip
OTHER_OPINIONS = ("oboe/orders.withbadunbsegment",)  # empty segments, which we pass over
OTHERS = 8  # files that are no EDIFACT: what applications made of it, TRADACOMS, a fragment


def files() -> dict[str, bytes]:
    """Every interchange of the collection."""
    found = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "SOURCES.txt")
    every = {path.relative_to(FIXTURES).as_posix(): path.read_bytes() for path in found}
    kept = {name: data for name, data in every.items() if data.lstrip().startswith((b"UNA", b"UNB"))}
    assert len(every) - len(kept) == OTHERS
    return kept


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
    found = {
        name: [one.code for part in examine_stream(data) for one in part.faults] for name, data in collection.items()
    }
    assert {name: codes for name, codes in found.items() if codes} == WRONG
    for name, data in collection.items():
        verdicts = [
            is_taken(data, on_error)
            for on_error in (OnEnvelopeError.REFUSE, OnEnvelopeError.REPAIR, OnEnvelopeError.PASS)
        ]
        assert verdicts == [name not in WRONG, name not in WRONG or name in REPAIRED, name not in NEVER], name


def messages_in(data: bytes) -> list[bytes]:
    return [bytes(one.data) for part in split_stream(data, OnEnvelopeError.REPAIR) for one in part.members]


def together(data: bytes) -> bytes:
    """Put together again with the parties, the charset and the delimiters that it came with."""
    found = next(split_stream(data, OnEnvelopeError.REPAIR))
    facts = {**found.facts, "counts": "repair"}
    envelope = Envelope(sender=found.sender, receiver=found.receiver, at_us=NOON, options=facts)
    return b"".join(assemble([data], envelope, Counting()))


@needs_collection
@pytest.mark.req("B6", "B10")
def test_every_file_is_put_together_again() -> None:
    tried = 0
    for name, data in files().items():
        if name in WRONG and name not in REPAIRED:
            continue
        whole = together(data)
        assert all(not part.faults for part in split_stream(whole))
        assert messages_in(whole) == messages_in(data), name
        tried += len(messages_in(data))
    assert tried > 60


# ---- pydifact --------------------------------------------------------------------------------------------------------


def pydifact_reads(data: bytes) -> tuple[str, list[tuple[str, str, int]]]:
    """The interchange's reference, and of each message the reference, the kind and how many segments it has."""
    found = Interchange.from_str(data.decode("latin-1"))
    messages = [(one.reference_number, one.type, len(one.segments) + 2) for one in found.get_messages()]
    assert isinstance(found.control_reference, str)
    return found.control_reference, messages


def we_read(data: bytes) -> tuple[str, list[tuple[str, str, int]]]:
    found = examine(data)
    return found.reference, [
        (one.reference, one.kind, int(bytes(one.data).split(b"UNT" + found.facts["element"].encode())[-1].split(
            found.facts["element"].encode())[0])) for one in found.members
    ]  # fmt: skip


@needs_collection
@pytest.mark.req("B6", "B10")
def test_pydifact_reads_the_same_in_what_came_and_in_what_we_write() -> None:
    agreed = 0
    for name, data in files().items():
        if name in (*WRONG, *OTHER_OPINIONS) or len(list(examine_stream(data))) > 1 or examine(data).groups[0].kind:
            continue  # it reads one interchange, and no groups
        for one in (data, together(data)):
            assert pydifact_reads(one) == we_read(one), name
            agreed += 1
    assert agreed > 40


@pytest.mark.req("B10")
@pytest.mark.parametrize("taken", [True, False])
def test_pydifact_reads_our_contrl(taken: bool) -> None:
    found = examine(interchange([ORDER.replace(b"UNT+4", b"UNT+5"), SECOND]))
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting(), taken=taken))
    [message] = Interchange.from_str(answer.decode()).get_messages()
    assert message.type == "CONTRL"
    action = "7" if taken else "4"
    assert [one.tag for one in message.segments] == ["UCI", "UCM"]
    assert message.segments[1].elements[2:] == [action, "29"]
