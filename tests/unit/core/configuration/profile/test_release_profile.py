"""Store and forward in a profile: what is taken, and what is refused when it is saved."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.directory import Release

PUSHED = {"delivery": "push", "push": {"url": "https://acme.example/in", "authentication": "none"}}


def profile(release: dict[str, Any], **more: Any) -> ServiceProfile:
    return ServiceProfile.model_validate({**more, "release": release})


@pytest.mark.req("X9", "N4")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"everySeconds": 900}, Release(every_s=900)),
        ({"whenWaiting": 100, "everySeconds": 900}, Release(every_s=900, when_waiting=100)),
        ({"onRequest": True}, Release(on_request=True)),
        ({"onRequest": True, "keepSeconds": 60}, Release(on_request=True, keep_s=60)),
        ({"everySeconds": 900, "keepSeconds": 60, "whenWaiting": 3}, Release(every_s=900, keep_s=60, when_waiting=3)),
        ({"keepSeconds": 60}, Release(keep_s=60)),
    ],
)
def test_a_profile_says_when_what_waits_goes(written: dict[str, Any], meant: Release) -> None:
    service = profile(written, **PUSHED).service(gcid="0" * 16, organization="Acme", name="Supply")
    assert service.release == meant
    shown = profile_of(service)["release"]
    assert {name: value for name, value in shown.items() if value} == written
    assert (
        ServiceProfile.model_validate(profile_of(service)).service(gcid="0" * 16, organization="Acme", name="Supply")
        == service
    )


def test_a_service_that_polls_has_a_time_limit_and_nothing_else() -> None:
    assert profile({"keepSeconds": 60}).release is not None
    for holding in ({"everySeconds": 5}, {"whenWaiting": 5}, {"onRequest": True}):
        with pytest.raises(ValidationError, match="only keepSeconds applies to a service that polls"):
            profile(holding)


def test_a_service_that_is_not_pushed_to_for_now_keeps_what_it_said() -> None:
    """As when pushes to it were switched off."""
    assert profile({"everySeconds": 5}, push=PUSHED["push"]).release is not None


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ({}, "is empty"),
        ({"onRequest": False}, "is empty"),
        ({"everySeconds": 60, "keepSeconds": 60}, "no message would ever be released"),
        ({"everySeconds": 61, "keepSeconds": 60}, "no message would ever be released"),
        ({"everySeconds": -1}, "greater than or equal to 0"),
        ({"everySeconds": "60"}, "valid integer"),
        ({"whenWaiting": 10_001}, "less than or equal to 10000"),
        ({"weekly": True}, "Extra inputs"),
    ],
)
def test_what_would_never_go_or_means_nothing_is_refused(written: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        profile(written, **PUSHED)


def test_a_service_without_it_has_none() -> None:
    assert ServiceProfile().service(gcid="0" * 16, organization="Acme", name="Supply").release is None
