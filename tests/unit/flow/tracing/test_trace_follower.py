"""The spans of every way that a journey can go, and what a restart, a limit or an absent collector does to them."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.message import MessageType, Property
from postroad.core.telemetry.spans import MAX_CHILDREN
from postroad.errors import Refused
from postroad.flow.administration.dead_letters import resend
from postroad.testing.otlp_receiver import ReceivedSpan
from tests.samples.traced import BUYER, CONTEXT, SELLER, SPAN, STAMP, TRACE, TracedScenario
from tests.waiting import eventually_async

pytestmark = pytest.mark.req("O4")


async def test_a_notification() -> None:
    async with TracedScenario() as scenario:
        posted = await scenario.post(BUYER, SELLER, "12345")
        await scenario.return_to_queue(await scenario.receive(SELLER))
        await scenario.take(SELLER)
        assert await scenario.tree() == (
            "post Acme/Supply\n  deliver Acme/Supply delivered [leased] [returned] [leased]\n    settle Acme/Supply"
        )
        [post, deliver, _] = scenario.collector.spans
        assert post.trace_id == posted.transaction
        assert post.attributes == {
            "messaging.system": "postroad",
            "messaging.operation.name": "post",
            "messaging.operation.type": "send",
            "messaging.destination.name": SELLER,
            "messaging.message.id": posted.session,
            "messaging.message.conversation_id": posted.transaction,
            "messaging.message.body.size": 5,
            "postroad.sender": BUYER,
            "postroad.type": "notification",
            "postroad.form": "python",
            "postroad.recipients": 1,
        }
        assert deliver.attributes["postroad.attempts"] == 2
        assert deliver.start_ns == post.start_ns <= deliver.end_ns


async def make_request(scenario: TracedScenario, **header: str) -> None:
    await scenario.post(BUYER, SELLER, "x", type=MessageType.REQUEST, route=[STAMP], **header)
    await scenario.respond(await scenario.receive(STAMP), "stamped")
    await scenario.respond(await scenario.receive(SELLER), "answer")


REQUEST = """\
post Acme/Supply
  invoke Transmatics/Stamp answered [leased]
    deliver Acme/Supply answered [leased]
      post MyBiz/Buyer
        deliver MyBiz/Buyer delivered [leased]
          settle MyBiz/Buyer"""


async def test_a_request_its_stop_and_its_response_are_one_trace() -> None:
    async with TracedScenario() as scenario:
        await make_request(scenario)
        assert await scenario.tree() == "", "the journey has not ended"
        await scenario.take(BUYER)
        assert await scenario.tree() == REQUEST
        assert len({span.trace_id for span in scenario.collector.spans}) == 1


async def test_the_trace_continues_that_of_the_poster() -> None:
    async with TracedScenario() as scenario:
        await make_request(scenario, traceparent=CONTEXT, tracestate="a=1")
        await scenario.take(BUYER)
        spans = await scenario.spans()
        assert {span.trace_id for span in spans} == {TRACE}
        [root] = [span for span in spans if span.name == "post Acme/Supply"]
        assert (root.parent_id, root.state, root.links) == (SPAN, "a=1", ())


async def test_a_trace_may_link_to_the_poster_instead() -> None:
    async with TracedScenario(join="link") as scenario:
        posted = await scenario.post(BUYER, SELLER, "x", traceparent=CONTEXT)
        await scenario.take(SELLER)
        spans = await scenario.spans()
        assert {span.trace_id for span in spans} == {posted.transaction}
        assert (spans[0].parent_id, spans[0].links) == ("", ((TRACE, SPAN),))


async def test_a_context_that_is_not_sampled_does_not_make_the_trace() -> None:
    async with TracedScenario(share=0.0) as scenario:
        await scenario.post(BUYER, SELLER, "x", traceparent=CONTEXT[:-1] + "0")
        await scenario.take(SELLER)
        assert await scenario.spans() == []


async def test_failures_expirations_and_slow_ones_are_always_exported() -> None:
    async with TracedScenario(share=0.0) as scenario:
        for _ in range(4):
            await scenario.post(BUYER, SELLER, "x", expires_at_us=scenario.clock.now_us() + 3_600_000_000)
        failed, expired, slow, quick = await scenario.poll(SELLER, lease_s=60.0)
        await scenario.fail(failed, make_reason("push.server-error", status=503, tries=9))
        await scenario.acknowledge(quick)
        await scenario.advance(seconds=301.0)
        await scenario.acknowledge(slow)
        await scenario.advance(hours=1.0)
        assert await scenario.tree() == (
            "post Acme/Supply\n"
            "  deliver Acme/Supply failed ERROR push.server-error [leased]\n"
            "post Acme/Supply\n"
            "  deliver Acme/Supply expired ERROR delivery.expired [leased]\n"
            "    expire Acme/Supply\n"
            "post Acme/Supply\n"
            "  deliver Acme/Supply delivered [leased]\n"
            "    settle Acme/Supply"
        )
        transactions = [one.transaction for one in (failed, expired, slow)]
        assert {span.trace_id for span in scenario.collector.spans} == set(transactions)


async def test_a_dead_letter_that_is_resent_continues_its_trace() -> None:
    async with TracedScenario() as scenario:
        owner = await scenario.person("o@acme.example", "Acme")
        await scenario.post(BUYER, SELLER, "x")
        dead = await scenario.fail(await scenario.receive(SELLER))
        await resend(scenario.network, owner, dead, "repaired")
        await scenario.take(SELLER)
        assert await scenario.tree() == (
            "post Acme/Supply\n"
            "  deliver Acme/Supply failed ERROR push.server-error [leased]\n"
            "    deliver Acme/Supply delivered [leased]\n"
            "      settle Acme/Supply"
        )


async def test_the_networks_error_response_is_in_the_trace_of_its_request() -> None:
    async with TracedScenario() as scenario:
        await scenario.post(BUYER, SELLER, "x", type=MessageType.REQUEST)
        await scenario.fail(await scenario.receive(SELLER))
        await scenario.take(BUYER)
        assert await scenario.tree() == (
            "post Acme/Supply\n"
            "  deliver Acme/Supply failed ERROR push.server-error [leased]\n"
            "    post MyBiz/Buyer\n"
            "      deliver MyBiz/Buyer delivered [leased]\n"
            "        settle MyBiz/Buyer"
        )


async def test_refusals_of_a_recipient_and_of_a_whole_post() -> None:
    async with TracedScenario() as scenario:
        await scenario.post(BUYER, [SELLER, "No/Body"], "x")
        await scenario.take(SELLER)
        with pytest.raises(Refused):
            await scenario.post(BUYER, "No/Body", "x", traceparent=CONTEXT)
        assert await scenario.tree() == (
            "post 2 recipients\n"
            "  deliver Acme/Supply delivered [leased]\n"
            "    settle Acme/Supply\n"
            "  refuse ERROR recipient.unknown\n"
            "refuse ERROR recipient.unknown"
        )
        assert (scenario.collector.spans[-1].trace_id, scenario.collector.spans[-1].parent_id) == (TRACE, SPAN)


async def test_copies_share_the_span_of_their_post() -> None:
    async with TracedScenario(per_s=1) as scenario:
        await scenario.post(BUYER, [SELLER, STAMP], "x")
        await scenario.take(STAMP)
        await scenario.take(SELLER)
        assert await scenario.tree() == (
            "post 2 recipients\n"
            "  deliver Acme/Supply delivered [leased]\n"
            "    settle Acme/Supply\n"
            "  deliver Transmatics/Stamp delivered [leased]\n"
            "    settle Transmatics/Stamp"
        )


async def test_a_message_to_many_has_a_bounded_number_of_spans() -> None:
    async with TracedScenario() as scenario:
        count = MAX_CHILDREN + 7
        await scenario.post(BUYER, [SELLER] * count, "x")
        while await scenario.take(SELLER):
            pass
        spans = await scenario.spans()
        [post] = [span for span in spans if span.name.startswith("post")]
        assert sum(span.name.startswith("deliver") for span in spans) == MAX_CHILDREN
        assert post.attributes["postroad.recipients"] == count
        assert post.attributes["postroad.recipients_left_out"] == 7


def as_set(spans: list[ReceivedSpan]) -> set[str]:
    return {repr(span) for span in spans}


async def test_a_restart_another_node_and_a_repetition_give_the_same_spans() -> None:
    async with TracedScenario() as scenario:
        begin = await scenario.cursors.load("traces")
        assert begin is not None
        await make_request(scenario, traceparent=CONTEXT)
        await scenario.take(BUYER)
        await scenario.post(BUYER, [SELLER, STAMP], "x")
        await scenario.take(STAMP)
        await scenario.take(SELLER)
        first = as_set(await scenario.spans())
        scenario.collector.requests.clear()
        await scenario.cursors.save("traces", begin)
        await scenario.new_follower().catch_up()
        assert as_set(scenario.collector.spans) == first, "the same batch again, by a new process"
        scenario.collector.requests.clear()
        last = await scenario.cursors.load("traces")
        assert last is not None
        seq = begin.seq
        while seq < last.seq:  # a restart after every group: what came before is read by the index
            await scenario.cursors.save("traces", (await scenario.network.journal.read(seq, 1)).head)
            seq = (await scenario.network.journal.read(seq, 1)).head.seq
            batch = await scenario.network.journal.read(seq, 1)
            if batch.records:
                scenario.new_follower()
                await scenario.tracing.follower.handle(batch)
        assert as_set(scenario.collector.spans) == first


async def test_the_oldest_entries_are_read_again_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    async with TracedScenario() as scenario:
        monkeypatch.setattr(scenario.tracing.follower._records, "_max_weight", 1)
        await make_request(scenario)
        await scenario.follower.catch_up()
        await scenario.post(BUYER, STAMP, "another")
        await scenario.follower.catch_up()
        await scenario.take(BUYER)
        assert await scenario.tree() == REQUEST


async def test_a_failure_of_an_undecoded_post_is_whole_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    async with TracedScenario(share=0.0) as scenario:
        monkeypatch.setattr(scenario.tracing.follower._records, "_max_weight", 4)
        for number in range(6):
            await scenario.post(BUYER, SELLER, str(number))
            await scenario.follower.catch_up()
        first, *others, last = await scenario.poll(SELLER)
        await scenario.acknowledge(*others)
        await scenario.follower.catch_up()
        await scenario.fail(first)
        await scenario.fail(last)
        drawn = "post Acme/Supply\n  deliver Acme/Supply failed ERROR push.server-error [leased]"
        assert await scenario.tree() == f"{drawn}\n{drawn}"


async def test_a_limit_of_successes_leaves_room_for_failures() -> None:
    async with TracedScenario(per_s=2) as scenario:
        for _ in range(5):
            number = len(await scenario.journal())
            await scenario.post(BUYER, SELLER, "x", traceparent=CONTEXT.replace("4bf9", f"{number:04x}"))
        *some, bad = await scenario.poll(SELLER)
        await scenario.acknowledge(*some)
        await scenario.fail(bad)
        spans = await scenario.spans()
        assert sum(span.name.startswith("post") for span in spans) == 3
        assert [span.error for span in spans if span.error] == ["push.server-error"]
        assert scenario.tracing.sampler.skipped == 2


async def test_a_collector_that_is_away_delays_the_follower_but_not_the_journal() -> None:
    async with TracedScenario() as scenario:
        scenario.collector.status = 503
        await scenario.post(BUYER, SELLER, "x")
        await scenario.take(SELLER)
        before = await scenario.cursors.load("traces")
        running = asyncio.create_task(scenario.follower.catch_up())
        await eventually_async(lambda: scenario.tracing.exporter._is_away)
        await scenario.post(BUYER, SELLER, "y")  # is accepted
        assert await scenario.cursors.load("traces") == before, "the cursor waits"
        scenario.collector.status = 200
        await running
        assert len(scenario.collector.named("post Acme/Supply")) == 1
        assert scenario.tracing.exporter.skipped == 0


async def test_spans_older_than_the_patience_are_counted_and_skipped() -> None:
    async with TracedScenario(patience_s=0) as scenario:
        scenario.collector.status = 503
        await scenario.post(BUYER, SELLER, "x")
        await scenario.take(SELLER)
        await scenario.advance(seconds=1.0)
        await scenario.follower.catch_up()
        assert await scenario.cursors.load("traces") == await scenario.network.journal.head()
        assert (scenario.tracing.exporter.sent, scenario.tracing.exporter.skipped) == (0, 3)


async def test_a_collector_that_rejects_spans_gets_them_once() -> None:
    async with TracedScenario() as scenario:
        scenario.collector.status = 400
        await scenario.post(BUYER, SELLER, "x")
        await scenario.take(SELLER)
        await scenario.follower.catch_up()
        assert scenario.tracing.exporter.skipped == 3


async def test_no_span_contains_content_handles_properties_or_texts_of_parties() -> None:
    canary = "canary-4711"
    async with TracedScenario() as scenario:
        await scenario.post(
            BUYER, SELLER, canary, type=MessageType.REQUEST, handle=canary, topic=canary, route=[STAMP],
            properties=(Property(canary, canary),),
        )  # fmt: skip
        await scenario.return_to_queue(await scenario.receive(STAMP), reason=canary)
        await scenario.respond(await scenario.receive(STAMP), canary)
        await scenario.fail(await scenario.receive(SELLER), make_reason("push.nothing-listens", host=canary))
        await scenario.take(BUYER)
        await scenario.spans()
        assert scenario.collector.requests
        assert canary.encode() not in b"".join(scenario.collector.requests)
