"""The arguments of a hosted service's invocation, with clear errors for missing or invalid ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from postroad.core.model.message import Argument
from postroad.errors import Refused

PREFIX = "xmlns:"  # xmlns:po = urn:po declares the prefix po for paths in other arguments


class Arguments:
    """The arguments by name."""

    __slots__ = ("_given",)

    def __init__(self, given: tuple[Argument, ...]) -> None:
        self._given = {argument.name: argument.value for argument in given}

    def get(self, name: str, default: str = "") -> str:
        return self._given.get(name) or default

    def require(self, name: str) -> str:
        value = self._given.get(name, "")
        if not value:
            raise bad_argument(
                name, f"The argument {name!r} is missing; set it where the service is inserted or addressed"
            )
        return value

    def choice(self, name: str, allowed: Collection[str], default: str = "") -> str:
        value = self.get(name, default)
        if value not in allowed:
            raise bad_argument(name, f"The argument {name!r} is {value[:40]!r}; use one of {', '.join(allowed)}")
        return value

    def others(self, known: Collection[str]) -> dict[str, str]:
        """Return the arguments that neither the service nor its paths use."""
        named = self._given.items()
        return {name: value for name, value in named if name not in known and not name.startswith(PREFIX)}

    @property
    def namespaces(self) -> Mapping[str, str]:
        return {name.removeprefix(PREFIX): uri for name, uri in self._given.items() if name.startswith(PREFIX)}


def bad_argument(name: str, detail: str) -> Refused:
    return Refused("value.invalid", detail, pointer=f"/arguments/{name}")
