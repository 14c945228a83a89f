"""What the rules of one service may cost, and that nobody pays for another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import pytest
from lxml import etree

from postroad.core.codecs.xml import parse
from postroad.core.model.directory import SearchKey, Visibility
from postroad.core.model.message import Message, Part, PostResult, Recipient
from postroad.core.model.rule import Condition, RuleRole
from postroad.core.routing.budget import AT_ONCE, MATCHED_CHARS, MAX_LOOKED, Budget, TooMuchAtOnce
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.paths.xml_path import Finds, read_xml_path
from postroad.core.routing.paths.xml_walk import select_elements, select_texts
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.stages.accept import MANY_AT_ONCE
from postroad.flow.stages.posting import Posting
from postroad.testing.network import memory_network
from tests.samples.conditions import body, compare, holds, json, subject, xml

MANY_OBJECTS = json("[" + '{"a":{"b":1}},' * 20_000 + '{"last":"here"}]')
MANY_ELEMENTS = xml("<r>" + "<a><b>1</b></a>" * 20_000 + "<last>here</last></r>")
NO_MORE = f"paths may pass at most {MAX_LOOKED} nodes per message"


def view(of: Subject, service: str) -> Subject:
    return of.seen_by(service, role=RuleRole.RECIPIENT, topic="")


@pytest.mark.req("Z3")
@pytest.mark.parametrize(
    ("part", "path"),
    [
        (MANY_OBJECTS, "$..name{}"),
        (MANY_ELEMENTS, "//last//name{}"),
        (MANY_ELEMENTS, "/r/a[1{:04d}]/name"),
        (MANY_ELEMENTS, "/r/a[b='{}']/name"),
        (MANY_ELEMENTS, "//@name{}"),
    ],
)
def test_rules_that_look_through_a_large_document_again_and_again_come_to_an_end(part: object, path: str) -> None:
    looked_at = view(subject(part), "greedy")  # type: ignore[arg-type]
    started = time.process_time()
    for number in range(1, 1_001):
        assert not holds(compare("exists", body(path.format(number))), looked_at)
    assert time.process_time() - started < 5
    assert NO_MORE in looked_at.faults


@pytest.mark.req("Z3")
@pytest.mark.parametrize(("part", "path", "last"), [(MANY_OBJECTS, "$..{}", "last"), (MANY_ELEMENTS, "//{}", "last")])
def test_what_one_service_looks_at_takes_nothing_from_another(part: object, path: str, last: str) -> None:
    """Else a sender could make the conditions of a recipient's filter false."""
    message = subject(part)  # type: ignore[arg-type]
    greedy, fair = view(message, "greedy"), view(message, "fair")
    for number in range(200):
        holds(compare("exists", body(path.format(f"name{number}"))), greedy)
    assert not holds(compare("exists", body(path.format(last))), greedy)
    assert holds(compare("exists", body(path.format(last))), fair)
    assert fair.faults == ()


