"""What is wrong with the facts that a splitter has agreed on with its partner: names nobody knows, values that say nothing.

Kept rule: a splitter that takes whatever it recognises may have the facts of every standard that is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from postroad.core.configuration.document import Fault
from postroad.core.configuration.facts import written_name
from postroad.core.interchange.agreeing import AGREEABLE
from postroad.core.interchange.catalogue import Catalogue
from postroad.core.model.batch_policy import Splitting


def agreement_faults(splitting: Splitting, here: str, standards: Catalogue) -> Iterator[Fault]:
    """``here`` is where the facts stand."""
    known = _known(splitting, standards)
    for name, text in splitting.facts:
        allowed = AGREEABLE.get(name, ())
        if name not in AGREEABLE and known is not None and name not in known:
            near = get_close_matches(name, (*known, *AGREEABLE), n=3) or sorted(AGREEABLE)
            yield Fault(
                f"{here}/{written_name(name)}", f"it says nothing here; take {', '.join(map(written_name, near))}"
            )
        elif allowed and text not in allowed:
            yield Fault(f"{here}/{written_name(name)}", f"{text[:40]!r} is neither {' nor '.join(allowed)}")


def _known(splitting: Splitting, standards: Catalogue) -> frozenset[str] | None:
    """Names of the standards that may come; None: a plug-in's, of which nobody knows which it takes."""
    names: frozenset[str] = frozenset()
    for one in standards:
        if splitting.standard in ("", one.name):
            if one.facts is None:
                return None
            names |= one.facts
    return names
