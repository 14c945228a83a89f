"""The send port pages: the batching policy of a batcher, in a form that is validated as the person types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import send_port_form
from postroad.console.context import caller_of, console_of
from postroad.console.form_values import (
    InvalidForm,
    errors_by_field,
    parse_number,
    parse_yaml_text,
    refusal_errors,
    validate_values,
)
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.console.service_names import list_offered_services
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.profile.batching import BatchingProfile, batching_entry
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Role, Service
from postroad.errors import Refused
from postroad.flow.administration import services
from postroad.flow.administration.base import require_service


async def edit_port(request: Request) -> Response:
    service = _service(request)
    values = send_port_form.send_port_fields(batching_entry(service.batching)) if service.batching is not None else {}
    version = console_of(request).directory.object_version("service", service.gcid)
    return _form(request, service, values | {"version": str(version)}, [])


async def fill_form_from_trial(request: Request) -> Response:
    """Open the form with a send port that was tried on the test page."""
    service, text = _service(request), (await read_form(request)).get("text", "")
    try:
        section = parse_yaml_text(text)
        validate_values(BatchingProfile, section)
    except InvalidForm as faulty:
        return _form(request, service, {"more": text}, faulty.faults)
    return _form(request, service, send_port_form.send_port_fields(section), [])


async def change_port(request: Request) -> Response:
    console, service, form = console_of(request), _service(request), await read_form(request)
    try:
        section = send_port_form.send_port_entry(form)
        profile = validate_values(
            ServiceProfile, profile_of(service) | {"hosted": Hosting.BATCHER, "batching": section}
        )
        seen = parse_number(form.get("version", ""))
        await services.replace_service(
            console.administration, caller_of(request), service.gcid, service.name, profile, seen
        )
    except InvalidForm as faulty:
        return _form(request, service, form, faulty.faults)
    except Refused as refusal:
        return _form(request, service, form, refusal_errors(refusal))
    return redirect(
        f"/batches?service={service.gcid}", f"{service.address}: saved. The settings apply from the next message on."
    )


async def check(request: Request) -> Response:
    """Return the errors of the form in its current state, while the person types."""
    faults = await _faults(request, _service(request), await read_form(request))
    return render_page(request, "errors.html", {"faults": faults})


async def _faults(request: Request, service: Service, form: Form) -> list[DocumentError]:
    console = console_of(request)
    try:
        batching = validate_values(BatchingProfile, send_port_form.send_port_entry(form)).batching()
    except InvalidForm as faulty:
        return faulty.faults
    wanted = replace(service, batching=batching, hosted=Hosting.BATCHER)
    return await services.find_port_errors_in_thread(console.network, caller_of(request), wanted)


def _form(request: Request, service: Service, given: Mapping[str, str], faults: Sequence[DocumentError]) -> Response:
    console = console_of(request)
    able = sorted(one.name for one in console.network.standards if one.assemble is not None)
    values = {
        "service": service,
        "values": {name: given.get(name, "") for name in (*send_port_form.FIELDS, "version")},
        "faults": faults,
        "wrong": errors_by_field(faults, send_port_form.PLACES),
        "standards": [("", "select …"), *((name, name) for name in able)],
        "services": list_offered_services(caller_of(request), console.directory),
    }
    return render_page(request, "port_form.html", values, 422 if faults else 200)


def _service(request: Request) -> Service:
    return require_service(
        caller_of(request), console_of(request).directory, request.path_params["gcid"], Role.DEVELOPER
    )


ROUTES = (
    member_page("/batches/ports/{gcid}", edit_port),
    member_form("/batches/ports/{gcid}", change_port),
    member_form("/batches/ports/{gcid}/check", check),
    member_form("/batches/ports/{gcid}/write", fill_form_from_trial),
)
