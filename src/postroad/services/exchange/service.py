"""Exchange service: sends a message to every queue with a matching binding.

The content is the first document; header items are variables. Each binding matches, does not match, or returns a
replacement (``binding_matches``). An error means no match, and is counted at its binding with its text. A message is
refused if it is invalid by the exchange's own schema, or if it cannot be read and therefore matched no binding.
"""

from __future__ import annotations

from postroad.core.delivery.reasons import reason_text
from postroad.core.exchange.exchange import BoundExchange
from postroad.core.exchange.header_items import header_items
from postroad.core.model.message import Delivered, Property, PropertyType
from postroad.core.routing.forward import Forward
from postroad.flow.stages.forward import ForwardResult
from postroad.services.exchange.binding_matches import (
    ERROR_CHARS,
    build_incoming,
    choose_content,
    find_matches,
    is_unwanted,
    require_readable,
)
from postroad.services.hosting.off_loop import run_off_loop
from postroad.services.service import ServiceResult, Tools
from postroad.services.validation import require_valid

COPIES = "exchange.copies"


class ExchangeService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        items = header_items(
            message.properties,
            topic=message.topic,
            sender=message.sender,
            type=message.type.value,
            handle=message.handle,
        )
        exchange = await tools.exchanges.load(tools.service.gcid)
        content = choose_content(message.parts)
        if tools.service.validates:
            await require_valid(content, tools.service.validates, tools)
        looked_at = build_incoming(content, items)
        found = await find_matches(await exchange.select_off_loop(looked_at), content, items, tools.judges)
        for one in found:
            if one.error:
                exchange.tally(one.binding).fail(one.error, tools.now_us())
        if is_unwanted(found, exchange):
            await run_off_loop(len(content.data), require_readable, looked_at, content)
        forwards = [Forward(one.binding.queue, one.binding.name, one.part) for one in found if not one.error]
        return ServiceResult(forwards=tuple(forwards))

    async def finish_forward(self, returned: ServiceResult, onward: ForwardResult, tools: Tools) -> ServiceResult:
        """Count the sent messages, and return the result to a requester."""
        exchange = await tools.exchanges.load(tools.service.gcid)
        _count(exchange, returned, onward, tools)
        return ServiceResult(parts=(), properties=(Property(COPIES, str(onward.copies), PropertyType.NUMBER),))


def _count(exchange: BoundExchange, returned: ServiceResult, onward: ForwardResult, tools: Tools) -> None:
    faults = dict(onward.faults)
    for one in returned.forwards or ():
        binding = tools.directory.binding(tools.service.gcid, one.chosen_by)
        if binding is None:
            continue
        if fault := faults.get(one.chosen_by):
            exchange.tally(binding).fail(reason_text(fault)[:ERROR_CHARS], tools.now_us())
        else:
            exchange.tally(binding).match(tools.now_us())
