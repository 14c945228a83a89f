"""Rules, assets and explanations in the client: the requests and their sequences.

Rule: replacing reads the current version first, in the same conversation, so that two clients that change the same
rule at the same moment do not overwrite each other unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.steps import ApiRequest, RequestOutcome, Talk
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.asset import AssetKind
from postroad.core.model.message import Message
from postroad.core.resources.base import Page
from postroad.core.resources.explanations import ExplanationView, TrialView
from postroad.core.resources.messages import Found, FoundPage
from postroad.core.resources.services import AssetPage, AssetView, ReleaseView
from postroad.errors import Refused

PAGE = 200
MEDIA_TYPES = {
    AssetKind.STYLESHEET: "application/xslt+xml",
    AssetKind.TABLE: "text/csv",
    AssetKind.LIST: "application/json",
    AssetKind.MAP: "application/json",
    AssetKind.QUERY: "text/plain",
    AssetKind.SCRIPT: "text/plain",
    AssetKind.SCHEMA: "application/xml",
    AssetKind.DTD: "application/xml-dtd",
    AssetKind.JSONSCHEMA: "application/schema+json",
}
DRAWINGS = {"json": "application/json", "text": "text/plain", "svg": "image/svg+xml"}

Value = dict[str, Any]


def service_path(service: str, *steps: str) -> str:
    """Return the path of a service's resource; the service is named by GCID or address."""
    return "/".join(["/v1/services", quote(service), *(quote(step, safe="") for step in steps)])


Item = TypeVar("Item")


class _ValuePage(Page[Any]):
    """Items of any kind, as dicts."""


def list_all(talks: Conversations, path: str, **query: str) -> Talk[list[Value]]:
    """Return all items of a list, over all pages."""
    return (yield from list_items(talks, path, _ValuePage, 0, **query))


def list_first(talks: Conversations, path: str, most: int, /, **query: str) -> Talk[list[Value]]:
    """Return the first items of a list, over several pages; 0 means all."""
    return (yield from list_items(talks, path, _ValuePage, most, **query))


def list_items(talks: Conversations, path: str, kind: type[Page[Item]], most: int, /, **query: str) -> Talk[list[Item]]:
    """Return the first items of a list of resources, over several pages; 0 means all."""
    items: list[Item] = []
    cursor = ""
    while True:
        limit = min(most - len(items), PAGE) if most else PAGE
        page = yield from talks.ask(requests.read(path, limit=limit, cursor=cursor, **query), responses.parser(kind))
        items += page.items
        cursor = page.next or ""
        if not cursor or (most and len(items) >= most):
            return items


def find(talks: Conversations, text: str, most: int) -> Talk[list[Found]]:
    """Return the first results of a search; 0 means all."""
    return list_items(talks, "/v1/find", FoundPage, most, q=text)


def release(talks: Conversations, service: str) -> Talk[ReleaseView]:
    request = requests.change("POST", service_path(service, "release"), None, doubles=True)
    return talks.ask(request, responses.parser(ReleaseView))


# ---- rules


def save_rule(talks: Conversations, service: str, rule: Mapping[str, Any]) -> Talk[Value]:
    """Create the rule or replace the one of that name; ``place`` moves it."""
    wish = {name: value for name, value in rule.items() if name != "version"}
    current = yield from load_existing(talks, service_path(service, "rules", str(wish.get("name", ""))))
    if current is None:
        made: Value = yield from talks.value(send_change("POST", service_path(service, "rules"), wish))
        return made
    place = wish.pop("place", None)
    path = service_path(service, "rules", current["name"])
    saved: Value = yield from talks.value(send_change("PUT", path, wish, version=current["version"]))
    if place is None or place == saved["place"]:
        return saved
    moved: Value = yield from talks.value(send_change("PATCH", path, {"place": place}, version=saved["version"]))
    return moved


