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
            title="Create a service" if makes else "Have a service created",
            detail="A service represents one of your applications: it sends messages and has a mailbox."
            if makes
            else "A developer or owner of your organization can create one.",
            path="/services/new" if makes else "/organization",
            is_done=bool(services),
        ),
        FirstStep(
            title="Create a key",
            detail="Your application authenticates as the service with this key.",
            path=service if makes else "/services",
            is_done=has_key,
        ),
        FirstStep(
            title="Find a recipient",
            detail="The directory shows how to call each service, with a sample message to copy.",
            path="/directory",
            is_done=False,
        ),
        FirstStep(
            title="Send the first message",
            detail="Send it with your key, and watch it arrive on the live page.",
            path="/live",
            is_done=False,
        ),
    ]
