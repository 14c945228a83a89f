"""How many bindings there may be: of an exchange, of a queue, and of those that every message must be evaluated for.

The last are the dear ones: what the matcher cannot sort out beforehand costs the engine a look at every message.
"""

from __future__ import annotations

EXCHANGE_MOST = 100_000
QUEUE_MOST = 10_000  # over all exchanges
ALWAYS_MOST = 100  # of a queue at one exchange


def too_many(*, of_exchange: int, of_queue: int, always: int) -> str:
    """Why a binding is one too many, when there are so many with it; empty when it is not."""
    if of_exchange > EXCHANGE_MOST:
        return f"An exchange has at most {EXCHANGE_MOST} bindings; bind to another exchange, or let one query say more"
    if of_queue > QUEUE_MOST:
        return f"A queue has at most {QUEUE_MOST} bindings; unbind some, or let one query say more"
    if always > ALWAYS_MOST:
        return (
            f"Of the bindings of a queue at an exchange, at most {ALWAYS_MOST} may be evaluated for every message; "
            "give them a routing key, or a condition that can be looked up first: `postroad bindings explain` says which"
        )
    return ""
