"""Models as they are written in YAML."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Side, Strategy, Way
from postroad.core.hierarchy.model_checks import MAX_DEPTH
from postroad.core.hierarchy.model_documents import parse_model, write_model
from postroad.errors import Refused

PLANT: dict[str, Any] = {
    "name": "Plant",
    "root": {
        "tag": "plant",
        "topics": ["alarm", "order"],
        "producers": ["Acme/Planning"],
        "consumers": [{"service": "Acme/Office", "topics": ["alarm"]}],
        "nodes": [
            {
                "tag": "hall",
                "topics": ["alarm"],
                "consumers": ["Acme/Foreman", {"service": "Acme/Foreman", "id": "again"}],
            }
        ],
    },
    "topics": {
        "alarm": {"strategy": "ancestors", "within": 2, "tags": ["h*"], "consumers": ["Acme/Fire brigade"]},
        "order": {"producers": [{"service": "Acme/Shop", "id": "shop"}]},
    },
}


@pytest.mark.req("H1")
def test_a_written_model_is_read_and_written_back() -> None:
    model = parse_model(PLANT)
    assert write_model(model) == PLANT
    assert ModelIndex.of(model).describe() == model


def test_what_is_not_written_is_as_usual() -> None:
    model = parse_model(PLANT)
    found = {attachment.id: attachment for attachment in model.attachments}
    assert list(found) == [
        "producer:plant:Acme/Planning",
        "consumer:plant:Acme/Office",
        "consumer:hall:Acme/Foreman",
        "again",
        "consumer:#alarm:Acme/Fire brigade",
        "shop",
    ]
    assert found["again"] == Attachment(id="again", service="Acme/Foreman", side=Side.CONSUMER, node="hall")
    assert found["shop"] == Attachment(id="shop", service="Acme/Shop", side=Side.PRODUCER, topics=("order",))
    assert model.strategies == (("alarm", Strategy(way=Way.ANCESTORS, within=2, tags=("h*",))),)


@pytest.mark.parametrize(
    ("document", "pointer", "said"),
    [
        ([], "", "Expected `object`"),
        ({"name": "M"}, "", "missing required field `root`"),
        ({"name": "M", "root": {"tag": 7}}, "/root/tag", "Expected `str`"),
        (
            {"name": "M", "root": {"tag": "a", "nodes": [{"tag": "b", "topic": "c"}]}},
            "/root/nodes/0",
            "unknown field `topic`",
        ),
        ({"name": "M", "root": {"tag": "a"}, "topics": {"t": {"strategy": "up"}}}, "/topics/t/strategy", "'up'"),
        (
            {"name": "M", "root": {"tag": "a"}, "topics": {"a/b": {"within": "2"}}},
            "/topics/a~1b/within",
            "Expected `int",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(document: Any, pointer: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        parse_model(document)
    assert (refused.value.code, refused.value.pointer) == ("value.invalid", pointer)


@pytest.mark.parametrize(
    ("root", "topics", "code"),
    [
        ({"tag": "", "consumers": ["Acme/Map"]}, {}, "name.invalid"),
        ({"tag": "a"}, {"": {"consumers": ["Acme/Map"]}}, "value.invalid"),
        ({"tag": "a"}, {"t": {"consumers": [{"service": "Acme/Map", "topics": ["u"]}]}}, "value.invalid"),
        ({"tag": "a", "consumers": ["Acme/Map", "Acme/Map"]}, {}, "name.taken"),
    ],
    ids=["no tag", "no topic", "two topics", "twice"],
)
def test_what_can_be_read_and_makes_no_sense_is_refused_by_the_index(
    root: dict[str, Any], topics: dict[str, Any], code: str
) -> None:
    with pytest.raises(Refused) as refused:
        ModelIndex.of(parse_model({"name": "M", "root": root, "topics": topics}))
    assert refused.value.code == code


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"tag": f"n{levels}"}
    for level in range(levels - 1, -1, -1):
        node = {"tag": f"n{level}", "nodes": [node]}
    return {"name": "Deep", "root": node}


def test_the_deepest_tree_is_written_and_read() -> None:
    index = ModelIndex.of(parse_model(nested(MAX_DEPTH)))
    assert write_model(index.describe()) == nested(MAX_DEPTH)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 100_000], ids=["a level", "far"])
def test_a_tree_that_is_too_deep_is_refused(levels: int) -> None:
    document = nested(levels)
    with pytest.raises(Refused, match="levels"):
        ModelIndex.of(parse_model(document))
    while "nodes" in document["root"]:  # taken apart by hand: Python would recurse to free it
        document["root"] = document["root"].pop("nodes")[0]
