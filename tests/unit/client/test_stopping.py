"""A consumer that is asked to stop does so at once, in whatever moment it is asked."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from postroad.client.steps import Interrupted
from postroad.client.stop_signals import SIGNALS, AsyncStopping, Stopping
from tests.waiting import WITHIN_S, forever


def test_who_is_asked_just_before_waiting_does_not_wait() -> None:
    stopping = Stopping()
    stopping.ask()
    with pytest.raises(Interrupted), stopping.interruptible(True):
        pytest.fail("nobody waits any more")


def test_what_must_be_finished_is_finished_though_somebody_has_asked() -> None:
    stopping = Stopping()
    stopping.ask()
    finished = False
    with stopping.interruptible(False):
        finished = True
    assert finished
    assert stopping()


def test_who_asks_before_the_consumer_has_begun_has_asked() -> None:
    """A thread that is started and stopped at once must not run indefinitely."""
    stopping = Stopping()
    stopping.ask()
    with stopping.by_signals():
        assert stopping()
    assert not stopping(), "the next one begins again"


@pytest.mark.req("K1")
def test_a_signal_stops_all_consumers_of_a_loop_and_is_then_what_it_was() -> None:
    async def consumers() -> None:
        first, second = AsyncStopping(), AsyncStopping()
        before = [signal.getsignal(number) for number in SIGNALS]
        with second.by_signals():
            with first.by_signals():
                pass
            with first.by_signals():
                os.kill(os.getpid(), signal.SIGTERM)
                for stopping in (first, second):
                    with pytest.raises(Interrupted):
                        await asyncio.wait_for(stopping.unless_asked(forever()), WITHIN_S)
        assert [signal.getsignal(number) for number in SIGNALS] == before
        assert not first()

    asyncio.run(consumers())


def test_two_consumers_of_one_client_both_stop() -> None:
    async def consumers() -> None:
        stopping = AsyncStopping()
        with stopping.by_signals():
            with stopping.by_signals():
                stopping.ask()
            assert stopping(), "the one that is still at it has not seen it yet"
        assert not stopping()

    asyncio.run(consumers())


def test_ctrl_c_twice_breaks_off_a_function_that_does_not_end() -> None:
    stopping = Stopping()
    with stopping.by_signals():
        signal.raise_signal(signal.SIGINT)
        assert stopping(), "once is a wish"
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with stopping.by_signals():
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_twice_breaks_off_a_coroutine_that_does_not_end() -> None:
    async def endless() -> None:
        with AsyncStopping().by_signals():
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0)
            await forever()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(endless())
