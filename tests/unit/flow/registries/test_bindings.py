"""The book of bindings knows, after any changes, what looking at every binding would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.bindings import BindingRegistry
from postroad.flow.registries.configuration import ChangeFollower

SERVICES = [digit * 16 for digit in "abc"]
CHANGES = st.tuples(st.sampled_from(SERVICES), st.sampled_from(["n", "N", "o"]), st.sampled_from([*SERVICES, None]))


class Changing:
    """A configuration as far as followers see it."""

    def __init__(self) -> None:
        self.directory = Directory()
        self._followers: list[ChangeFollower] = []

    def follow(self, follower: ChangeFollower) -> None:
        self._followers.append(follower)

    def change(self, exchange: str, name: str, queue: str | None) -> None:
        value = None if queue is None else {"exchange": exchange, "name": name, "queue": queue}
        changes = [ObjectChange("binding", binding_key(exchange, name), 1, value)]
        self.directory = self.directory.apply_changes(changes, 1)
        for follower in self._followers:
            follower(self.directory, changes)


@given(st.lists(CHANGES, max_size=30))
def test_the_binding_registry_agrees_with_the_directory_after_any_changes(
    changes: list[tuple[str, str, str | None]],
) -> None:
    configuration = Changing()
    book = BindingRegistry(configuration)  # type: ignore[arg-type]
    for change in changes:
        configuration.change(*change)
    everything: list[Binding] = list(configuration.directory.bindings.values())
    for service in SERVICES:
        assert book.list_bindings(service) == configuration.directory.bindings_of(service)
        assert book.list_bindings(service) == configuration.directory.bindings_of(service), "asked again"
        assert book.count(service) == len(configuration.directory.bindings.of(service))
        mine = [one for one in everything if one.queue == service]
        assert book.of_queue(service) == {binding_key(one.exchange, one.name) for one in mine}
        assert _keys(book.at(SERVICES[0], [service])) == _keys([one for one in mine if one.exchange == SERVICES[0]])
        concerning = [one for one in everything if service in (one.exchange, one.queue)]
        assert _keys(book.concerning(service)) == _keys(concerning)


def _keys(bindings: list[Binding]) -> list[tuple[str, str]]:
    return sorted((one.exchange, one.name) for one in bindings)
