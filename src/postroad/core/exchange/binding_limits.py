"""Limits on the number of bindings: per exchange, per queue, and of those evaluated for every message.

The last are expensive: a query that the matcher cannot prefilter is evaluated by the engine for every message.
"""

from __future__ import annotations

MAX_PER_EXCHANGE = 100_000
MAX_PER_QUEUE = 10_000  # over all exchanges
MAX_ALWAYS_EVALUATED = 100  # of a queue at one exchange


def find_exceeded_limit(*, of_exchange: int, of_queue: int, always: int) -> str:
    """Return a text about the limit that these numbers of bindings exceed; empty if none."""
    if of_exchange > MAX_PER_EXCHANGE:
        return f"An exchange has at most {MAX_PER_EXCHANGE} bindings; bind to another exchange, or combine queries"
    if of_queue > MAX_PER_QUEUE:
        return f"A queue has at most {MAX_PER_QUEUE} bindings; remove some, or combine queries"
    if always > MAX_ALWAYS_EVALUATED:
        return (
            f"Of the bindings of a queue at an exchange, at most {MAX_ALWAYS_EVALUATED} may be evaluated for every message; "
            "add a routing key, or a condition that can be looked up first: `postroad bindings explain` shows which"
        )
    return ""
