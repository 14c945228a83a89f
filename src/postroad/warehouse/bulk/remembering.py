"""An engine that is not asked twice in a row: what was said of a message still holds when it is asked about again at once.

What-if has a message meet the bindings of two configurations, most of which are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroad.ports import ItemValue, QueryEngine, Verdict

About = tuple[bytes, str, str]


class Remembering:
    """Remembers the verdicts about the last message, and those alone."""

    def __init__(self, engine: QueryEngine) -> None:
        self._engine = engine
        self._about: About | None = None
        self._verdicts: dict[str, Verdict] = {}

    async def check(self, query: str) -> None:
        await self._engine.check(query)

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[Verdict]:
        about = (content, media_type, repr(items))  # to Python, true is 1; to a query it is not
        if about != self._about:
            self._about, self._verdicts = about, {}
        new = [query for query in dict.fromkeys(queries) if query not in self._verdicts]
        if new:
            told = await self._engine.evaluate(new, content, media_type, items)
            self._verdicts.update(zip(new, told, strict=True))
        return [self._verdicts[query] for query in queries]
