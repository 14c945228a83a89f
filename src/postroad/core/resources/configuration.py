"""Plans of configuration changes, and the versions of configuration objects."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from postroad.core.resources.base import Page, Resource, one_of


class FieldView(Resource, kw_only=True):
    field: str
    before: Any = None
    after: Any = None
    resets: Annotated[bool, Meta(description="The document does not name this field, so it returns to its default")] = (
        False
    )


class StepView(Resource, kw_only=True):
    """One object that is added, changed or removed."""

    action: Annotated[str, one_of("add", "change", "remove")]
    kind: str
    name: str
    fields: tuple[FieldView, ...] = ()


class WarningView(Resource, kw_only=True):
    pointer: str
    detail: str


class PlanView(Resource, kw_only=True):
    """The changes that a document makes; ``version`` identifies the plan, so that exactly it is applied."""

    version: str
    add: int = 0
    change: int = 0
    remove: int = 0
    steps: tuple[StepView, ...] = ()
    warnings: Annotated[tuple[WarningView, ...], Meta(description="Problems that do not prevent the plan")] = ()
    applied: bool = False

    def resets(self) -> dict[str, list[str]]:
        """Return the fields that return to their defaults, by object, because the document omits them."""
        found = {step.name: [item.field for item in step.fields if item.resets] for step in self.steps}
        return {name: fields for name, fields in found.items() if fields}


class VersionView(Resource, kw_only=True):
    version: int
    at: str
    by: str
    reason: str
    removed: bool
    value: dict[str, Any] | None


class VersionPage(Page[VersionView]):
    """Versions of a configuration object, newest first."""
