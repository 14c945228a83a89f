"""What the side of every page leads to; a page that is built adds its line here."""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.directory import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    path: str
    title: str

    def is_at(self, path: str) -> bool:
        """Whether a page belongs to this item."""
        return path == self.path or (self.path != "/" and path.startswith(f"{self.path}/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    title: str
    items: tuple[Item, ...]  # not a method of dict, and templates read it as an attribute


WORK = Group(
    title="",
    items=(
        Item(path="/", title="Overview"),
        Item(path="/live", title="Live"),
        Item(path="/messages", title="Messages"),
        Item(path="/dead-letters", title="Dead letters"),
        Item(path="/services", title="Services"),
        Item(path="/directory", title="Directory"),
    ),
)
WAYS = Group(
    title="Ways of messages",
    items=(
        Item(path="/rules", title="Rules"),
        Item(path="/exchanges", title="Exchanges"),
        Item(path="/models", title="Models"),
        Item(path="/batches", title="Batches"),
        Item(path="/bench", title="Bench"),
    ),
)
NUMBERS = Group(
    title="Numbers",
    items=(
        Item(path="/reports", title="Reports"),
        Item(path="/billing", title="Billing"),
    ),
)
YOURS = Group(
    title="Yours",
    items=(
        Item(path="/organization", title="Organization"),
        Item(path="/account", title="Account"),
        Item(path="/support", title="Support"),
    ),
)
OPERATORS_OWN = Group(title="Yours", items=YOURS.items[1:])  # they belong to no organization
OPERATORS = Group(
    title="Network",
    items=(
        Item(path="/operators/organizations", title="Organizations"),
        Item(path="/operators/health", title="Health"),
        Item(path="/operators/audit", title="Audit"),
        Item(path="/tariffs", title="Tariffs"),
        Item(path="/whatif", title="What if"),
    ),
)


def navigation(person: Person) -> tuple[Group, ...]:
    return (WORK, WAYS, NUMBERS, OPERATORS_OWN, OPERATORS) if person.operator else (WORK, WAYS, NUMBERS, YOURS)
