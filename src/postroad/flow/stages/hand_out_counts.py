"""Counts hand-outs, and measures how long messages wait: until their first hand-out, and until they are acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from postroad.core.metrics.registry import Metrics
from postroad.core.model.asset import Hosting
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import DeliveryMode, Service


class HandOutCounts:
    """The metrics of deliveries that receivers poll or are pushed."""

    def __init__(self, metrics: Metrics) -> None:
        self._handed_out = metrics.counters("handed_out_total")
        self._again = metrics.counters("redeliveries_total")
        self._polls = metrics.gauge("long_polls")
        first = metrics.histograms("first_handout_seconds")
        self._first_present, self._first_absent = first.of("yes"), first.of("no")
        self._acknowledged = metrics.histogram("delivery_seconds")

    def count_hand_outs(self, service: Service, handed: Sequence[Queued], asked_us: int, now_us: int) -> None:
        """Count deliveries that are handed out now to a receiver that has been asking since ``asked_us``."""
        mode = find_mode(service)
        self._handed_out.of(mode).value += len(handed)
        for queued in handed:
            posted_us = queued.message.at_us
            if queued.attempt > 1:
                self._again.of(mode).value += 1
            elif not queued.hop and not queued.origin:
                first = self._first_present if posted_us >= asked_us else self._first_absent
                first.observe(max(0, now_us - posted_us) / 1_000_000)

    def count_acknowledged(self, taken: Sequence[Queued], now_us: int) -> None:
        """Measure acknowledged deliveries, from the post of their message on."""
        for queued in taken:
            self._acknowledged.observe(max(0, now_us - queued.message.at_us) / 1_000_000)

    @contextmanager
    def waiting(self, service: Service) -> Iterator[None]:
        """Count a poll as waiting for a delivery; those of the network's own services are not counted."""
        count = service.hosted is Hosting.NONE
        self._polls.value += count
        try:
            yield
        finally:
            self._polls.value -= count


def find_mode(service: Service | None) -> str:
    """Return how a service receives its messages, as the metrics label it."""
    if service is None or service.hosted is Hosting.NONE:
        return "push" if service is not None and service.delivery is DeliveryMode.PUSH else "poll"
    return "hosted"
