"""What is measured, what it is measured against, and the floors that a release may not fall below.

A row without consumers measures accepting messages; one with consumers measures the whole way, post → poll → acknowledge, and
counts messages received. The peer does the same work in its own manner: as many connections, each with as many messages
unconfirmed as our client has unanswered.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.payload import BULK, FORMS, Form

BULK_CONNECTIONS = 8
POLLERS, BULK_POLLERS = 4, 16  # each waits until its hundred is acknowledged durably, so several must be under way
PEER_CONSUMERS = 1  # acknowledges without waiting and may hold 2000 messages, so one suffices and is cheapest


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Ratios to the peer: messages and messages per CPU second at least, end-to-end p99 at most; None: no floor."""

    messages: float | None = None
    per_cpu: float | None = None
    end_to_end_p99: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    title: str
    form_name: str
    connections: int
    consumes: bool = False
    shared: bool = False
    tls: bool = False
    floor: Floor = Floor()

    @property
    def form(self) -> Form:
        return FORMS[self.form_name]

    @property
    def consumers(self) -> int:
        return (BULK_POLLERS if self.form.messages > 1 else POLLERS) if self.consumes else 0

    @property
    def group(self) -> str:
        """The heading in the report under which it stands."""
        if self.shared:
            return "Shared acceptance (PostgreSQL)"
        if self.tls:
            return "Local acceptance, TLS on both sides"
        return "Local acceptance, post → poll → acknowledge" if self.consumes else "Local acceptance, posts"


def _posts(name: str, title: str, form: str, connections: int, **more: object) -> Scenario:
    return Scenario(name=name, title=title, form_name=form, connections=connections, **more)  # type: ignore[arg-type]


def _bulk(name: str, title: str, form: str, **more: object) -> Scenario:
    return _posts(name, f"{title}, {BULK_CONNECTIONS} × {BULK}", form, BULK_CONNECTIONS, **more)


SCENARIOS = (
    _posts("soap-1", "single SOAP posts, 1 client", "soap", 1),
    _posts("soap-16", "single SOAP posts, 16 clients", "soap", 16),
    _posts("soap-64", "single SOAP posts, 64 clients", "soap", 64, floor=Floor(messages=1.3, per_cpu=1.8)),
    _posts("json-64", "single JSON posts, 64 clients", "json", 64),
    _bulk("xml-bulk", "SOAP messages in bulk", "xml-bulk", floor=Floor(messages=1.0, per_cpu=1.0)),
    _bulk("ndjson-bulk", "JSON lines in bulk", "ndjson-bulk"),
    _bulk("envelope-bulk", "envelopes in bulk", "envelope-bulk", floor=Floor(messages=1.8, per_cpu=2.2)),
    _posts("deliver-1", "single SOAP posts, 1 client", "soap", 1, consumes=True),
    _posts("deliver-16", "single SOAP posts, 16 clients", "soap", 16, consumes=True),
    _posts("deliver-64", "single SOAP posts, 64 clients", "soap", 64, consumes=True, floor=Floor(end_to_end_p99=0.8)),
    _bulk("deliver-xml-bulk", "SOAP messages in bulk", "xml-bulk", consumes=True),
    _bulk("deliver-envelope-bulk", "envelopes in bulk", "envelope-bulk", consumes=True),
    _posts("tls-soap-64", "single SOAP posts, 64 clients", "soap", 64, tls=True),
    _bulk("tls-envelope-bulk", "envelopes in bulk", "envelope-bulk", tls=True),
    _posts("tls-deliver-64", "post → poll → acknowledge, 64 clients", "soap", 64, tls=True, consumes=True),
    _posts("shared-soap-64", "single SOAP posts, 64 clients", "soap", 64, shared=True, floor=Floor(messages=0.8)),
    _bulk("shared-xml-bulk", "SOAP messages in bulk", "xml-bulk", shared=True),
    _bulk("shared-envelope-bulk", "envelopes in bulk", "envelope-bulk", shared=True),
    _posts("shared-deliver-64", "post → poll → acknowledge, 64 clients", "soap", 64, shared=True, consumes=True),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
