"""The page behind a problem's type."""

from __future__ import annotations

from postroad.api.messages import ERROR_PAGE
from postroad.core.model.refusals import REFUSALS


def test_every_code_has_a_place_on_the_page_that_its_problem_points_to() -> None:
    page = ERROR_PAGE.decode()
    assert all(f'id="{code}"' in page for code in REFUSALS)
    assert "<script" not in page
