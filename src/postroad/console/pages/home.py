"""The first page: what waits, what has failed, what ends soon, the latest messages, and what to do next.

Kept rule: it is opened most often, so it asks for little: everything is counted up to a limit, and says so where that is reached.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.first_steps import first_steps
from postroad.console.guarding import member_page, show
from postroad.console.pages.messages import with_fates
from postroad.console.words import shortened
from postroad.core.audit.passing import recipients_as_known
from postroad.core.delivery.dead_letters import MEANING, Cause, Group
from postroad.core.identity.expiry import Expiring, credential_warning, due_warning, expiring_credentials, warning
from postroad.core.model.batch import BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow import administration_batch_reading as batches
from postroad.flow import administration_dead_letters as letters
from postroad.flow import administration_messages as messages
from postroad.flow.administration_credentials import credentials
from postroad.flow.administration_services import owned_services
from postroad.flow.live_sight import LiveSight

LETTERS_MOST = 1_000  # looked at to count them
LATEST = 8
SHOWN_MOST = 10


async def home(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    await console.live.catch_up()
    sight = LiveSight(console.network, console.live, caller)
    groups, complete = await letters.groups(console.network, caller, letters.Wish(), LETTERS_MOST)
    suspended = batches.Wish(state=BatchState.SUSPENDED.value, limit=SHOWN_MOST)
    latest = [] if caller.operator else await _latest(console, caller)
    values: dict[str, Any] = {
        "queues": await sight.queues(),
        "traffic": sight.traffic(console.now_us),
        "letters": sum(group.count for group in groups),
        "is_all": complete,
        "causes": _by_cause(groups),
        "suspended": (await batches.browse(console.network, caller, suspended)).found,
        "endings": _endings(console, caller)[:SHOWN_MOST],
        "latest": latest,
        "steps": first_steps(caller, console.directory, has_messages=bool(latest)),
    }
    return show(request, "home.html", values)


async def _latest(console: Console, caller: Caller) -> list[dict[str, Any]]:
    """What the organization's services sent and received last; operators, whose that would be everything, watch it live."""
    rows: dict[str, dict[str, Any]] = {}
    for box in ("received", "sent"):  # what one service of the organization sent to another is told once
        page = await messages.browse(console.network, caller, messages.Wish(box=box, limit=LATEST))
        told = [_row(console, box, *row) for row in await with_fates(console, caller, page.rows)]
        rows |= {row["session"]: row for row in told}
    return sorted(rows.values(), key=lambda row: -row["at_us"])[:LATEST]


def _row(console: Console, box: str, row: messages.Row, fates: messages.Fates) -> dict[str, Any]:
    message = row["message"]
    directory = console.directory
    others = recipients_as_known(message, directory) if box == "sent" else [_address(message.sender, directory)]
    return {
        "box": box,
        "at_us": message.at_us,
        "session": message.session,
        "name": message.handle or shortened(message.session),
        "others": others,
        "topic": message.topic,
        "fates": fates,
    }


def _address(gcid: str, directory: Directory) -> str:
    service = directory.services.get(gcid)
    return service.address if service is not None else gcid


def _by_cause(groups: list[Group]) -> list[tuple[Cause, str, int]]:
    """The most frequent first."""
    counts: dict[Cause, int] = {}
    for group in groups:
        counts[group.cause] = counts.get(group.cause, 0) + group.count
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(cause, MEANING[cause], count) for cause, count in ranked]


def _endings(console: Console, caller: Caller) -> list[tuple[Expiring, str]]:
    """Keys and certificates that end soon or have, with what to do; the soonest first. Operators see those of all."""
    now_us, directory = console.now_us, console.directory
    if caller.operator:
        found = [one for one in expiring_credentials(directory) if due_warning(one.expires_at_us, now_us) is not None]
    else:
        found = [
            Expiring(f"{one.kind.value} {(one.label or one.id)!r} of {service.address}", one.expires_at_us)
            for service in owned_services(caller, directory)
            for one in credentials(caller, directory, service.gcid)[1]
            if credential_warning(one, now_us)
        ]
    found.sort(key=lambda one: one.expires_at_us)
    return [(one, warning(one.expires_at_us, now_us)) for one in found]


ROUTES = (member_page("/", home),)
