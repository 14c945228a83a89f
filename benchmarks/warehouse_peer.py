"""The jobs of the warehouse in DuckDB, on the same files and with the same results: what Spark's generality costs."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from postroad.warehouse.landing.log import SCHEMA

MOVES = "('delivery.leased', 'delivery.returned', 'delivery.attempted', 'delivery.acknowledged', 'delivery.ended')"

HISTORIES = f"""
with moves as (
    select coalesce(delivery, journey) n, kind, about, seq, at_us, state from log where kind in {MOVES}
    union all select answers_delivery, 'answered', 'delivery', seq, at_us, 'delivered' from log
        where answers_delivery > 0 and ordinal = 0
    union all select ends_delivery, 'ended', 'delivery', seq, at_us, ends_state from log
        where ends_journey is not null and ends_delivery > 0 and ordinal = 0
    union all select ends_journey, 'ended', 'journey', seq, at_us, ends_state from log
        where ends_journey is not null and ordinal = 0
), happened as (
    select n, count(*) filter (kind = 'delivery.leased') attempts,
        count(*) filter (kind = 'delivery.attempted') pushes_failed,
        count(*) filter (kind = 'delivery.returned') given_back,
        min(at_us) filter (kind = 'delivery.leased') handed_out_at_us,
        arg_min(at_us, seq) filter (state is not null and about <> 'journey') settled_at_us,
        arg_min(state, seq) filter (state is not null and about <> 'journey') state,
        arg_min(at_us, seq) filter (about = 'journey') journey_ended_at_us,
        arg_min(state, seq) filter (about = 'journey') journey_state
    from moves group by n
), why as (
    select n, arg_min(reason, seq) reason from (
        select coalesce(delivery, journey) n, seq, reason from log where kind = 'delivery.ended'
        union all select unnest([ends_delivery, ends_journey]), seq, ends_reason from log
            where ends_journey is not null and ordinal = 0) where n > 0 group by n
), later as (
    select message_seq, copy, list(struct_pack(hop, delivery, service, queued_at_us := at_us, handed_out_at_us, settled_at_us,
        state := coalesce(happened.state, 'queued'), attempts, pushes_failed, given_back, size) order by hop) stops
    from log left join happened on n = delivery where kind = 'invocation.returned' group by all
)
select p.message_seq, p.copy, p.day, p.session, p.transaction, p.type, p.topic, p.form, p.handle, p.sender, p.recipient, p.named,
    p.code, p.detail, p.size, p.body_bytes, p.directory, p.expires_at_us, p.status_code, p.answers_session, p.answers_journey,
    p.delivery, p.journey, p.at_us as posted_at_us, len(p.hops) as hops_planned,
    case when p.journey = p.delivery then coalesce(h.journey_state, 'under way')
        when p.delivery is not null then coalesce(later.stops[-1].state, h.state, 'queued') end as state,
    case when p.journey = p.delivery then h.journey_ended_at_us else coalesce(later.stops[-1].settled_at_us, h.settled_at_us) end
        as ended_at_us, why.reason, h.attempts,
    list_concat([struct_pack(hop := 0, p.delivery, p.service, queued_at_us := p.at_us, h.handed_out_at_us, h.settled_at_us,
        state := coalesce(h.state, 'queued'), h.attempts, h.pushes_failed, h.given_back, p.size)], later.stops) as stops
from log p left join happened h on h.n = p.delivery left join why on why.n = p.delivery
    left join later on later.message_seq = p.message_seq and later.copy = p.copy
where p.kind = 'message.posted' and p.about = 'copy'
"""

TRANSACTIONS = """
with opened as (
    select transaction, day, type, topic, sender, posted_at_us began_at_us, count(*) copies, count(code) refused_copies,
        max(case state when 'delivered' then 0 when 'cancelled' then 1 when 'rejected' then 2 when 'expired' then 3
            when 'failed' then 4 when 'under way' then 5 when 'queued' then 5 end) badness,
        max(case when len(stops) >= hops_planned then stops[-1].handed_out_at_us end) delivered_at_us,
        max(ended_at_us) ended_at_us, max(size) bytes, sum(list_sum([s.attempts for s in stops]))::bigint attempts
    from histories where answers_session is null group by all
), answered as (
    select transaction, count(*) filter (form <> 'network') responses, count(*) filter (form = 'network') network_errors,
        count(*) filter (form <> 'network' and status_code is not null) errors,
        max(posted_at_us) filter (form <> 'network') answered_at_us, sum(size)::bigint response_bytes
    from histories where answers_session is not null and copy = 0 group by all
)
select opened.*, coalesce(responses, 0) responses, coalesce(network_errors, 0) network_errors, coalesce(errors, 0) errors,
    greatest(0, delivered_at_us - began_at_us) delivery_us, greatest(0, answered_at_us - began_at_us) response_us,
    greatest(0, ended_at_us - began_at_us) duration_us, bytes + coalesce(response_bytes, 0) all_bytes
from opened left join answered using (transaction)
"""

USAGE = """
with parts as (
    select unnest(case when kind = 'message.posted' then [struct_pack(service := sender, role := 'sender'),
            struct_pack(service := recipient, role := 'recipient')]
            else [struct_pack(service := "by", role := 'in transit')] end) part,
        day, size from log
    where (kind = 'message.posted' and about = 'copy' and code is null and hops is not null and form <> 'network')
        or (kind = 'invocation.returned' and status_code is null)
)
select organization, part.service, part.role, day, case when size <= 1000 then 1 when size <= 10000 then 2 when size <= 100000
    then 3 when size <= 1000000 then 4 else 5 end size_class, count(*) messages, sum(size)::bigint bytes,
    sum((size + 999) // 1000)::bigint kilobytes
from parts left join (select object_key gcid, arg_min(object_value ->> '$.organization', object_version) organization
    from log where object_kind = 'service' and object_value is not null group by 1) on gcid = part.service
group by all
"""


class Peer:
    """DuckDB on as many threads as Spark has cores."""

    def __init__(self, threads: int) -> None:
        self._connection = duckdb.connect(config={"threads": threads})
        self._connection.execute("SET TimeZone = 'UTC'")

    def view(self, name: str, files: str) -> None:
        self._connection.execute(f"create or replace view {name} as select * from read_parquet('{files}')")

    def write(self, sql: str, target: Path) -> None:
        self._connection.execute(f"copy ({sql}) to '{target}' (format parquet, compression zstd)")

    def land_lines(self, folder: Path, target: Path) -> None:
        columns = ", ".join(f"'{field.name}': '{_duck_type(field.type)}'" for field in SCHEMA)
        self.write(f"select * from read_json('{folder}/*.jsonl', columns = {{{columns}}}, format = 'nd')", target)

    def land_parquet(self, folder: Path, target: Path) -> None:
        self.write(f"select * from read_parquet('{folder}/*.parquet')", target)

    def rows(self, target: Path) -> int:
        [(count,)] = self._connection.execute(f"select count(*) from read_parquet('{target}')").fetchall()
        return int(count)


def _duck_type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"{_duck_type(type_.value_type)}[]"
    if pa.types.is_struct(type_):
        return "STRUCT(" + ", ".join(f'"{field.name}" {_duck_type(field.type)}' for field in type_) + ")"
    if pa.types.is_timestamp(type_):
        return "TIMESTAMPTZ"
    names = {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR", "bool": "BOOLEAN", "double": "DOUBLE"}
    return names.get(str(type_), "DATE")
