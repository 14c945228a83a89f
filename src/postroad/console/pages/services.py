"""The service pages: profile, credentials and version history of the organization's services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.bootstrap.as2 import build_as2_url
from postroad.console.context import caller_of, console_of
from postroad.console.form_examples import EXAMPLES
from postroad.console.form_values import (
    InvalidForm,
    parse_number,
    parse_yaml_text,
    refusal_errors,
    to_yaml_text,
    validate_values,
)
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.console.service_names import add_actor_addresses
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.key_possession import KeyPossessionProof
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.identity.expiry import DAY_US, credential_warning
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DeliveryMode, Role, Service
from postroad.core.model.formats import Format
from postroad.core.model.party_name import check_party_name
from postroad.errors import Refused
from postroad.flow.administration import credentials, services
from postroad.flow.administration import pushes as pushing
from postroad.flow.administration.base import require_organization, require_service
from postroad.flow.administration.versions import list_versions

PLAIN = (
    "description",
    "category",
    "visibility",
    "delivery",
    "format",
    "timeZone",
    "accepts",
)  # a field of the form each
PUSH = ("url", "authentication", "username", "secretFrom")
KEY_DAYS = 365
PAGE = 100
INITIAL_PROFILES: dict[str, dict[str, Any]] = {  # of services that the network runs, for pages that lead to a new one
    Hosting.EXCHANGE: {"hosted": Hosting.EXCHANGE.value},
    Hosting.MODEL: {"hosted": Hosting.MODEL.value},
    Hosting.BATCHER: {"hosted": Hosting.BATCHER.value, "batching": parse_yaml_text(EXAMPLES["batches"])},
}


async def list_services(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    found = sorted(services.list_owned_services(caller, console.directory), key=lambda one: one.address.casefold())
    page = min(parse_number(request.query_params.get("page", "")) or 0, len(found) // PAGE)
    shown = found[page * PAGE : (page + 1) * PAGE]
    values = {
        "rows": [(one, console.directory.is_suspended(one)) for one in shown],
        "count": len(found),
        "preceding": f"?page={page - 1}" if page else "",
        "following": f"?page={page + 1}" if len(found) > (page + 1) * PAGE else "",
        "may_make": may_make_service(caller),
    }
    return render_page(request, "services.html", values)


def may_make_service(caller: Caller) -> bool:
    """Return True if the person may create services in an organization; operators have none."""
    return not caller.operator and caller.has_role(caller.organization, Role.DEVELOPER)


async def show_service(request: Request) -> Response:
    return await _shown(request)


async def new_service(request: Request) -> Response:
    asked = request.query_params
    organization = asked.get("organization", "") or caller_of(request).organization
    return _form(
        request, {"organization": organization} | _form_values(INITIAL_PROFILES.get(asked.get("hosted", ""), {})), []
    )


async def make_service(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    try:
        profile = validate_values(ServiceProfile, _profile_in(form))
        made = await services.create(
            console.administration, caller, form.get("organization", ""), form.get("name", "").strip(), profile
        )
    except InvalidForm as faulty:
        return _form(request, form, faulty.faults)
    except Refused as refusal:
        return _form(request, form, refusal_errors(refusal))
    return redirect(f"/services/{made.gcid}", f"{made.address} was created. Next, create a key for it.")


async def edit_service(request: Request) -> Response:
    service = _own(request, Role.DEVELOPER)
    version = console_of(request).directory.object_version("service", service.gcid)
    values = {"organization": service.organization, "name": service.name, "version": str(version)}
    return _form(request, values | _form_values(profile_of(service)), [], service)


async def change_service(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    service = _own(request, Role.DEVELOPER)
    seen = parse_number(form.get("version", ""))
    try:
        profile = validate_values(ServiceProfile, _profile_in(form))
        name = form.get("name", "").strip()
        await services.replace_service(console.administration, caller, service.gcid, name, profile, seen)
    except InvalidForm as faulty:
        return _form(request, form, faulty.faults, service)
    except Refused as refusal:
        return _form(request, form, refusal_errors(refusal), service)
    return redirect(f"/services/{service.gcid}", "Saved. The profile applies from the next message on.")


async def check(request: Request) -> Response:
    """Return the errors of the form in its current state, while the person types."""
    form = await read_form(request)
    faults: list[DocumentError] = []
    try:
        if name := form.get("name", "").strip():  # empty: not entered yet
            check_party_name(name, "The service's")
    except Refused as refusal:
        faults += refusal_errors(refusal)
    try:
        validate_values(ServiceProfile, _profile_in(form))
    except InvalidForm as faulty:
        faults += faulty.faults
    return render_page(request, "errors.html", {"faults": faults})


async def add_key(request: Request) -> Response:
    """Show the new key on this page, once."""
    console, service = console_of(request), _own(request, Role.DEVELOPER)
    label = (await read_form(request)).get("label", "").strip()
    if not label:
        return await _shown(request, fault="Enter a label for the key.")
    until_us = console.now_us + KEY_DAYS * DAY_US
    try:
        key, _ = await credentials.add_key(console.administration, caller_of(request), service.gcid, label, until_us)
    except Refused as refusal:
        return await _shown(request, fault=refusal_errors(refusal)[0].detail)
    return await _shown(request, new_key=key)


async def add_certificate(request: Request) -> Response:
    console, service, form = console_of(request), _own(request, Role.DEVELOPER), await read_form(request)
    label, pem = form.get("label", "").strip() or "certificate", form.get("certificate", "")
    evidence = credentials.KeyEvidence(KeyPossessionProof(form.get("challenge", ""), form.get("signature", "")))
    try:
        await credentials.add_certificate(
            console.administration, caller_of(request), service.gcid, label, pem, evidence
        )
    except Refused as refusal:
        return await _shown(request, fault=refusal_errors(refusal)[0].detail)
    return redirect(f"/services/{service.gcid}", "Certificate registered.")


async def remove_credential(request: Request) -> Response:
    console, service = console_of(request), _own(request, Role.DEVELOPER)
    await credentials.remove(
        console.administration, caller_of(request), service.gcid, request.path_params["credential"]
    )
    return redirect(f"/services/{service.gcid}", "Credential removed.")


async def try_push(request: Request) -> Response:
    """Push the oldest waiting message now, and show the result on the service's page."""
    console, service = console_of(request), _own(request, Role.DEVELOPER)
    _, tried = await pushing.try_now(console.network, caller_of(request), service.gcid)
    if not tried.is_delivered:
        told = f"The push failed: {tried.reason}." if tried.session else f"Nothing was pushed: {tried.reason}."
        return await _shown(request, fault=told)
    return redirect(f"/services/{service.gcid}", "The push succeeded. The other waiting messages follow.")


