"""One message against all bindings of an exchange: which say yes, with what, and which fail.

Whoever asks does it here, be it the exchange on a delivery, somebody who tries a message, or a job over an archive, so all get
the same answers. What the tree of all bindings can decide is decided at once; the rest is left to the engine, to scripts and to
callables of the operator's. An error means no.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import is_xml
from postroad.core.codecs.recent_trees import tree_of
from postroad.core.exchange.bound import BoundExchange, Decider, Language, Selected
from postroad.core.exchange.header_items import TypedItem
from postroad.core.exchange.json_documents import read_json
from postroad.core.exchange.matching import Incoming
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Part
from postroad.ports import QueryEngine, Verdict

EMPTY = Part(id="1", content_type="application/octet-stream", data=b"")
ERROR_CHARS = 500

Judges = Mapping[Language, QueryEngine]
Items = Mapping[str, TypedItem]


class Match(Struct, gc=False, frozen=True):
    """A binding that says yes, or fails."""

    binding: Binding
    part: Part | None = None  # what goes in the content's place; None: the message goes as it came
    error: str = ""


def content_of(parts: Sequence[Part]) -> Part:
    """What queries know as ``$msg``: the first document, or the first attachment where there is none."""
    documents = [part for part in parts if not part.attachment]
    return (documents or list(parts) or [EMPTY])[0]


def incoming(content: Part, items: Items) -> Incoming:
    return Incoming(
        headers=items,
        content=content.data,
        root=partial(tree_of, content.data),
        json=cache(partial(read_json, content.data)) if is_json(content) else None,
    )


def require_readable(looked_at: Incoming, content: Part) -> None:
    """Refuse what nobody wants because nobody could look into it; said of a document that is XML or JSON by its type."""
    if looked_at.json is not None:
        looked_at.json()
    elif is_xml(content.content_type):
        looked_at.root()


def is_unwanted(found: Sequence[Match], exchange: BoundExchange) -> bool:
    """Whether no binding wants a message, and an unreadable document may be the reason."""
    return exchange.looks_inside and not any(not one.error for one in found)


async def matches(selected: Selected, content: Part, items: Items, judges: Judges) -> list[Match]:
    """All bindings that say yes to this content, and those that fail over it; ``selected`` is what the exchange knows of them."""
    found = [Match(binding) for binding in selected.decided]
    for language in Language:
        mine = [(binding, decider) for binding, decider in selected.asked if decider.language is language]
        if mine:
            found += await _asked(mine, content, items, judges[language])
    return found + failures(selected, content)


def failures(selected: Selected, content: Part) -> list[Match]:
    """Return the bindings that fail because they look inside of XML or JSON that cannot be read."""
    if not (is_xml(content.content_type) or is_json(content)):
        return []
    return [Match(binding, error=selected.fault[:ERROR_CHARS]) for binding in selected.failed]


def is_json(content: Part) -> bool:
    return media_type_of(content.content_type).endswith("json")


async def _asked(
    asked: Sequence[tuple[Binding, Decider]], content: Part, items: Items, judge: QueryEngine
) -> Iterable[Match]:
    texts = [decider.text for _, decider in asked]
    verdicts = await judge.evaluate(texts, content.data, content.content_type, items)
    told = [(binding, verdict) for (binding, _), verdict in zip(asked, verdicts, strict=True)]
    return [_match(binding, verdict, content) for binding, verdict in told if verdict.goes or verdict.error]


def _match(binding: Binding, verdict: Verdict, content: Part) -> Match:
    if verdict.error:
        return Match(binding, error=verdict.error[:ERROR_CHARS])
    if verdict.content is None:
        return Match(binding)
    return Match(binding, Part(id=content.id, content_type=verdict.media_type, data=verdict.content))
