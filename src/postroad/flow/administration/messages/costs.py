"""The cost of a message to the caller's organization, or to each one for operators.

Rule: an organization sees only its own charges, as its invoice will list them, and nothing about others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroad.core.billing.quotes import Quote, list_quotes
from postroad.core.billing.uses import list_uses
from postroad.core.model.caller import Caller
from postroad.core.model.journal import Entry, InvocationReturned, decode
from postroad.core.projection.queries import CONTENT, MESSAGE
from postroad.flow.administration.messages import message_list as reading
from postroad.flow.network import Network

Row = tuple[Any, ...]
HEADER, TRANSACTION, FACTS = MESSAGE.index("header"), MESSAGE.index("transaction_id"), CONTENT.index("facts")


async def quote_costs(network: Network, caller: Caller, session: str) -> list[Quote]:
    """Return the quotes for one visible message, including the services on its way."""
    await reading.load_message(network, caller, session)
    directory = network.directory
    owners = {gcid: service.organization for gcid, service in directory.services.items()}
    found = list_quotes(list_uses(await _entries(network, session)), directory.tariffs, owners, directory.books)
    return [one for one in found if caller.can_view(one.organization)]


async def _entries(network: Network, session: str) -> list[tuple[int, Entry]]:
    rows = await network.index.query("message", network.tokens.pseudonyms.real_session(session))
    if not rows:
        return []
    contents = await network.index.query("transaction_contents", rows[0][TRANSACTION])
    return [(rows[0][0], decode(rows[0][HEADER])), *_returned(rows[0][0], contents)]


def _returned(message: int, contents: list[Row]) -> Iterator[tuple[int, Entry]]:
    for row in contents:
        entry = decode(row[FACTS])
        if isinstance(entry, InvocationReturned) and entry.message == message:
            yield row[0], entry
