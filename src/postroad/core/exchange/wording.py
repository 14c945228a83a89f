"""How a binding is decided, in words."""

from __future__ import annotations

from postroad.core.exchange.matching import Explanation
from postroad.core.model.exchange import Binding


def explained(binding: Binding, found: Explanation | None) -> str:
    """In words, also where a binding takes part in nothing."""
    if found is not None:
        return str(found)
    if not binding.enabled:
        return "switched off: nothing goes this way"
    return f"the routing {binding.routing} is not installed: nothing goes this way"
