"""ACK: original and enhanced mode, matched by MSA-2."""

from __future__ import annotations

import pytest

from postroad.core.interchange.hl7 import PartnerStatus, acknowledge, answering, assemble, examine, read_answers, split
from postroad.core.interchange.model import Placed
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.hl7 import ADMIT, NOON, RESULT, Counting, batch, envelope


def answer(data: bytes, *, taken: bool = True, rejected: tuple[int, ...] = ()) -> bytes:
    found = examine(data)
    return b"".join(acknowledge(found, answering(found, NOON), Counting(), taken=taken, rejected=rejected))


def asking(accept: bytes, application: bytes = b"NE") -> bytes:
    return ADMIT.replace(b"|2.5\r", b"|2.5|||%b|%b\r" % (accept, application))


@pytest.mark.req("B10")
def test_original_mode_answers_every_message() -> None:
    head = b"MSH|^~\\&|EHR|MAIN|LAB|WARD^1|20261116120000+0000||ACK^A01|A1|P|2.5\r"
    assert answer(ADMIT) == head + b"MSA|AA|M1\r"
    assert answer(ADMIT, taken=False) == head + b"MSA|AE|M1|not taken\r"


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("accept", "on_success", "on_error"),
    [(b"AL", b"CA", b"CE"), (b"NE", b"", b""), (b"ER", b"", b"CE"), (b"SU", b"CA", b"")],
)
def test_enhanced_mode_answers_as_the_message_wishes(accept: bytes, on_success: bytes, on_error: bytes) -> None:
    for taken, code in ((True, on_success), (False, on_error)):
        found = answer(asking(accept), taken=taken)
        assert (b"MSA|" + code + b"|M1" in found) if code else found == b""


@pytest.mark.req("B10")
def test_an_answer_is_never_answered() -> None:
    assert answer(answer(ADMIT)) == b""


def test_a_batch_is_answered_by_a_batch_that_names_it() -> None:
    found = split(answer(batch(), rejected=(1,)))
    assert [one.code for one in read_answers(found)] == ["AA", "AE"]
    assert b"BHS|^~\\&|EHR|MAIN|LAB|WARD|20261116120000+0000||||1|F1\r" in answer(batch())


@pytest.mark.req("B10")
def test_answers_are_matched_to_what_was_sent() -> None:
    places: list[Placed] = []
    data = b"".join(assemble([ADMIT, RESULT], envelope(), Counting(), places.append))
    found = became_of(places, said_in("hl7", answer(data, rejected=(1,))))
    assert verdicts(found) == [(0, PartnerStatus.ACCEPTED), (1, PartnerStatus.REJECTED)]
    assert found.became[1].reasons == ("not taken",)
    assert [one.reference for one in became_of([], said_in("hl7", answer(ADMIT))).unmatched] == ["M1"]


def test_of_two_answers_the_later_counts_and_errors_are_notes() -> None:
    told = [b"CA|M1", b"AE|M1|no bed\rERR|^^^101"]
    heads = [RESULT.split(b"\r")[0].replace(b"M2", b"R%d" % place) for place in range(2)]
    data = b"".join(head + b"\rMSA|" + one + b"\r" for head, one in zip(heads, told, strict=True))
    placed = Placed(position=0, interchange="1", group="1", kind="ADT^A01", reference="M1")
    [became] = became_of([placed], said_in("hl7", data)).became
    assert (became.verdict, became.reasons) == (PartnerStatus.REJECTED, ("no bed", "ERR|^^^101"))


def test_an_answer_without_a_verdict_is_refused() -> None:
    with pytest.raises(Refused, match="not a valid status"):
        read_answers(split(RESULT + b"MSA|XX|M1\r"))
