"""A warehouse as the pipeline would leave it, small and made by hand: what an organization used, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, Transaction, write_deltalake

STRANGE = '=1+1 "><img src=x onerror=alert(1)>'  # an organization with this name is in every table
SEQ = 17
EARLIER = "2026-09"
SESSION = "01a0f57532f122e3b06289cd8335df03"  # of a message that nobody has
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Tables about the services of one organization, and about those of others."""

    organization: str
    services: dict[str, str]  # GCIDs by name
    sessions: Sequence[str]

    @property
    def days(self) -> list[date]:
        today = datetime.now(UTC).date()
        return [today - timedelta(days=number) for number in range(9, -1, -1)]

    @property
    def period(self) -> str:
        return f"{self.days[-1]:%Y-%m}"

    def tables(self) -> dict[str, list[Row]]:
        return {
            "services": self._services(),
            "usage": self._usage(),
            "errors": self._errors(),
            "latency": self._latency(),
            "message_histories": self._histories(),
            "partners": self._partners(),
            "batches": self._batches(),
            "charges": self._charges(),
            "invoice_lines": self._lines(),
            "log": [{"seq": SEQ, "at_us": int(datetime.now(UTC).timestamp()) * 1_000_000}],
        }

    def write(self, folder: Path) -> None:
        counted = CommitProperties(app_transactions=[Transaction("billing", 1)])
        for name, rows in self.tables().items():
            write_deltalake(
                str(folder / name), _table(rows), mode="overwrite", schema_mode="overwrite",
                commit_properties=counted,
            )  # fmt: skip

    def _services(self) -> list[Row]:
        own = [
            {"service": gcid, "organization": self.organization, "address": f"{self.organization}/{name}"}
            for name, gcid in self.services.items()
        ]
        return [*own, {"service": "ff" * 16, "organization": STRANGE, "address": f"{STRANGE}/secret"}]

    def _usage(self) -> list[Row]:
        mine = [
            {"organization": self.organization, "service": self.services[service], "role": role, "day": day}
            | {"messages": 10 * at + extra, "bytes": 4_000 * (at + 1), "kilobytes": 4 * (at + 1), "size_class": "to 1 kB"}
            for at, day in enumerate(self.days)
            for service, role, extra in (("buyer", "sender", 7), ("seller", "recipient", 5), ("stamper", "in transit", 2))
        ]  # fmt: skip
        theirs = {"organization": STRANGE, "service": "ff" * 16, "role": "sender", "day": self.days[3]}
        return [*mine, theirs | {"messages": 99_999, "bytes": 1, "kilobytes": 1, "size_class": "to 1 kB"}]

    def _errors(self) -> list[Row]:
        organizations = ((self.organization, 1), (STRANGE, 40_000))
        return [
            {"day": day, "what": what, "code": code, "organization": organization, "count": at * more}
            for at, day in enumerate(self.days)
            for what, code in (("refused post", "wire.malformed"), ("expired", "route.expired"))
            for organization, more in organizations
        ]

    def _latency(self) -> list[Row]:
        seller = self.services["seller"]
        return [
            {"day": day, "measure": measure, "service": service, "bucket": bucket + at, "count": 20}
            for at, day in enumerate(self.days)
            for measure, service in (("response", seller), ("waiting", seller), ("response", "ff" * 16))
            for bucket in (80, 100, 140)
        ]  # fmt: skip

    def _histories(self) -> list[Row]:
        buyer, seller = self.services["buyer"], self.services["seller"]
        plain = {"code": None, "answers_session": None, "type": "request", "size": 700, "state": "delivered"}
        sent = plain | {"sender": buyer, "recipient": "ff" * 16, "named": "XpandiCo/zipPlus4"}
        came = plain | {"sender": "ff" * 16, "recipient": seller, "named": f"{self.organization.upper()}/seller"}
        hidden = came | {"named": "Somebody/else", "state": "failed"}
        return [row | {"day": day} for day in self.days for row in (sent, sent, came, hidden)]

    def _partners(self) -> list[Row]:
        counts = {"messages": 3, "requests": 2, "bytes": 100, "errors": 0, "undelivered": 1}
        return [{"day": day, "sender": STRANGE, "recipient": self.organization} | counts for day in self.days]

    def _batches(self) -> list[Row]:
        one = {
            "state": "sent",
            "closed_by": "count",
            "members": 5,
            "bytes": 900,
            "member_waiting_us": 2_000_000,
            "sending_us": 500_000,
        }
        kinds = [one, one | {"closed_by": "age"}, one | {"state": "suspended", "sending_us": None}]
        mine = [
            kind | {"service": self.services["seller"], "verdict": None, "day": day}
            for day in self.days
            for kind in kinds
        ]
        return [*mine, one | {"service": "ff" * 16, "verdict": "rejected", "day": self.days[0]}]

    def _charges(self) -> list[Row]:
        line = {
            "kind": "message",
            "part": "originator",
            "service": self.services["buyer"],
            "tariff": "standard/2026-01",
        }
        account = {"organization": self.organization, "currency": "EUR"}
        return [
            {"seq": at, "ordinal": 0, "part_number": 0, "at_us": int(session[:12], 16) * 1_000}
            | {"day": self.days[-1], "session": session, "kilobytes": 1, "micros": 12_500, "period": period} | line | account
            for period in (self.period, EARLIER)
            for at, session in enumerate(self.sessions, 1)
        ]  # fmt: skip

    def _lines(self) -> list[Row]:
        count = len(self.sessions)
        line = {
            "kind": "message",
            "part": "originator",
            "service": self.services["buyer"],
            "tariff": "standard/2026-01",
        }
        sums = {"tariff_version": 1, "quantity": count, "kilobytes": count, "micros": 12_500 * count, "last_seq": SEQ}
        account = {"period": self.period, "currency": "EUR"}
        theirs = line | {"service": "ff" * 16, "organization": STRANGE, "quantity": 1, "micros": 77_770_000}
        return [line | sums | account | {"organization": self.organization}, line | sums | account | theirs]


def _table(rows: list[Row]) -> pa.Table:
    """A column of nothing but nulls is one of texts."""
    found = pa.Table.from_pylist(rows)
    fields = [pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in found.schema]
    return found.cast(pa.schema(fields))
