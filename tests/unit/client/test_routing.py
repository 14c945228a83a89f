"""Rules and assets from a program: what is replaced was read before, pages are followed, names are safe in paths."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from postroad.client import Refused, Unavailable, routing
from postroad.client.steps import ApiRequest, ApiResponse
from postroad.core.resources.explanations import ExplanationView, RouteView
from postroad.core.resources.services import AssetView
from tests.unit.client.scripted import LOST, Script, conversations, ok, problem

ABSENT = problem(404, "not-found")


def told(request: ApiRequest) -> tuple[str, str, str]:
    return request.method, request.path, dict(request.headers).get("If-Match", "")


def test_a_new_rule_is_posted_and_a_known_one_replaced_as_it_was_read() -> None:
    script = Script([ABSENT, ok({"name": "a b", "version": 1}, 201)])
    script.play(routing.save_rule(conversations(), "My Biz/In", {"name": "a b"}))
    assert [told(request) for request in script.requests] == [
        ("GET", "/v1/services/My%20Biz/In/rules/a%20b", ""), ("POST", "/v1/services/My%20Biz/In/rules", ""),
    ]  # fmt: skip
    known = {"name": "A", "version": 7, "place": 2}
    script = Script([ok(known), ok(known | {"version": 8}), ok(known | {"version": 9, "place": 1})])
    saved = script.play(routing.save_rule(conversations(), "0" * 16, {"name": "a", "place": 1, "version": 3}))
    assert saved["version"] == 9
    assert [told(request)[::2] for request in script.requests] == [("GET", ""), ("PUT", '"7"'), ("PATCH", '"8"')]
    assert msgspec.json.decode(script.requests[1].body) == {"name": "a"}


def test_a_rule_in_its_place_is_not_moved() -> None:
    known = {"name": "a", "version": 7, "place": 2}
    script = Script([ok(known), ok(known)])
    script.play(routing.save_rule(conversations(), "A/B", {"name": "a", "place": 2}))
    assert [request.method for request in script.requests] == ["GET", "PUT"]


def test_other_refusals_and_silence_are_not_taken_for_absence() -> None:
    with pytest.raises(Refused):
        Script([problem(403, "permission.denied")]).play(routing.save_rule(conversations(), "A/B", {"name": "a"}))
    with pytest.raises(Unavailable):
        Script([LOST]).play(routing.save_asset(conversations(tries=1), "A/B", "table", "t", "x", None))


def test_an_asset_is_made_only_where_there_is_none_and_replaced_as_it_was_read() -> None:
    saved = AssetView(kind="table", name="a/b", description="codes & more", digest="0", bytes=4, version=1)
    script = Script([ABSENT, ok(saved, 201)])
    assert saved == script.play(routing.save_asset(conversations(), "A/B", "table", "a/b", "zip\n", "codes & more"))
    put = script.requests[1]
    assert (put.method, put.path) == ("PUT", "/v1/services/A/B/assets/table/a%2Fb?description=codes%20%26%20more")
    assert (dict(put.headers)["If-None-Match"], dict(put.headers)["Content-Type"]) == ("*", "text/csv")
    script = Script([ApiResponse(status=200, headers={"etag": '"4"'}, body=b"zip\n"), ok(saved)])
    script.play(routing.save_asset(conversations(), "A/B", "table", "t", "zip\n", None))
    assert dict(script.requests[1].headers)["If-Match"] == '"4"'


def test_lists_are_read_to_their_end() -> None:
    empty = ok({"items": [], "next": "b"})  # where filters let little pass, a page may hold nothing and not be the last
    script = Script([empty, ok({"items": [{"n": 1}], "next": "c"}), ok({"items": [{"n": 2}]})])
    assert script.play(routing.list_all(conversations(), "/v1/things", kind="table")) == [{"n": 1}, {"n": 2}]
    assert [request.path for request in script.requests] == [
        "/v1/things?limit=200&kind=table",
        "/v1/things?limit=200&cursor=b&kind=table",
        "/v1/things?limit=200&cursor=c&kind=table",
    ]


def test_or_as_far_as_wanted() -> None:
    script = Script([ok({"items": [1] * 200, "next": "c"}), ok({"items": [2] * 3, "next": "d"})])
    assert len(script.play(routing.list_first(conversations(), "/v1/find", 203, q="PO 1"))) == 203
    assert [request.path for request in script.requests] == [
        "/v1/find?limit=200&q=PO+1", "/v1/find?limit=3&cursor=c&q=PO+1",
    ]  # fmt: skip


def test_an_explanation_is_json_or_a_drawing() -> None:
    drawn = ApiResponse(status=200, headers={"content-type": "image/svg+xml"}, body=b"<svg/>")
    assert routing.parse_explanation(drawn) == "<svg/>"
    copy = RouteView(recipient="Acme/Supply", code="", detail="", route=["Acme/Supply"], invocations=[])
    explained = ExplanationView(
        session="",
        sender="MyBiz/Purchasing",
        directory=1,
        code="",
        detail="",
        forgotten=False,
        services=[],
        copies=[copy],
    )
    answer = ApiResponse(status=200, headers={"content-type": "application/json"}, body=msgspec.json.encode(explained))
    assert routing.parse_explanation(answer) == explained


def test_a_trial_has_what_it_was_about() -> None:
    trial = routing.parse_trial(ApiResponse(status=200, headers={}, body=b'{"valid":false,"faults":["no total"]}'))
    assert (trial.valid, trial.faults, trial.output) == (False, ["no total"], UNSET)
    assert trial.keys() == ["valid", "faults"]
    assert "output" not in trial
    with pytest.raises(KeyError):
        trial["output"]
