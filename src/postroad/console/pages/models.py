"""The model pages: trees with attachments, receivers of a message, and changes of nodes and attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.form_values import InvalidForm, parse_yaml_text, refusal_errors, validate_values
from postroad.console.model_trees import ModelViewer
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.console.pages.services import may_make_service
from postroad.console.service_names import list_offered_services
from postroad.core.admission.connection_rights import is_open_to_organization
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.model_pieces import ModelPiece, NewAttachment, NodeShape, piece_of
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.inspection import DeliveryPreview, path_to, preview_at_node, preview_from_service
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import models as changing
from postroad.flow.administration.base import find_visible_service

MAX_RECEIVERS = 200
MAX_SHADOWS = 50
ATTACH = ("service", "side", "at", "topics")
ASKED = ("topic", "node", "sender")


async def list_models(request: Request) -> Response:
    """List the models of the person's organization and those open to it, without loading them."""
    directory, caller = console_of(request).directory, caller_of(request)
    rows = [one for one in directory.services.values() if one.hosted is Hosting.MODEL and _sees(caller, one, directory)]
    values = {"rows": sorted(rows, key=lambda one: one.address.casefold()), "may_make": may_make_service(caller)}
    return render_page(request, "models.html", values)


async def show_model(request: Request) -> Response:
    return await _shown(request)


async def attach(request: Request) -> Response:
    form = await read_form(request)
    try:
        wish = validate_values(NewAttachment, _attachment_in(form))
        await _carry_out(request, ModelPiece(attachments=(wish,)), "attached")
    except InvalidForm as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, refusal_errors(refusal))
    return redirect(_path(request, form.get("at", "")), f"{wish.service} is attached, starting with the next message.")


async def detach(request: Request) -> Response:
    form = await read_form(request)
    try:
        piece = validate_values(ModelPiece, {"remove": {"attachments": [form.get("id", "")]}})
    except InvalidForm as faulty:
        return await _shown(request, form, faulty.faults)
    await _carry_out(request, piece, "detached")
    return redirect(_path(request, form.get("at", "")), "The service was detached.")


async def add_node(request: Request) -> Response:
    form = await read_form(request)
    given = {"tag": form.get("tag", "").strip(), "under": form.get("under", "").strip()}
    try:
        node = validate_values(NodeShape, given | {"topics": _listed(form.get("carries", ""))})
        await _carry_out(request, ModelPiece(nodes=(node,)), "node saved")
    except InvalidForm as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, refusal_errors(refusal))
    return redirect(_path(request, node.under or node.tag), f"{node.tag} was saved.")


async def change(request: Request) -> Response:
    """Several changes at once, as text: nodes, attachments, topics, remove."""
    form = await read_form(request)
    try:
        await _carry_out(request, validate_values(ModelPiece, parse_yaml_text(form.get("piece", ""))), "model changed")
    except InvalidForm as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, refusal_errors(refusal))
    return redirect(_path(request, ""), "All changes were applied.")


async def check(request: Request) -> Response:
    """Return the errors of the text of several changes, while the person types."""
    faults: list[DocumentError] = []
    await changing.find_visible_model(
        console_of(request).administration, caller_of(request), request.path_params["gcid"]
    )
    try:
        validate_values(ModelPiece, parse_yaml_text((await read_form(request)).get("piece", "")))
    except InvalidForm as faulty:
        faults = faulty.faults
    return render_page(request, "errors.html", {"faults": faults})


async def _carry_out(request: Request, wish: ModelPiece, reason: str) -> None:
    console, named = console_of(request), request.path_params["gcid"]
    await changing.change(console.administration, caller_of(request), named, piece_of(wish), reason)


