"""The response to a call with many posts: collects the answers, and sends them together in order."""

from __future__ import annotations

from time import monotonic

from postroad.api.http.request import FastReply, Headers
from postroad.core.codecs.bulk import bulk_answer_type, encode_bulk_answer
from postroad.core.metrics.instruments import Histogram
from postroad.core.model.message import PostResult
from postroad.errors import Refused, Unavailable
from postroad.flow.stages.posting import Answer


class BulkAnswer:
    def __init__(
        self,
        reply: FastReply,
        content_type: str,
        messages: int,
        headers: Headers = (),
        seconds: Histogram | None = None,  # of all calls
    ) -> None:
        self._reply = reply
        self._headers = headers
        self._seconds = seconds
        self._answer_type = bulk_answer_type(content_type)
        self._answers: list[PostResult | Refused | None] = [None] * messages
        self._missing = messages
        if not messages:
            self._send()

    def answered(self, place: int, answer: Answer) -> None:
        """Store the answer for the message with this index."""
        self._answers[place] = Refused(answer.code, answer.detail) if isinstance(answer, Unavailable) else answer
        self._missing -= 1
        if not self._missing:
            self._send()

    def _send(self) -> None:
        answers = [answer for answer in self._answers if answer is not None]
        self._reply(200, encode_bulk_answer(self._answer_type, answers), self._answer_type.encode(), self._headers)
        if self._seconds is not None:
            self._seconds.observe(monotonic() - self._reply.asked_at_s)
