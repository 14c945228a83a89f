"""FIN messages in files: RJE, DOS-PCC and strung together; and SWIFT's acknowledgements."""

from __future__ import annotations

import pytest

from postroad.core.interchange.model import OnEnvelopeError, PartnerStatus, Placed
from postroad.core.interchange.swift import assemble, examine, read_answers, split
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in
from tests.samples.x12 import Counting, envelope


def payment(reference: str, mur: str = "") -> bytes:
    user = f"{{3:{{108:{mur}}}}}" if mur else ""
    text = f"{{1:F01BANKDEFFAXXX0000000000}}{{2:I103BANKUS33XXXXN}}{user}{{4:\r\n:20:{reference}\r\n:23B:CRED\r\n-}}"
    return text.encode()


def acknowledgement(accepted: bool, mur: str) -> bytes:
    said = "{451:0}" if accepted else "{451:1}{405:H50}"
    return f"{{1:F21BANKDEFFAXXX5195167828}}{{4:{{177:2611161200}}{said}{{108:{mur}}}}}".encode()


ONE, TWO = payment("REF1", "MUR1"), payment("REF2")
CHECKED = payment("REF3") + b"{5:{MAC:00000000}{CHK:123456789ABC}}{S:{SAC:}}"


def put_together(*members: bytes, **facts: str) -> bytes:
    return b"".join(assemble(members, envelope(facts), Counting()))


def parts(data: bytes) -> list[bytes]:
    return [bytes(one.data) for one in split(data).members]


# ---- taking apart ----------------------------------------------------------------------------------------------------


@pytest.mark.req("B6")
@pytest.mark.parametrize("form", ["rje", "dos_pcc"])
def test_what_is_put_together_comes_apart_again(form: str) -> None:
    whole = put_together(ONE, TWO, CHECKED, form=form)
    assert parts(whole) == [ONE, TWO, CHECKED]
    assert split(whole).facts["form"] == form
    if form == "dos_pcc":
        assert len(whole) == 3 * 512
        assert whole[0] == whole[512] == 1
    else:
        assert whole == ONE + b"$" + TWO + b"$" + CHECKED


def test_messages_say_what_they_are() -> None:
    [member] = split(ONE).members
    assert (member.kind, member.reference) == ("103", "REF1")
    assert member.facts["user_reference"] == "MUR1"
    assert (member.facts["sender"], member.facts["receiver"]) == ("BANKDEFFAXXX", "BANKUS33XXXX")
    assert split(ONE).sender == "BANKDEFFAXXX"


def test_an_output_message_comes_from_the_other_side() -> None:
    data = ONE.replace(b"{2:I103BANKUS33XXXXN}", b"{2:O1031200261116BANKUS33AXXX12345678902611161201N}")
    found = split(data)
    assert (found.sender, found.receiver) == ("BANKUS33AXXX", "BANKDEFFAXXX")
    assert found.members[0].facts["mir"] == "261116BANKUS33AXXX1234567890"


def test_messages_that_only_follow_each_other_are_found() -> None:
    found = split(ONE + b"\r\n" + TWO + CHECKED + b"\r\n")
    assert len(found.members) == 3
    assert found.facts["form"] == "plain"


def test_an_acknowledgement_and_its_copy_are_one_member() -> None:
    data = acknowledgement(True, "MUR1") + ONE
    assert parts(data + b"$" + TWO) == [data, TWO]
    alone = acknowledgement(True, "MUR1")
    assert parts(alone + b"$" + ONE) == [alone, ONE]


@pytest.mark.parametrize(
    ("data", "code", "repairable"),
    [
        (ONE + b"$" + TWO + TWO, "swift.separator", True),
        (b"\x01" + ONE + b"\x03", "swift.padding", True),
        (ONE + b"$garbage" + TWO, "swift.stray", False),
        (b"\x01" + ONE + b"x\x03" + b" " * (512 - len(ONE) - 3), "swift.stray", False),
    ],
)
def test_dirt_is_refused_repaired_or_passed(data: bytes, code: str, repairable: bool) -> None:
    assert [one.code for one in examine(data).faults] == [code]
    with pytest.raises(Refused, match=code):
        split(data)
    assert split(data, OnEnvelopeError.PASS).members
    if repairable:
        assert split(data, OnEnvelopeError.REPAIR).faults[0].repaired
    else:
        with pytest.raises(Refused, match=code):
            split(data, OnEnvelopeError.REPAIR)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (ONE[:-1], "swift.truncated"),
        (ONE.replace(b"\r\n-}", b"\r\n", 1) + b"$" + TWO, "swift.truncated"),
        (ONE + b"$" + TWO[:40], "swift.truncated"),
        (b"\x01" + ONE, "swift.truncated"),
        (b"\x01" + ONE + b"\x03" + b" " * 400 + ONE, "swift.stray"),
        (ONE + b"{" * 50, "swift.truncated"),
        (b"\x01{2:I103}\x03", "swift.structure"),
    ],
)
def test_where_a_member_ends_must_be_certain(data: bytes, code: str) -> None:
    assert code in [one.code for one in examine(data).faults]
    with pytest.raises(Refused, match=r"interchange\.malformed"):
        split(data, OnEnvelopeError.REPAIR)


@pytest.mark.parametrize("data", [b"", b":20:REF\r\n-", b"{4:}", b"<xml/>"])
def test_what_holds_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="no SWIFT message begins here"):
        examine(data)


# ---- putting together ------------------------------------------------------------------------------------------------


def test_lines_end_as_swift_asks() -> None:
    assert put_together(ONE.replace(b"\r\n", b"\n")) == ONE


def test_a_file_of_messages_is_taken_apart_first() -> None:
    assert put_together(TWO, ONE + b"$\r\n" + CHECKED) == TWO + b"$" + ONE + b"$" + CHECKED


@pytest.mark.parametrize(
    ("member", "facts", "why"),
    [
        (ONE.replace(b"CRED", b"CR$D"), {"charset": "any"}, r"'\$' at byte"),
        (ONE.replace(b"CRED", "CRÖD".encode()), {}, "at byte"),
        (ONE.replace(b"CRED", b"CR@D"), {}, "'@' at byte"),
        (ONE[:-2], {}, "swift.truncated"),
        (b"hello", {}, "no SWIFT message"),
        (ONE, {"form": "tape"}, "rje, dos_pcc"),
        (ONE, {"charset": "w"}, "x, y, z, any"),
    ],
)
def test_what_swift_has_no_place_for_is_refused(member: bytes, facts: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        put_together(member, **facts)
    assert refused.value.code == "interchange.unfit"


def test_wider_charsets_are_allowed_where_they_are_agreed_on() -> None:
    message = ONE.replace(b"CRED", b"CR@D")
    assert put_together(message, charset="z") == message


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("B10")
def test_acknowledgements_are_matched_to_what_was_sent() -> None:
    sent: list[Placed] = []
    b"".join(assemble([ONE, TWO], envelope(), Counting(), sent.append))
    came = b"$".join((acknowledgement(True, "MUR1"), acknowledgement(False, "") + TWO, acknowledgement(True, "OTHER")))
    found = became_of(sent, said_in("swift", came))
    assert [(one.filed.delivery, one.verdict, one.reasons) for one in found.became] == [
        (0, PartnerStatus.ACCEPTED, ()),
        (1, PartnerStatus.REJECTED, ("H50",)),
    ]
    assert [one.facts for one in found.unmatched] == [{"user_reference": "OTHER"}]


def test_messages_are_nobodys_answers() -> None:
    assert read_answers(split(ONE)) == ()
