"""All versions of a configuration object, read from the journal."""

from __future__ import annotations

from fastapi import Request, Response

from postroad.api.pagination import PageQuery
from postroad.api.resources.context import ApiContext, make_page, page_answer
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.object_fields import written_fields
from postroad.core.model.caller import Caller
from postroad.core.resources.base import build_resource
from postroad.core.resources.configuration import VersionView
from postroad.flow.administration.versions import ConfigurationVersion, list_versions

NEWEST = 1 << 40


async def version_answer(
    request: Request, api: ApiContext, caller: Caller, query: PageQuery, kind: str, key: str
) -> Response:
    found = await list_versions(api.network, kind, key)
    page = make_page(request, api, caller, query, found, lambda one: f"{NEWEST - one.version:016d}")
    return page_answer(request, page._replace(items=[_view(one) for one in page.items]))


def _view(one: ConfigurationVersion) -> VersionView:
    value = written_fields(one.value) if one.value is not None else None
    return build_resource(VersionView, one, at=write_time(one.at_us), value=value)