async def remove_service(request: Request) -> Response:
    console, service = console_of(request), _own(request, Role.DEVELOPER)
    if (await read_form(request)).get("name", "") != service.name:
        return await _shown(request, fault=f"To delete the service, enter its name, {service.name}.")
    await services.remove(console.administration, caller_of(request), service.gcid, None)
    return redirect("/services", f"{service.address} was deleted.")


async def _shown(request: Request, **more: str) -> Response:
    console, service = console_of(request), _own(request, Role.VIEWER)
    _, owned = credentials.list_credentials(caller_of(request), console.directory, service.gcid)
    versions = await list_versions(console.network, "service", service.gcid)
    values: dict[str, Any] = {
        "service": service,
        "text": to_yaml_text(_without_defaults(profile_of(service))),
        "credentials": [(one, credential_warning(one, console.now_us)) for one in owned],
        "versions": add_actor_addresses(caller_of(request), console.directory, versions),
        "may_change": caller_of(request).has_role(service.organization, Role.DEVELOPER),
        "is_suspended": console.directory.is_suspended(service),
        "as2_url": build_as2_url(console.running.own_address, service.organization) if service.as2 is not None else "",
        "challenge": credentials.make_certificate_challenge(console.administration, caller_of(request)),
        "waiting": console.network.desk.waiting(service.gcid),
        "waiting_limit": console.network.full_recipients.limit(service),
        "is_pushed": service.delivery is DeliveryMode.PUSH,
        "pause": console.network.pushes.pause(service.gcid),
        "problems": [fault.text for fault in console.network.pushes.faults(service)],
        "new_key": "",
        "fault": "",
    }
    return render_page(request, "service.html", values | more, 422 if more.get("fault") else 200)


def _form(
    request: Request, values: Mapping[str, str], faults: list[DocumentError], service: Service | None = None
) -> Response:
    console, caller = console_of(request), caller_of(request)
    if service is None:
        require_organization(caller, console.directory, values.get("organization", ""), Role.DEVELOPER)
    shown = {name: values.get(name, "") for name in ("organization", "name", "version", "more", *PLAIN, *PUSH)}
    facts = {"values": shown, "faults": faults, "service": service, "formats": [one.value for one in Format]}
    return render_page(request, "service_form.html", facts, 422 if faults else 200)


def _profile_in(form: Form) -> dict[str, Any]:
    """Return the profile of a form; raises InvalidForm if its text is invalid."""
    profile = parse_yaml_text(form.get("more", ""))
    twice = sorted(profile.keys() & set(PLAIN))
    if twice:
        raise InvalidForm([DocumentError("", f"{', '.join(twice)} has its own field above; remove it from the text")])
    profile |= {name: form[name] for name in PLAIN if form.get(name, "")}
    push = profile.get("push") or {}
    if form.get("url") and isinstance(push, dict):  # other types are reported with all other errors
        profile["push"] = {name: form[name] for name in PUSH if form.get(name)} | push
    return profile


def _form_values(profile: Mapping[str, Any]) -> dict[str, str]:
    """A profile as the form shows it: its usual fields, and the rest as text."""
    rest = _without_defaults(profile)
    fields = {name: str(rest.pop(name, None) or _DEFAULTS[name]) for name in PLAIN}
    push = dict(rest.pop("push", None) or {})
    fields |= {name: str(push.pop(name, "") or "") for name in PUSH}
    if push:
        rest["push"] = push
    return fields | {"more": to_yaml_text(rest)}


def _without_defaults(profile: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in profile.items() if value != _DEFAULTS[name]}


def _own(request: Request, least: Role) -> Service:
    return require_service(caller_of(request), console_of(request).directory, request.path_params["gcid"], least)


_DEFAULTS: dict[str, Any] = profile_of(ServiceProfile().service(gcid="", organization="", name=""))

ROUTES = (
    member_page("/services", list_services),
    member_page("/services/new", new_service),
    member_form("/services/new", make_service),
    member_form("/services/check", check),
    member_page("/services/{gcid}", show_service),
    member_page("/services/{gcid}/edit", edit_service),
    member_form("/services/{gcid}/edit", change_service),
    member_form("/services/{gcid}/keys", add_key),
    member_form("/services/{gcid}/certificates", add_certificate),
    member_form("/services/{gcid}/credentials/{credential}/remove", remove_credential),
    member_form("/services/{gcid}/push/try", try_push),
    member_form("/services/{gcid}/remove", remove_service),
)
