"""Pseudonyms of sessions and delivery numbers."""

from __future__ import annotations

from postroad.core.visibility.pseudonyms import Pseudonyms

PSEUDONYMS = Pseudonyms(b"only for tests")


def test_a_pseudonym_never_changes_for_a_key() -> None:
    assert PSEUDONYMS.session(f"{1:032x}") == "ffc452dfe02b7eac91915aaee033fa61"
    assert PSEUDONYMS.number(65_536) == 6_090_939_046_226_824_722
