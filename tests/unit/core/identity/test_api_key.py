"""API keys: recognisable, checked by their checksum, kept only as a hash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.identity import api_key


@pytest.mark.req("N1")
@given(st.binary(min_size=32, max_size=32))
def test_a_key_is_found_by_its_id_and_proved_by_its_hash(random_bytes: bytes) -> None:
    key = api_key.make(random_bytes)
    assert api_key.key_id(key.text) == key.id
    assert api_key.holds(key.text, key.hash)
    assert key.text not in key.hash


@given(st.binary(min_size=32, max_size=32), st.integers(0, 80), st.sampled_from("0123456789abcdef_x"))
def test_a_mistyped_key_is_told_by_its_checksum(random_bytes: bytes, place: int, typed: str) -> None:
    text = api_key.make(random_bytes).text
    place %= len(text)
    mistyped = text[:place] + typed + text[place + 1 :]
    assert mistyped == text or api_key.key_id(mistyped) is None


@pytest.mark.parametrize("text", ["", "pr_", "Bearer", "pr_" + "0" * 74, "é" * 77])
def test_what_is_no_key_has_no_id(text: str) -> None:
    assert api_key.key_id(text) is None