async def _shown(
    request: Request, form: Mapping[str, str] | None = None, faults: list[DocumentError] | None = None
) -> Response:
    console, caller, asked = console_of(request), caller_of(request), request.query_params
    looked = await changing.find_visible_model(console.administration, caller, request.path_params["gcid"])
    own = changing.list_own_services(caller, console.directory)
    index, viewer = looked.index, ModelViewer(caller=caller, looked=looked, directory=console.directory, own=own)
    values: dict[str, Any] = {
        "model": looked.service,
        "looked": looked,
        "branch": None,
        "following": "",
        "way": [],
        "beside": [],
        "asked": {name: asked.get(name, "")[:200] for name in ASKED},
        "given": {name: (form or {}).get(name, "") for name in (*ATTACH, "tag", "under", "carries", "piece")},
        "faults": faults or [],
        "received": None,
        "fault": "",
        "may_shape": caller.has_role(looked.service.organization, Role.DEVELOPER),
        "may_attach": caller.has_role(caller.organization, Role.DEVELOPER),
        "services": list_offered_services(caller, console.directory),
    }
    if index is not None:
        values |= _tree(index, viewer, asked.get("from", ""), asked.get("after", "")) | _received(
            console, viewer, index, values["asked"]
        )
    return render_page(request, "model.html", values, 422 if faults or values["fault"] else 200)


def _tree(index: ModelIndex, viewer: ModelViewer, tag: str, after: str) -> dict[str, Any]:
    tag = tag if tag in index else index.tree.root.tag
    branch, last = viewer.branch(index, tag, after)
    return {
        "branch": branch,
        "following": f"?{urlencode({'from': tag, 'after': last})}" if last else "",
        "way": path_to(index, tag)[:-1],
        "beside": [viewer.show_attachment(one) for one in viewer.may_see(index.beside())[:MAX_RECEIVERS]],
    }


def _received(console: Console, viewer: ModelViewer, index: ModelIndex, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the receivers of a message on a topic, if requested."""
    if not asked["topic"]:
        return {}
    try:
        found = _reception(console, viewer.caller, index, asked)
    except Refused as refusal:
        return {"fault": refusal.detail}
    found = changing.filter_reception(found, viewer.looked.service, console.directory)
    seen = viewer.may_see(found.receivers)[:MAX_RECEIVERS]
    return {
        "received": {
            "reception": found,
            "total": len({one.service for one in found.receivers}),
            "rows": [(viewer.show_attachment(one), path_to(index, one.node)) for one in seen],
            "shadowed": [
                (tag, [viewer.show_attachment(one) for one in viewer.may_see(producers)])
                for tag, producers in found.shadowing[:MAX_SHADOWS]
            ],
        }
    }


def _reception(console: Console, caller: Caller, index: ModelIndex, asked: Mapping[str, str]) -> DeliveryPreview:
    if asked["sender"]:
        sender = find_visible_service(caller, console.directory, asked["sender"]).gcid
        return preview_from_service(index, sender, asked["topic"], asked["node"])
    return preview_at_node(index, asked["node"] or index.tree.root.tag, asked["topic"])


def _sees(caller: Caller, model: Service, directory: Directory) -> bool:
    if caller.can_view(model.organization):
        return True
    known = directory.visible(model, caller.organization)
    return known and is_open_to_organization(model, caller.organization, directory)


def _attachment_in(form: Form) -> dict[str, Any]:
    return {
        "service": form.get("service", "").strip(),
        "side": form.get("side", ""),
        "node": form.get("at", "").strip(),
        "topics": _listed(form.get("topics", "")),
    }


def _listed(text: str) -> list[str]:
    """Return the topics of a text, one per line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _path(request: Request, node: str) -> str:
    gcid = request.path_params["gcid"]
    return f"/models/{gcid}?from={quote(node)}" if node else f"/models/{gcid}"


ROUTES = (
    member_page("/models", list_models),
    member_page("/models/{gcid}", show_model),
    member_form("/models/{gcid}/attach", attach),
    member_form("/models/{gcid}/detach", detach),
    member_form("/models/{gcid}/nodes", add_node),
    member_form("/models/{gcid}/change", change),
    member_form("/models/{gcid}/check", check),
)
