"""Explanations drawn and told: golden files, true to the route, safe to show, and cut to what a reader took part in.

``python -m tests.unit.core.audit.pictures.test_drawing`` writes the golden files again; look at them before you commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import (
    STYLE,
    CopyPosition,
    explanation_svg,
    find_copy_positions,
)
from postroad.core.audit.pictures.route_rows import route_rows
from postroad.core.audit.pictures.svg import GROUND_STYLE
from postroad.core.codecs import xml
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import FOREIGN_RULE, RouteExplanation
from postroad.core.visibility.redact_explanation import (
    HIDDEN_NAME,
    redact_explanation,
    redact_foreign_rules,
)
from postroad.core.visibility.viewer import Viewer
from tests.source_tree import ROOT
from tests.unit.core.audit.history.test_copy_status import message, stop
from tests.unit.core.audit.pictures.explained import EXPLANATION, GCIDS, invocation

pytestmark = pytest.mark.req("R16")

GOLDEN = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"
DRAWN: dict[str, Callable[[RouteExplanation], str]] = {"route.svg": explanation_svg, "route.txt": explanation_text}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_equals_the_stored_one(name: str) -> None:
    assert DRAWN[name](EXPLANATION) == (GOLDEN / name).read_text()


def test_rows_stand_in_the_order_of_delivery_below_whoever_brought_them_in() -> None:
    rows = route_rows(EXPLANATION.sender, EXPLANATION.copies[0])
    assert [(row.turn, row.service) for row in rows] == [
        (None, "MyBiz/Purchasing"), (1, "Transmatics/xslt"), (2, "XpandiCo/zipPlus4"), (3, "Transmatics/replaceElement"),
        (4, "KeepEmOut/filter"), (None, "TheAcmeCompany/Policy"), (5, "TheAcmeCompany/Audit"),
        (6, "TheAcmeCompany/Supply"),
    ]  # fmt: skip
    brought = {row.service: rows[row.invoker].service for row in rows if row.invoker is not None}
    assert brought["Transmatics/replaceElement"] == "XpandiCo/zipPlus4"
    assert brought["TheAcmeCompany/Audit"] == "TheAcmeCompany/Policy"
    assert brought["KeepEmOut/filter"] == "TheAcmeCompany/Supply"
    assert [row.depth for row in rows] == [0, 1, 1, 2, 2, 2, 3, 1]


def test_the_picture_is_well_formed_accessible_and_runs_nothing() -> None:
    root = xml.parse(explanation_svg(EXPLANATION).encode())
    assert root.get("role") == "img"
    named = [element.get("id") for name in ("title", "desc") for element in root.iterfind(f"{SVG}{name}")]
    assert named == root.attrib["aria-labelledby"].split()
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert names <= {"svg", "title", "desc", "style", "rect", "text", "path", "g"}
    assert {
        name for element in root.iter() for name in map(str, element.attrib) if name.startswith("on") or "href" in name
    } == set()


@pytest.mark.parametrize(
    ("here", "marked"),
    [
        (CopyPosition(service="KeepEmOut/filter", turn=4, words="current stop"), "KeepEmOut/filter; "),
        (
            CopyPosition(service="Transmatics/xslt", turn=9, words="failed here"),
            "Transmatics/xslt; ",
        ),  # resent: a further stop
        (CopyPosition(service="Elsewhere/In", turn=1, words="current stop"), ""),
    ],
)
def test_the_stop_at_which_it_is_stands_out_in_words_too(here: CopyPosition, marked: str) -> None:
    root = xml.parse(explanation_svg(EXPLANATION, {EXPLANATION.copies[0].recipient: here}).encode())
    boxes = [
        box.get("aria-label", "") for box in root.iter(f"{SVG}g") if box.find(f"{SVG}rect[@class='here']") is not None
    ]
    assert [box.startswith(marked) and box.endswith(here.words) for box in boxes] == [True] * bool(marked)


def test_where_a_message_is_follows_from_its_last_stop() -> None:
    told = find_copy_positions(message(stop(state="delivered"), stop(state="expired")))
    assert told == {"Acme/Supply": CopyPosition(service="Acme/Supply", turn=2, words="expired here")}
    assert find_copy_positions(message(code="recipient.unknown")) == {}


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a" onload="x', "]]>&amp;", "</text></svg>"])
def test_no_name_breaks_out_of_the_picture(name: str) -> None:
    [copy, _] = EXPLANATION.copies
    hostile = replace(
        EXPLANATION, sender=name, copies=(replace(copy, recipient=name, tree=(invocation(name, 0, rule=name),)),)
    )
    root = xml.parse(explanation_svg(hostile).encode())
    texts = ["".join(map(str, element.itertext())) for element in root.iter(f"{SVG}text")]
    assert name in texts
    assert f"1. {name}" in texts
    assert [element.tag for element in root.iter(f"{SVG}script")] == []


def test_a_deep_route_stays_within_the_picture() -> None:
    node = invocation("A/B", 0)
    for _ in range(25):
        node = invocation("A/B", None, node)
    [copy, _] = EXPLANATION.copies
    root = xml.parse(
        explanation_svg(replace(EXPLANATION, copies=(replace(copy, route=("A/B",), tree=(node,)),))).encode()
    )
    width = int(root.attrib["width"])
    boxes = [element for element in root.iter(f"{SVG}rect") if element.get("x")]
    assert len(boxes) == 27
    assert max(int(box.attrib["x"]) + int(box.attrib["width"]) for box in boxes) <= width
    rail = int(
        next(element.attrib["d"] for element in root.iter(f"{SVG}path") if element.get("class") == "way")[1:].split()[0]
    )
    assert all(int(box.attrib["x"]) < rail < int(box.attrib["x"]) + int(box.attrib["width"]) for box in boxes)


def owner_of(*services: str) -> Viewer:
    gcids = [GCIDS.get(service, service) for service in services]
    owned = {gcid: Service(gcid=gcid, organization="Owner", name=str(number)) for number, gcid in enumerate(gcids)}
    return Viewer(Directory(services=owned), "Owner")


@pytest.mark.req("Z5")
def test_a_party_sees_itself_on_the_route_and_whom_it_brought_in() -> None:
    cut = redact_explanation(EXPLANATION, owner_of("TheAcmeCompany/Supply", "TheAcmeCompany/Policy"))
    assert cut is not None
    [copy] = cut.copies
    assert copy.route == ("KeepEmOut/filter", "TheAcmeCompany/Audit", "TheAcmeCompany/Supply"), "it brought them in"
    text = explanation_text(cut) + explanation_svg(cut)
    hidden = ["Transmatics", "XpandiCo", "Nobody", "split", "stylesheet"]
    assert [name for name in hidden if name in text] == []
    _, policy = copy.tree[0].children
    assert (policy.service, policy.rule) == ("TheAcmeCompany/Policy", "w"), "its own rule brought it in"
    in_transit = redact_explanation(EXPLANATION, owner_of("XpandiCo/zipPlus4"))
    assert in_transit is not None
    assert (in_transit.copies[0].tree[0].rule, in_transit.copies[0].tree[0].payer) == (FOREIGN_RULE, "")
    assert in_transit.copies[0].route == ("XpandiCo/zipPlus4", "Transmatics/replaceElement")
    guest = redact_explanation(EXPLANATION, owner_of("Transmatics/replaceElement"))
    assert guest is not None
    assert (guest.sender, guest.copies[0].route) == ("MyBiz/Purchasing", ("Transmatics/replaceElement",))
    assert redact_explanation(EXPLANATION, owner_of("Stranger/Here")) is None


@pytest.mark.req("R12")
def test_an_isolated_service_does_not_learn_who_sent_it() -> None:
    cut = redact_explanation(EXPLANATION, owner_of("TheAcmeCompany/Audit"), hidden=True)
    assert cut is not None
    assert cut.sender == HIDDEN_NAME
    assert "MyBiz" not in explanation_text(cut) + explanation_svg(cut)


@pytest.mark.req("R12")
def test_neither_does_one_that_an_isolated_service_brought_in() -> None:
    inner = invocation("Deep/Down", 0, rule="r")
    outer = invocation("TheAcmeCompany/Audit", 1, inner, rule="audit", isolated=True)
    [copy, _] = EXPLANATION.copies
    route = ("Deep/Down", "TheAcmeCompany/Audit", "TheAcmeCompany/Supply")
    tree = (invocation("TheAcmeCompany/Supply", 2, outer),)
    told = replace(EXPLANATION, copies=(replace(copy, route=route, tree=tree),))
    cut = redact_explanation(told, owner_of("Deep/Down"), hidden=True)
    assert cut is not None
    assert (cut.sender, cut.copies[0].recipient, cut.copies[0].route) == (HIDDEN_NAME, HIDDEN_NAME, ("Deep/Down",))
    own = redact_explanation(
        replace(EXPLANATION, copies=(replace(copy, route=route, tree=tree),)),
        owner_of("TheAcmeCompany/Supply", "TheAcmeCompany/Audit"),
    )
    assert own is not None
    assert own.sender == "MyBiz/Purchasing", "it isolated its own service itself"


def test_a_service_reads_its_own_rules_only() -> None:
    seen = redact_foreign_rules(EXPLANATION, owner_of("TheAcmeCompany/Supply"))
    assert [(one.service, one.withheld, one.rules) for one in seen.services] == [
        ("MyBiz/Purchasing", True, ()), ("TheAcmeCompany/Supply", True, ()),
    ]  # fmt: skip
    assert seen.copies == EXPLANATION.copies


if __name__ == "__main__":
    for golden_name, drawn in DRAWN.items():
        (GOLDEN / golden_name).write_text(drawn(EXPLANATION))


def test_in_dark_mode_the_ground_of_a_picture_is_that_of_the_cards_around_it() -> None:
    style = (ROOT / "src/postroad/console/static/console.css").read_text()
    dark = style[style.index("@media (prefers-color-scheme: dark)") :]
    paper = re.search(r"--paper: (#[0-9a-f]{6});", dark)
    assert paper is not None
    assert re.search(r"\.card \{ background: var\(--paper\)", style)
    for text in (GROUND_STYLE, STYLE):
        pictured = text[text.index("@media (prefers-color-scheme: dark)") :]
        assert re.search(rf"\.(ground|logical) {{ fill: {paper[1]}; }}", pictured)
