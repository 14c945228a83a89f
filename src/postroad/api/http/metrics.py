"""The metrics of one HTTP server: requests by route and status, connections, and bodies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroad.core.metrics.instruments import Counter
from postroad.core.metrics.registry import Metrics

if TYPE_CHECKING:
    from postroad.api.http.capacity import Capacity


class HttpMetrics:
    """Counts requests; the counters of a route are found once, and then kept by its replies."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics or Metrics()
        self._requests = self._metrics.counters("http_requests_total")
        self._seconds = self._metrics.histograms("http_seconds")
        self._by_route: dict[str, Sequence[Counter]] = {}
        self.refused = self._metrics.counter("connections_refused_total")

    def statuses(self, route: str) -> Sequence[Counter]:
        """Return the counters of a route, by the first digit of the status."""
        found = self._by_route.get(route)
        if found is None:
            counters = [self._requests.of(route, f"{digit}xx") for digit in range(2, 6)]
            found = self._by_route[route] = (counters[0], counters[0], *counters)
        return found

    def record(self, route: str, status: int, seconds: float) -> None:
        """Count a request to the application, and measure it."""
        self.statuses(route)[min(status // 100, 5)].value += 1
        self._seconds.of(route).observe(seconds)

    def follow(self, capacity: Capacity, bodies_limit_bytes: int) -> None:
        """Report what the server holds, on each page."""

        def update() -> None:
            self._metrics.gauge("connections").set(capacity.connections)
            self._metrics.gauge("bodies_in_flight_bytes").set(capacity.body_bytes)
            self._metrics.gauge("bodies_in_flight_limit_bytes").set(bodies_limit_bytes)

        self._metrics.on_read(update)
