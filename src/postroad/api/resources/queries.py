"""The query parameters that several resources share; unknown ones are refused like unknown fields."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from postroad.api.pagination import PageQuery

Paging = Annotated[PageQuery, Query()]
