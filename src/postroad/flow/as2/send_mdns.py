"""Asynchronous MDNs: post them to the partner's URL with retries until they are accepted.

Rules: an MDN is tried with growing pauses for about a day, each time with the same bytes. It is sent only where the
partnership allows it, through the same guarded connection as every push. An MDN for an unauthenticated message is
tried once; otherwise anyone could fill the space for waiting MDNs. Waiting MDNs are in memory: after a restart, a
partner that misses its MDN sends its message again, as AS2 prescribes, and that starts the same MDN again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from postroad.core.codecs.as2 import BuiltMdn
from postroad.core.delivery.push_request import PushRequest
from postroad.ports import Pusher

PAUSES_S = (0.0, 5.0, 30.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 21_600.0)
MAX_UNDER_WAY = 10_000

log = logging.getLogger(__name__)


class MdnSender:
    """Posts asynchronous MDNs, each in a task with growing pauses between attempts."""

    def __init__(self, pusher: Pusher, timeout_s: float) -> None:
        self._pusher = pusher
        self._timeout_s = timeout_s
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def send(self, url: str, mdn: BuiltMdn, *, insists: bool = True) -> None:
        """Start posting an MDN; one that is already being posted starts over with its first attempt."""
        headers = dict(mdn.headers)
        name = headers["Message-ID"]
        if (waiting := self._under_way.pop(name, None)) is not None:
            waiting.cancel()
        elif len(self._under_way) >= MAX_UNDER_WAY:
            log.warning(
                "as2.mdn_queue_full: too many MDNs are waiting; %s is sent when its message is received again", name
            )
            return
        request = PushRequest(url=url, headers=headers, body=mdn.body, timeout_s=self._timeout_s)
        task = self._under_way[name] = asyncio.get_running_loop().create_task(
            self._insist(name, request, PAUSES_S if insists else PAUSES_S[:1])
        )
        task.add_done_callback(lambda done: self._forget(name, done))

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _insist(self, name: str, request: PushRequest, pauses_s: Sequence[float]) -> None:
        for pause_s in pauses_s:
            await asyncio.sleep(pause_s)
            answer = await self._pusher.push(request)
            if answer.status is not None and 200 <= answer.status < 300:
                log.info("as2.mdn_sent: MDN %s is posted", name)
                return
            log.info("as2.mdn_refused: MDN %s was not taken: %s", name, answer.fault_text or answer.status)
        log.warning("as2.mdn_given_up: MDN %s is given up", name)

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._under_way.get(name) is task:
            del self._under_way[name]
