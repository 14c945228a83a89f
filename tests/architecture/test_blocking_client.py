"""The blocking client is what its generator makes of the asynchronous one."""

from __future__ import annotations

import pytest

from scripts import blocking_client
from scripts.blocking_client import BY_HAND, HEAD, TARGET, convert, format_source, render

ASYNCHRONOUS = '''"""Runs things with asyncio."""

from postroad.client.nonblocking.runner import AsyncConversationRunner


class AsyncThings:
    async def __aenter__(self) -> AsyncThings:
        return self  # awaited in ``async with``

    async def every(self, *names: str) -> list[str]:
        """Await each of them."""
        return [await self.run(name) for name in names if (await self.run(name)) != "await"]
'''
BLOCKING = '''"""Runs things with asyncio."""

from postroad.client.blocking.runner import ConversationRunner


class Things:
    def __enter__(self) -> Things:
        return self  # awaited in ``async with``

    def every(self, *names: str) -> list[str]:
        """Await each of them."""
        return [self.run(name) for name in names if (self.run(name)) != "await"]
'''


def test_the_blocking_client_is_current() -> None:
    rendered = render()
    assert {path.name for path in rendered} | BY_HAND == {path.name for path in TARGET.glob("*.py")}
    for path, text in rendered.items():
        assert path.read_text() == text, "run `python -m scripts.blocking_client` and commit"
        assert text.startswith(HEAD.format(name=path.name))


def test_keywords_and_names_are_converted_and_texts_are_not() -> None:
    assert convert(ASYNCHRONOUS) == BLOCKING
    assert format_source(BLOCKING) == BLOCKING


def test_a_text_that_occurs_nowhere_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(blocking_client.TEXTS, "words that no module has", "")
    with pytest.raises(ValueError, match="words that no module has"):
        render()
