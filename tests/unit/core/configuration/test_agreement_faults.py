"""What a splitter has agreed on is looked at when it is saved: a name or a value that would do nothing is told."""

from __future__ import annotations

import pytest

from postroad.core.configuration.send_port_check import agreement_errors
from postroad.core.interchange.agreement import AGREEMENT_OPTIONS, read_agreement
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch_policy import Splitting
from tests.unit.core.interchange.test_catalogue import SHOUTING


def faults(standard: str, **facts: str) -> dict[str, str]:
    splitting = Splitting(sends_to="A/b", standard=standard, options=tuple(facts.items()))
    return dict(agreement_errors(splitting, "/facts", BUILT_IN.with_plug_ins([SHOUTING])))


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", list(AGREEMENT_OPTIONS))
def test_what_can_be_agreed_on_is_taken_for_every_standard(name: str) -> None:
    for value in AGREEMENT_OPTIONS[name] or ("anything",):
        assert faults("x12", **{name: value}) == faults("flat", **{name: value}) == {}


def test_a_name_that_nobody_knows_is_told_with_those_that_are_near() -> None:
    assert faults("x12", duplicate="pass") == {"/facts/duplicate": "it has no effect here; use duplicates"}
    assert "/facts/recordEnd" in faults("x12", record_end="lf")


def test_a_standard_has_facts_of_its_own_and_a_plug_in_whatever_it_likes() -> None:
    assert faults("flat", record_end="lf") == {}
    assert faults("shouting", volume="11") == {}


def test_a_value_that_says_nothing_is_told() -> None:
    assert faults("edifact", acknowledge="true") == {"/facts/acknowledge": "'true' is neither asked nor always"}


def test_what_was_agreed_on_is_read() -> None:
    assert read_agreement({"duplicates": "pass", "topic": "keep", "our_name": "US"}).duplicates_pass
    usual = read_agreement({})
    assert not any((usual.always_acknowledged, usual.answers_pass, usual.duplicates_pass, usual.topic_kept))
