"""If-Match: whoever has read the present version may change it, and everybody else is told what is wrong."""

from __future__ import annotations

import pytest

from postroad.api.resources.conditional import check_if_match
from postroad.errors import Refused


@pytest.mark.parametrize("if_match", ['"7"', "*", '"6", "7"', ' "7" '])
def test_the_present_version_may_be_changed(if_match: str) -> None:
    assert check_if_match(if_match, 7) == 7


@pytest.mark.parametrize(
    ("if_match", "code", "says"),
    [
        (None, "version.required", "Send If-Match"),
        ("", "version.required", "Send If-Match"),
        ('"6"', "version.conflict", "read it again"),
        ('W/"7"', "version.conflict", "read it again"),
        ('"7p"', "version.conflict", "read it again"),
        ("7", "version.conflict", 'quotation marks: "7"'),
    ],
)
def test_any_other_is_refused_with_what_to_do(if_match: str | None, code: str, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        check_if_match(if_match, 7)
    assert refused.value.code == code
