"""Wherever a page leads somebody, they may go: no link and no picture of a page is refused to whoever is shown it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.unit.console.inhabited import Visitor, enter_all, inhabited

LEADING = re.compile(r'(?:href|src|data-plot)="([^"#]*)')
SAME = re.compile(r"[0-9a-f]{12,}|=[^&]*|\d+|-[a-z]+(?=[/?]|$)")  # what differs between pages of one kind
OF_A_KIND = 2
ELSEWHERE = ("/soap", "/static")  # not of the console
LED = ("viewer", "stranger", "operator")  # developers and owners may do more than any of these


@pytest.mark.req("C1", "C2")
async def test_nobody_is_led_where_they_may_not_go(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        people = await enter_all(found)
        faults = [fault for who in LED for fault in await _followed(people[who], who)]
    assert not faults, "\n".join(faults)


async def _followed(visitor: Visitor, who: str) -> list[str]:
    """What is refused on the way from the first page to all that it leads to; of pages of one kind, a few."""
    faults, kinds = [], dict[str, int]()
    seen, waiting = {"/"}, [("/", "")]
    while waiting:
        path, leader = waiting.pop(0)
        answer = await visitor.get(path)
        if answer.status_code >= 400:
            faults.append(f"{who} is led from {leader} to {path}: {answer.status_code}")
        for link in LEADING.findall(answer.text) if "text/html" in answer.headers.get("content-type", "") else ():
            target = urljoin(path, unescape(link))
            kind = SAME.sub("*", target)
            is_ours = target.startswith("/") and not target.startswith(ELSEWHERE)
            if is_ours and target not in seen and kinds.get(kind, 0) < OF_A_KIND:
                kinds[kind] = kinds.get(kind, 0) + 1
                seen.add(target)
                waiting.append((target, path))
    return faults
