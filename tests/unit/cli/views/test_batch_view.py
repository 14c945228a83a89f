"""Batches on the terminal: what a reader sees of one, and of many."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.cli.framework.output import Output
from postroad.cli.views.batches import describe_action, draw_bar, show_batch, show_batches

ID = "01a1e1845d2ac5dc5867"
AT = "2026-11-16T18:00:00Z"


def criterion(name: str | None, share: float, told: str, at: str | None = None) -> dict[str, Any]:
    return {"criterion": name, "share": share, "told": told, "at": at}


def batch(**more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": ID, "version": 3, "service": "Acme/orders", "gcid": "0" * 16, "state": "open", "key": ["north"], "kind": "850",
        "members": 30, "bytes": 4200, "openedAt": AT, "latestAt": AT, "closedAt": None, "closedBy": None, "held": False,
        "controlled": False, "why": "", "interchange": "", "standard": "", "numbers": [], "sending": None, "answers": [],
        "changes": [{"at": AT, "what": "held", "by": "owner@acme.example", "messages": 0, "detail": "stocktaking"}],
        "nearest": criterion("count", 0.3, "30 of 100 messages"),
        "criteria": [criterion("count", 0.3, "30 of 100 messages"), criterion("age", 0.5, "3600 s after …", AT)],
    }  # fmt: skip
    return known | more


def member(**more: Any) -> dict[str, Any]:
    known = {
        "delivery": 65536, "session": "a" * 32, "from": "MyBiz/Purchasing", "kind": "850", "bytes": 140, "state": "queued",
        "inBatch": True, "since": AT, "group": "", "document": "0001", "verdict": "", "reasons": [],
    }  # fmt: skip
    return known | more


def test_a_bar_is_as_long_as_what_is_fulfilled() -> None:
    assert draw_bar(criterion("count", 0.3, "")) == "███░░░░░░░  30 %"
    assert draw_bar(criterion("count", 1.0, "")) == "██████████ 100 %"


def test_a_list_says_how_full_each_is_and_why_it_has_not_gone(capsys: pytest.CaptureFixture[str]) -> None:
    stuck = batch(state="suspended", nearest=criterion(None, 0.0, "it is suspended: no route; resume or drop it"))
    show_batches(Output(), [batch(held=True), stuck])
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.split("  ")[0] == ID
    for words in ("Acme/orders [north]", "open, paused", "30", "4200", "███░░░░░░░  30 %", "30 of 100 messages"):
        assert words in first
    assert "it is suspended: no route; resume or drop it" in second
    assert "░" not in second


@pytest.mark.req("B5")
def test_an_open_batch_shows_all_its_criteria_and_some_members(capsys: pytest.CaptureFixture[str]) -> None:
    show_batch(Output(), batch(), [member()], is_all=False)
    shown = capsys.readouterr().out
    for words in ("30, 4200 bytes", "waits for    30 of 100 messages", "█████░░░░░  50 %", "stocktaking", "0001"):
        assert words in shown
    assert f"… and more; all of them: postroad batch members {ID}" in shown
    assert "interchange" not in shown


def test_a_batch_on_its_way_shows_where_it_is_and_what_the_partner_says(capsys: pytest.CaptureFixture[str]) -> None:
    sending = {"recipient": "Acme/edi", "delivery": 1, "state": "queued", "attempts": 2, "nextAt": AT, "expiresAt": None,
               "reason": "push failed: 503"}  # fmt: skip
    answers = [{"at": AT, "session": "b" * 32, "verdict": "accepted", "detail": "", "otherwise": 1}]
    numbers = [{"scope": "interchange", "first": 42, "last": 42}, {"scope": "group", "first": 7, "last": 9}]
    on_its_way = batch(
        state="assembled", closedAt=AT, closedBy="count", why="30 of 30 messages", interchange="c" * 32, standard="x12",
        numbers=numbers, sending=sending, answers=answers, criteria=[], members=1,
    )  # fmt: skip
    show_batch(Output(), on_its_way, [member(verdict="rejected", reasons=["no price"])], is_all=True)
    shown = capsys.readouterr().out
    for words in (
        "assembled: 30 of 30 messages",
        f"{'c' * 32} (x12)",
        "interchange 42, group 7 to 9",
        f"to Acme/edi, waiting, attempts: 2, again at {AT}: push failed: 503",
        "different for 1 messages",
        "rejected: no price",
    ):
        assert words in shown
    assert "and more" not in shown


def test_an_action_says_what_it_has_come_to() -> None:
    assert describe_action("paused", batch(held=True)) == f"paused: batch {ID} is open, paused, messages: 30"


def test_scripts_get_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    show_batches(Output(as_json=True), [batch()])
    show_batch(Output(as_json=True), batch(), [member()], is_all=True)
    assert capsys.readouterr().out == ""
