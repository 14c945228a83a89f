"""The home page: waiting and failed messages, expiring credentials, the latest messages, and the first steps of a new user.

Rule: this page is opened most often, so it must be cheap: everything is counted up to a limit, and the page shows
when that is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.page_guards import member_page, render_page
from postroad.console.pages.messages import add_outcomes
from postroad.console.template_filters import shorten_id
from postroad.core.delivery.dead_letters import MEANING, Cause
from postroad.core.identity.expiry import Expiring, credential_warning, due_warning, expiring_credentials, warning
from postroad.core.model.batch import BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.snapshot import Directory
from postroad.core.resources.dead_letters import LetterGroup
from postroad.core.visibility.isolation import visible_recipients
from postroad.flow.administration import batches
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.credentials import list_credentials
from postroad.flow.administration.messages import message_list as messages
from postroad.flow.administration.services import list_owned_services
from postroad.flow.live.view import LiveView


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


MAX_LETTERS = 1_000  # maximum that are read to count them
LATEST = 8
MAX_SHOWN = 10


async def home(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    await console.live.catch_up()
    viewer = LiveView(console.network, console.live, caller)
    groups, complete = await letters.list_letter_groups(
        console.network, caller, letters.DeadLetterSearch(), MAX_LETTERS
    )
    suspended = batches.BatchSearch(state=BatchState.SUSPENDED.value, limit=MAX_SHOWN)
    latest = [] if caller.operator else await _latest(console, caller)
    values: dict[str, Any] = {
        "queues": await viewer.queues(),
        "traffic": viewer.traffic(console.now_us),
        "letters": sum(group.count for group in groups),
        "is_all": complete,
        "causes": _by_cause(groups),
        "suspended": (await batches.browse(console.network, caller, suspended)).found,
        "endings": _expiring_credentials(console, caller)[:MAX_SHOWN],
        "latest": latest,
        "steps": list_first_steps(caller, console.directory, has_messages=bool(latest)),
    }
    return render_page(request, "home.html", values)


async def _latest(console: Console, caller: Caller) -> list[dict[str, Any]]:
    """Return the latest sent and received messages of the organization; operators use the live page."""
    rows: dict[str, dict[str, Any]] = {}
    for box in ("received", "sent"):  # a message between two services of the organization is listed once
        page = await messages.browse(console.network, caller, messages.MessageSearch(box=box, limit=LATEST))
        told = [_row(console, box, *row) for row in await add_outcomes(console, caller, page.rows)]
        rows |= {row["session"]: row for row in told}
    return sorted(rows.values(), key=lambda row: -row["at_us"])[:LATEST]


def _row(console: Console, box: str, row: messages.Row, fates: messages.CopyOutcomes) -> dict[str, Any]:
    message = row["message"]
    directory = console.directory
    others = visible_recipients(message, directory) if box == "sent" else [directory.address_of(message.sender)]
    return {
        "box": box,
        "at_us": message.at_us,
        "session": message.session,
        "name": message.handle or shorten_id(message.session),
        "others": others,
        "topic": message.topic,
        "fates": fates,
    }


def _by_cause(groups: list[LetterGroup]) -> list[tuple[Cause, str, int]]:
    """Count dead letters by cause, most frequent first."""
    counts: dict[Cause, int] = {}
    for group in groups:
        counts[Cause(group.cause)] = counts.get(Cause(group.cause), 0) + group.count
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(cause, MEANING[cause], count) for cause, count in ranked]


def _expiring_credentials(console: Console, caller: Caller) -> list[tuple[Expiring, str]]:
    """Return keys and certificates that expire soon or have expired, soonest first; for operators, of all."""
    now_us, directory = console.now_us, console.directory
    if caller.operator:
        found = [one for one in expiring_credentials(directory) if due_warning(one.expires_at_us, now_us) is not None]
    else:
        found = [
            Expiring(f"{one.kind.value} {(one.label or one.id)!r} of {service.address}", one.expires_at_us)
            for service in list_owned_services(caller, directory)
            for one in list_credentials(caller, directory, service.gcid)[1]
            if credential_warning(one, now_us)
        ]
    found.sort(key=lambda one: one.expires_at_us)
    return [(one, warning(one.expires_at_us, now_us)) for one in found]


ROUTES = (member_page("/", home),)
