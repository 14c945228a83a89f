"""Models: their trees with what is attached, who would receive what, services attached and detached, nodes added and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.editing import Faulty, from_text, of_refusal, shaped
from postroad.console.guarding import Form, form_of, go, member_form, member_page, show
from postroad.console.model_trees import Sight
from postroad.console.naming import offered
from postroad.console.pages.services import may_make_service
from postroad.core.admission.openness import is_open_to_organization
from postroad.core.configuration.document import Fault
from postroad.core.configuration.model_pieces import ModelPiece, NewAttachment, NodeShape, piece_of
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.looking import Reception, path_to, reception_at, reception_from
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow import administration_models as changing
from postroad.flow.administration import visible_service

RECEIVERS_MOST = 200
SHADOWS_MOST = 50
ATTACH = ("service", "side", "at", "topics")
ASKED = ("topic", "node", "sender")


async def list_models(request: Request) -> Response:
    """Those of the person's own organization, and those that are open to it; none of them is opened for that."""
    directory, caller = console_of(request).directory, caller_of(request)
    rows = [one for one in directory.services.values() if one.hosted is Hosting.MODEL and _sees(caller, one, directory)]
    values = {"rows": sorted(rows, key=lambda one: one.address.casefold()), "may_make": may_make_service(caller)}
    return show(request, "models.html", values)


async def show_model(request: Request) -> Response:
    return await _shown(request)


async def attach(request: Request) -> Response:
    form = await form_of(request)
    try:
        wish = shaped(NewAttachment, _attachment_in(form))
        await _carry_out(request, ModelPiece(attachments=(wish,)), "attached")
    except Faulty as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, of_refusal(refusal))
    return go(_path(request, form.get("at", "")), f"{wish.service} is attached; it holds from the next message on.")


async def detach(request: Request) -> Response:
    form = await form_of(request)
    try:
        piece = shaped(ModelPiece, {"remove": {"attachments": [form.get("id", "")]}})
    except Faulty as faulty:
        return await _shown(request, form, faulty.faults)
    await _carry_out(request, piece, "detached")
    return go(_path(request, form.get("at", "")), "It is detached: nothing comes from there or goes there any more.")


async def add_node(request: Request) -> Response:
    form = await form_of(request)
    given = {"tag": form.get("tag", "").strip(), "under": form.get("under", "").strip()}
    try:
        node = shaped(NodeShape, given | {"topics": _listed(form.get("carries", ""))})
        await _carry_out(request, ModelPiece(nodes=(node,)), "node saved")
    except Faulty as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, of_refusal(refusal))
    return go(_path(request, node.under or node.tag), f"{node.tag} is in the tree.")


async def change(request: Request) -> Response:
    """Several changes at once, as text: nodes, attachments, topics, remove."""
    form = await form_of(request)
    try:
        await _carry_out(request, shaped(ModelPiece, from_text(form.get("piece", ""))), "model changed")
    except Faulty as faulty:
        return await _shown(request, form, faulty.faults)
    except Refused as refusal:
        return await _shown(request, form, of_refusal(refusal))
    return go(_path(request, ""), "All of it is changed.")


async def check(request: Request) -> Response:
    """Whether the text of several changes has the form that is expected; asked for while somebody types."""
    faults: list[Fault] = []
    await changing.looked_at(console_of(request).administration, caller_of(request), request.path_params["gcid"])
    try:
        shaped(ModelPiece, from_text((await form_of(request)).get("piece", "")))
    except Faulty as faulty:
        faults = faulty.faults
    return show(request, "faults.html", {"faults": faults})


async def _carry_out(request: Request, wish: ModelPiece, reason: str) -> None:
    console, named = console_of(request), request.path_params["gcid"]
    await changing.change(console.administration, caller_of(request), named, piece_of(wish), reason)


async def _shown(
    request: Request, form: Mapping[str, str] | None = None, faults: list[Fault] | None = None
) -> Response:
    console, caller, asked = console_of(request), caller_of(request), request.query_params
    looked = await changing.looked_at(console.administration, caller, request.path_params["gcid"])
    own = changing.own_services(caller, console.directory)
    index, sight = looked.index, Sight(caller=caller, looked=looked, directory=console.directory, own=own)
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
        "services": offered(caller, console.directory),
    }
    if index is not None:
        values |= _tree(index, sight, asked.get("from", ""), asked.get("after", "")) | _received(
            console, sight, index, values["asked"]
        )
    return show(request, "model.html", values, 422 if faults or values["fault"] else 200)


def _tree(index: ModelIndex, sight: Sight, tag: str, after: str) -> dict[str, Any]:
    tag = tag if tag in index else index.tree.root.tag
    branch, last = sight.branch(index, tag, after)
    return {
        "branch": branch,
        "following": f"?{urlencode({'from': tag, 'after': last})}" if last else "",
        "way": path_to(index, tag)[:-1],
        "beside": [sight.attached(one) for one in sight.may_see(index.beside())[:RECEIVERS_MOST]],
    }


def _received(console: Console, sight: Sight, index: ModelIndex, asked: Mapping[str, str]) -> dict[str, Any]:
    """Who would receive a message on a topic, if that is asked."""
    if not asked["topic"]:
        return {}
    try:
        found = _reception(console, sight.caller, index, asked)
    except Refused as refusal:
        return {"fault": refusal.detail}
    found = changing.heard(found, sight.looked.service, console.directory)
    seen = sight.may_see(found.receivers)[:RECEIVERS_MOST]
    return {
        "received": {
            "reception": found,
            "total": len({one.service for one in found.receivers}),
            "rows": [(sight.attached(one), path_to(index, one.node)) for one in seen],
            "shadowed": [
                (tag, [sight.attached(one) for one in sight.may_see(producers)])
                for tag, producers in found.shadowing[:SHADOWS_MOST]
            ],
        }
    }


def _reception(console: Console, caller: Caller, index: ModelIndex, asked: Mapping[str, str]) -> Reception:
    if asked["sender"]:
        sender = visible_service(caller, console.directory, asked["sender"]).gcid
        return reception_from(index, sender, asked["topic"], asked["node"])
    return reception_at(index, asked["node"] or index.tree.root.tag, asked["topic"])


def _sees(caller: Caller, model: Service, directory: Directory) -> bool:
    if caller.operator or caller.organization.casefold() == model.organization.casefold():
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
    """Topics, one in each line."""
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
