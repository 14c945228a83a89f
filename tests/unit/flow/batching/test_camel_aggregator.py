"""What Apache Camel documents of its aggregator, re-stated for send ports; where ours differ on purpose, the case says so.

A script is read from left to right: ``A1`` is a message of the group A, ``A1!`` one of which the condition holds, ``A1=2``
one with a rank; ``a1`` names the application's batch a, ``a1^`` begins it and ``a1$`` ends it; a number lets so many seconds
pass; ``force`` releases all that is open. Every case is played twice: with a batcher that looks after every step, and with one
that comes late.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Recovery, SortKey, Types, Unfinished
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Role
from postroad.core.model.message import Delivered
from postroad.core.model.rule import Comparing, MessageSection, ValueComparison, ValueLocation, ValueType
from postroad.flow.administration import batch_actions as steering
from tests.samples.send_port import LINES, SendPortScenario, send_port

KEY = ValueLocation(where=MessageSection.HEADER, path="properties.Key")
RANK = ValueLocation(where=MessageSection.HEADER, path="properties.Rank")
LAST = ValueComparison(
    operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="properties.Last"), values=("yes",)
)
MARKS = {"!": {"Last": "yes"}, "^": {"BatchStart": "true"}, "$": {"BatchEnd": "true"}}


@dataclass(frozen=True, kw_only=True)
class Case:
    camel: str
    policy: BatchPolicy
    script: str
    gone: tuple[str, ...]  # what has left together, in order, and by which criterion
    waits: tuple[str, ...] = ()
    suspended: tuple[str, ...] = field(default=())


CASES = [
    Case(
        camel="completionSize: complete with so many, and begin again",
        policy=BatchPolicy(count=3),
        script="A1 A2 A3 A4",
        gone=("A1 A2 A3 by count",),
        waits=("A4",),
    ),
    Case(
        camel="completionTimeout: so long without a new message, counted again with each",
        policy=BatchPolicy(idle_s=10),
        script="A1 9 A2 9 A3 10 A4",
        gone=("A1 A2 A3 by idle",),
        waits=("A4",),
    ),
    Case(
        camel="completionInterval: all that is there when the clock comes round",
        policy=BatchPolicy(cron=("* * * * *",)),
        script="60 A1 1 A2 60 A3 59 A4 60",
        gone=("A1 A2 by schedule", "A3 by schedule", "A4 by schedule"),
    ),
    Case(
        camel="completionPredicate: the message that fulfils it is the last one in",
        policy=BatchPolicy(last=LAST),
        script="A1 A2 A3! A4",
        gone=("A1 A2 A3 by condition",),
        waits=("A4",),
    ),
    Case(
        camel="eagerCheckCompletion: the very first may fulfil it",
        policy=BatchPolicy(last=LAST),
        script="A1! A2!",
        gone=("A1 by condition", "A2 by condition"),
    ),
    Case(
        camel="several conditions: whichever is fulfilled first, by size",
        policy=BatchPolicy(count=2, idle_s=10, last=LAST),
        script="A1 A2 A3 10 A4! A5",
        gone=("A1 A2 by count", "A3 by idle", "A4 by condition"),
        waits=("A5",),
    ),
    Case(
        camel="completionFromBatchConsumer: complete when the consumer's batch ends",
        policy=BatchPolicy(controlled=Controlled()),
        script="a1^ a2 a3$ a4^",
        gone=("a1 a2 a3 by end",),
        waits=("a4",),
    ),
    Case(
        camel="completionFromBatchConsumer overrules completionSize",
        policy=BatchPolicy(count=2, controlled=Controlled()),
        script="a1^ a2 a3 a4$ A5",
        gone=("a1 a2 a3 a4 by end",),
        waits=("A5",),
    ),
    Case(
        camel="correlationExpression: groups are gathered and completed apart",
        policy=BatchPolicy(count=2, group_by=(KEY,)),
        script="A1 B2 C3 B4 1 A5",
        gone=("B2 B4 by count", "A1 A5 by count"),
        waits=("C3",),
    ),
    Case(
        camel="completionTimeout is counted for each group",
        policy=BatchPolicy(idle_s=10, group_by=(KEY,)),
        script="A1 6 B2 6",
        gone=("A1 by idle",),
        waits=("B2",),
    ),
    Case(
        camel="ignoreInvalidCorrelationKeys: those without a key are a group too; ours are never thrown away",
        policy=BatchPolicy(count=2, group_by=(RANK,)),
        script="A1 A2 A3",
        gone=("A1 A2 by count",),
        waits=("A3",),
    ),
    Case(
        camel="completionOnNewCorrelationGroup: another kind completes what was there",
        policy=BatchPolicy(types=Types.IN_TURN),
        script="A1 A2 {} A4",
        gone=("A1 A2 by type", "{} by type"),
        waits=("A4",),
    ),
    Case(
        camel="forceCompletionOfAllGroups",
        policy=BatchPolicy(count=9, group_by=(KEY,)),
        script="A1 B2 A3 force A4",
        gone=("A1 A3 by request", "B2 by request"),
        waits=("A4",),
    ),
    Case(
        camel="discardOnCompletionTimeout: ours is suspended for somebody to look at, and never thrown away",
        policy=BatchPolicy(controlled=Controlled(unfinished_after_s=10, unfinished=Unfinished.SUSPEND)),
        script="a1^ a2 10 b3^",
        gone=(),
        waits=("b3",),
        suspended=("a1 a2",),
    ),
    Case(
        camel="without discardOnCompletionTimeout what is there goes",
        policy=BatchPolicy(controlled=Controlled(unfinished_after_s=10, unfinished=Unfinished.SEND)),
        script="a1^ a2 10 b3^",
        gone=("a1 a2 by unfinished",),
        waits=("b3",),
    ),
    Case(
        camel="closeCorrelationKeyOnCompletion: who comes late is in no group that is complete; ours begin the next",
        policy=BatchPolicy(count=2, group_by=(KEY,)),
        script="A1 A2 A3",
        gone=("A1 A2 by count",),
        waits=("A3",),
    ),
    Case(
        camel="GroupedExchangeAggregationStrategy: in the order of arrival",
        policy=BatchPolicy(count=4),
        script="A4 A2 A3 A1",
        gone=("A4 A2 A3 A1 by count",),
    ),
    Case(
        camel="a strategy that sorts: by a value, the highest first, equal ones as they came",
        policy=BatchPolicy(count=4, sort_by=(SortKey(place=RANK, type=ValueType.NUMBER, descending=True),)),
        script="A1=2 A2=10 A3=2 A4",
        gone=("A2 A1 A3 A4 by count",),
    ),
    Case(
        camel="a timeout that nobody noticed in time does not let in who came after it",
        policy=BatchPolicy(age_s=10),
        script="A1 5 A2 20 A3",
        gone=("A1 A2 by age",),
        waits=("A3",),
    ),
]


async def owner(port: SendPortScenario) -> Caller:
    return await port.running.enroll("ada@acme.example", organization="Acme", role=Role.DEVELOPER)


async def force(port: SendPortScenario, ada: Caller) -> None:
    await port.work()
    for batch in await port.batches():
        if batch.state is BatchState.OPEN:
            await steering.release(port.network, ada, batch.id, "now", None)


async def post(port: SendPortScenario, word: str) -> None:
    name, _, rank = word.partition("=")
    mark = MARKS.get(name[-1], {})
    name = name.rstrip("!^$")
    named = {"BatchID": name[0]} if name[0].islower() else {"Key": name[0]}
    ranked = {"Rank": rank} if rank else {}
    data = name if name == "{}" else f'"{name}"'
    await port.send(data.encode(), properties={**named, **ranked, **mark})


async def play(port: SendPortScenario, script: str, ada: Caller, *, looks: bool) -> None:
    for word in script.split():
        if word == "force":
            await force(port, ada)
        elif word.isdigit():
            port.clock.advance(int(word))
        else:
            await post(port, word)
        if looks:
            await port.work()
    await port.work()


def words(stream: bytes) -> str:
    return stream.decode().replace('"', "").replace("\n", " ").strip()


async def names(port: SendPortScenario, batch: Batch) -> str:
    found = []
    async for page in port.network.batches.members(batch.id):
        found += [words(body or b"") for body in await port.network.desk.bodies([held.queued for held in page])]
    return " ".join(found)


async def gone(port: SendPortScenario) -> list[str]:
    batches = {batch.id: batch for batch in await port.batches()}

    def told(interchange: Delivered) -> tuple[int, str]:
        [batch] = [batches[one.value] for one in interchange.properties if one.name == "batch.id"]
        return batch.closed_at_us, f"{words(interchange.parts[0].data)} by {batch.closed_by}"

    return [text for _, text in sorted(map(told, await port.poll()), key=lambda one: one[0])]


@pytest.mark.req("B1", "B2", "B3")
@pytest.mark.parametrize("looks", [True, False], ids=["looks every time", "comes late"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.camel)
async def test_batches_equal_those_of_camels_aggregator(case: Case, looks: bool) -> None:
    async with send_port(case.policy, **LINES) as port:
        await play(port, case.script, await owner(port), looks=looks)
        assert tuple(await gone(port)) == case.gone
        batches = await port.batches()
        assert tuple([await names(port, one) for one in batches if one.state is BatchState.OPEN]) == case.waits
        suspended = [await names(port, one) for one in batches if one.state is BatchState.SUSPENDED]
        assert tuple(suspended) == case.suspended


@pytest.mark.req("B4", "B5")
@pytest.mark.parametrize(
    ("recovery", "state"),
    [
        (Recovery.GO_ON, BatchState.OPEN),  # a persistent repository: the group is there after a restart
        (Recovery.PASS, BatchState.ASSEMBLED),  # forceCompletionOnStop, for stops that nobody announced
        (Recovery.FAIL, BatchState.SUSPENDED),
    ],
)
async def test_a_persistent_repository_has_what_was_gathered_before_a_crash(
    recovery: Recovery, state: BatchState
) -> None:
    async with send_port(BatchPolicy(count=3, recovery=recovery), **LINES) as port:
        await play(port, "A1 A2", await owner(port), looks=True)
        await port.restart()
        await port.work()
        [batch] = await port.batches()
        assert (batch.state, await names(port, batch)) == (state, "A1 A2")


@pytest.mark.req("B5", "B7")
async def test_maximum_redeliveries_end_with_a_dead_letter_and_the_same_exchange_can_be_recovered() -> None:
    async with send_port(BatchPolicy(count=2), **LINES) as port:
        ada = await owner(port)
        await play(port, "A1 A2", ada, looks=True)
        sent = []
        while found := await port.poll():  # nobody ever says that it has come
            sent += found
            await port.work(3_600)
        await port.work(3)
        [batch] = await port.batches()
        assert batch.state is BatchState.SUSPENDED
        assert len(sent) > 1
        assert len({(one.session, one.parts[0].data) for one in sent}) == 1  # each time the same
        await steering.resume(port.network, ada, batch.id, "mended", None)
        [again] = await port.poll()
        assert again.parts == sent[0].parts
        await port.acknowledge(again)
        await port.work()
        assert [one.state for one in await port.batches()] == [BatchState.SENT]
        assert DeliveryState.QUEUED not in dict(await port.network.index.query("states"))
