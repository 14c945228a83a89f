-- The recount: the same bill by another way. Each statement makes one table; money is BIGINT micro-units throughout.

create table owners as
select key as gcid, arg_min(value ->> '$.organization', version) as organization
from objects where kind = 'service' and value is not null group by key;

create table tariffs as
select key as tariff, value ->> '$.name' as name, value ->> '$.valid_from' as valid_from,
       nullif(value ->> '$.valid_until', '') as valid_until, value ->> '$.currency' as currency,
       from_json(value -> '$.organizations', '["VARCHAR"]') as organizations,
       from_json(value -> '$.free_types', '["VARCHAR"]') as free_types, value
from (select * from objects where kind = 'tariff' qualify version = max(version) over (partition by key))
where value is not null;

create table named_rates as
select tariff, 'message' as rate, value -> '$.message' as terms from tariffs
union all select tariff, 'invocation', value -> '$.invocation' from tariffs
union all
select tariff, gcid, value -> ('$.services."' || gcid || '"')
from (select tariff, value, unnest(json_keys(value -> '$.services')) as gcid from tariffs);

create table rates as
select tariff, rate,
       cast(terms ->> '$.free_messages' as bigint) as free_messages,
       cast(terms ->> '$.free_kilobytes' as bigint) as free_kilobytes,
       cast(terms ->> '$.shares.originator' as bigint) as of_originator,
       cast(terms ->> '$.shares.transit' as bigint) as of_transit,
       cast(terms ->> '$.shares.recipient' as bigint) as of_recipient,
       cast(terms ->> '$.vendor_percent' as bigint) as of_vendor,
       terms
from named_rates;

create table tiers as
with given as (
    select tariff, rate, 'message' as unit, unnest(from_json(terms -> '$.per_message', '["JSON"]')) as tier,
           generate_subscripts(from_json(terms -> '$.per_message', '["JSON"]'), 1) as place from rates
    union all
    select tariff, rate, 'kilobyte', unnest(from_json(terms -> '$.per_kilobyte', '["JSON"]')),
           generate_subscripts(from_json(terms -> '$.per_kilobyte', '["JSON"]'), 1) from rates)
select tariff, rate, unit,
       coalesce(lag(cast(tier ->> '$.up_to' as bigint)) over (partition by tariff, rate, unit order by place), 0) as begins,
       coalesce(cast(tier ->> '$.up_to' as bigint), 4611686018427387904) as ends,
       cast(cast(tier ->> '$.price' as decimal(18, 6)) * 1000000 as bigint) as micros
from given;

create table uses as
with counted as (
    select seq, copy as ordinal, at_us, 'message' as kind, type, size, sender,
           hops[1:len(hops) - 1] as transit, hops[len(hops)] as recipient
    from copies where form <> 'network'
    union all
    select r.seq, 0, r.at_us, 'invocation', c.type, r.size, c.sender,
           [coalesce(r.hops, c.hops)[r.hop]], coalesce(r.hops, c.hops)[len(coalesce(r.hops, c.hops))]
    from returns r join copies c on c.seq = r.message and c.copy = r.copy)
select counted.*, (size + 999) // 1000 as kilobytes,
       coalesce(organization, '(unknown)') as holder, day
from counted left join owners on gcid = sender
asof join midnights on at_us >= begins_us;

create table holdings as
with periods as (select distinct strftime(day, '%Y-%m') as period from uses),
in_force as (
    select period, tariffs.* from periods join tariffs on valid_from <= period
    qualify valid_from = max(valid_from) over (partition by period, split_part(tariff, '/', 1)))
select period, tariff, unnest(case when len(organizations) = 0 then [''] else organizations end) as holder
from in_force where valid_until is null or period <= valid_until;

create table rated as
select u.*, strftime(day, '%Y-%m') as period, coalesce(own.tariff, usual.tariff) as tariff
from uses u
left join holdings own on own.period = strftime(day, '%Y-%m') and own.holder = u.holder
left join holdings usual on usual.period = strftime(day, '%Y-%m') and usual.holder = ''
where coalesce(own.tariff, usual.tariff) is not null;

create table counted as
select r.* exclude (type), t.currency,
       case when r.kind = 'message' then 'message' when s.rate is not null then s.rate else 'invocation' end as rate,
       list_contains(t.free_types, r.type) as is_free
from rated r
join tariffs t using (tariff)
left join named_rates s on r.kind = 'invocation' and s.tariff = r.tariff and s.rate = r.transit[1].service;

create table reached as
select c.*,
       sum(case when is_free then 0 else 1 end) over before as messages,
       sum(case when is_free then 0 else kilobytes end) over before as all_kilobytes
from counted c
window before as (partition by holder, period, rate order by seq, ordinal rows unbounded preceding);

create table steps as
select seq, ordinal, 'message' as unit, greatest(messages - free_messages, 0) as upto,
       greatest(messages - 1 - free_messages, 0) as after, reached.tariff, reached.rate
from reached join rates using (tariff, rate) where not is_free
union all
select seq, ordinal, 'kilobyte', greatest(all_kilobytes - free_kilobytes, 0),
       greatest(all_kilobytes - kilobytes - free_kilobytes, 0), reached.tariff, reached.rate
from reached join rates using (tariff, rate) where not is_free;

create table prices as
select seq, ordinal, cast(sum(micros * greatest(least(upto, ends) - greatest(after, begins), 0)) as bigint) as price
from steps join tiers using (tariff, rate, unit) group by seq, ordinal;

create table priced as
select reached.*, coalesce(price, 0) as price, of_vendor,
       of_originator + case when len(transit) = 0 then of_transit else 0 end as of_originator,
       case when len(transit) = 0 then 0 else of_transit end as of_transit, of_recipient,
       greatest(len(transit), 1) as many
from reached join rates using (tariff, rate) left join prices using (seq, ordinal);

create table shares as
with line as (
    select seq, ordinal, 0 as number, {'service': sender, 'payer': null::varchar} as party, 'originator' as part,
           0::bigint as weight_before, of_originator * many as weight
    from priced
    union all
    select seq, ordinal, generate_subscripts(transit, 1), unnest(transit), 'in transit',
           of_originator * many + of_transit * (generate_subscripts(transit, 1) - 1), of_transit
    from priced
    union all
    select seq, ordinal, len(transit) + 1, recipient, 'recipient', (of_originator + of_transit) * many, of_recipient * many
    from priced),
taken as (select seq, ordinal from priced where kind = 'invocation' and transit[1].payer is not null)
select seq, ordinal, number, coalesce(party.payer, party.service) as bearer,
       case when kind = 'invocation' then transit[1].service else party.service end as service,
       case when party.payer is null then part else 'payer' end as part,
       price * (weight_before + weight) // (100 * many) - price * weight_before // (100 * many) as micros
from line join priced using (seq, ordinal) anti join taken using (seq, ordinal)
where weight > 0
union all
select seq, ordinal, 0, transit[1].payer, transit[1].service, 'payer', price from priced join taken using (seq, ordinal)
union all
select seq, ordinal, len(transit) + 2, transit[1].service, transit[1].service, 'vendor', -(price * of_vendor // 100)
from priced where kind = 'invocation' and of_vendor > 0;

create table charges as
select s.seq, s.ordinal, cast(number as integer) as part_number, p.kind, p.day, p.period,
       coalesce(o.organization, '(unknown)') as organization, s.service, s.part, p.tariff, p.currency,
       cast(p.kilobytes as bigint) as kilobytes, cast(s.micros as bigint) as micros
from shares s join priced p using (seq, ordinal) left join owners o on o.gcid = s.bearer;