def adjust_rule(talks: Conversations, service: str, name: str, **wish: Any) -> Talk[Value]:
    """Enable, disable or move a rule."""
    path = service_path(service, "rules", name)
    current: Value = yield from talks.value(requests.read(path))
    changed: Value = yield from talks.value(send_change("PATCH", path, wish, version=current["version"]))
    return changed


def remove_rule(talks: Conversations, service: str, name: str) -> Talk[None]:
    path = service_path(service, "rules", name)
    current: Value = yield from talks.value(requests.read(path))
    yield from talks.value(send_change("DELETE", path, None, version=current["version"]))


def load_existing(talks: Conversations, path: str) -> Talk[Value | None]:
    """Return a resource, or None if it does not exist."""
    try:
        found: Value = yield from talks.value(requests.read(path))
    except Refused as refused:
        if refused.code != "not-found":
            raise
        return None
    return found


# ---- assets


def list_assets(talks: Conversations, service: str, kind: str) -> Talk[list[AssetView]]:
    return list_items(talks, service_path(service, "assets"), AssetPage, 0, kind=kind)


def load_asset(talks: Conversations, service: str, kind: str, name: str) -> Talk[str]:
    answer = yield from talks.ask(_file(service_path(service, "assets", kind, name)), responses.require_success)
    return answer.body.decode()


def save_asset(
    talks: Conversations, service: str, kind: str, name: str, content: str, description: str | None
) -> Talk[AssetView]:
    """Create the asset or replace the one of that name."""
    path = service_path(service, "assets", kind, name)
    version = yield from _version_of(talks, path)
    condition = ("If-Match", version) if version else ("If-None-Match", "*")
    headers = (("Content-Type", MEDIA_TYPES[AssetKind(kind)]), ("Accept", "*/*"), condition)
    described = "" if description is None else f"?description={quote(description, safe='')}"
    request = ApiRequest(method="PUT", path=path + described, headers=headers, body=content.encode())
    return (yield from talks.ask(request, responses.parser(AssetView)))


def remove_asset(talks: Conversations, service: str, kind: str, name: str) -> Talk[None]:
    path = service_path(service, "assets", kind, name)
    answer = yield from talks.ask(_file(path), responses.require_success)
    yield from talks.value(
        ApiRequest(method="DELETE", path=path, headers=(("If-Match", answer.headers.get("etag", "")),))
    )


def _version_of(talks: Conversations, path: str) -> Talk[str]:
    """Return the current ETag; '' if the resource does not exist."""
    try:
        answer = yield from talks.ask(_file(path), responses.require_success)
    except Refused as refused:
        if refused.code != "not-found":
            raise
        return ""
    return answer.headers.get("etag", "")


def _file(path: str) -> ApiRequest:
    return ApiRequest(method="GET", path=path, headers=(("Accept", "*/*"),))


# ---- explanations


def explain(message: Message, form: str) -> ApiRequest:
    headers = (("Content-Type", "application/json"), ("Accept", DRAWINGS[form]))
    return ApiRequest(method="POST", path="/v1/explain", headers=headers, body=JSON_FORM.encode_post(message))


def explanation(session: str, form: str) -> ApiRequest:
    path = f"/v1/messages/{quote(session, safe='')}/explanation"
    return ApiRequest(method="GET", path=path, headers=(("Accept", DRAWINGS[form]),))


def parse_explanation(outcome: RequestOutcome) -> Any:
    """Return the explanation: JSON decoded, drawings as text."""
    answer = responses.require_success(outcome)
    if answer.headers.get("content-type", "").startswith("application/json"):
        return responses.parse_as(answer, ExplanationView)
    return answer.body.decode()


def parse_trial(outcome: RequestOutcome) -> TrialView:
    return responses.parse_as(outcome, TrialView)


def build_trial(wish: Mapping[str, Any]) -> ApiRequest:
    return requests.change("POST", "/v1/try", wish)


def send_change(method: str, path: str, value: Any, *, version: int = 0) -> ApiRequest:
    return requests.change(method, path, value, version=f'"{version}"' if version else "")
