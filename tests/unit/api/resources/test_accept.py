"""Which form a client prefers: by its weights first, then by what it names first; JSON where it does not say."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from postroad.api.resources.route_guards import XML, check_accept, prefers
from postroad.errors import Refused


def asking(accept: str) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": [(b"accept", accept.encode())]})


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/xml", True),
        ("application/xml, application/json", True),
        ("application/json, application/xml", False),
        ("application/xml;q=0.5, application/json", False),
        ("application/json;q=0.5, application/xml", True),
        ("application/json;q=0.5, application/xml; q=0.9", True),
        ("application/xml;q=0, application/json", False),
        ("application/xml;q=0", False),
        ("application/xml;q=nonsense", True),
        ("text/html, application/xml;q=0.9, */*;q=0.8", True),
        ("application/xml;q=0.5, */*", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_xml_is_given_to_those_who_prefer_it(accept: str, expected: bool) -> None:
    assert prefers(asking(accept), XML) is expected


@pytest.mark.parametrize("accept", ["application/xml;q=0", "text/html", "text/*;q=0.3", "application/xml;q=0.000, a/b"])
def test_who_takes_nothing_that_is_offered_is_told(accept: str) -> None:
    with pytest.raises(Refused, match="correct the Accept"):
        check_accept(asking(accept), (XML,))
