"""What is sudden is found, and quiet traffic is left in peace."""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from statistics import median, quantiles

import pytest

from postroad.core.model.journal import ConfigurationChanged, MessagePosted, decode
from postroad.testing.traffic.generate import Traffic
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.reports.anomaly_scores import FLAGGED, PartnerDay, ScoredFigure, score_days

MONDAY = date(2026, 10, 5)
LATER = MONDAY + timedelta(days=12)  # a Saturday


def quiet_days(messages: int = 100) -> list[PartnerDay]:
    working = [
        MONDAY + timedelta(days=number) for number in range(12) if (MONDAY + timedelta(days=number)).weekday() < 5
    ]
    return [
        PartnerDay(
            day=day, messages=messages + place % 3, answers=50, errors=place % 2, took=7.0 + place % 2 / 20, spread=1.0
        )
        for place, day in enumerate(working)
    ]


def of(days: list[PartnerDay], measure: str) -> list[ScoredFigure]:
    return [one for one in score_days(days, LATER) if one.measure == measure]


def test_days_like_others_are_not_flagged() -> None:
    assert [one for one in score_days(quiet_days(), LATER) if one.is_flagged] == []
    assert (
        len(list(score_days(quiet_days(), LATER))) == 3 * 5
    )  # the first five days have too little to be compared with


@pytest.mark.req("P7")
@pytest.mark.parametrize(
    ("measure", "changed"),
    [
        ("volume", {"messages": 400}),
        ("volume", {"messages": 10}),
        ("errors", {"errors": 30}),
        ("latency", {"took": 9.5}),
    ],
)
def test_sudden_changes_are_flagged(measure: str, changed: dict[str, float]) -> None:
    *past, last = quiet_days()
    odd = PartnerDay(**({name: getattr(last, name) for name in PartnerDay.__dataclass_fields__} | changed))
    [flagged] = [one for one in score_days([*past, odd], LATER) if one.is_flagged]
    assert (flagged.measure, flagged.day) == (measure, odd.day)


@pytest.mark.req("P7")
def test_whoever_falls_silent_is_flagged_once_the_day_is_over() -> None:
    *past, last = quiet_days()
    [silent] = [one for one in score_days(past, LATER) if one.is_flagged]
    assert (silent.measure, silent.day, silent.value, silent.expected) == ("volume", last.day, 0, 101)
    assert [one for one in score_days(past, last.day) if one.is_flagged] == []  # of a day that has only begun
    begun = PartnerDay(day=last.day, messages=3)
    assert [one for one in score_days([*past, begun]) if one.is_flagged] == []
    [burst] = [one for one in score_days([*past, PartnerDay(day=last.day, messages=900)]) if one.is_flagged]
    assert burst.score > 0  # but too much is too much before a day is over


def test_whoever_never_sends_on_fridays_may_be_silent_then() -> None:
    working = [day for day in (MONDAY + timedelta(days=number) for number in range(28)) if day.weekday() < 4]
    days = [PartnerDay(day=day, messages=200) for day in working]
    assert [one for one in score_days(days, MONDAY + timedelta(days=28)) if one.is_flagged] == []


def test_fewer_errors_and_quicker_answers_are_no_trouble() -> None:
    *past, last = quiet_days()
    better = PartnerDay(day=last.day, messages=last.messages, answers=50, errors=0, took=3.0, spread=1.0)
    assert [one for one in score_days([*past, better], LATER) if one.is_flagged] == []


def test_weekends_are_compared_with_weekends() -> None:
    days = [
        PartnerDay(day=day, messages=20 if day.weekday() >= 5 else 200)
        for day in (MONDAY + timedelta(days=number) for number in range(28))
    ]
    assert max(abs(one.score) for one in of(days, "volume")) < 1


def test_one_odd_day_in_the_past_hides_nothing() -> None:
    days = quiet_days()
    days[2] = PartnerDay(day=days[2].day, messages=2_000)
    days[-1] = PartnerDay(day=days[-1].day, messages=400)
    flagged = [one.day for one in of(days, "volume") if one.is_flagged]
    assert flagged == [days[-1].day]


def test_a_handful_of_messages_is_no_burst() -> None:
    days = quiet_days(0)
    days[-1] = PartnerDay(day=days[-1].day, messages=6)
    assert of(days, "volume")[-1].score < FLAGGED


def figures(plan: TrafficPlan) -> tuple[Traffic, dict[str, list[PartnerDay]]]:
    """The figures of every organization, counted message by message."""
    traffic = Traffic(plan)
    houses: dict[str, str] = {}
    posted: defaultdict[tuple[str, date], list[MessagePosted]] = defaultdict(list)
    for record in traffic.records():
        entry = decode(record.facts)
        if isinstance(entry, ConfigurationChanged):
            houses |= {
                one.key: one.value["organization"] for one in entry.objects if one.kind == "service" and one.value
            }
        elif isinstance(entry, MessagePosted) and entry.form != "network":
            day = datetime.fromtimestamp(entry.at_us // 1_000_000, UTC).date()
            posted[houses[entry.sender], day].append(entry)
    found: defaultdict[str, list[PartnerDay]] = defaultdict(list)
    for (house, day), posts in sorted(posted.items()):
        found[house].append(_figures_of(day, posts))
    return traffic, found


def _figures_of(day: date, posts: list[MessagePosted]) -> PartnerDay:
    answers = [post for post in posts if post.answers is not None]
    took = [math.log(max(1.0, post.at_us / 1_000 - int(post.transaction[:12], 16))) for post in answers]
    spread = (quantiles(took, n=4)[2] - quantiles(took, n=4)[0]) / 1.349 if len(took) > 1 else None
    return PartnerDay(
        day=day,
        messages=len(posts) - len(answers),
        answers=len(answers),
        errors=sum(post.status is not None for post in answers),
        took=median(took) if took else None,
        spread=spread,
    )


@pytest.mark.req("P7")
def test_quiet_traffic_raises_hardly_any_false_alarm() -> None:
    _, houses = figures(TrafficPlan(organizations=60, days=30, messages=25_000, seed=21))
    last = max(day.day for days in houses.values() for day in days)
    every = [one for days in houses.values() for one in score_days(days, last)]
    false = [one for one in every if one.is_flagged]
    assert len(every) > 1_500
    assert len(false) <= 0.002 * len(every), false


@pytest.mark.req("P7")
def test_planted_trouble_is_found() -> None:
    traffic, houses = figures(TrafficPlan(organizations=45, days=30, messages=40_000, seed=52, incidents=9))
    planted = {(one.organization, one.day, one.trouble.value) for one in traffic.incidents}
    flagged = {
        (house, one.day, one.measure) for house, days in houses.items() for one in score_days(days) if one.is_flagged
    }
    assert len(planted) == 9
    assert len(planted & flagged) >= 7, planted - flagged  # docs/howto/read-reports.md has the share over several seeds
