"""Match one message against all bindings of an exchange.

Deliveries, trials and warehouse jobs all use this module, so all get the same results. The tree of all bindings
decides what it can; the query engine, scripts and the operator's callables decide the rest. An error means no match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import is_xml
from postroad.core.codecs.recent_trees import tree_of
from postroad.core.exchange.exchange import BindingDecider, BoundExchange, DeciderLanguage, SelectedBindings
from postroad.core.exchange.header_items import TypedItem
from postroad.core.exchange.match.json_documents import read_json
from postroad.core.exchange.match.matcher import MatchableMessage
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Part
from postroad.ports import QueryEngine, QueryVerdict

EMPTY = Part(id="1", content_type="application/octet-stream", data=b"")
ERROR_CHARS = 500

BindingEngines = Mapping[DeciderLanguage, QueryEngine]
Items = Mapping[str, TypedItem]


class BindingMatch(Struct, gc=False, frozen=True):
    """A binding that matches, or that failed with an error."""

    binding: Binding
    part: Part | None = None  # replaces the content; None: the message is unchanged
    error: str = ""


def choose_content(parts: Sequence[Part]) -> Part:
    """Return the content for ``$msg``: the first document, otherwise the first attachment."""
    documents = [part for part in parts if not part.attachment]
    return (documents or list(parts) or [EMPTY])[0]


def build_incoming(content: Part, items: Items) -> MatchableMessage:
    return MatchableMessage(
        headers=items,
        content=content.data,
        root=partial(tree_of, content.data),
        json=cache(partial(read_json, content.data)) if is_json(content) else None,
    )


def require_readable(looked_at: MatchableMessage, content: Part) -> None:
    """Refuse a message that matches no binding because its XML or JSON cannot be read."""
    if looked_at.json is not None:
        looked_at.json()
    elif is_xml(content.content_type):
        looked_at.root()


def is_unwanted(found: Sequence[BindingMatch], exchange: BoundExchange) -> bool:
    """Whether no binding matches, and an unreadable document may be the reason."""
    return exchange.looks_inside and not any(not one.error for one in found)


async def find_matches(
    selected: SelectedBindings, content: Part, items: Items, judges: BindingEngines
) -> list[BindingMatch]:
    """Return all bindings that match this content or fail on it; ``selected`` is the exchange's preselection."""
    found = [BindingMatch(binding) for binding in selected.decided]
    for language in DeciderLanguage:
        mine = [(binding, decider) for binding, decider in selected.asked if decider.language is language]
        if mine:
            found += await _asked(mine, content, items, judges[language])
    return found + find_failures(selected, content)


def find_failures(selected: SelectedBindings, content: Part) -> list[BindingMatch]:
    """Return the bindings that fail because they read XML or JSON that is invalid."""
    if not (is_xml(content.content_type) or is_json(content)):
        return []
    return [BindingMatch(binding, error=selected.fault[:ERROR_CHARS]) for binding in selected.failed]


def is_json(content: Part) -> bool:
    return media_type_of(content.content_type).endswith("json")


async def _asked(
    asked: Sequence[tuple[Binding, BindingDecider]], content: Part, items: Items, judge: QueryEngine
) -> Iterable[BindingMatch]:
    texts = [decider.text for _, decider in asked]
    verdicts = await judge.evaluate(texts, content.data, content.content_type, items)
    told = [(binding, verdict) for (binding, _), verdict in zip(asked, verdicts, strict=True)]
    return [_match(binding, verdict, content) for binding, verdict in told if verdict.goes or verdict.error]


def _match(binding: Binding, verdict: QueryVerdict, content: Part) -> BindingMatch:
    if verdict.error:
        return BindingMatch(binding, error=verdict.error[:ERROR_CHARS])
    if verdict.content is None:
        return BindingMatch(binding)
    return BindingMatch(binding, Part(id=content.id, content_type=verdict.media_type, data=verdict.content))
