"""A made-up journal keeps the promises of a real one, and holds what it says it holds."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.main import postroad
from postroad.core.admission.admit import Admitted
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel
from postroad.core.model.journal import KINDS, ConfigurationChanged, Entry, MessagePosted, decode
from postroad.core.model.message import Message, MessageType, Recipient
from postroad.core.model.snapshot import Directory
from postroad.core.projection.unique_keys import unique_keys
from postroad.core.routing.itinerary import itineraries
from postroad.flow.stages.posting import decode_parts
from postroad.ports import JournalRecord, NewRecord
from postroad.testing.simulation.recorded_history import RecordedHistory
from postroad.testing.traffic.generate import Traffic, opening_times
from postroad.testing.traffic.plan import TrafficPlan, Trouble

PLAN = TrafficPlan(organizations=30, days=14, messages=6_000, seed=3)


@pytest.fixture(scope="module")
def records() -> list[NewRecord]:
    return list(Traffic(PLAN).records())


@pytest.fixture(scope="module")
def entries(records: list[NewRecord]) -> list[Entry]:
    return [decode(record.facts) for record in records]


@pytest.fixture(scope="module")
def books(records: list[NewRecord]) -> RecordedHistory:
    return RecordedHistory(JournalRecord(seq, record.facts, None) for seq, record in enumerate(records, 1))


def test_the_seed_decides_everything(records: list[NewRecord]) -> None:
    small = TrafficPlan(organizations=10, days=3, messages=300, seed=5, incidents=2)
    again = [record.facts for record in Traffic(small).records()]
    other = TrafficPlan(organizations=10, days=3, messages=300, seed=6, incidents=2)
    assert [record.facts for record in Traffic(small).records()] == again
    assert [record.facts for record in Traffic(other).records()] != again


def test_nothing_happens_that_a_key_of_the_journal_forbids(entries: list[Entry]) -> None:
    keys = Counter(key for entry in entries for key in unique_keys(entry))
    assert [key for key, times in keys.items() if times > 1] == []


def test_deliveries_and_journeys_end_at_most_once(books: RecordedHistory) -> None:
    assert all(len(journey.ends) <= 1 for journey in books.journeys.values())
    assert all(len(leg.answers) <= 1 for leg in books.legs.values())
    ended = [leg for leg in books.legs.values() if leg.ends]
    assert len(ended) > 0.97 * len(books.legs)  # the rest is under way when the time is over


def test_bodies_are_as_long_as_entries_say(records: list[NewRecord], entries: list[Entry]) -> None:
    for record, entry in zip(records, entries, strict=True):
        if isinstance(entry, MessagePosted):
            told = sum(part.size for part in entry.parts) + entry.explained
            assert told == len(record.body or b"")


def test_every_kind_of_traffic_occurs(entries: list[Entry], books: RecordedHistory) -> None:
    kinds = {entry.__struct_config__.tag for entry in entries}
    by_people = {"access.recorded", "crossreference.changed", "delivery.resent", "delivery.dropped", "secret.changed"}
    by_formats = {"delivery.translated"}  # all its services take JSON
    by_holding = {"delivery.released"}  # none of them has anything held back
    by_batching = {"batch.changed", "interchange.answered"}  # none of them is a send port
    by_billing = {"invoice.issued", "invoice.credited", "payment.recorded"}  # no month of it is closed
    by_restoring = {"network.restored"}
    assert set(KINDS) - kinds == by_people | by_formats | by_holding | by_batching | by_billing | by_restoring
    posts = [entry for entry in entries if isinstance(entry, MessagePosted)]
    assert {post.type for post in posts} == {MessageType.REQUEST, MessageType.RESPONSE, MessageType.NOTIFICATION}
    assert any(len(post.copies) > 2 for post in posts)
    assert any(copy.code for post in posts for copy in post.copies)
    assert any(len(copy.hops) > 1 for post in posts for copy in post.copies)
    assert any(post.status is not None and post.ends is None for post in posts)
    assert any(post.ends is not None for post in posts)
    states = Counter(leg.state.name for leg in books.legs.values())
    assert {"DELIVERED", "EXPIRED", "CANCELLED", "FAILED", "REJECTED"} <= set(states)
    assert states["DELIVERED"] > 0.95 * sum(states.values())


def test_some_entries_come_late_and_over_midnight(entries: list[Entry]) -> None:
    newest, late, of_yesterday = 0, 0, 0
    for entry in entries:
        late += entry.at_us < newest
        of_yesterday += _day(entry.at_us) < _day(newest)
        newest = max(newest, entry.at_us)
    assert late > of_yesterday > 0


def _day(at_us: int) -> date:
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).date()


def test_routes_are_those_of_the_router(records: list[NewRecord], entries: list[Entry]) -> None:
    directory, compared = Directory(), 0
    for seq, (record, entry) in enumerate(zip(records, entries, strict=True), 1):
        if isinstance(entry, ConfigurationChanged):
            directory = directory.apply_changes(entry.objects, seq)
        elif isinstance(entry, MessagePosted) and entry.type is not MessageType.RESPONSE and seq % 7 == 0:
            message = Message(
                to=tuple(Recipient(copy.named) for copy in entry.copies),
                type=entry.type,
                topic=entry.topic,
                parts=decode_parts(entry.parts, record.body or b""),
            )
            sender = directory.services[entry.sender]
            caller = Caller(service=sender, level=AuthenticationLevel.KEY, secure=True)
            routed = itineraries(Admitted(message, sender, caller, entry.at_us, 0), directory, entry.form)
            assert routed.copies == entry.copies
            assert entry.directory == directory.version
            compared += 1
    assert compared > 500


def test_days_have_their_rhythm_and_the_count_is_exact() -> None:
    from random import Random

    times = list(opening_times(PLAN, Random(1)))
    assert len(times) == PLAN.messages
    assert times == sorted(times)
    by_weekday = Counter(datetime.fromtimestamp(at_us / 1_000_000, UTC).weekday() for at_us in times)
    assert by_weekday[6] < by_weekday[1] / 3
    by_hour = Counter(datetime.fromtimestamp(at_us / 1_000_000, UTC).hour for at_us in times)
    assert by_hour[10] > 10 * by_hour[2]


def test_a_planted_burst_is_there() -> None:
    traffic = Traffic(TrafficPlan(organizations=30, days=10, messages=4_000, seed=4, incidents=3))
    [burst] = [one for one in traffic.incidents if one.trouble is Trouble.VOLUME]
    entries = [decode(record.facts) for record in traffic.records()]
    services = {
        change.key
        for entry in entries
        if isinstance(entry, ConfigurationChanged)
        for change in entry.objects
        if change.kind == "service" and change.value and change.value["organization"] == burst.organization
    }
    by_day = Counter(
        _day(entry.at_us)
        for entry in entries
        if isinstance(entry, MessagePosted) and entry.answers is None and entry.sender in services
    )
    others = [count for day, count in by_day.items() if day != burst.day]
    assert by_day[burst.day] > 1.8 * max(others)


def test_the_command_writes_a_journal_that_verifies(tmp_path: Path) -> None:
    run = CliRunner()
    made = run.invoke(
        postroad,
        [
            "simulate",
            "--out",
            str(tmp_path / "data"),
            "--organizations",
            "10",
            "--days",
            "2",
            "--messages",
            "5e2",
            "--json",
        ],
    )
    assert made.exit_code == ExitCode.OK, made.output
    told = json.loads(made.stdout)
    assert told["messages"] == 500
    verified = run.invoke(postroad, ["verify", "--data", str(tmp_path / "data"), "--json"])
    assert verified.exit_code == ExitCode.NOT_COMPARED, "there is no index and no head to compare with yet"
    shown = json.loads(verified.stdout)
    assert (shown["entries"], shown["faults"]) == (told["entries"], [])
    rebuilt = run.invoke(postroad, ["index", "rebuild", "--data", str(tmp_path / "data"), "--json"])
    assert rebuilt.exit_code == ExitCode.OK, rebuilt.output


def test_the_command_leaves_an_existing_network_alone(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    refused = CliRunner().invoke(postroad, ["simulate", "--out", str(tmp_path)])
    assert refused.exit_code == ExitCode.ERROR
    assert "for an empty folder" in refused.stderr
    small = ["simulate", "--out", str(tmp_path / "new"), "--organizations", "10", "--incidents", "3"]
    too_many = CliRunner().invoke(postroad, small)
    assert (too_many.exit_code, "at most 2 are possible" in too_many.stderr) == (ExitCode.ERROR, True)
    wrong = CliRunner().invoke(postroad, ["simulate", "--out", str(tmp_path), "--messages", "many"])
    assert wrong.exit_code == 2
    assert "1e6" in wrong.stderr
