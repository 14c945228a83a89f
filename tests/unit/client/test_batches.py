"""Batches from a program: pages are followed, actions name what they mean, and a version that was read is insisted on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict, replace

from postroad.client.blocking.batches import Batches
from postroad.client.blocking.bindings import Bindings
from postroad.client.blocking.dead_letters import DeadLetters
from postroad.client.blocking.notifications import Notifications
from postroad.client.nonblocking.batches import AsyncBatches
from postroad.client.nonblocking.bindings import AsyncBindings
from postroad.client.steps import Talk
from postroad.core.resources.batches import BatchDetails, BatchMemberView, BatchView, CriterionView
from tests.unit.client.scripted import Script, conversations, ok

ID = "01a1e1845d2ac5dc5867"
AT = "2026-11-16T18:00:00Z"
LISTED = BatchView(
    id=ID, version=3, service="Acme/orders", gcid="0" * 16, state="open", key=["north"], kind="850", members=30, bytes=4200,
    opened_at=AT, latest_at=AT, closed_at=None, closed_by=None, held=False, controlled=False, why="", interchange="",
    nearest=CriterionView(criterion="count", at=None, share=0.3, told="30 of 100 messages"),
)  # fmt: skip
BATCH = BatchDetails(**asdict(LISTED), criteria=[], standard="", numbers=[], sending=None, answers=[], changes=[])


def member(session: str) -> BatchMemberView:
    return BatchMemberView(
        delivery=65536, session=session, sender="MyBiz/Purchasing", kind="850", bytes=140, state="queued", in_batch=True,
        since=AT, group="", document="", verdict="", reasons=[],
    )  # fmt: skip


def both(script: Script) -> tuple[Batches, AsyncBatches]:
    def run(talk: Talk[Any]) -> Any:
        return script.play(talk)

    async def run_async(talk: Talk[Any]) -> Any:
        return script.play(talk)

    return Batches(conversations(), run), AsyncBatches(conversations(), run_async)


def test_lists_are_followed_to_their_end() -> None:
    script = Script([ok({"items": [LISTED], "next": "c"}), ok({"items": [LISTED]})] * 2)
    blocking, nonblocking = both(script)
    assert blocking.list("Acme/orders", "open") == [LISTED, LISTED]
    assert asyncio.run(nonblocking.list("Acme/orders", "open")) == [LISTED, LISTED]
    assert [request.path for request in script.requests[:2]] == [
        "/v1/batches?limit=200&service=Acme%2Forders&state=open",
        "/v1/batches?limit=200&cursor=c&service=Acme%2Forders&state=open",
    ]


def test_members_are_all_or_the_first_few() -> None:
    one, two, three = map(member, ("1", "2", "3"))
    script = Script([ok({"items": [one, two], "next": "c"}), ok({"items": [three]}), ok({"items": [one], "next": "c"})])
    blocking, nonblocking = both(script)
    assert blocking.members(ID) == [one, two, three]
    assert asyncio.run(nonblocking.members(ID, most=1)) == [one]
    assert script.requests[-1].path == f"/v1/batches/{ID}/members?limit=1"


def test_more_of_the_first_members_than_a_page_has_take_several() -> None:
    script = Script([ok({"items": [member("1")] * 200, "next": "c"}), ok({"items": [member("2")] * 50, "next": "d"})])
    blocking, _ = both(script)
    assert len(blocking.members(ID, most=250)) == 250
    assert script.requests[-1].path == f"/v1/batches/{ID}/members?limit=50&cursor=c"


ACTIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("release", lambda batches: batches.release(ID, reason="why", version=3)),
    ("pause", lambda batches: batches.pause(ID, reason="why", version=3)),
    ("resume", lambda batches: batches.resume(ID, reason="why", version=3)),
    ("drop", lambda batches: batches.drop(ID, "why", version=3)),
    ("members/77/remove", lambda batches: batches.remove(ID, 77, "why", version=3)),
]


@pytest.mark.parametrize(("action", "act"), ACTIONS, ids=[action for action, _ in ACTIONS])
def test_every_action_says_why_and_on_which_version(action: str, act: Callable[[Any], Any]) -> None:
    script = Script([ok(BATCH), ok(BATCH)])
    blocking, nonblocking = both(script)
    assert act(blocking) == asyncio.run(act(nonblocking)) == BATCH
    for request in script.requests:
        assert (request.method, request.path) == ("POST", f"/v1/batches/{ID}/{action}")
        assert msgspec.json.decode(request.body) == {"reason": "why"}
        assert dict(request.headers)["If-Match"] == '"3"'


def test_the_old_names_of_actions_still_work() -> None:
    for api in (Batches, AsyncBatches):
        assert (api.hold, api.let_go, api.take_out) == (api.pause, api.resume, api.remove)


@pytest.mark.parametrize("api", [Batches, Bindings, DeadLetters, Notifications, AsyncBatches, AsyncBindings])
def test_the_old_name_of_list_still_works(api: Any) -> None:
    assert api.listed is api.list


def test_without_a_version_the_batch_is_meant_as_it_is() -> None:
    script = Script([ok(BATCH), ok(BATCH)])
    blocking, nonblocking = both(script)
    assert blocking.release(ID) == asyncio.run(nonblocking.batch(ID)) == BATCH
    assert "If-Match" not in dict(script.requests[0].headers)
    assert script.requests[1].path == f"/v1/batches/{ID}"


def test_a_state_that_a_newer_network_has_is_read() -> None:
    blocking, _ = both(Script([ok(replace(BATCH, state="frozen", closed_by="moon"))]))
    batch = blocking.batch(ID)
    assert (batch.state, batch["closedBy"]) == ("frozen", "moon")
