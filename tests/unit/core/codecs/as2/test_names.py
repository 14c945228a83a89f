"""AS2 names lose their quotation marks once and get them back once."""

from __future__ import annotations

import pytest

from postroad.core.codecs.as2 import check_as2_name, quote_name, read_names, unquote_name
from postroad.errors import Refused

PAIRS = [
    ("ACME", "ACME"),
    ("My Biz", '"My Biz"'),
    ('say "hi"', '"say \\"hi\\""'),
    ("back\\slash", '"back\\\\slash"'),
    (" ", '" "'),
    ("urn:duns:12;3'4", "urn:duns:12;3'4"),
]


@pytest.mark.req("T7")
@pytest.mark.parametrize(("name", "written"), PAIRS)
def test_a_name_is_quoted_where_it_must_be_and_comes_back(name: str, written: str) -> None:
    assert quote_name(name) == written
    assert unquote_name(written) == name


def test_needless_quotation_marks_and_missing_ones_are_read() -> None:
    assert unquote_name('"ACME"') == "ACME"
    assert unquote_name("My Biz") == "My Biz"


@pytest.mark.parametrize("name", ["", "a\r\nAS2-To: b", "a\tb", "Müller", "x" * 129, "\x7f"])
def test_what_is_no_name_is_refused(name: str) -> None:
    for check in (check_as2_name, quote_name, unquote_name):
        with pytest.raises(Refused) as refused:
            check(name)
        assert refused.value.code == "as2.malformed"


def test_both_names_are_found_whatever_the_capitals_of_the_header() -> None:
    assert read_names([("as2-from", ' "My Biz"'), ("AS2-TO", "ACME")]) == ("My Biz", "ACME")


def test_a_missing_name_is_refused() -> None:
    with pytest.raises(Refused, match="AS2-To is missing"):
        read_names([("AS2-From", "ACME")])
