"""Batcher plug-ins: they begin, add, complete and time batches, and one that fails suspends its batch and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.core.batching import ArrivingMessage, add_to_batch, close_if_due, find_due
from postroad.core.batching.arrival import arrival_without_content
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Port
from postroad.core.model.batcher import AddedMessage, BatcherPlugIn, ChosenBatcher, Decision
from postroad.errors import Misconfigured, Refused

EXAMPLE = Path(__file__).parents[4] / "examples" / "truck-batcher"
MINUTE_US = 60_000_000


@pytest.fixture
def truck(monkeypatch: pytest.MonkeyPatch) -> BatcherPlugIn:
    """The example's plug-in, found by its entry point."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    point = EntryPoint(name="truck", value="truck_batcher:TRUCK", group="postroad.batchers")
    found = load_catalogue((), (point,)).batcher("truck")
    sys.modules.pop("truck_batcher", None)
    assert found is not None
    return found


def port(plug_in: BatcherPlugIn | None, **settings: str) -> Port:
    return Port(batcher=ChosenBatcher(name="truck", plug_in=plug_in, settings=tuple(settings.items())))


POLICY = BatchPolicy(batcher="truck")


def come(port: Port, kinds: list[str], at_us: int = 0) -> list[Batch]:
    """The batches after messages of these kinds, one a second."""
    batches: list[Batch] = []
    current: Batch | None = None
    for number, kind in enumerate(kinds, 1):
        arrival = arrival_without_content(POLICY, BatchMember(number=number, bytes=10, kind=kind))
        assert isinstance(arrival, ArrivingMessage)
        arrived = add_to_batch(POLICY, port, arrival, current, str(number), at_us + number * 1_000_000)
        assert arrived.batch is not None
        batches = [one for one in batches if one.id != arrived.batch.id] + [arrived.batch]
        current = arrived.batch if arrived.batch.state is BatchState.OPEN else None
    return batches


@pytest.mark.req("B9")
def test_a_plug_in_completes_a_batch_with_a_message(truck: BatcherPlugIn) -> None:
    first, second = come(port(truck, pallets="3"), ["850", "856", "850"])
    assert (first.state, first.closed_by, first.count) == (BatchState.CLOSED, Criterion.PLUG_IN, 2)
    assert first.why == "truck: 3 of 3 pallets"
    assert (second.state, second.count) == (BatchState.OPEN, 1)


@pytest.mark.req("B9")
def test_the_timer_of_a_plug_in_completes_a_batch_without_a_message(truck: BatcherPlugIn) -> None:
    where = port(truck, leaves_after_minutes="2")
    [batch] = come(where, ["850"])
    leaves_us = 1_000_000 + 2 * MINUTE_US
    assert find_due(POLICY, where, batch).when_us == leaves_us
    assert close_if_due(POLICY, where, batch, leaves_us - 1) is batch
    after = close_if_due(POLICY, where, batch, leaves_us)
    assert (after.state, after.closed_by) == (BatchState.CLOSED, Criterion.PLUG_IN)


def failing(_settings: Mapping[str, str], _state: str, _message: AddedMessage) -> Decision:
    raise ZeroDivisionError("no wheels")


@pytest.mark.req("B9")
def test_a_plug_in_that_fails_suspends_its_batch(truck: BatcherPlugIn) -> None:
    [batch] = come(port(replace(truck, add=failing)), ["850"])
    assert (batch.state, batch.closed_by) == (BatchState.SUSPENDED, Criterion.PLUG_IN)
    assert batch.why == "the batcher plug-in truck failed (ZeroDivisionError: no wheels)"


def test_a_plug_in_that_is_not_installed_is_named(truck: BatcherPlugIn) -> None:
    where = port(None)
    [batch] = come(where, ["850"])
    assert batch.state is BatchState.OPEN
    assert "the batcher plug-in truck is not installed" in find_due(POLICY, where, batch).why


def test_wrong_settings_are_refused(truck: BatcherPlugIn) -> None:
    truck.check({"pallets": "3"})
    with pytest.raises(Refused, match="whole number"):
        truck.check({"pallets": "many"})


def test_a_package_that_brings_something_else_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    wrong = EntryPoint(name="truck", value="truck_batcher:PALLETS_OF", group="postroad.batchers")
    with pytest.raises(Misconfigured, match="and not a BatcherPlugIn"):
        load_catalogue((), (wrong,))


def test_a_batch_of_an_earlier_version_is_read() -> None:
    batch = Batch(id="b", key=("group",), opened_at_us=1, latest_at_us=2, changed_at_us=3, count=4, numbered="s")
    earlier = msgspec.json.decode(msgspec.json.encode(batch))[:-1]  # the state of a plug-in came last
    assert msgspec.json.decode(msgspec.json.encode(earlier), type=Batch) == batch
