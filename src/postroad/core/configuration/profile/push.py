"""The push settings of a service as people write them: endpoint, authentication, attempts and backup.

Rule: a missing required setting of an endpoint is reported when the profile is saved, not when the first push fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictInt, model_validator

from postroad.core.admission.policy import is_https
from postroad.core.configuration.shapes import Line, Seconds, SecretFrom, StrictShape, Url
from postroad.core.model.directory import Push, PushAuthentication

SECRETS = {
    PushAuthentication.BASIC: "the password",
    PushAuthentication.BEARER: "the token",
    PushAuthentication.SIGNATURE: "the signing secret",
}


class BackupPushProfile(StrictShape):
    """One place that can be pushed to."""

    url: Annotated[Url, Field(min_length=1)]
    authentication: PushAuthentication = PushAuthentication.SIGNATURE
    username: Line = ""
    secret_from: SecretFrom | Literal[""] = ""
    tries: Annotated[StrictInt, Field(ge=1, le=100)] = 9
    retry_interval_s: Annotated[Seconds, Field(alias="retryIntervalSeconds")] = 0

    @model_validator(mode="after")
    def check_push_credentials(self) -> Self:
        faults = [*_missing_settings(self)]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def push(self) -> Push:
        """The directory's object for this profile."""
        return Push(**self.model_dump())


class PushProfile(BackupPushProfile):
    backup: Annotated[
        BackupPushProfile | None, Field(description="Backup endpoint, used when all attempts here have failed")
    ] = None

    @model_validator(mode="after")
    def check_other_place(self) -> Self:
        if self.backup is not None and self.backup.url == self.url:
            raise ValueError("the backup is the same endpoint; use another url, or raise tries")
        return self

    def push(self) -> Push:
        backup = self.backup.push() if self.backup else None
        return Push(**self.model_dump(exclude={"backup"}), backup=backup)


def _missing_settings(push: BackupPushProfile) -> Iterator[str]:
    """Yield the settings that the authentication requires and that are missing."""
    if push.authentication is PushAuthentication.BASIC and (not push.username or ":" in push.username):
        yield "basic authentication needs a username without a colon"
    if push.authentication in SECRETS and not push.secret_from:
        secret = SECRETS[push.authentication]
        where = "secret:NAME, file:NAME or env:PUSH_SECRET_GCID…"
        yield f"needs secretFrom, the location of {secret}: {where}; or choose authentication: none"
    if push.authentication is PushAuthentication.CERTIFICATE:
        if not push.secret_from.startswith(("file:", "secret:")):
            yield "a certificate needs secretFrom: secret:NAME or file:NAME, PEM with the certificate and its key"
        if not is_https(push.url):
            yield "a client certificate needs an https address"


def push_entry(push: Push) -> dict[str, Any]:
    """The place as it is written, every field given; a backup where there is one."""
    written = {
        "url": push.url,
        "authentication": push.authentication.value,
        "username": push.username,
        "secretFrom": push.secret_from,
        "tries": push.tries,
        "retryIntervalSeconds": push.retry_interval_s,
    }
    return written | ({"backup": push_entry(push.backup)} if push.backup else {})
