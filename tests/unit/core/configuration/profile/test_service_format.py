"""A service's format: one field, of a few words; what an older network wrote down is still read."""

from __future__ import annotations

import msgspec
import pytest
from pydantic import ValidationError

from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.directory import Service
from postroad.core.model.formats import OWN, PLAIN, Format


def _service(**written: object) -> Service:
    return ServiceProfile.model_validate(written).service(gcid="a" * 16, organization="Aster", name="Orders")


@pytest.mark.req("T1")
@pytest.mark.parametrize("format", sorted({*OWN, *PLAIN} - {Format.AS2}))  # which says more: test_as2_profile.py
def test_a_service_says_in_one_word_what_it_wants_to_receive(format: Format) -> None:
    service = _service(format=format.value)
    assert service.format == format.value
    assert type(service.format) is str  # as the journal gives it back
    assert profile_of(service)["format"] == format.value


def test_json_is_what_a_service_gets_that_says_nothing() -> None:
    assert _service().format == "json"
    assert _service().whole_only is False


def test_a_word_that_is_no_format_is_refused_with_the_choices() -> None:
    with pytest.raises(ValidationError, match=r"'json', 'soap11', .* 'as2' or 'cloudevents'"):
        ServiceProfile.model_validate({"format": "edifact"})


@pytest.mark.req("T9")
def test_a_service_may_ask_for_whole_messages_only() -> None:
    service = _service(format="dime", wholeOnly=True)
    assert service.whole_only
    assert profile_of(service)["wholeOnly"] is True


def test_a_service_from_before_there_was_a_choice_is_read_as_it_was_written() -> None:
    written = {"gcid": "a" * 16, "organization": "Aster", "name": "Orders", "format": "edifact"}
    service = msgspec.convert(written, Service)
    assert service.format == "edifact"
    assert profile_of(service)["format"] == "edifact"
    assert not service.whole_only
