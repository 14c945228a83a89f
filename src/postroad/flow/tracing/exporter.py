"""Sends spans to an OpenTelemetry collector by OTLP over HTTP.

Rules: the exporter retries while the collector is away; spans that are older than the patience are counted and
skipped, so the follower never falls behind permanently. A collector that rejects a request gets it only once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from postroad import __version__
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.telemetry.otlp import MEDIA_TYPE, encode_request
from postroad.core.telemetry.span import Attributes, Span
from postroad.ports import Clock, Pusher

log = logging.getLogger(__name__)

PATH = "/v1/traces"
TIMEOUT_S = 10.0
FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 0.5, 15.0
RETRIED = frozenset({408, 429, 502, 503, 504})


class OtlpExporter:
    """Exports to one collector; ``sent`` and ``skipped`` count spans."""

    def __init__(
        self,
        url: str,
        pusher: Pusher,
        clock: Clock,
        *,
        headers: Mapping[str, str],
        resource: Attributes,
        patience_s: float,
        first_back_off_s: float = FIRST_BACK_OFF_S,
    ) -> None:
        self._url = url.rstrip("/") + PATH
        self._pusher = pusher
        self._clock = clock
        self._headers = {"content-type": MEDIA_TYPE, **headers}
        self._resource = resource
        self._patience_us = int(patience_s * 1_000_000)
        self._first_back_off_s = first_back_off_s
        self._is_away = False
        self.sent = 0
        self.skipped = 0

    async def export(self, spans: Sequence[Span]) -> None:
        """Send spans; returns when they have arrived, were rejected, or are too old."""
        request = PushRequest(
            url=self._url,
            headers=self._headers,
            body=encode_request(spans, self._resource, __version__),
            timeout_s=TIMEOUT_S,
        )
        newest_us = max(span.end_us for span in spans)
        back_off_s = self._first_back_off_s
        while True:
            answer = await self._pusher.push(request)
            if answer.status is not None and 200 <= answer.status < 300:
                self._note_success(len(spans))
                return
            self._note_failure(answer)
            is_rejected = answer.status is not None and answer.status not in RETRIED
            if is_rejected or self._clock.now_us() - newest_us > self._patience_us:
                self.skipped += len(spans)
                return
            await asyncio.sleep(max(back_off_s, min(answer.retry_after_s or 0.0, LONGEST_BACK_OFF_S)))
            back_off_s = min(back_off_s * 2, LONGEST_BACK_OFF_S)

    def _note_success(self, count: int) -> None:
        self.sent += count
        if self._is_away:
            log.warning("traces.export_resumed: the collector accepts spans again")
            self._is_away = False

    def _note_failure(self, answer: PushAnswer) -> None:
        if not self._is_away:
            why = answer.fault_text or f"status {answer.status}"
            log.warning("traces.export_failed: spans cannot be exported: %s", why)
            self._is_away = True
