"""What a search has found, on the terminal: one message whole, several as a table, and other things by their commands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postroad.cli.framework.output import Output
from postroad.cli.views.search_results import show_search_results
from postroad.core.resources.messages import FoundPage

SESSION, AT = "0" * 32, "2026-11-16T18:00:00Z"
UNKNOWN = {"where": "", "since": None, "why": "", "next": "", "nextAt": None, "expiresAt": None}
WAITING = UNKNOWN | {"recipient": "Acme/In", "state": "waiting", "text": "It waits [here]. Since then.", "batch": "b-1"}


def message(*whereabouts: dict[str, Any], **more: Any) -> dict[str, Any]:
    known = {
        "kind": "message", "by": ["order", "handle"], "session": SESSION, "at": AT, "from": "MyBiz/Out",
        "recipients": ["Acme/In", "Other/In"], "handle": "H-1", "state": "queued", "whereabouts": list(whereabouts),
    }  # fmt: skip
    return known | more


def shown(capsys: pytest.CaptureFixture[str], *found: dict[str, Any]) -> list[str]:
    show_search_results(Output(), msgspec.convert({"items": found}, FoundPage).items)
    return capsys.readouterr().out.splitlines()


def test_a_single_message_tells_of_each_copy_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    refused = UNKNOWN | {
        "recipient": "Other/In",
        "state": "refused",
        "text": "It was not sent to Other/In.",
        "batch": "",
    }
    assert shown(capsys, message(WAITING, refused)) == [
        f"message {SESSION} of MyBiz/Out, {AT}, handle H-1; found by order, handle",
        "  to Acme/In: waiting",
        "    It waits [here]. Since then.",
        "    its batch: postroad batch show b-1",
        "  to Other/In: refused",
        "    It was not sent to Other/In.",
        f"  its history: postroad trace {SESSION}",
    ]


def test_a_refused_post_has_no_history(capsys: pytest.CaptureFixture[str]) -> None:
    where = UNKNOWN | {"recipient": "", "state": "refused", "text": "It was refused.", "batch": ""}
    lines = shown(capsys, message(where, state="refused", handle=""))
    assert lines[0].endswith(f"{AT}; found by order, handle")
    assert lines[1:] == ["  refused", "    It was refused."]


def test_several_are_a_table_and_other_things_lead_to_their_commands(capsys: pytest.CaptureFixture[str]) -> None:
    service = {"kind": "service", "by": ["address"], "gcid": "5" * 16, "address": "Acme Ltd/In"}
    batch = {"kind": "batch", "by": ["id"], "id": "b" * 20, "service": "Acme/orders", "state": "open"}
    lines = shown(capsys, service, batch, message(), message())
    assert lines[0] == f"service Acme Ltd/In, {'5' * 16}: postroad services show 'Acme Ltd/In'"
    assert lines[1] == f"batch {'b' * 20} at Acme/orders, open: postroad batch show {'b' * 20}"
    assert lines[2].split() == ["AT", "SESSION", "FROM", "RECIPIENTS", "HANDLE", "BY", "STATE"]
    assert [line.split() for line in lines[3:]] == [
        [AT, SESSION, "MyBiz/Out", "Acme/In,", "Other/In", "H-1", "order,", "handle", "queued"]
    ] * 2
