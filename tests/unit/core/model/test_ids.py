"""Ids: shapes, order and proofs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.identity.tokens import Tokens
from postroad.core.model import ids
from postroad.core.model.party_name import check_party_name
from postroad.errors import Refused

KEY = b"k" * 32


@pytest.mark.req("N2")
def test_a_gcid_is_sixteen_lower_case_hex_digits() -> None:
    assert ids.gcid(bytes(range(248, 256))) == "f8f9fafbfcfdfeff"
    with pytest.raises(ValueError, match="8 bytes"):
        ids.gcid(b"short")


@pytest.mark.req("M7")
def test_sessions_sort_by_time() -> None:
    assert ids.session(1_000_000, b"\xff" * 10) < ids.session(2_000_000, b"\x00" * 10)
    assert ids.SESSION.match(ids.session(1_800_000_000_000_000, b"\x00" * 10))


@pytest.mark.req("M7")
@given(st.integers(1, 1 << 46), st.integers(0, 65_535))
def test_a_token_names_its_delivery_and_holds_for_nothing_else(seq: int, ordinal: int) -> None:
    number = ids.delivery_number(seq, ordinal)
    assert ids.delivery_origin(number) == (seq, ordinal)
    token = ids.token(number, "s" * 32, "r" * 16, KEY)
    assert ids.token_number(token) == number
    tokens = Tokens(KEY)
    assert tokens.holds(token, number, "s" * 32, "r" * 16)
    assert not tokens.holds(token, number + 1, "s" * 32, "r" * 16)
    assert not tokens.holds(token, number, "t" * 32, "r" * 16)
    assert not tokens.holds(token, number, "s" * 32, "q" * 16)
    assert not Tokens(b"j" * 32).holds(token, number, "s" * 32, "r" * 16)


@given(st.text(max_size=60))
def test_any_text_may_be_tried_as_a_token(text: str) -> None:
    number = ids.token_number(text)
    assert number is None or not Tokens(KEY).holds(text, number, "s" * 32, "r" * 16)


@pytest.mark.parametrize("head", ["", "8" + "0" * 15, "f" * 16, "0" * 17, "-1", "+1", "0x1", "1_0", " 1", "G"])
def test_a_number_that_no_store_could_hold_is_no_deliverys(head: str) -> None:
    assert ids.token_number(f"{head}.{'0' * 32}") is None


@pytest.mark.parametrize("text", ["", "f", "f" * 31, "f" + "z" * 31, "F" * 32, "f" * 33, "é" * 32])
def test_what_is_no_pseudonym_stays_as_it_is(text: str) -> None:
    assert Tokens(KEY).pseudonyms.real_session(text) == text


@pytest.mark.req("N3")
@pytest.mark.parametrize(
    "name", ["Öl & Gas", "Яндекс Cloud", "Ελλάδα", "株式会社 ABC", "R2D2", "0123456789abcde", "zipPlus4"]
)
def test_names_of_parties_in_any_one_script_are_allowed(name: str) -> None:
    assert check_party_name(name, "The organization's") == name


@pytest.mark.req("N3")
@pytest.mark.parametrize(
    "name", ["0123456789ABCDEF", "Аcme", "Acmε", "Ａcme", "Acme  Supply", "ﬁne", "½", "Alph\u0251", "Bi\u0261"]
)
def test_names_of_parties_look_like_no_others(name: str) -> None:
    with pytest.raises(Refused, match=r"name\.invalid"):
        check_party_name(name, "The organization's")


@pytest.mark.parametrize("name", ["A", "MyBiz", "The Acme Company", "R&D (EU)", "zipPlus4", "Äpfel-Birnen", "7up"])
def test_readable_names_are_allowed(name: str) -> None:
    assert ids.check_name(name, "organization") == name


@pytest.mark.parametrize("name", ["", " A", "A ", "a/b", "x" * 65, "_a", "a\nb", "a\x00b", "<script>"])
def test_names_that_would_confuse_are_not(name: str) -> None:
    with pytest.raises(Refused, match=r"name\.invalid"):
        ids.check_name(name, "organization")
