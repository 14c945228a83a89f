"""Renders pages from templates, with the content security policy for the browser.

Rules: templates escape automatically. On every page, the content security policy allows nothing inline, nothing
evaluated and nothing from other sites. A part of a page that a script requests is rendered by the page's templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from postroad.console.form_examples import EXAMPLES
from postroad.console.navigation import navigation_groups
from postroad.console.static_files import static_url
from postroad.console.template_filters import FILTERS

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class Rendering:
    def __init__(self) -> None:
        self._templates = Environment(
            loader=PackageLoader("postroad.console", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= FILTERS
        self._templates.globals |= {"static": static_url, "navigation": navigation_groups, "examples": EXAMPLES}

    def text(self, template: str, values: Mapping[str, Any]) -> str:
        return self._templates.get_template(template).render(values)

    def page(
        self, template: str, values: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        text = self.text(template, values)
        return Response(text, status, HEADERS | dict(headers or {}), media_type="text/html; charset=utf-8")
