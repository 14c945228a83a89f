"""The catalogue of reasons: texts for people, codes and values for programs."""

from __future__ import annotations

import re

import pytest

from postroad.core.delivery.reasons import TEXTS, add_values, make_reason, reason_text, stored_reason
from postroad.core.model.reason import Reason


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (make_reason("push.server-error", status=503), "the receiver answered 503"),
        (add_values(make_reason("push.server-error", status=503), tries=1), "the receiver answered 503; tried once"),
        (
            add_values(make_reason("push.server-error", status=503), backup="yes", tries=9),
            "the receiver answered 503 (at the backup); tried 9 times",
        ),
        (make_reason("push.nothing-listens", host="acme.example"), "acme.example: nothing listens on that port"),
        (make_reason("delivery.not-acknowledged", count=20), "handed out 20 times without being acknowledged"),
        (make_reason("push.settings", detail="no secret"), "push.settings: no secret"),
        (make_reason("recipient.unknown", detail="there is no A/B"), "recipient.unknown: there is no A/B"),
        (make_reason("service.error", by="A/B", status="no-ink"), "A/B answered no-ink"),
        (make_reason("other", detail="{status} {0}"), "{status} {0}"),
    ],
)
def test_the_text_of_a_reason(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text


@pytest.mark.parametrize("code", TEXTS)
def test_every_text_can_be_shown_and_every_code_is_one(code: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(\.[a-z-]+)?", code)
    values = dict.fromkeys(re.findall(r"{(\w+)", TEXTS[code]), "7")
    shown = reason_text(make_reason(code, **values))
    assert shown
    assert "{" not in shown
    assert all("7" in shown for _ in values)


def test_a_value_that_is_missing_is_left_out() -> None:
    assert reason_text(make_reason("delivery.not-acknowledged")) == "handed out  without being acknowledged"


def test_the_words_of_others_are_stored_once() -> None:
    reason = make_reason("service.error", by="A/B", status="no-ink", detail="the pad is dry")
    assert stored_reason(reason).values == (("by", "A/B"), ("status", "no-ink"))
