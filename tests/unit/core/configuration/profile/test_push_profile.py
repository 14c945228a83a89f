"""What a push profile must say, told when it is saved."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from postroad.core.codecs.native_formats import FORMS
from postroad.core.configuration.profile.push import PushProfile
from postroad.core.configuration.profile.service import ServiceProfile, WindowProfile, profile_of
from postroad.core.mediation.formats import ENCODERS
from postroad.core.model.formats import Format

HTTPS = {"url": "https://aster.example/in"}
HTTP = {"url": "http://aster.example/in"}


@pytest.mark.req("D3")
@pytest.mark.parametrize(
    "written",
    [
        HTTPS | {"authentication": "none"},
        HTTP | {"authentication": "none"},
        HTTPS | {"authentication": "basic", "username": "aster", "secretFrom": "env:ASTER"},
        HTTPS | {"authentication": "bearer", "secretFrom": "file:token"},
        HTTPS | {"authentication": "certificate", "secretFrom": "file:push.pem"},
        {"url": "HTTPS://aster.example/in", "authentication": "certificate", "secretFrom": "file:push.pem"},
        HTTPS | {"secretFrom": "env:ASTER"},
    ],
)
def test_a_profile_that_can_be_used_is_taken(written: dict[str, Any]) -> None:
    service = ServiceProfile.model_validate({"delivery": "push", "push": written})
    assert service.push == PushProfile.model_validate(written)


@pytest.mark.req("D3")
@pytest.mark.parametrize(
    ("written", "says"),
    [
        (HTTPS, "the location of the signing secret"),
        (HTTPS | {"authentication": "bearer"}, "the location of the token"),
        (HTTPS | {"authentication": "basic", "username": "aster"}, "the location of the password"),
        (HTTPS | {"authentication": "basic", "secretFrom": "env:ASTER"}, "needs a username"),
        (HTTPS | {"authentication": "basic", "username": "a:b", "secretFrom": "env:ASTER"}, "without a colon"),
        (HTTPS | {"authentication": "certificate"}, "file:NAME"),
        (HTTPS | {"authentication": "certificate", "secretFrom": "env:ASTER"}, "file:NAME"),
        (HTTP | {"authentication": "certificate", "secretFrom": "file:push.pem"}, "https address"),
        (HTTPS | {"secretFrom": "whsec_AAAA"}, "secretFrom"),
        ({"url": "ftp://aster.example/in", "authentication": "none"}, "http or https"),
        ({"url": "", "authentication": "none"}, "url"),
        (HTTPS | {"authentication": "none", "tries": 0}, "tries"),
        (HTTPS | {"authentication": "none", "tries": 101}, "tries"),
        (HTTPS | {"authentication": "none", "retryIntervalSeconds": -1}, "retryIntervalSeconds"),
    ],
)
def test_what_could_never_be_pushed_is_refused(written: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ServiceProfile.model_validate({"delivery": "push", "push": written})


def test_a_service_is_pushed_to_in_every_format_that_there_is() -> None:
    assert set(Format) == FORMS.keys() | ENCODERS.keys()
    push = HTTPS | {"authentication": "none"}
    for form in set(Format) - {Format.AS2}:  # test_as2_profile.py has that one
        ServiceProfile.model_validate({"delivery": "push", "push": push, "format": form.value})


def test_all_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(ValidationError, match=r"username.*; needs secretFrom"):
        PushProfile.model_validate(HTTPS | {"authentication": "basic"})


def test_a_policy_of_tls_holds_for_pushes() -> None:
    policy = {"transport": "tls"}
    ServiceProfile.model_validate({"push": HTTPS | {"authentication": "none"}, "policy": policy})
    with pytest.raises(ValidationError, match="must begin with https"):
        ServiceProfile.model_validate({"push": HTTP | {"authentication": "none"}, "policy": policy})


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    "written", [{"opens": "08:00", "closes": "08:00"}, {"opens": "24:00", "closes": "06:00"}, {"days": []}]
)
def test_a_window_that_never_opens_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"never opens|at least 1 item"):
        WindowProfile.model_validate(written)


BACKUP = {"url": "https://second.example/in", "authentication": "none"}


@pytest.mark.req("B7")
def test_a_backup_is_kept_and_written_back() -> None:
    push = HTTPS | {"authentication": "none", "backup": BACKUP | {"tries": 2, "retryIntervalSeconds": 30}}
    service = ServiceProfile.model_validate({"delivery": "push", "push": push}).service(
        gcid="0" * 16, organization="Aster", name="In"
    )

    assert service.push is not None
    assert service.push.backup is not None
    assert (service.push.backup.url, service.push.backup.tries, service.push.backup.retry_interval_s) == (
        "https://second.example/in", 2, 30
    )  # fmt: skip
    written = profile_of(service)["push"]
    assert ServiceProfile.model_validate({"push": written}).push == ServiceProfile.model_validate({"push": push}).push
    assert "backup" not in written["backup"]


@pytest.mark.req("B7")
@pytest.mark.parametrize(
    ("backup", "policy", "says"),
    [
        ({"url": "https://second.example/in"}, {}, "the location of the signing secret"),
        (BACKUP | {"url": HTTPS["url"]}, {}, "the backup is the same endpoint"),
        (BACKUP | {"backup": BACKUP}, {}, "Extra inputs"),
        (BACKUP | {"url": "http://second.example/in"}, {"transport": "tls"}, "push.backup.url must begin with https"),
        (BACKUP, {"authentication": "key"}, "push.backup.authentication must be bearer"),
    ],
)
def test_a_backup_that_could_never_be_used_is_refused(
    backup: dict[str, Any], policy: dict[str, Any], says: str
) -> None:
    push = HTTPS | {"secretFrom": "env:ASTER", "backup": backup}
    with pytest.raises(ValidationError, match=says):
        ServiceProfile.model_validate({"push": push, "policy": policy})
