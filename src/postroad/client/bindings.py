"""The bindings API of the client: bind queues to exchanges, list, try and remove bindings.

    with Client(…) as network:
        network.bindings.bind("Acme/Orders", "North/Desk", query="$msg/order/region = 'north'", name="north")
        for binding in network.bindings.list("Acme/Orders"):
            print(binding.name, binding.state.matched, binding.state.errors)

Rule: the conversations exist once, and the two shells only run them. Replacing reads the current version first, in
the same conversation.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.responses import parser
from postroad.client.routing import list_items, load_existing, send_change, service_path
from postroad.client.steps import ApiRequest, Talk
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message
from postroad.core.resources.bindings import (
    BindingExplanation,
    BindingPage,
    BindingView,
    ListedBinding,
    TrialResult,
)

Value = dict[str, Any]
WRITTEN = {"routing_key": "routingKey"}


class BindingFields(TypedDict, total=False):
    """The fields of a binding: a routing key and at most one of query, script and routing; none matches all."""

    query: str
    script: str
    routing: str
    routing_key: str
    description: str
    enabled: bool


class BindingConversations:
    """The request sequences of the bindings API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def list_bindings(self, exchange: str, queue: str) -> Talk[list[ListedBinding]]:
        return list_items(self._talks, service_path(exchange, "bindings"), BindingPage, 0, queue=queue)

    def read(self, exchange: str, name: str) -> Talk[BindingView]:
        return self._talks.ask(requests.read(service_path(exchange, "bindings", name)), parser(BindingView))

    def explain(self, exchange: str, name: str) -> Talk[BindingExplanation]:
        path = service_path(exchange, "bindings", name, "explanation")
        return self._talks.ask(requests.read(path), parser(BindingExplanation))

    def bind(self, exchange: str, queue: str, name: str, wanted: BindingFields) -> Talk[BindingView]:
        """Create the binding, or replace the one with its name; without a name, equal bindings are created only once."""
        wish = {"queue": queue} | _written(wanted)
        current = (yield from load_existing(self._talks, service_path(exchange, "bindings", name))) if name else None
        if current is None:
            named = {"name": name} if name else {}
            request = send_change("POST", service_path(exchange, "bindings"), wish | named)
        else:
            path = service_path(exchange, "bindings", current["name"])
            request = send_change("PUT", path, wish, version=current["version"])
        return (yield from self._talks.ask(request, parser(BindingView)))

    def switch(self, exchange: str, name: str, enabled: bool) -> Talk[BindingView]:
        current = yield from self.read(exchange, name)
        wish = {field: value for field, value in dict(current).items() if field not in ("name", "version")}
        path = service_path(exchange, "bindings", current.name)
        request = send_change("PUT", path, wish | {"enabled": enabled}, version=current.version)
        return (yield from self._talks.ask(request, parser(BindingView)))

    def unbind(self, exchange: str, name: str) -> Talk[None]:
        current = yield from self.read(exchange, name)
        path = service_path(exchange, "bindings", current.name)
        yield from self._talks.value(send_change("DELETE", path, None, version=current.version))

    def try_out(self, exchange: str, on: Message | str, wanted: BindingFields) -> Talk[TrialResult]:
        return self._talks.ask(build_trial(exchange, on, wanted), parser(TrialResult))


def build_trial(exchange: str, on: Message | str, wanted: BindingFields) -> ApiRequest:
    """``on`` is a message, or the session of one that was posted."""
    subject = {"session": on} if isinstance(on, str) else {"message": msgspec.json.decode(JSON_FORM.encode_post(on))}
    wish = subject | ({"binding": _written(wanted)} if wanted else {})
    return requests.change("POST", service_path(exchange, "bindings", "try"), wish)


def _written(wanted: BindingFields) -> Value:
    return {WRITTEN.get(name, name): value for name, value in wanted.items() if value != ""}
