"""The first steps of a new user, up to the first message."""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.snapshot import Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    title: str
    detail: str
    path: str
    is_done: bool


def list_first_steps(caller: Caller, directory: Directory, *, has_messages: bool) -> list[FirstStep]:
    """Return the first steps; empty for operators, and after the first message."""
    if has_messages or caller.operator:
        return []
    services = directory.services_of(caller.organization)
    has_key = any(directory.credentials_of(service=one.gcid) for one in services)
    makes = caller.has_role(caller.organization, Role.DEVELOPER)
    service = f"/services/{services[0].gcid}" if services else "/services/new"
    return [
        FirstStep(
            title="Make a service" if makes else "Have a service made",
            detail="It represents one of your programs: it sends, and it has a mailbox."
            if makes
            else "A developer or owner of your organization can do that.",
            path="/services/new" if makes else "/organization",
            is_done=bool(services),
        ),
        FirstStep(
            title="Give it a key",
            detail="Your program proves by it that it is the service.",
            path=service if makes else "/services",
            is_done=has_key,
        ),
        FirstStep(
            title="Find whom to send to",
            detail="The directory shows how to call each service, with a message that you can copy.",
            path="/directory",
            is_done=False,
        ),
        FirstStep(
            title="Watch the first message go",
            detail="Send it with your key; it appears here as it happens.",
            path="/live",
            is_done=False,
        ),
    ]
