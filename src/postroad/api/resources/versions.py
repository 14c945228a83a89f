"""The versions that a configuration object ever had, from the journal's own record of them."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from postroad.api.pagination import PageQuery
from postroad.api.resources.context import ApiContext, page_answer, paged
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import Shape
from postroad.core.configuration.written import written
from postroad.core.model.caller import Caller
from postroad.flow.object_versions import Version, versions_of

NEWEST = 1 << 40


class VersionView(Shape):
    version: int
    at: str
    by: str
    reason: str
    removed: bool
    value: dict[str, Any] | None


class VersionPage(Shape):
    items: list[VersionView]
    next: str | None = None


async def version_answer(
    request: Request, api: ApiContext, caller: Caller, query: PageQuery, kind: str, key: str
) -> Response:
    found = await versions_of(api.network, kind, key)
    page = paged(request, api, caller, query, found, lambda one: f"{NEWEST - one.version:016d}")
    return page_answer(request, page._replace(items=[_view(one) for one in page.items]))


def _view(one: Version) -> dict[str, Any]:
    return {
        "version": one.version,
        "at": write_time(one.at_us),
        "by": one.by,
        "reason": one.reason,
        "removed": one.removed,
        "value": written(one.value) if one.value is not None else None,
    }
