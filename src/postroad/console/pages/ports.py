"""Send ports: which messages a batcher gathers and when they go, in a form that is checked while somebody types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import port_form
from postroad.console.context import caller_of, console_of
from postroad.console.editing import Faulty, beside_fields, from_text, number_in, of_refusal, shaped
from postroad.console.guarding import Form, form_of, go, member_form, member_page, show
from postroad.console.naming import offered
from postroad.core.configuration.batching_profile import BatchingProfile, batching_entry
from postroad.core.configuration.document import Fault
from postroad.core.configuration.profile import ServiceProfile, profile_of
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Role, Service
from postroad.errors import Refused
from postroad.flow import administration_services as services
from postroad.flow.administration import service_for


async def edit_port(request: Request) -> Response:
    service = _service(request)
    values = port_form.fields_of(batching_entry(service.batching)) if service.batching is not None else {}
    version = console_of(request).directory.object_version("service", service.gcid)
    return _form(request, service, values | {"version": str(version)}, [])


async def write_out(request: Request) -> Response:
    """A port that was tried on the bench, in the form in which it can be saved."""
    service, text = _service(request), (await form_of(request)).get("text", "")
    try:
        section = from_text(text)
        shaped(BatchingProfile, section)
    except Faulty as faulty:
        return _form(request, service, {"more": text}, faulty.faults)
    return _form(request, service, port_form.fields_of(section), [])


async def change_port(request: Request) -> Response:
    console, service, form = console_of(request), _service(request), await form_of(request)
    try:
        section = port_form.entry_in(form)
        profile = shaped(ServiceProfile, profile_of(service) | {"hosted": Hosting.BATCHER, "batching": section})
        seen = number_in(form.get("version", ""))
        await services.replace_service(
            console.administration, caller_of(request), service.gcid, service.name, profile, seen
        )
    except Faulty as faulty:
        return _form(request, service, form, faulty.faults)
    except Refused as refusal:
        return _form(request, service, form, of_refusal(refusal))
    return go(f"/batches?service={service.gcid}", f"{service.address} gathers by it from the next message on.")


async def check(request: Request) -> Response:
    """What would be said if the form were sent now; asked for while somebody types."""
    faults = await _faults(request, _service(request), await form_of(request))
    return show(request, "faults.html", {"faults": faults})


async def _faults(request: Request, service: Service, form: Form) -> list[Fault]:
    console = console_of(request)
    try:
        batching = shaped(BatchingProfile, port_form.entry_in(form)).batching()
    except Faulty as faulty:
        return faulty.faults
    wanted = replace(service, batching=batching, hosted=Hosting.BATCHER)
    return await services.port_faults_elsewhere(console.network, caller_of(request), wanted)


def _form(request: Request, service: Service, given: Mapping[str, str], faults: Sequence[Fault]) -> Response:
    console = console_of(request)
    able = sorted(one.name for one in console.network.standards if one.assemble is not None)
    values = {
        "service": service,
        "values": {name: given.get(name, "") for name in (*port_form.FIELDS, "version")},
        "faults": faults,
        "wrong": beside_fields(faults, port_form.PLACES),
        "standards": [("", "choose one"), *((name, name) for name in able)],
        "services": offered(caller_of(request), console.directory),
    }
    return show(request, "port_form.html", values, 422 if faults else 200)


def _service(request: Request) -> Service:
    return service_for(caller_of(request), console_of(request).directory, request.path_params["gcid"], Role.DEVELOPER)


ROUTES = (
    member_page("/batches/ports/{gcid}", edit_port),
    member_form("/batches/ports/{gcid}", change_port),
    member_form("/batches/ports/{gcid}/check", check),
    member_form("/batches/ports/{gcid}/write", write_out),
)
