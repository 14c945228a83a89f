"""The operator pages: organizations, health, and the audit log."""

from __future__ import annotations

import shutil
from dataclasses import replace
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.console.service_names import add_actor_addresses
from postroad.core.identity.expiry import due_warning, expiring_credentials, warning
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, OrganizationLimits
from postroad.errors import Refused
from postroad.flow.administration import audit, services
from postroad.flow.administration.base import not_found, permission_denied
from postroad.flow.administration.messages import message_list as reading
from postroad.flow.administration.registration import AWAITING_APPROVAL

PAGE = 50
LIMITS = ("message_bytes", "stored_bytes", "queued_messages")


async def organizations(request: Request) -> Response:
    directory = console_of(request).directory
    _require_operator(request)
    rows = [
        (organization, len(directory.services_of(organization.name)), len(directory.people_of(organization.name)))
        for organization in sorted(directory.organizations.values(), key=lambda one: one.name.casefold())
    ]
    return render_page(request, "operators_organizations.html", {"rows": rows})


async def organization(request: Request) -> Response:
    return await _shown(request, _organization_of(request))


async def suspend(request: Request) -> Response:
    """Suspend with a reason; without one, end the suspension."""
    organization, form = _organization_of(request), await read_form(request)
    reason = form.get("reason", "").strip()[:200]
    if "resume" in form:
        reason = ""
    elif not reason:
        return await _shown(
            request, organization, suspend_fault="Enter a reason; members of the organization can read it."
        )
    find = services.organization_finder(caller_of(request), organization.name)
    await services.suspend(console_of(request).administration, caller_of(request), find, reason)
    return redirect(
        _path(organization), f"{organization.name} is suspended." if reason else f"{organization.name} is active again."
    )


async def set_limits(request: Request) -> Response:
    organization, form = _organization_of(request), await read_form(request)
    try:
        numbers = {name: _number(form, name) for name in (*LIMITS, "posts_per_s")}
    except Refused as refusal:
        return await _shown(request, organization, limits_fault=refusal.detail)
    posts_per_s = numbers.pop("posts_per_s")
    limits = replace(OrganizationLimits(), **numbers)
    await services.change_organization(
        administration=console_of(request).administration,
        caller=caller_of(request),
        name=organization.name,
        description=organization.description,
        posts_per_s=posts_per_s,
        limits=limits,
        seen_version=None,
    )
    return redirect(_path(organization), "Limits saved.")


async def health(request: Request) -> Response:
    console = console_of(request)
    caller = _require_operator(request)
    queues = sorted(await reading.count_waiting(console.network, caller), key=lambda row: (-row[1], row[0]))
    head, position = await console.network.journal.head(), await console.network.index.position()
    values = {
        "journal": head.seq,
        "behind": max(0, head.seq - position.seq),
        "queues": [(*row, _waiting_limit(console, row[0])) for row in queues if row[1]][:PAGE],
        "memory": console.running.memory.share,
        "waiting_bytes": console.network.desk.waiting_bytes,
        "waiting_bytes_most": console.network.desk.waiting_bytes_most,
        "index_behind_s": round(console.network.pace.behind_s),
        "settings": console.running.settings,
        "disk": shutil.disk_usage(console.running.settings.data) if console.running.settings.data.exists() else None,
        "expiring": _expiring(console),
    }
    return render_page(request, "operators_health.html", values)


def _waiting_limit(console: Console, address: str) -> int:
    service = console.directory.service(address)
    return console.network.full_recipients.limit(service) if service is not None else 0


async def acts(request: Request) -> Response:
    """List changes, a page at a time; with ``what=accesses``, recorded accesses."""
    console, caller = console_of(request), _require_operator(request)
    what = "accesses" if request.query_params.get("what") == "accesses" else "changes"
    before = _before(request)
    rows = await (audit.list_audited_accesses if what == "accesses" else audit.list_audited_changes)(
        console.network, caller, before, PAGE
    )
    following = rows[-1].seq if len(rows) >= PAGE else 0
    return render_page(
        request,
        "operators_audit.html",
        {"what": what, "rows": add_actor_addresses(caller, console.directory, rows), "following": following},
    )


def _require_operator(request: Request) -> Caller:
    caller = caller_of(request)
    if not caller.operator:
        raise permission_denied("This page is for the network's operators")
    return caller


def _organization_of(request: Request) -> Organization:
    _require_operator(request)
    found = console_of(request).directory.organization(request.path_params["name"])
    if found is None:
        raise not_found()
    return found


async def _shown(request: Request, organization: Organization, **faults: str) -> Response:
    console, directory = console_of(request), console_of(request).directory
    limits = console.network.quota.limits(organization.name)
    held = await console.network.quota.usage(organization.name)
    values = {
        "organization": organization,
        "used": (
            ("Bytes of waiting messages", held.stored_bytes, limits.stored_bytes),
            ("Waiting messages", held.queued_messages, limits.queued_messages),
        ),
        "services": sorted(directory.services_of(organization.name), key=lambda one: one.address.casefold()),
        "people": sorted(directory.people_of(organization.name), key=lambda one: one.email.casefold()),
        "suspend_fault": "",
        "awaiting": organization.suspended == AWAITING_APPROVAL,
        "limits_fault": "",
    }
    return render_page(request, "operators_organization.html", values | faults, 422 if faults else 200)


def _path(organization: Organization) -> str:
    return f"/operators/organizations/{quote(organization.name)}"


def _number(form: dict[str, str], name: str) -> int:
    text = form.get(name, "").strip() or "0"
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise Refused("value.invalid", "Limits are whole numbers; 0 selects the network's default")
    return int(text)


def _before(request: Request) -> int:
    text = request.query_params.get("before", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else audit.NEWEST


def _expiring(console: Console) -> list[tuple[str, int, str]]:
    now_us = console.now_us
    found = [
        one for one in expiring_credentials(console.directory) if due_warning(one.expires_at_us, now_us) is not None
    ]
    found.sort(key=lambda one: one.expires_at_us)
    return [(one.what, one.expires_at_us, warning(one.expires_at_us, now_us)) for one in found[:PAGE]]


ROUTES = (
    member_page("/operators/organizations", organizations),
    member_page("/operators/organizations/{name}", organization),
    member_form("/operators/organizations/{name}/suspension", suspend),
    member_form("/operators/organizations/{name}/limits", set_limits),
    member_page("/operators/health", health),
    member_page("/operators/audit", acts),
)
