"""Which passwords people may choose."""

from __future__ import annotations

import pytest

from postroad.core.configuration.passwords import OBVIOUS, check_password
from postroad.errors import Refused


@pytest.mark.parametrize(
    "password", ["a few plain words", "ünïcödé is fine too", "nine loud geese on a lake", "x7!kQ pz#m w2v;r"]
)
def test_long_ones_are_fine_whatever_they_consist_of(password: str) -> None:
    assert check_password(password, "ann@cedar.example", "Cedar") == password


@pytest.mark.parametrize(
    "password",
    ["short", "x" * 257, *sorted(OBVIOUS), "PASSWORDPASSWORD", "abababababababab", "abcdabcdabcdabcd", "ghijklmnopqrstuv",
     "ann@cedar.example", "Cedar ann cedar 1", "password1234567", "P@ssw0rd1234567!", "qwertyuiopasdfg", "asdfghjklqwertyuiop",
     "               x", "xxxxxxxabcdefgh!", "Summer2026Summer2027",
     "administrator2026!", "welcometopostroad1", "0987654321poiuytrewq"],
)  # fmt: skip
def test_short_silly_and_own_names_are_refused(password: str) -> None:
    with pytest.raises(Refused) as refused:
        check_password(password, "ann@cedar.example", "ann ", "Cedar")
    assert refused.value.pointer == "/password"
    assert password not in refused.value.detail
