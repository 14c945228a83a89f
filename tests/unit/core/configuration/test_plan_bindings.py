"""Bindings in documents: planned with the queues that the same document brings, and checked as they would be one by one."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.configuration.change_plan import StepAction
from postroad.core.configuration.sections.organization import export_document
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.exchange import Binding
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from tests.samples.plans import applied, planned
from tests.unit.core.configuration.test_plan_rules import told

pytestmark = pytest.mark.req("N13", "X1")

HERE = "/organizations/House/services/In/bindings"


def house(bindings: dict[str, Any] | None, hosted: str = "exchange", **others: Any) -> dict[str, Any]:
    exchange: dict[str, Any] = {"hosted": hosted, "visibility": "public"} | ({"openTo": ["Other"]} if hosted else {})
    exchange |= {} if bindings is None else {"bindings": bindings}
    services = {"In": exchange, "Out": {}}
    return {"postroad": 1, "organizations": {"House": {"services": services}, **others}}


def configured(bindings: dict[str, Any], **others: Any) -> Directory:
    found = planned(house(bindings, **others), Directory(), may_choose_ids=True)
    assert found.faults == ()
    return applied(found, Directory())


def faults(bindings: dict[str, Any], directory: Directory, *, operator: bool = True, **how: Any) -> dict[str, str]:
    found = planned(house(bindings, **how), directory, may_choose_ids=operator)
    return {fault.pointer: fault.detail for fault in found.faults}


OTHER: dict[str, Any] = {"Other": {"services": {"Queue": {}}}}


def test_an_export_of_bindings_changes_nothing_also_elsewhere() -> None:
    bindings = {
        "all": {"queue": "House/Out"},
        "some": {"queue": "Other/Queue", "query": "$msg/a = 1", "routingKey": "k", "enabled": False},
    }
    directory = configured(bindings, **OTHER)
    exported = export_document(directory, ["House", "Other"])
    assert exported["organizations"]["House"]["services"]["In"]["bindings"] == bindings
    assert planned(exported, directory, prune=True).steps == ()
    elsewhere = planned(exported, Directory(), may_choose_ids=True)
    assert export_document(applied(elsewhere, Directory()), ["House", "Other"]) == exported


def test_members_read_the_gcid_of_a_private_queue_of_others_and_change_nothing_by_it() -> None:
    directory = configured({"theirs": {"queue": "Other/Queue"}}, **OTHER)
    queue = directory.service("Other/Queue")
    assert queue is not None
    exported = export_document(directory, ["House"], for_members=True)
    assert exported["organizations"]["House"]["services"]["In"]["bindings"] == {"theirs": {"queue": queue.gcid}}
    found = planned(exported, directory, prune=True)
    assert (found.steps, found.faults) == ((), ())


def test_a_plan_names_its_queue_and_stays_the_same_plan() -> None:
    wish = {"new": {"queue": "House/Out", "query": "$msg/a = 1"}}
    first, second = (planned(house(wish), Directory(), may_choose_ids=True) for _ in range(2))
    assert first.version == second.version, "though the queue's GCID is another each time"
    assert told(first)[-1] == (
        "add", "House/In: new", {"queue": ("", "House/Out"), "query": ("", "$msg/a = 1")},
    )  # fmt: skip


def test_what_is_not_listed_stays_unless_it_is_pruned() -> None:
    directory = configured({"a": {"queue": "House/Out"}, "b": {"queue": "House/Out"}})
    assert planned(house({"a": {"queue": "House/Out"}}), directory).steps == ()
    [gone] = planned(house({"a": {"queue": "House/Out"}}), directory, prune=True).steps
    assert (gone.action, gone.name) == (StepAction.REMOVE, "House/In: b")
    assert planned(house(None), directory, prune=True).steps == (), "no word of bindings"
    assert len(planned(house({}), directory, prune=True).steps) == 2


def test_every_fault_is_named_by_its_place() -> None:
    directory = configured({}, **OTHER)
    wrong = {
        "lost": {"queue": "No/One"},
        "itself": {"queue": "House/In"},
        "routed": {"queue": "House/Out", "routing": "no-such"},
        "Try": {"queue": "House/Out"},
    }
    assert set(faults(wrong, directory)) == {
        f"{HERE}/lost/queue", f"{HERE}/itself/queue", f"{HERE}/routed/routing", f"{HERE}/Try",
    }  # fmt: skip
    assert set(faults({"a": {"queue": "House/Out"}}, directory, hosted="")) == {f"{HERE}/a"}
    twice = {"a": {"queue": "House/Out"}, "A": {"queue": "House/Out"}}
    assert faults(twice, directory)[f"{HERE}/A"].startswith("is named twice")


def test_nobody_binds_the_queues_of_others_by_a_document_of_their_own() -> None:
    strange: dict[str, Any] = {"Stranger": {"services": {"Queue": {}}}}
    directory = configured({}, Other={"services": {"Public": {"visibility": "public"}, "Private": {}}}, **strange)
    public = faults({"a": {"queue": "Other/Public"}}, directory, operator=False)
    assert public == {f"{HERE}/a/queue": "only its own organization can bind this queue"}
    private = faults({"a": {"queue": "Other/Private"}}, directory, operator=False)
    assert private == faults({"a": {"queue": "No/One"}}, directory, operator=False)
    assert faults({"a": {"queue": "Other/Private"}}, directory) == {}, "operators may"
    closed = faults({"a": {"queue": "Stranger/Queue"}}, directory)
    assert closed[f"{HERE}/a/queue"].startswith("the exchange is not open to this organization"), (
        "but not where it is closed"
    )


@pytest.mark.parametrize("limit", ["MAX_PER_EXCHANGE", "MAX_PER_QUEUE", "MAX_ALWAYS_EVALUATED"])
def test_a_document_does_not_bind_too_much(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"postroad.core.exchange.exchange.{limit}", 2)
    few = {name: {"queue": "House/Out", "query": f"<{name}/>"} for name in "ab"}
    assert faults(few, Directory()) == {}
    assert set(faults(few | {"c": {"queue": "House/Out", "query": "<c/>"}}, configured(few))) == {f"{HERE}/c"}


def test_a_queue_that_moved_is_found_by_either_name() -> None:
    directory = configured({"a": {"queue": "House/Out"}})
    queue, exchange = directory.service("House/Out"), directory.service("House/In")
    assert queue is not None
    assert exchange is not None
    assert planned(house({"a": {"queue": queue.gcid}}), directory).steps == ()
    kind, key = object_key(Binding(exchange=exchange.gcid, name="A", queue=queue.gcid))
    assert directory.object(kind, key) is not None
    gone = directory.apply_changes([ObjectChange(kind, key, 2, None)], 99)
    assert [step.action for step in planned(house({"a": {"queue": "House/Out"}}), gone).steps] == [StepAction.ADD]
