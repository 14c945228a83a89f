"""Exchange: a message goes to every queue of which a binding says yes.

The content is the first document; header items are variables. Each binding says yes, no, or what to send instead (``matching``).
An error means no, and is counted at its binding with its text. What is not valid by the exchange's own schema, or cannot be read
and therefore met no binding, is refused.
"""

from __future__ import annotations

from postroad.core.exchange.bound import BoundExchange
from postroad.core.exchange.header_items import header_items
from postroad.core.model.message import Delivered, Property, PropertyType
from postroad.core.routing.forwards import Forward
from postroad.flow.forward import Onward
from postroad.services.matching import ERROR_CHARS, content_of, incoming, is_unwanted, matches, require_readable
from postroad.services.off_loop import off_loop
from postroad.services.service import Returned, Tools
from postroad.services.validation import require_valid

COPIES = "exchange.copies"


class ExchangeService:
    async def work(self, message: Delivered, tools: Tools) -> Returned:
        items = header_items(
            message.properties,
            topic=message.topic,
            sender=message.sender,
            type=message.type.value,
            handle=message.handle,
        )
        exchange = await tools.exchanges.opened(tools.service.gcid)
        content = content_of(message.parts)
        if tools.service.validates:
            await require_valid(content, tools.service.validates, tools)
        looked_at = incoming(content, items)
        found = await matches(await exchange.selected(looked_at), content, items, tools.judges)
        for one in found:
            if one.error:
                exchange.tally(one.binding).fail(one.error, tools.now_us())
        if is_unwanted(found, exchange):
            await off_loop(len(content.data), require_readable, looked_at, content)
        forwards = [Forward(one.binding.queue, one.binding.name, one.part) for one in found if not one.error]
        return Returned(forwards=tuple(forwards))

    async def forwarded(self, returned: Returned, onward: Onward, tools: Tools) -> Returned:
        """Count what has gone out, and tell whoever asked."""
        exchange = await tools.exchanges.opened(tools.service.gcid)
        _count(exchange, returned, onward, tools)
        return Returned(parts=(), properties=(Property(COPIES, str(onward.copies), PropertyType.NUMBER),))


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
