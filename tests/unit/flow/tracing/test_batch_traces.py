"""A batch in traces: its members' traces end at the batcher, and the interchange's trace links to them."""

from __future__ import annotations

import pytest

from postroad.adapters.followers.cursors import MemoryCursors
from postroad.core.model.batch_policy import BatchPolicy
from postroad.testing.otlp_receiver import otlp_receiver
from tests.samples.send_port import PARTNER, send_port
from tests.samples.traced import CONTEXT, TRACE, draw, follower_of, trace


@pytest.mark.req("O4")
async def test_an_interchange_links_to_the_members_of_its_batch() -> None:
    async with send_port(BatchPolicy(count=2)) as scenario:
        with otlp_receiver() as collector:
            tracing = trace(scenario, collector, per_s=100)
            follower = follower_of(scenario, tracing, MemoryCursors())
            await follower.catch_up()
            posted = await scenario.post_orders(1, 1)
            posted.append(await scenario.send(b"ST*850*0002~BEG*00*NE*2**20260105~SE*3*0002~", traceparent=CONTEXT))
            await scenario.work(60.0)
            await scenario.take(PARTNER)
            await scenario.work(1.0)
            await follower.catch_up()
            await tracing.close()
            own = [span for span in collector.spans if span.trace_id not in (posted[0].transaction, TRACE)]
            assert draw(own) == (
                "post Acme/edi\n  batch Acme/orders\n  deliver Acme/edi delivered [leased]\n    settle Acme/edi"
            )
            [post] = [span for span in own if span.name.startswith("post")]
            deliveries = {span.trace_id: span.span_id for span in collector.named("deliver Acme/orders")}
            assert dict(post.links) == deliveries
            assert set(deliveries) == {posted[0].transaction, TRACE}
            assert all(
                "joined batch" in [name for name, _, _ in span.events]
                for span in collector.named("deliver Acme/orders")
            )
