"""Plug-ins written for earlier versions work unchanged."""

from __future__ import annotations

from itertools import count
from typing import Any

from postroad.core.interchange.model import Envelope, OnEnvelopeError
from postroad.core.interchange.standard import StandardCatalogue

# The standard of docs/howto/bring-a-standard.md in version 0.2, which also reads an option of the envelope.
STANDARD_0_2 = """
from collections.abc import Iterable, Iterator, Mapping

from postroad.core.interchange.catalogue import Standard
from postroad.core.interchange.nouns import Buffer, Dirt, Envelope, Member, Numbers, Split
from postroad.core.interchange.placing import by_place

MARK = b"\\x1e"


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    title = envelope.facts.get("title", "none")
    yield f"{envelope.sender} {title} {numbers.next('interchange')}".encode() + MARK
    for member in members:
        yield bytes(member) + MARK


def split(data: Buffer, dirt: Dirt, facts: Mapping[str, str]) -> Iterator[Split]:
    assert dirt is Dirt.REFUSE
    header, *members = bytes(data).removesuffix(MARK).split(MARK)
    sender, title, number = header.decode().split(" ")
    found = tuple(Member(data=one, kind="text", reference=str(place)) for place, one in enumerate(members, 1))
    yield Split(standard="marked", reference=number, sender=sender, receiver="", members=found, facts={"title": title})


MARKED = Standard(
    name="marked", title="Texts with marks between them", split=split, assemble=by_place(assemble),
    facts=frozenset({"title"}),
)
"""


class Counting:
    def __init__(self) -> None:
        self._numbers = count(1)

    def next(self, scope: str) -> int:
        return next(self._numbers)


def test_a_standard_of_version_0_2_is_a_plug_in() -> None:
    module: dict[str, Any] = {}
    exec(STANDARD_0_2, module)
    standard = StandardCatalogue([module["MARKED"]]).standard("marked")
    assert standard.split is not None

    envelope = Envelope(sender="me", receiver="you", at_us=0, options={"title": "orders"})
    assert standard.assemble is not None
    whole = b"".join(standard.assemble([b"one", b"two"], envelope, Counting()))
    [found] = standard.split(whole, OnEnvelopeError.REFUSE, {})

    assert [member.data for member in found.members] == [b"one", b"two"]
    assert found.facts == {"title": "orders"}
    assert standard.options == frozenset({"title"})
