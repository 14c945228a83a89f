"""The DuckDB queries that the console runs on the warehouse's tables.

Rule: unless its comment differs, every query gets the organization as $1 (empty for all, for operators only), the
first day as $2 and the last as $3; nothing else is inserted into its text.
"""

USAGE_DAYS = """
    select day, role, sum(messages) from usage
    where ($1 = '' or organization = $1) and day between $2 and $3 group by all order by all
"""
USAGE = """
    select coalesce(address, usage.service), role, sum(messages), sum(bytes)
    from usage left join services using (service)
    where ($1 = '' or usage.organization = $1) and day between $2 and $3 group by all order by 3 desc, 1, 2
"""
ERRORS = """
    select day, what, code, sum(count) from errors
    where ($1 = '' or organization = $1) and day between $2 and $3 group by all order by all
"""
LATENCY = """
    select day, measure, coalesce(address, latency.service), bucket, sum(count)
    from latency left join services using (service)
    where ($1 = '' or organization = $1) and day between $2 and $3 group by all
"""
PARTNERS_OF_ALL = """
    select day, sender, recipient, sum(messages), sum(requests), sum(bytes), sum(undelivered) from partners
    where $1 = '' and day between $2 and $3 group by all
"""
# What a member wrote, and who wrote to them. ``named`` is an address or a GCID; where it is not the recipient, someone has
# put the recipient in its place, and neither end need know of the other.
PARTNERS = """
    with own as (select service, address from services where organization = $1),
    told as (
        select * from message_histories where day between $2 and $3 and code is null and answers_session is null
    ), sent as (
        select day, 'to' as way, coalesce(other.organization, organizations.organization, split_part(named, '/', 1)) as partner,
               type, size, state
        from told join own on sender = own.service left join services other on named = other.service
        left join (select distinct organization from services) organizations
                  on lower(split_part(named, '/', 1)) = lower(organizations.organization)
    ), received as (
        select day, 'from' as way, type, size, state,
               case when lower(named) = lower(own.address) or named = own.service then other.organization end as partner
        from told join own on recipient = own.service left join services other on sender = other.service
    )
    select day, way, partner, count(*), count(*) filter (type = 'request'), sum(size),
           count(*) filter (state in ('expired', 'failed', 'rejected'))
    from (select * from sent union all by name select * from received) group by all
"""
BATCH_DAYS = """
    select day, coalesce(closed_by, 'open'), count(*) from batches left join services using (service)
    where ($1 = '' or organization = $1) and day between $2 and $3 group by all order by all
"""
BATCHES = """
    select coalesce(address, batches.service), count(*), sum(members), sum(bytes), mode(closed_by),
           sum(member_waiting_us * members) / nullif(sum(members) filter (member_waiting_us is not null), 0) / 1e6,
           avg(sending_us) filter (state = 'sent') / 1e6,
           count(*) filter (state not in ('sent', 'dropped', 'dissolved', 'suspended')),
           count(*) filter (state = 'suspended'), count(*) filter (state = 'dropped'), count(*) filter (verdict = 'rejected')
    from batches left join services using (service)
    where ($1 = '' or organization = $1) and day between $2 and $3 group by 1 order by 2 desc, 1
"""
