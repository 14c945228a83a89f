"""Every code as a problem, and a section of the documentation for each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from postroad.api.problem import problem, problem_bytes, problem_of
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.access.throttle import throttled_error

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_code_becomes_a_problem_with_its_status(code: str) -> None:
    found = problem_of(Refused(code, "what to do", pointer="/to/0", session="s"))
    content = json.loads(found.body)
    assert (found.status, content["status"], content["code"]) == (REFUSALS[code].status, REFUSALS[code].status, code)
    assert (content["detail"], content["pointer"], content["session"]) == ("what to do", "/to/0", "s")
    assert ("WWW-Authenticate" in found.headers) is (found.status == 401)
    assert ("Retry-After" in found.headers) is (found.status in (429, 503))


def test_an_outage_says_how_long() -> None:
    assert problem_of(Unavailable("storage.full", "later", retry_after_s=9)).headers["Retry-After"] == "9"


def test_members_without_a_value_are_left_out() -> None:
    assert set(json.loads(problem("not-found", "x").body)) == {"type", "title", "status", "detail", "code"}


FRONT = [
    (431, "request.header-too-large", "request.header-too-large"),
    (418, "teapot", "request.malformed"),
    (599, "?", "internal"),
]


@pytest.mark.parametrize(("status", "code", "expected"), FRONT)
def test_the_fronts_own_refusals(status: int, code: str, expected: str) -> None:
    content_type, body = problem_bytes(status, code, "detail")
    assert content_type == b"application/problem+json"
    assert (json.loads(body)["status"], json.loads(body)["code"]) == (status, expected)


@pytest.mark.docs
@pytest.mark.req("Z6")
def test_a_refusal_may_say_when_to_come_again() -> None:
    assert problem_of(throttled_error(4.2)).headers["Retry-After"] == "5"


def test_every_code_has_its_section_and_no_section_is_left_over() -> None:
    text = PAGE.read_text()
    sections = re.findall(r"^### ([a-z0-9.-]+)$", text, re.MULTILINE)
    assert sections == list(REFUSALS), "one section per code, in the table's order"


@pytest.mark.docs
@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_section_says_what_why_and_what_next(code: str) -> None:
    section = PAGE.read_text().partition(f"### {code}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    assert f"**{REFUSALS[code].status}**" in section
    assert REFUSALS[code].title in section
    assert "*Why:*" in section
    assert "*Next:*" in section
