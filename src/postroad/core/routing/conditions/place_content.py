"""The content at one location in a message: texts, and elements with their own content.

Rule: content is converted to text only when it is compared or shown, and then no further than needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Canonical = Callable[[int], str]  # returns canonical content, cut to this many characters

SHOWN_CHARS = 200
MAX_SHOWN = 20
CUT = "…"  # marks a cut text


class PlaceValue(NamedTuple):
    """One node: its characters or, for element content, the beginning of its canonical form."""

    text: str
    elements: bool = False


class PlaceContent:
    """Everything at one location; a path may lead to several nodes."""

    __slots__ = ("contents", "names", "texts")

    def __init__(
        self,
        texts: tuple[str, ...] = (),
        *,
        contents: tuple[Canonical, ...] = (),
        names: frozenset[str] = frozenset(),
    ) -> None:
        self.texts = texts
        self.contents = contents  # of the nodes that have element content
        self.names = names  # for services: all their names, in lower case

    def __bool__(self) -> bool:
        return bool(self.texts or self.contents)

    def values(self) -> tuple[PlaceValue, ...]:
        shown = (PlaceValue(content(SHOWN_CHARS + 1), True) for content in self.contents[:MAX_SHOWN])
        return (*(PlaceValue(text) for text in self.texts), *shown)

    def texts_shown(self) -> tuple[str, ...]:
        return _shown(self.texts)

    def contents_shown(self) -> tuple[str, ...]:
        return _shown(tuple(content(SHOWN_CHARS + 1) for content in self.contents[: MAX_SHOWN + 1]))

    def names_shown(self) -> tuple[str, ...]:
        return _shown(tuple(sorted(self.names)))


def _shown(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts as stored in an explanation; a cut text or list has one item more than the limit."""
    # str, because JsonNumber is not stored as such.
    shown = tuple(str(text) if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + CUT for text in texts[:MAX_SHOWN])
    return shown if len(texts) <= MAX_SHOWN else (*shown, CUT)


NO_CONTENT = PlaceContent()
