"""HL7 that others wrote, and python-hl7 as a second opinion on it and on what we write.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from pathlib import Path

import hl7
import pytest

from postroad.core.interchange.hl7 import PartnerStatus, acknowledge, answering, assemble, examine, split
from postroad.core.interchange.model import Placed
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.hl7 import ADMIT, NOON, RESULT, Counting, batch, envelope

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "hl7v2"
needs_collection = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)
WRONG = {"linuxforhealth/sample_win.hl7": ["hl7.separators"]}  # its backslash came twice out of somebody's program
SEVERAL = {"mirth/batch03.hl7": 2}


def files() -> dict[str, bytes]:
    found = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "SOURCES.txt")
    return {path.relative_to(FIXTURES).as_posix(): path.read_bytes() for path in found}


@needs_collection
@pytest.mark.req("B10")
def test_every_file_gets_its_verdict() -> None:
    found = {name: examine(data) for name, data in files().items()}
    assert len(found) >= 40
    assert {name: [fault.code for fault in one.faults] for name, one in found.items() if one.faults} == WRONG
    counts = {name: len(one.members) for name, one in found.items() if name not in WRONG}
    assert {name: count for name, count in counts.items() if count != 1} == SEVERAL


def members() -> list[bytes]:
    every = [bytes(one.data) for name, data in files().items() if name not in WRONG for one in split(data).members]
    kept = {split(one).members[0].reference: one for one in every}  # one file gives its messages the ids of another
    return list(kept.values())


@needs_collection
@pytest.mark.req("B6", "B10")
def test_python_hl7_reads_the_same_in_one_batch_of_all() -> None:
    whole = b"".join(assemble(members(), envelope(), Counting()))
    ours = split(whole).members
    [theirs] = hl7.parse_file(whole.decode("latin-1"))
    assert len(ours) == len(theirs) > 20
    for one, other in zip(ours, theirs, strict=True):
        assert str(other).rstrip("\r") == bytes(one.data).decode("latin-1").rstrip("\r")
        assert str(other.segment("MSH")[10]) == one.reference


@pytest.mark.req("B10")
def test_python_hl7_reads_our_acknowledgements() -> None:
    found = examine(batch())
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting(), rejected=(1,)))
    told = [(str(one.segment("MSA")[1]), str(one.segment("MSA")[2])) for one in hl7.parse_batch(answer.decode())]
    assert told == [("AA", "M1"), ("AE", "M2")]


@pytest.mark.req("B10")
def test_an_acknowledgement_by_python_hl7_is_understood() -> None:
    answers = [str(hl7.parse(one.decode()).create_ack(code)) for one, code in ((ADMIT, "AA"), (RESULT, "AR"))]
    places = [Placed(position=place, interchange="1", reference=f"M{place + 1}") for place in range(2)]
    found = [verdicts(became_of(places, said_in("hl7", one.encode()))) for one in answers]
    assert found == [[(0, PartnerStatus.ACCEPTED)], [(1, PartnerStatus.REJECTED)]]
