"""The book of exchanges: what it gives has every binding that there is, whatever happens while an exchange is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from postroad.core.exchange.match.matcher import MatchableMessage
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import ChangeFollower
from postroad.flow.registries.exchanges import AT_ONCE, ExchangeRegistry
from postroad.flow.registries.open_exchange import OpenExchange

EXCHANGE, QUEUE = "e" * 16, "a" * 16
MANY = 2 * AT_ONCE


class Changing:
    """A configuration as far as followers see it, with many bindings of one exchange."""

    def __init__(self) -> None:
        self._directory = Directory()
        self._followers: list[ChangeFollower] = []
        self.change(*(f"b{number:03d}" for number in range(MANY)))

    def directory(self) -> Directory:
        return self._directory

    def follow(self, follower: ChangeFollower) -> None:
        self._followers.append(follower)

    def change(self, *names: str, gone: bool = False) -> None:
        values = [None if gone else {"exchange": EXCHANGE, "name": name, "queue": QUEUE} for name in names]
        changes = [
            ObjectChange("binding", binding_key(EXCHANGE, name), 1, value)
            for name, value in zip(names, values, strict=True)
        ]
        self._directory = self._directory.apply_changes(changes, 1)
        for follower in self._followers:
            follower(self._directory, changes)


@pytest.fixture
def configuration() -> Changing:
    return Changing()


def names(exchange: OpenExchange) -> Iterator[str]:
    met = exchange.select(MatchableMessage(headers={}, content=b"", root=lambda: pytest.fail("nobody looks inside")))
    return (binding.name for binding in met.decided)


@pytest.mark.req("X6")
async def test_bindings_that_come_and_go_while_it_is_opened_are_in_it_or_not(configuration: Changing) -> None:
    book = ExchangeRegistry(configuration)  # type: ignore[arg-type]
    opening = [asyncio.create_task(book.load(EXCHANGE)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    configuration.change("b000", f"b{MANY - 1:03d}", gone=True)  # one that is bound by now, and one that is not
    configuration.change("new")
    first, second = await asyncio.gather(*opening)
    assert first is second
    assert [*names(first)] == [*(f"b{number:03d}" for number in range(1, MANY - 1)), "new"]


async def test_an_exchange_that_could_not_be_opened_is_opened_anew(
    configuration: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = ExchangeRegistry(configuration)  # type: ignore[arg-type]
    really_save = OpenExchange.save

    def save(exchange: OpenExchange, binding: Binding, directory: Directory) -> None:
        if binding.name == "b150":
            raise MemoryError
        really_save(exchange, binding, directory)

    with monkeypatch.context() as short_of_memory:
        short_of_memory.setattr(OpenExchange, "save", save)
        with pytest.raises(MemoryError):
            await book.load(EXCHANGE)
    assert len(await book.load(EXCHANGE)) == MANY
