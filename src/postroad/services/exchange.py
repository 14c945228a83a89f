"""Exchange: a message goes to every queue of which a binding says yes.

The content is the first document; header items are variables. What the tree of all bindings can decide is decided at once; the
rest is left to the engine, to scripts and to callables of the operator's, each of which says yes, no, or what to send instead. An
error means no, and is counted at its binding with its text.
"""

from __future__ import annotations

import logging
from functools import cache, partial

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.xml import parse
from postroad.core.exchange.bound import BoundExchange, Decider, Language
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.exchange.json_documents import read_json
from postroad.core.exchange.matching import Incoming
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Delivered, Part, Property, PropertyType
from postroad.flow.forward import Forward, Onward
from postroad.ports import Verdict
from postroad.services.service import Returned, Tools

EMPTY = Part(id="1", content_type="application/octet-stream", data=b"")
COPIES = "exchange.copies"
ERROR_CHARS = 500

log = logging.getLogger(__name__)


class ExchangeService:
    async def work(self, message: Delivered, tools: Tools) -> Returned:
        content = content_of(message)
        items = header_items(
            message.properties,
            topic=message.topic,
            sender=message.sender,
            type=message.type.value,
            handle=message.handle,
        )
        exchange = await tools.exchanges.opened(tools.service.gcid)
        selected = exchange.select(incoming(content, items))
        forwards = [Forward(binding.queue, binding.name) for binding in selected.decided]
        verdicts = await _verdicts(selected.asked, content, items, tools)
        for binding, verdict in verdicts:
            if verdict.error:
                exchange.tally(binding).fail(verdict.error[:ERROR_CHARS], tools.now_us())
            elif verdict.goes:
                forwards.append(Forward(binding.queue, binding.name, _made(verdict, content)))
        return Returned(forwards=tuple(forwards))

    async def forwarded(self, returned: Returned, onward: Onward, tools: Tools) -> Returned:
        """Count what has gone out, and tell whoever asked."""
        exchange = await tools.exchanges.opened(tools.service.gcid)
        _count(exchange, returned, onward, tools)
        return Returned(parts=(), properties=(Property(COPIES, str(onward.copies), PropertyType.NUMBER),))


def content_of(message: Delivered) -> Part:
    """What queries know as ``$msg``: the first document, or the first attachment where there is none."""
    documents = [part for part in message.parts if not part.attachment]
    return (documents or list(message.parts) or [EMPTY])[0]


def incoming(content: Part, items: dict[str, TypedItem]) -> Incoming:
    is_json = media_type_of(content.content_type).endswith("json")
    return Incoming(
        headers=items,
        content=content.data,
        root=cache(partial(parse, content.data)),
        json=cache(partial(read_json, content.data)) if is_json else None,
    )


async def _verdicts(
    asked: list[tuple[Binding, Decider]], content: Part, items: dict[str, TypedItem], tools: Tools
) -> list[tuple[Binding, Verdict]]:
    found: list[tuple[Binding, Verdict]] = []
    for language in Language:
        mine = [(binding, decider) for binding, decider in asked if decider.language is language]
        if not mine:
            continue
        judge = tools.judges[language]
        texts = [decider.text for _, decider in mine]
        verdicts = await judge.evaluate(texts, content.data, content.content_type, items)
        found += [(binding, verdict) for (binding, _), verdict in zip(mine, verdicts, strict=True)]
    return found


def _made(verdict: Verdict, content: Part) -> Part | None:
    """What is sent in the content's place; None: nothing, it goes as it came."""
    if verdict.content is None:
        return None
    return Part(id=content.id, content_type=verdict.media_type, data=verdict.content)


def _count(exchange: BoundExchange, returned: Returned, onward: Onward, tools: Tools) -> None:
    faults = dict(onward.faults)
    for one in returned.forwards or ():
        binding = tools.directory.binding(tools.service.gcid, one.chosen_by)
        if binding is None:
            continue
        if fault := faults.get(one.chosen_by):
            exchange.tally(binding).fail(fault[:ERROR_CHARS], tools.now_us())
        else:
            exchange.tally(binding).match(tools.now_us())
