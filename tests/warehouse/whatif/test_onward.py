"""What exchanges and models would send on under two directories: who gets more, who fewer, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.model_tree import ModelAttachment, ModelNode
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.warehouse.bulk.read.directories import DirectoryVersions, directory_from_text, directory_text
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif.forwards import ForwardReplay
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion, compare_post
from postroad.warehouse.whatif.model_change import replace_model
from tests.warehouse.bulk.exchange_traffic import changes_of, directory_of
from tests.warehouse.whatif.written_journal import WrittenJournal

pytestmark = pytest.mark.req("P6")

DESK, EXCHANGE, SECOND, MODEL, NORTH, SOUTH, GATE = (f"00000000000000{number:02x}" for number in range(1, 8))
ANY = Binding(exchange=EXCHANGE, name="All", queue=NORTH)
LARGE = Binding(exchange=EXCHANGE, name="Large", queue=SOUTH, query="$msg/order/total > 1000")
Rows = list[dict[str, Any]]
Change = tuple[str, list[str], list[str], list[str]]


def service(gcid: str, name: str, hosted: Hosting = Hosting.NONE, **more: Any) -> Service:
    return Service(gcid=gcid, organization="Acme", name=name, visibility=Visibility.PUBLIC, hosted=hosted, **more)


SERVICES = {
    DESK: service(DESK, "Desk"),
    EXCHANGE: service(EXCHANGE, "Orders", Hosting.EXCHANGE),
    SECOND: service(SECOND, "Second", Hosting.EXCHANGE),
    MODEL: service(MODEL, "Regions", Hosting.MODEL),
    NORTH: service(NORTH, "North"),
    SOUTH: service(SOUTH, "South"),
    GATE: service(GATE, "Gate"),
}


def directory(*items: Any) -> Directory:
    return directory_of([Organization(name="Acme"), *SERVICES.values(), *items])


def order(total: int, to: str = "Acme/Orders", **more: Any) -> Message:
    part = Part(id="1", content_type="application/xml", data=b"<order><total>%d</total></order>" % total)
    return Message(sender="Acme/Desk", to=(Recipient(to),), type=MessageType.REQUEST, parts=(part,), **more)


def logged(message: Message, before: Directory, *, with_body: bool = True) -> LoggedPost:
    journal = WrittenJournal(before)
    seq = journal.post(message)
    return LoggedPost(seq, journal.posted(seq), journal.entries[seq - 1][1] if with_body else None)


@pytest.fixture(scope="module")
def playing() -> Iterator[ForwardReplay]:
    with closing(ForwardReplay({})) as playing:
        yield playing


def compared(
    playing: ForwardReplay, message: Message, before: Directory, after: Directory, *, with_body: bool = True
) -> Rows:
    question = WhatIfQuestion(before=before, after=after, window=TimeWindow())
    return list(compare_post(logged(message, before, with_body=with_body), question, playing))


def told(rows: Rows) -> list[Change]:
    """Of each change: how, the services gained and lost, and why."""
    [row] = [row for row in rows if row["record"] == "message"]
    assert row["verdict"] == ("changed" if row["changes"] else "same")
    return [
        (one["difference"], *([stop["service"] for stop in one[side]] for side in ("gained", "lost")), one["reasons"])
        for one in row["changes"]
    ]


def changed(how: Binding, **fields: Any) -> Binding:
    own = {name: getattr(how, name) for name in how.__dataclass_fields__}
    return Binding(**own | fields)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([ANY], [ANY], []),
        ([ANY], [ANY, LARGE], [("forwarded", ["Acme/South"], [], ["binding 'Large' at Acme/Orders is new"])]),
        ([ANY, LARGE], [LARGE], [("not forwarded", [], ["Acme/North"], ["binding 'All' at Acme/Orders was removed"])]),
        (
            [LARGE],
            [changed(LARGE, enabled=False)],
            [("not forwarded", [], ["Acme/South"], ["binding 'Large' at Acme/Orders is disabled"])],
        ),
        (
            [changed(LARGE, enabled=False)],
            [LARGE],
            [("forwarded", ["Acme/South"], [], ["binding 'Large' at Acme/Orders is enabled"])],
        ),
        (
            [LARGE],
            [changed(LARGE, query="$msg/order/total > 9000")],
            [("not forwarded", [], ["Acme/South"], ["binding 'Large' at Acme/Orders changed, and no longer matches"])],
        ),
        (
            [changed(LARGE, routing_key="offer")],
            [LARGE],
            [("forwarded", ["Acme/South"], [], ["binding 'Large' at Acme/Orders changed, and now matches"])],
        ),
        (
            [ANY],
            [changed(ANY, queue=SOUTH)],
            [
                ("not forwarded", [], ["Acme/North"], ["binding 'All' at Acme/Orders has another queue"]),
                ("forwarded", ["Acme/South"], [], ["binding 'All' at Acme/Orders has another queue"]),
            ],
        ),
        ([ANY], [changed(ANY, name="Every")], []),  # a binding that is renamed changes nothing for anybody
        ([ANY], [ANY, changed(LARGE, queue=NORTH)], []),  # a queue gets a message once
    ],
)
def test_changed_bindings_change_who_gets_a_message(
    playing: ForwardReplay, before: list[Binding], after: list[Binding], expected: list[Any]
) -> None:
    rows = compared(playing, order(5000), directory(*before), directory(*after))
    assert told(rows) == expected


def test_what_is_sent_on_is_paid_by_the_exchange_on_both_sides(playing: ForwardReplay) -> None:
    rows = compared(playing, order(5000), directory(ANY), directory(ANY, LARGE))
    [forward] = [row for row in rows if row["record"] == "forward"]
    assert (forward["sender"], forward["type"]) == (EXCHANGE, "notification")
    assert [way["recipient"]["service"] for way in forward["before"]] == [NORTH]
    assert [way["recipient"]["service"] for way in forward["after"]] == [NORTH, SOUTH]
    assert forward["size"] == len(order(5000).parts[0].data)


def test_a_routing_that_is_changed_and_content_that_is_made_otherwise(playing: ForwardReplay) -> None:
    def routing(text: str) -> Asset:
        return Asset(service=EXCHANGE, kind=AssetKind.SCRIPT, name="wrap", content=text)

    bound = Binding(exchange=EXCHANGE, name="Wrap", queue=NORTH, routing="wrap")
    one, other, none = (f"def route(message):\n    return {value!r}\n" for value in ("one", "other", ""))
    rows = compared(playing, order(1), directory(bound, routing(one)), directory(bound, routing(other)))
    assert told(rows) == [("content", [], [], ["binding 'Wrap' at Acme/Orders transforms it differently"])]
    rows = compared(playing, order(1), directory(bound, routing(one)), directory(bound, routing(none)))
    assert told(rows) == [
        ("not forwarded", [], ["Acme/North"], ["binding 'Wrap' at Acme/Orders changed, and no longer matches"])
    ]


def test_what_a_chain_would_no_longer_reach_is_told_at_its_end(playing: ForwardReplay) -> None:
    chain = Binding(exchange=EXCHANGE, name="On", queue=SECOND)
    end = Binding(exchange=SECOND, name="End", queue=SOUTH)
    back = Binding(exchange=SECOND, name="Back", queue=EXCHANGE)  # which is cut
    rows = compared(playing, order(1), directory(chain, end, back), directory(end, back))
    assert told(rows) == [
        ("not forwarded", [], ["Acme/Second"], ["binding 'On' at Acme/Orders was removed"]),
        ("not forwarded", [], ["Acme/South"], ["Acme/Second does not get the message"]),
    ]
    [row] = [row for row in rows if row["record"] == "message"]
    assert row["changes"][1]["before"] == ["Acme/Orders", "Acme/Second", "Acme/South"]
    assert {way["recipient"]["service"] for row in rows if row["record"] == "forward" for way in row["after"]} == set()


def test_exchanges_that_are_bound_to_each_other_do_not_multiply_a_message(playing: ForwardReplay) -> None:
    """Each hands it on to each other one once; the queue behind them gets it as often as it came to any."""
    exchanges = [service(f"00000000000001{number:02x}", f"E{number}", Hosting.EXCHANGE) for number in range(8)]
    everywhere = [
        Binding(exchange=one.gcid, name=f"to {other.name}", queue=other.gcid)
        for one in exchanges
        for other in exchanges
        if one is not other
    ]
    ends = [Binding(exchange=one.gcid, name="end", queue=NORTH) for one in exchanges]
    after = directory(*exchanges, *everywhere, *ends)
    found = logged(order(1, "Acme/E0"), after)
    sent = playing.onwards(found, found.message, found.posted.copies, after).sent
    between = [(path[-1], receiver) for path, receiver, _ in sent if receiver != NORTH]
    assert len(between) == len(set(between))
    assert {receiver for _, receiver in between} == {one.gcid for one in exchanges[1:]}
    assert sum(receiver == NORTH for _, receiver, _ in sent) == len(between) + 1


def test_a_message_that_no_longer_gets_to_the_exchange_reaches_nobody_through_it(playing: ForwardReplay) -> None:
    before, closed = directory(ANY), service(EXCHANGE, "Orders", Hosting.EXCHANGE, suspended="for now")
    after = directory_of([Organization(name="Acme"), *(SERVICES | {EXCHANGE: closed}).values(), ANY])
    refused, onward = told(compared(playing, order(1), before, after))
    assert refused[0] == "refused"
    assert onward == ("not forwarded", [], ["Acme/North"], ["Acme/Orders does not get the message"])


def test_closing_an_exchange_to_another_house_takes_its_copies_away(playing: ForwardReplay) -> None:
    other = Service(gcid="00000000000000aa", organization="Other", name="Queue")
    bound = Binding(exchange=EXCHANGE, name="Other", queue=other.gcid)
    base = [Organization(name="Acme"), Organization(name="Other"), other, bound]
    opened = service(EXCHANGE, "Orders", Hosting.EXCHANGE, open_to=("Other",))
    before = directory_of([*base, *(SERVICES | {EXCHANGE: opened}).values()])
    after = directory_of([*base, *SERVICES.values()])
    assert told(compared(playing, order(1), before, after)) == [
        ("not forwarded", [], ["Other/Queue"], ["refused: permission.denied"])
    ]
    assert told(compared(playing, order(1), after, before)) == [
        ("forwarded", ["Other/Queue"], [], ["no longer refused: permission.denied"])
    ]


def test_without_its_body_a_message_is_decided_where_bindings_look_at_headers_only(playing: ForwardReplay) -> None:
    keyed = Binding(exchange=EXCHANGE, name="Keyed", queue=SOUTH, routing_key="offer")
    offer = order(1, topic="offer")
    rows = compared(playing, offer, directory(ANY), directory(ANY, keyed), with_body=False)
    assert told(rows) == [("forwarded", ["Acme/South"], [], ["binding 'Keyed' at Acme/Orders is new"])]
    scripted = Binding(exchange=EXCHANGE, name="Script", queue=SOUTH, script="def route(message):\n    return True\n")
    for looking in (LARGE, scripted):
        rows = compared(playing, offer, directory(ANY), directory(ANY, looking), with_body=False)
        assert [(row["record"], row["verdict"]) for row in rows] == [("message", "undecidable")]


# ---- models


def tree(*more: Any) -> Directory:
    nodes = [
        ModelNode(service=MODEL, tag="all", topics=("region",), place=1),
        ModelNode(service=MODEL, tag="inner", under="all", topics=("region",), place=2),
    ]
    return directory(*nodes, attached(DESK, "producer", "all"), attached(NORTH, "consumer", "inner"), *more)


def attached(gcid: str, side: str, node: str) -> ModelAttachment:
    return ModelAttachment(
        service=MODEL, id=f"{SERVICES[gcid].name} {side}", attached=gcid, side=side, node=node, topics=("region",)
    )


@pytest.mark.req("H1")
def test_changed_models_change_who_receives(playing: ForwardReplay) -> None:
    region = order(1, "Acme/Regions", topic="region")
    rows = compared(playing, region, tree(), tree(attached(SOUTH, "consumer", "all")))
    assert told(rows) == [("forwarded", ["Acme/South"], [], ["consumer 'South consumer' of Acme/Regions is new"])]
    shadowing = tree(attached(GATE, "producer", "inner"))
    rows = compared(playing, region, tree(), shadowing)
    assert told(rows) == [
        ("not forwarded", [], ["Acme/North"], ["consumer 'North consumer' of Acme/Regions is not reached"])
    ]
    [forward] = [row for row in rows if row["record"] == "forward"]
    assert (forward["sender"], forward["after"]) == (MODEL, [])
    other = order(1, "Acme/Regions", topic="other")
    assert told(compared(playing, other, tree(), shadowing)) == []  # nobody produces it, before as after


@pytest.mark.req("H1")
def test_a_tree_in_a_file_takes_the_place_of_a_models_own(playing: ForwardReplay) -> None:
    """South hears it now, and North, whom the file does not name, no longer."""
    document = {
        "name": "Regions",
        "topics": {"region": {"strategy": "descendants", "within": 1}},
        "root": {
            "tag": "all",
            "topics": ["region"],
            "producers": ["Acme/Desk"],
            "nodes": [{"tag": "inner", "topics": ["region"], "consumers": ["Acme/South"]}],
        },
    }
    before = tree()
    after = directory_from_text(directory_text(replace_model(before, "Acme/Regions", document)))  # as workers have it
    region = order(1, "Acme/Regions", topic="region")
    difference = {change[0]: (change[1], change[2]) for change in told(compared(playing, region, before, after))}
    assert difference == {"forwarded": (["Acme/South"], []), "not forwarded": ([], ["Acme/North"])}
    assert told(compared(playing, region, after, replace_model(after, "Acme/Regions", document))) == []


@pytest.mark.parametrize(
    ("named", "document", "said"),
    [
        ("Acme/Orders", {}, "Acme/Orders is not a model"),
        ("Acme/Regions", {"name": "x"}, "the model cannot be read"),
        ("Acme/Regions", {"name": "x", "root": {"tag": "a", "nodes": [{"tag": "a"}]}}, "Acme/Regions: "),
        (
            "Acme/Regions",
            {"name": "x", "root": {"tag": "a", "topics": ["t"], "consumers": ["Acme/Nobody"]}},
            "there is no service Acme/Nobody",
        ),
    ],
)
def test_a_tree_that_cannot_be_is_refused(named: str, document: Any, said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        replace_model(tree(), named, document)


# ---- against what really happened


def test_what_really_happened_is_known_by_the_bindings_of_the_time(playing: ForwardReplay) -> None:
    """At first there was All, then Large too; today there is Large alone, and that is also the change."""
    base = changes_of([Organization(name="Acme"), *SERVICES.values()])
    [any_saved], [large_saved] = changes_of([ANY]), changes_of([LARGE])
    gone = type(any_saved)(any_saved.kind, any_saved.key, 2, None)
    history = DirectoryVersions([(1, [*base, any_saved]), (5, [large_saved]), (9, [gone])])
    history = DirectoryVersions.from_text(history.text())  # as workers have it
    today = history.find_latest()
    question = WhatIfQuestion(before=today, after=today, window=TimeWindow(), as_it_was=True, history=history)
    lost: Change = ("not forwarded", [], ["Acme/North"], ["binding 'All' at Acme/Orders was removed"])
    gained: Change = ("forwarded", ["Acme/South"], [], ["binding 'Large' at Acme/Orders is new"])
    for version, expected in ((9, []), (3, [lost, gained]), (7, [lost]), (3, [lost, gained])):
        found = logged(order(5000), history.at(version))
        one = LoggedPost(found.seq, replace(found.posted, directory=version), found.body)
        assert told(list(compare_post(one, question, playing))) == expected
