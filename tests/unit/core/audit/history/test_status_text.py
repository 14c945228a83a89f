"""Where a copy is, as a text: every sentence that there is, in order, and none that there is not."""

from __future__ import annotations

import pytest

from postroad.core.audit.history.copy_status import CopyStatus, refused_post_status
from postroad.core.audit.history.status_text import status_text

pytestmark = pytest.mark.req("C2")


def test_all_that_is_known_is_said_in_order() -> None:
    one = CopyStatus(
        recipient="Acme/In", state="waiting", where="It waits.", since_us=1_000_000, why="no ink", next="It is retried.",
        next_us=2_000_000, expires_us=3_000_000,
    )  # fmt: skip
    assert status_text(one) == (
        "It waits. Since 1970-01-01T00:00:01Z. Reason: no ink. It is retried at 1970-01-01T00:00:02Z. "
        "It expires 1970-01-01T00:00:03Z."
    )


def test_a_status_without_details_is_one_sentence() -> None:
    bare = CopyStatus(recipient="Acme/In", state="delivered", where="Acme/In has it.", since_us=0)
    assert status_text(bare) == "Acme/In has it."


def test_a_refused_post_says_why_and_what_to_do() -> None:
    text = status_text(refused_post_status("recipient.unknown", "There is no service 'X'!", 1_000_000))
    assert text == (
        "It was refused: nothing was stored, and nothing was sent. Since 1970-01-01T00:00:01Z. "
        "Reason: recipient.unknown: There is no service 'X'! Fix it, and post it again."
    )
