"""Taking a picture is tried again when Chromium has none ready; every other fault, and one that stays, fails the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Error, Page

from tests.console.browsing import MAX_PICTURES, NOT_READY, Person


class Camera:
    """A page that has no picture ready for so many times."""

    def __init__(self, failures: int, why: str) -> None:
        self.failures, self.why, self.tries = failures, why, 0

    def screenshot(self, **_: Any) -> None:
        self.tries += 1
        if self.tries <= self.failures:
            raise Error(f"Page.screenshot: Protocol error (Page.captureScreenshot): {self.why}")

    def wait_for_timeout(self, _: float) -> None:
        """No time passes here."""


def person(camera: Camera) -> Person:
    return Person(url="", page=cast(Page, camera), pictures=Path("nowhere"))


def test_a_picture_that_is_not_ready_is_taken_later() -> None:
    camera = Camera(MAX_PICTURES - 1, NOT_READY)
    person(camera).picture(Path("a.png"))
    assert camera.tries == MAX_PICTURES


@pytest.mark.parametrize(("why", "tries"), [(NOT_READY, MAX_PICTURES), ("Target crashed", 1)])
def test_faults_are_not_hidden(why: str, tries: int) -> None:
    camera = Camera(1_000, why)
    with pytest.raises(Error, match=why):
        person(camera).picture(Path("a.png"))
    assert camera.tries == tries
