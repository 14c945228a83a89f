"""Standards by name: all called in the same way, plug-ins among them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from postroad.core.interchange.model import Buffer, Envelope, Numbers, OnEnvelopeError, Placed
from postroad.core.interchange.positions import by_place, record_position
from postroad.core.interchange.standard import BUILT_IN, Standard, StandardCatalogue
from postroad.errors import Refused
from tests.samples.interchange_members import FIN, TWO_MEMBERS
from tests.samples.x12 import NOON, Counting

AGREED = {"gs1": {"form": "sbd"}, "flat": {"header": "HDR,{number}", "trailer": "TRL,{records}"}}


def shouted(members: Iterable[Buffer], _envelope: Envelope, _numbers: Numbers) -> Iterator[bytes]:
    return (bytes(one).upper() for one in members)


SHOUTING = Standard(name="shouting", title="All capitals", assemble=by_place(shouted))


@pytest.mark.req("B6", "B9")
@pytest.mark.parametrize("standard", list(BUILT_IN), ids=lambda one: one.name)
def test_every_standard_is_called_in_the_same_way(standard: Standard) -> None:
    assert standard.split is not None
    assert standard.assemble is not None
    facts, members = AGREED.get(standard.name, {}), TWO_MEMBERS[standard.name]
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=facts)
    whole = b"".join(standard.assemble(members, envelope, Counting()))
    assert whole == b"".join(standard.assemble(iter(members), envelope, Counting())), "the same batch, other bytes"
    [found] = standard.split(whole, OnEnvelopeError.REFUSE, facts)
    assert found.standard == standard.name
    assert [bytes(one.data) for one in found.members] == members
    if standard.acknowledge is not None:
        assert b"".join(standard.acknowledge(found, envelope, Counting(), taken=False))


# Interchange, group, kind and reference of the second member, as an answer would name it; most standards know but its place.
SECOND_PLACED = {
    "x12": ("1", "1", "850", "0002"),
    "edifact": ("1", "", "ORDERS", "2"),
    "hl7": ("1", "1", "ADT^A01", "2"),
    "swift": ("", "", "103", "B"),
    "json_lines": ("", "", "", "2"),
}


@pytest.mark.req("B6", "B7")
@pytest.mark.parametrize("standard", list(BUILT_IN), ids=lambda one: one.name)
def test_every_standard_tells_where_each_document_went(standard: Standard) -> None:
    assert standard.assemble is not None
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=AGREED.get(standard.name, {}))
    told: list[Placed] = []
    whole = b"".join(standard.assemble(TWO_MEMBERS[standard.name], envelope, Counting(), told.append))
    assert whole == b"".join(standard.assemble(TWO_MEMBERS[standard.name], envelope, Counting()))
    first, second = (record_position(one, 70 + one.position) for one in told)
    assert (first.delivery, second.delivery) == (70, 71)
    expected = SECOND_PLACED.get(standard.name, ("1", "", "", "2"))
    assert (second.interchange, second.group, second.kind, second.reference) == expected


LARGE = {
    "xml": b"<a>%b</a>",
    "iso20022": b"<a>%b</a>",
    "gs1": b"<a>%b</a>",
    "json_lines": b'"%b"',
    "flat": b"%b",
    "swift": FIN,
}


@pytest.mark.req("B6")
@pytest.mark.parametrize("name", list(LARGE))
def test_a_stream_may_be_larger_than_the_memory(name: str) -> None:
    """Twenty megabytes, of which no more than a few members are held at a time."""
    standard, member = BUILT_IN.standard(name), LARGE[name] % (b"x" * 100_000)
    assert standard.assemble is not None
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=AGREED.get(name, {}))
    tracemalloc.start()
    try:
        size = sum(map(len, standard.assemble((member[:] for _ in range(200)), envelope, Counting())))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 2_000_000


def test_every_standard_says_what_it_can_do() -> None:
    assert {one.name: one.abilities for one in BUILT_IN if len(one.abilities) == 2}.keys() == {
        "iso20022", "gs1", "xml", "flat", "json_lines",
    }  # fmt: skip
    assert BUILT_IN.standard("x12").abilities == ("split", "assemble", "acknowledge", "match")
    assert BUILT_IN.standard("swift").abilities == ("split", "assemble", "match")


@pytest.mark.req("B9")
def test_a_plug_in_stands_beside_what_is_built_in() -> None:
    catalogue = BUILT_IN.with_plug_ins([SHOUTING])
    assert catalogue.standard("shouting") is SHOUTING
    assert catalogue.standard("x12") is BUILT_IN.standard("x12")
    with pytest.raises(Refused, match=r"standard 'shouting' does not exist; use one of .*x12"):
        BUILT_IN.standard("shouting")


@pytest.mark.parametrize(
    ("standard", "why"),
    [
        (replace(SHOUTING, name="x12"), "already"),
        (replace(SHOUTING, name="Loud!"), "is not the name"),
        (replace(SHOUTING, assemble=None), "has no capabilities"),
    ],
)
def test_a_plug_in_that_cannot_be_is_refused(standard: Standard, why: str) -> None:
    with pytest.raises(Refused, match=why):
        StandardCatalogue([*BUILT_IN, standard])
