"""The navigation menu of every page; add a line here for a new page."""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.directory import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    path: str
    title: str

    def is_at(self, path: str) -> bool:
        """Whether a page belongs to this item."""
        return path == self.path or (self.path != "/" and path.startswith(f"{self.path}/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationGroup:
    title: str
    items: tuple[NavigationItem, ...]  # not a method of dict, and templates read it as an attribute


MAIN = NavigationGroup(
    title="",
    items=(
        NavigationItem(path="/", title="Overview"),
        NavigationItem(path="/live", title="Live"),
        NavigationItem(path="/messages", title="Messages"),
        NavigationItem(path="/dead-letters", title="Dead letters"),
        NavigationItem(path="/services", title="Services"),
        NavigationItem(path="/directory", title="Directory"),
    ),
)
ROUTING = NavigationGroup(
    title="Routing",
    items=(
        NavigationItem(path="/rules", title="Rules"),
        NavigationItem(path="/exchanges", title="Exchanges"),
        NavigationItem(path="/models", title="Models"),
        NavigationItem(path="/batches", title="Batches"),
        NavigationItem(path="/test", title="Test"),
    ),
)
ANALYTICS = NavigationGroup(
    title="Analytics",
    items=(
        NavigationItem(path="/reports", title="Reports"),
        NavigationItem(path="/billing", title="Billing"),
    ),
)
SETTINGS = NavigationGroup(
    title="Settings",
    items=(
        NavigationItem(path="/organization", title="Organization"),
        NavigationItem(path="/secrets", title="Secrets"),
        NavigationItem(path="/account", title="Account"),
        NavigationItem(path="/notifications", title="Notifications"),
        NavigationItem(path="/support", title="Support"),
    ),
)
OPERATOR_SETTINGS = NavigationGroup(title="Settings", items=SETTINGS.items[2:])  # they belong to no organization
OPERATORS = NavigationGroup(
    title="Network",
    items=(
        NavigationItem(path="/operators/organizations", title="Organizations"),
        NavigationItem(path="/operators/health", title="Health"),
        NavigationItem(path="/operators/audit", title="Audit"),
        NavigationItem(path="/tariffs", title="Tariffs"),
        NavigationItem(path="/whatif", title="What if"),
    ),
)


def navigation_groups(person: Person) -> tuple[NavigationGroup, ...]:
    if person.operator:
        return (MAIN, ROUTING, ANALYTICS, OPERATOR_SETTINGS, OPERATORS)
    return (MAIN, ROUTING, ANALYTICS, SETTINGS)
