"""The metrics of one HTTP server: requests by route and status, connections, and bodies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroad.core.metrics.declaration import OTHER
from postroad.core.metrics.instruments import Counter
from postroad.core.metrics.registry import Family, Metrics

if TYPE_CHECKING:
    from postroad.api.http.capacity import Capacity
    from postroad.api.http.post_queue import PostQueue


class StatusCounters(dict[str, Sequence[Counter]]):
    """The counters of each route, by the first digit of the status."""

    def __init__(self, requests: Family[Counter]) -> None:
        super().__init__()
        self._requests = requests

    def __missing__(self, route: str) -> Sequence[Counter]:
        counters = [self._requests.of(route, f"{digit}xx") for digit in range(2, 6)]
        found = self[route] = (counters[0], counters[0], *counters)
        return found


class HttpMetrics:
    """The metrics of one server; a reply keeps the counters of its route."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics or Metrics()
        self.statuses = StatusCounters(self._metrics.counters("http_requests_total"))
        self._seconds = self._metrics.histograms("http_seconds")
        self.refused = self._metrics.counter("connections_refused_total")
        self._unread = self._metrics.counter("posts_total", "unavailable", OTHER)
        self._busy = self._metrics.counter("post_refusals_total", "network.busy")

    def record(self, route: str, status: int, seconds: float) -> None:
        """Count a request to the application, and measure it."""
        self.statuses[route][min(status // 100, 5)].value += 1
        self._seconds.of(route).observe(seconds)

    def count_unread_posts(self, count: int) -> None:
        """Count posts that were refused before they were parsed."""
        self._unread.value += count
        self._busy.value += count

    def follow(self, capacity: Capacity, posts: PostQueue, bodies_limit_bytes: int) -> None:
        """Report what the server holds, on each page."""

        def update() -> None:
            self._metrics.gauge("connections").set(capacity.connections)
            self._metrics.gauge("posts_waiting_connections").set(posts.waiting)
            self._metrics.gauge("bodies_in_flight_bytes").set(capacity.body_bytes)
            self._metrics.gauge("bodies_in_flight_limit_bytes").set(bodies_limit_bytes)

        self._metrics.on_read(update)
