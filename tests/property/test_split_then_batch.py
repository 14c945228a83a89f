"""Documents keep their meaning through splitter and batcher, whatever delimiters and charsets are on both sides."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from postroad.core.interchange.agreement import read_agreement
from postroad.core.interchange.document_options import read_declared_options
from postroad.core.interchange.interchange_reader import open_interchanges
from postroad.core.interchange.model import DescribedDocument, Envelope
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.message import Delivered, MessageType, Part
from postroad.errors import Refused
from postroad.services.splitter.documents import SplitDocuments
from tests.property import odd_documents as odd

DOCUMENTS = 200
PER_INTERCHANGE = 2


class _Counting:
    def __init__(self) -> None:
        self._drawn: Counter[str] = Counter()

    def next(self, scope: str) -> int:
        self._drawn[scope] += 1
        return self._drawn[scope]


def taken_apart(data: bytes, standard: str) -> list[DescribedDocument]:
    """What reaches a batcher of the documents that a splitter makes of an interchange."""
    part = Part(id="1", content_type="application/octet-stream", data=data)
    message = _delivered(part)
    found = open_interchanges(data, Splitting(sends_to="MyBiz/inbox", standard=standard), BUILT_IN)
    assert found.refusal is None, found.refusal
    documents = SplitDocuments(message, "S", "R", read_agreement({})).of([(part, found)])
    described = []
    for one in documents:
        forwarded = one.forward.part
        assert forwarded is not None
        options = read_declared_options(standard, forwarded.content_type, one.forward.properties or ())
        described.append(DescribedDocument(forwarded.data, options))
    return described


def _delivered(part: Part) -> Delivered:
    return Delivered(
        session="s", token="t", transaction="s", sender="A/b", sender_gcid="1", recipient="C/d", recipient_gcid="2",
        type=MessageType.NOTIFICATION, topic="", handle="", arguments=(), reference=None, invoker="", status=None,
        properties=(), posted_at_us=0, expires_at_us=0, attempt=1, in_transit=False, parts=(part,),
    )  # fmt: skip


def batched(documents: list[DescribedDocument], standard: str, options: dict[str, str]) -> tuple[bytes, list[int]]:
    """The stream of a batcher, and the places of the documents that it refused."""
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=1_794_830_400_000_000, options=options)
    refused: list[int] = []
    while True:
        left = [one for place, one in enumerate(documents) if place not in refused]
        try:
            return b"".join(BUILT_IN.standard(standard).assemble_members(left, envelope, _Counting())), refused
        except Refused as refusal:
            if not refusal.pointer.startswith("/members/"):
                raise
            places = [place for place in range(len(documents)) if place not in refused]
            refused.append(places[int(refusal.pointer.removeprefix("/members/"))])


def envelope_options(random: Random, names: tuple[str, ...], pool: str) -> dict[str, str]:
    if random.random() < 0.4:
        return {}
    return dict(zip(names, odd.any_marks(random, len(names), pool), strict=True))


@pytest.mark.req("B6", "B10")
def test_x12_documents_keep_their_meaning_through_splitter_and_batcher() -> None:
    random, seen, refusals = Random(12), 0, 0
    while seen < DOCUMENTS:
        data, texts = odd.x12_interchange(random, PER_INTERCHANGE)
        options = envelope_options(random, ("element", "component", "terminator", "repetition"), "*:~^|!+'<>=;#%&")
        stream, refused = batched(taken_apart(data.encode(), "x12"), "x12", options | {"version": "00501"})
        kept = [text for place, text in enumerate(texts) if place not in refused]
        assert odd.x12_documents(stream.decode()) == kept, (data, options, stream)
        seen, refusals = seen + len(texts), refusals + len(refused)
    assert refusals == 0, "every X12 document has a version with repetitions to go to"


@pytest.mark.req("B6", "B10")
def test_x12_documents_that_repeat_elements_are_refused_by_an_envelope_that_cannot() -> None:
    random, seen, refusals = Random(121), 0, 0
    while seen < DOCUMENTS:
        data, texts = odd.x12_interchange(random, PER_INTERCHANGE)
        stream, refused = batched(taken_apart(data.encode(), "x12"), "x12", {"version": "00401"})
        kept = [text for place, text in enumerate(texts) if place not in refused]
        assert odd.x12_documents(stream.decode()) == kept, (data, stream)
        seen, refusals = seen + len(texts), refusals + len(refused)
    assert 0 < refusals < DOCUMENTS


@pytest.mark.req("B6", "B10")
def test_edifact_documents_keep_their_meaning_through_splitter_and_batcher() -> None:
    random, seen, refusals = Random(30), 0, 0
    while seen < DOCUMENTS:
        data, texts = odd.edifact_interchange(random, PER_INTERCHANGE)
        options = envelope_options(random, ("component", "element", "release", "terminator"), ":+?'|!~^<>=;#%\\")
        options |= {"syntax": random.choice(["UNOC", "UNOD", "UNOY", "UNOY"]), "version": random.choice("34")}
        options |= {"decimal": random.choice(",.")}
        if options["version"] == "4":
            options["repetition"] = "*"
        stream, refused = batched(taken_apart(data, "edifact"), "edifact", options)
        kept = [text for place, text in enumerate(texts) if place not in refused]
        found = odd.edifact_documents(stream)
        assert [text for text, _ in found] == [text for text, _ in kept], (data, options, stream)
        for (text, mark), (_, written) in zip(kept, found, strict=True):
            has_number = any("," in one or "." in one for segment in text for element in segment for one in element)
            assert mark == written or not has_number, (data, options, stream)
        seen, refusals = seen + len(texts), refusals + len(refused)
    assert 0 < refusals < DOCUMENTS / 2, "only letters that the envelope's charset does not have are refused"


@pytest.mark.req("B6", "B10")
def test_hl7_documents_keep_their_meaning_through_splitter_and_batcher() -> None:
    random = Random(25)
    for number in range(DOCUMENTS):
        data, text = odd.hl7_message(random, number)
        names = ("field", "component", "repetition", "escape", "subcomponent")
        options = envelope_options(random, names, "|^~\\&$#%*!@+=:;")
        stream, refused = batched(taken_apart(data, "hl7"), "hl7", options)
        assert refused == []
        assert odd.hl7_documents(stream) == [text], (data, options, stream)