@pytest.mark.req("Z3")
def test_patterns_of_one_service_take_nothing_from_another() -> None:
    text = xml("<a>" + "x" * (MATCHED_CHARS // 2 + 1) + "</a>")
    message = subject(text)
    greedy, fair = view(message, "greedy"), view(message, "fair")
    assert [holds(compare("matches", body("/a"), "^x"), greedy) for _ in range(2)] == [True, False]
    assert holds(compare("matches", body("/a"), "^x"), fair)
    assert fair.faults == ()


@pytest.mark.req("Z5")
def test_where_one_service_has_looked_is_not_told_to_another() -> None:
    message = subject(MANY_ELEMENTS)
    first, second = view(message, "first"), view(message, "second")
    assert not holds(compare("exists", body("/r/a")), first)
    assert first.faults == ("/r/a selects too many nodes of 1",)
    assert not second.faults
    assert not holds(compare("exists", body("/r/a")), second)
    assert second.faults == first.faults


DEEP = xml("<a>" * 245 + "<b/>" * 9_900 + "</a>" * 245)  # 40 KiB


@pytest.mark.req("Z7")
@pytest.mark.parametrize("path", ["//b//c{}", "//b//c{}/text()", "//b//@c{}"])
def test_ancestors_are_visited_once_and_counted(path: str) -> None:
    """Each of the 9,900 elements has 245 ancestors: walking up from each would visit 2.4 million."""
    looks: list[int] = []
    root = parse(DEEP.data)
    steps = read_xml_path(path.format(""), {})
    select = select_elements if steps.finds is Finds.ELEMENTS else select_texts
    select(root, steps, own_attributes, looks.append)
    assert sum(looks) < 3 * 9_900 + 245


@pytest.mark.req("Z7")
def test_services_of_one_organization_use_one_share() -> None:
    message = subject(MANY_ELEMENTS)
    for number in range(200):
        service = message.seen_by(f"service {number}", role=RuleRole.RECIPIENT, topic="", owner="greedy")
        holds(compare("exists", body(f"//name{number}")), service)
    assert NO_MORE in service.faults
    other = message.seen_by("another", role=RuleRole.RECIPIENT, topic="", owner="fair")
    assert holds(compare("exists", body("//last")), other)
    assert other.faults == ()


@pytest.mark.req("Z7")
@pytest.mark.parametrize(
    ("part", "condition"),
    [
        (DEEP, compare("exists", body("//b//c"))),
        (xml("<a>" + "x" * 100_000 + "</a>"), compare("exists", body("/a"))),
        (json("[" + ",".join(["1"] * 30_000) + "]"), compare("exists", body("$..a"))),
        (xml("<a>" + "<b>1</b>" * 5_000 + "</a>"), compare("equals", body("/a/b"), "2", kind="number")),
    ],
    ids=["walk", "parse", "json", "compare"],
)
def test_a_budget_for_work_at_once_ends_it_early(part: Part, condition: Condition) -> None:
    at_once = Subject(header=subject().view.header, parts=(part,), budget=Budget(AT_ONCE))
    with pytest.raises(TooMuchAtOnce):
        [
            compile_condition(condition)(one)
            for one in [at_once.seen_by("s", role=RuleRole.ANY, topic="") for _ in range(5)]
        ]


@pytest.mark.req("Z7")
def test_a_small_message_is_within_what_is_done_at_once() -> None:
    small = Subject(header=subject().view.header, parts=(xml("<a><b>1</b></a>"),), budget=Budget(AT_ONCE))
    assert all(compile_condition(compare("equals", body("/a/b"), "1"))(small) for _ in range(100))


CHILDREN = "<r>" + "<b>2</b>" * 4_000 + "<b>1</b></r>"  # 36 KiB; a predicate on b reads all of them


def own_attributes(element: etree._Element) -> Mapping[str, str]:
    """Its attributes, without the defaults of a schema."""
    return {str(name): str(value) for name, value in element.items()}


def looked_at_by(path: str, document: str) -> int:
    looks: list[int] = []
    select_elements(parse(document.encode()), read_xml_path(path, {}), own_attributes, looks.append)
    return sum(looks)


@pytest.mark.req("Z7")
def test_every_predicate_is_charged_for_the_children_it_reads() -> None:
    one, ten = (looked_at_by("/r" + "[b='1']" * count + "/c", CHILDREN) for count in (1, 10))
    assert one >= 4_000
    assert ten - one >= 9 * 4_000
    assert read_xml_path("/r[b='1'][2]//c[@d='1']", {}).walks == 4


@pytest.mark.req("Z7")
def test_a_predicate_is_charged_for_long_texts() -> None:
    assert looked_at_by("/r[b='1']/c", f"<r><b>{'x' * 100_000}</b></r>") >= 500


@pytest.mark.req("Z7")
def test_conditions_with_many_predicates_use_the_share_up() -> None:
    looked_at = view(subject(xml(CHILDREN)), "greedy")
    started = time.process_time()
    for number in range(200):
        assert not holds(compare("exists", body("/r" + "[b='1']" * 100 + f"/c{number}")), looked_at)
    assert time.process_time() - started < 5
    assert NO_MORE in looked_at.faults


@pytest.mark.req("Z7")
@pytest.mark.parametrize(
    "document",
    [
        "{" + ",".join(f'"n{number}":1' for number in range(20_000)) + "}",
        '{"a":{' + ",".join(f'"n{number}":1' for number in range(20_000)) + "}}",
    ],
    ids=["outer", "inner"],
)
def test_sorting_the_names_of_an_object_is_charged(document: str) -> None:
    looked_at = view(subject(json(document)), "greedy")
    for number in range(100):
        holds(compare("equals", body("$"), content=f'{{"other":{number}}}'), looked_at)
    assert NO_MORE in looked_at.faults


@pytest.mark.req("Z7")
def test_content_with_long_texts_and_many_attributes_is_charged() -> None:
    spaces = xml("<r>" + " " * 1_000_000 + "<b " + " ".join(f'a{n}="1"' for n in range(200)) + "/></r>")
    budget = Budget(1_000_000)
    looked_at = Subject(header=subject().view.header, parts=(spaces,), budget=budget)
    holds(compare("equals", body("/r"), content="<c/>"), looked_at)
    before = budget.left_at_once
    holds(compare("equals", body("/r"), content="<d/>"), looked_at)
    assert before is not None
    assert budget.left_at_once is not None
    assert before - budget.left_at_once >= 5_000 + 200


@pytest.mark.req("Z7")
async def test_posts_of_one_call_use_one_budget_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is small enough for the event loop, all of them together are not."""
    in_thread: list[int] = []
    run = HeavyWork.run

    async def noted(self: HeavyWork, organization: str, work: Callable[[], list[object]], size: int = 0) -> object:
        in_thread.append(size)
        return await run(self, organization, work, size)

    monkeypatch.setattr(HeavyWork, "run", noted)
    order = xml("<a>" + "x" * 4_000 + "</a>")  # some 1,000 steps
    message = Message(to=(Recipient("Acme/Supply"),), parts=(order,))
    async with memory_network() as running:
        sender = await running.register("Meadow/Orders", indexes=(SearchKey(name="order", place=body("/a")),))
        await running.register("Acme/Supply", visibility=Visibility.PUBLIC)
        answers = [asyncio.get_running_loop().create_future() for _ in range(300)]
        posts = [Posting(message, 1, "bulk")] * len(answers)
        running.network.submit_many(sender, posts, lambda place, answer: answers[place].set_result(answer))
        given = await asyncio.wait_for(asyncio.gather(*answers), 20)
    assert all(isinstance(one, PostResult) for one in given)
    assert len(in_thread) == 1
    assert 300 - MANY_AT_ONCE // 1_000 <= in_thread[0] < 300 - MANY_AT_ONCE // 2_000
