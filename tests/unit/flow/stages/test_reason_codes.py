"""What failed is recorded with a code: causes, filters and histories do not depend on the words of a reason."""

from __future__ import annotations

import asyncio

import pytest

from postroad.adapters.transport.no_answer import find_reason
from postroad.core.delivery import reasons
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import add_values, make_reason
from postroad.core.model.journal import DeliveriesEnded, DeliveryAttempted, MessagePosted
from postroad.core.model.message import MessageType
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.dead_letters import DeadLetterSearch
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import PushScenario, in_virtual_time
from tests.unit.core.delivery.test_dead_letters import reword

FAILURES = {
    "A/Refusing": (PushAnswer(status=404), "refused", "push.refused"),
    "A/Failing": (PushAnswer(status=503), "server-error", "push.server-error"),
    "A/Moved": (PushAnswer(status=302), "redirected", "push.redirected"),
    "A/Silent": (PushAnswer(status=None), "no-answer", "push.no-answer"),
    "A/Absent": (
        PushAnswer(status=None, fault=add_values(find_reason(ConnectionRefusedError()), host="a.example")),
        "unreachable",
        "push.nothing-listens",
    ),
    "A/Odd": (PushAnswer(status=None, fault=make_reason("push.not-http")), "bad-answer", "push.not-http"),
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("kind", [MessageType.NOTIFICATION, MessageType.REQUEST])
@pytest.mark.parametrize("are_reworded", [False, True])
def test_causes_do_not_depend_on_words(kind: MessageType, are_reworded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if are_reworded:
        reword(monkeypatch)

    async def work(at: PushScenario) -> None:
        for address, (answer, _, _) in FAILURES.items():
            await at.pushed_service(address, push={"tries": 2, "retry_interval_s": 1})
            at.receivers.answer(push_url(address), answer)
        await at.send(*FAILURES, type=kind)
        await asyncio.sleep(60)
        operator = await at.person("ops@network.example", operator=True)
        for address, (_, cause, code) in FAILURES.items():
            page = await letters.browse(at.network, operator, DeadLetterSearch(cause=cause))
            assert [found.letter.service for found in page.found] == [address]
            service = at.network.directory.service(address)
            assert service is not None
            tried = [one for one in await at.journal() if isinstance(one, DeliveryAttempted) and one.by == service.gcid]
            assert [one.why.code for one in tried if one.why is not None] == [code]
        ends = [one for one in await at.journal() if isinstance(one, DeliveriesEnded)]
        ends += [one.ends for one in await at.journal() if isinstance(one, MessagePosted) and one.ends is not None]  # type: ignore[misc]
        assert sorted(end.why.code for end in ends if end.why is not None) == sorted(
            code for _, _, code in FAILURES.values()
        )
        assert all(end.why is not None and end.why.value("tries") == "2" for end in ends)

    in_virtual_time(work)


def test_a_push_that_waits_is_known_by_its_status_and_not_by_its_words() -> None:
    entry = DeliveryAttempted(1, "a" * 16, (1,), 503, 1, "push failed: or not", 1.0)
    assert (entry.is_put_off, entry.reason) == (True, "push failed: push failed: or not")
    taken = DeliveryAttempted(1, "a" * 16, (1,), 202, 1, "push failed: or not", 1.0)
    assert (taken.is_put_off, taken.reason) == (False, "push failed: or not")


def test_no_text_of_the_catalogue_is_empty() -> None:
    assert all(reasons.TEXTS.values())
