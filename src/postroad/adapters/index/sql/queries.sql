-- The questions of core.projection.queries.QUERIES, in the dialect that SQLite and PostgreSQL share; $n is the n-th parameter.
-- {message}, {delivery} … stand for the columns of that table, {waiting} for those of core.projection.queries.WAITING; those of a
-- delivery need {its_message}.

-- name: position
SELECT seq, chain FROM position

-- name: services
SELECT gcid, number FROM service

-- name: services_known
SELECT coalesce(max(number), 0) FROM service

-- name: objects
SELECT {object} FROM object ORDER BY kind, key

-- name: objects_since
SELECT {object} FROM object WHERE seq > $1 ORDER BY seq, kind, key

-- name: object_versions
SELECT {object_version} FROM object_version WHERE kind = $1 AND key = $2 ORDER BY version DESC

-- name: changes
SELECT {object_version} FROM object_version WHERE seq < $1 ORDER BY seq DESC, kind, key, version LIMIT $2

-- name: accesses
SELECT {access} FROM access WHERE seq < $1 ORDER BY seq DESC LIMIT $2

-- name: mailboxes
SELECT service.gcid, waiting.deliveries
FROM (SELECT recipient, count(*) AS deliveries FROM delivery WHERE state = 0 GROUP BY recipient) AS waiting
JOIN service ON service.number = waiting.recipient
ORDER BY service.gcid

-- A delivery's number is that of its entry times 65536, so a span of 4096 entries has 268435456 (1 << 28) numbers.
-- The plus keeps SQLite from walking through all deliveries after $2 instead; with "+ 0" it sees that its index has that expression.
-- What has joined a batch is available after 4611686018427387904 (1 << 62), which is never.
-- name: mailbox
SELECT {waiting}
FROM activity CROSS JOIN delivery
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
  AND activity.span >= CAST($2 AS bigint) / 268435456
  AND (delivery.number >> 28) = activity.span + 0 AND delivery.recipient = activity.service
  AND delivery.state = 0 AND +delivery.number > $2 AND delivery.available_at_us < 4611686018427387904
ORDER BY activity.span, delivery.number LIMIT $3

-- name: delivery
SELECT {waiting}
FROM delivery {its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE delivery.number = $1

-- name: waiting_at
SELECT delivery.number, coalesce(delivery.queued_at_us, message.at_us) AS queued_at_us
FROM activity CROSS JOIN delivery
{its_message}
WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
  AND activity.span >= CAST($2 AS bigint) / 268435456
  AND (delivery.number >> 28) = activity.span + 0 AND delivery.recipient = activity.service
  AND delivery.state = 0 AND +delivery.number > $2
ORDER BY activity.span, delivery.number LIMIT $3

-- Counted without a look at each message: when the first of them was queued is asked of that one alone.
-- name: held_back
WITH waiting (number) AS (
  SELECT delivery.number
  FROM activity CROSS JOIN delivery
  WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
    AND activity.span >= CAST($2 AS bigint) / 268435456
    AND (delivery.number >> 28) = activity.span + 0 AND delivery.recipient = activity.service
    AND delivery.state = 0 AND +delivery.number > $2
  ORDER BY activity.span, delivery.number LIMIT $3
)
SELECT counted.waiting, (
  SELECT coalesce(delivery.queued_at_us, message.at_us) FROM delivery {its_message} WHERE delivery.number = counted.oldest
) AS oldest_at_us, counted.newest
FROM (SELECT count(*) AS waiting, min(number) AS oldest, max(number) AS newest FROM waiting) AS counted

-- name: released_to
SELECT max(up_to) AS up_to FROM released WHERE recipient = $1

-- name: held
SELECT service.gcid, CAST(sum(held.deliveries) AS bigint) AS queued_messages,
  CAST(sum(message.body_length) AS bigint) AS stored_bytes
FROM (
  SELECT coalesce(message_seq, number >> 16) AS seq, count(*) AS deliveries FROM delivery WHERE state = 0
  GROUP BY coalesce(message_seq, number >> 16)
) AS held
JOIN message ON message.seq = held.seq
JOIN service ON service.number = message.sender
WHERE message.transaction_id IS NULL
GROUP BY service.gcid ORDER BY service.gcid

-- name: oldest_queued
SELECT min(coalesce(content_seq, number >> 16)) AS content_seq FROM delivery WHERE state = 0

-- name: message
SELECT {message} FROM message WHERE session = $1 ORDER BY seq

-- name: message_at
SELECT {message} FROM message WHERE seq = $1

-- The spans in which the service was active, newest first, and of each the messages that are its own: 4096 entries are read to
-- find them, and only until the page is full.
-- name: sent_by
SELECT {message} FROM activity CROSS JOIN message
WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 0
  AND activity.span <= CAST($2 AS bigint) / 4096
  AND message.seq >= activity.span * 4096 AND message.seq < (activity.span + 1) * 4096
  AND message.sender = activity.service AND message.seq < $2
ORDER BY activity.span DESC, message.seq DESC LIMIT $3

-- name: received_by
SELECT {waiting}
FROM activity CROSS JOIN delivery
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
  AND activity.span <= CAST($2 AS bigint) / 268435456
  AND delivery.number >= activity.span * 268435456 AND delivery.number < (activity.span + 1) * 268435456
  AND delivery.recipient = activity.service AND delivery.number < $2
ORDER BY activity.span DESC, delivery.number DESC LIMIT $3

-- name: taken_by
SELECT delivery.number, delivery.settle_seq
FROM activity CROSS JOIN delivery
WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
  AND delivery.number >= activity.span * 268435456 AND delivery.number < (activity.span + 1) * 268435456
  AND delivery.recipient = activity.service AND delivery.state = 1
ORDER BY activity.span DESC, delivery.number DESC LIMIT $2

-- name: delivery_trail
SELECT delivery.lease_seq AS seq FROM delivery WHERE delivery.number = $1 AND delivery.lease_seq > 0
UNION SELECT trail.seq FROM trail WHERE trail.number = $1
ORDER BY seq

-- name: tried_at
WITH tried (number, lease_seq, settle_seq) AS (
  SELECT delivery.number, delivery.lease_seq, delivery.settle_seq
  FROM activity CROSS JOIN delivery
  WHERE activity.service = (SELECT service.number FROM service WHERE service.gcid = $1) AND activity.part = 1
    AND activity.span >= CAST($2 AS bigint) / 268435456
    AND delivery.number >= activity.span * 268435456 AND delivery.number < (activity.span + 1) * 268435456
    AND delivery.recipient = activity.service AND delivery.number > $2 AND delivery.state <> 1
    AND (delivery.lease_seq > $3 OR delivery.settle_seq > $3)
)
SELECT lease_seq AS seq FROM tried WHERE lease_seq > $3
UNION SELECT settle_seq FROM tried WHERE settle_seq > $3
UNION SELECT trail.seq FROM tried JOIN trail ON trail.number = tried.number WHERE trail.seq > $3
ORDER BY seq LIMIT $4

-- name: all_messages
SELECT {message} FROM message WHERE seq < $1 ORDER BY seq DESC LIMIT $2

-- name: refused
SELECT {refused} FROM refused WHERE session = $1 ORDER BY seq

-- name: refused_by
SELECT {refused} FROM refused WHERE sender = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3

-- A key is looked for in every span there is; an index over all spans would cost each message more than this costs a lookup.
-- name: seen
WITH RECURSIVE spans (span) AS (
  SELECT min(seen.span) FROM seen
  UNION ALL SELECT (SELECT min(seen.span) FROM seen WHERE seen.span > spans.span) FROM spans WHERE spans.span IS NOT NULL
)
SELECT {seen} FROM spans
JOIN seen ON seen.span = spans.span AND seen.key = $1
LEFT JOIN message ON message.seq = seen.seq LEFT JOIN content ON content.seq = seen.seq
ORDER BY seen.seq LIMIT 1

-- As in seen, a hash is searched in every span, the newest first. The spans are determined before they are read: a common value
-- has many.
-- name: found
WITH RECURSIVE spans (span) AS (
  SELECT max(found.span) FROM found WHERE found.span <= CAST($2 AS bigint) / 16384
  UNION ALL SELECT (SELECT max(found.span) FROM found WHERE found.span < spans.span) FROM spans WHERE spans.span IS NOT NULL
),
newest (seq) AS (
  SELECT found.seq FROM spans CROSS JOIN found
  WHERE found.span = spans.span AND found.key = $1 AND found.seq < $2
  ORDER BY found.seq DESC LIMIT $3
)
SELECT newest.seq, coalesce(message.session, refused.session) AS session, message.header FROM newest
LEFT JOIN message ON message.seq = newest.seq LEFT JOIN refused ON refused.seq = newest.seq
ORDER BY newest.seq DESC

-- name: recent_keys
SELECT key FROM seen ORDER BY span DESC, seq DESC, key LIMIT $1

-- name: keys_from
WITH RECURSIVE spans (span) AS (
  SELECT max(seen.span) FROM seen
  UNION ALL SELECT (SELECT max(seen.span) FROM seen WHERE seen.span < spans.span) FROM spans WHERE spans.span IS NOT NULL
)
SELECT DISTINCT seen.key FROM spans JOIN seen ON seen.span = spans.span AND seen.key >= $1 ORDER BY seen.key LIMIT $2

-- name: transaction_messages
SELECT {message} FROM message WHERE session = $1 AND transaction_id IS NULL
UNION ALL
SELECT {message} FROM message WHERE transaction_id = $1
ORDER BY seq

-- name: transaction_contents
SELECT {content} FROM content WHERE transaction_id = $1 ORDER BY seq

-- A delivery's number begins with that of the entry that caused it, so its primary key also finds the deliveries of an entry.
-- They are settled before their messages are looked up: PostgreSQL expects thousands, and would begin with the messages.
-- name: transaction_deliveries
WITH origin (seq) AS ({transaction_origins}),
caused (number) AS MATERIALIZED (
  SELECT delivery.number FROM origin
  JOIN delivery ON delivery.number >= origin.seq * 65536 AND delivery.number < (origin.seq + 1) * 65536
)
SELECT {delivery} FROM caused CROSS JOIN delivery
{its_message}
WHERE delivery.number = caused.number
ORDER BY caused.number

-- name: transaction_trail
WITH origin (seq) AS ({transaction_origins}),
changed (lease_seq, settle_seq) AS (
  SELECT delivery.lease_seq, delivery.settle_seq FROM origin
  JOIN delivery ON delivery.number >= origin.seq * 65536 AND delivery.number < (origin.seq + 1) * 65536
)
SELECT lease_seq AS seq FROM changed WHERE lease_seq > 0
UNION SELECT settle_seq FROM changed WHERE settle_seq > 0
UNION SELECT dead_letter.dealt_seq FROM origin
  JOIN dead_letter ON dead_letter.number >= origin.seq * 65536 AND dead_letter.number < (origin.seq + 1) * 65536
  WHERE dead_letter.dealt_seq > 0
UNION SELECT trail.seq FROM origin
  JOIN trail ON trail.number >= origin.seq * 65536 AND trail.number < (origin.seq + 1) * 65536
ORDER BY seq

-- A journey's id begins with the number of its message's entry, or of the entry by which a dead letter was resent.
-- name: transaction_journeys
WITH origin (seq) AS ({transaction_origins}),
begun (id) AS MATERIALIZED (
  SELECT journey.id FROM origin
  JOIN journey ON journey.id >= origin.seq * 65536 AND journey.id < (origin.seq + 1) * 65536
)
SELECT {journey} FROM begun CROSS JOIN journey WHERE journey.id = begun.id ORDER BY begun.id

-- name: message_rounds
SELECT {round} FROM round WHERE message_seq = $1 ORDER BY seq

-- name: dead_letters
SELECT {letter}
FROM dead_letter JOIN delivery ON delivery.number = dead_letter.number
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE dead_letter.dealt_seq = 0 AND dead_letter.number > $1
ORDER BY dead_letter.number LIMIT $2

-- name: dead_letters_at
SELECT {letter}
FROM dead_letter JOIN delivery ON delivery.number = dead_letter.number
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE dead_letter.recipient = (SELECT service.number FROM service WHERE service.gcid = $1)
  AND dead_letter.dealt_seq = 0 AND dead_letter.number > $2
ORDER BY dead_letter.number LIMIT $3

-- name: dead_letters_of
SELECT {letter}
FROM dead_letter JOIN delivery ON delivery.number = dead_letter.number
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE dead_letter.sender = (SELECT service.number FROM service WHERE service.gcid = $1)
  AND dead_letter.dealt_seq = 0 AND dead_letter.number > $2
ORDER BY dead_letter.number LIMIT $3

-- name: dead_letter_count
SELECT count(*) FROM dead_letter WHERE dealt_seq = 0

-- name: dead_letter
SELECT {letter}
FROM dead_letter JOIN delivery ON delivery.number = dead_letter.number
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE dead_letter.number = $1

-- name: journey
SELECT {journey} FROM journey WHERE id = $1

-- Members of a batch that is assembled are on their way, and do not expire until it is known what becomes of it. What they are
-- asked is a question of its own, which PostgreSQL does not make a join of: both indexes stay in order.
-- name: due_journeys
SELECT {journey},
  coalesce((SELECT batch_member.batch FROM batch_member WHERE batch_member.number = journey.at_number), '') AS batch
FROM journey WHERE state = 0 AND expires_at_us > 0 AND expires_at_us <= $1
  AND coalesce((SELECT batch.state FROM batch_member JOIN batch ON batch.id = batch_member.batch
                WHERE batch_member.number = journey.at_number), '') <> 'assembled'
ORDER BY expires_at_us, id LIMIT $2

-- name: due_deliveries
SELECT number, expires_at_us,
  coalesce((SELECT batch_member.batch FROM batch_member WHERE batch_member.number = delivery.number), '') AS batch
FROM delivery WHERE state = 0 AND expires_at_us > 0 AND expires_at_us <= $1
  AND coalesce((SELECT batch.state FROM batch_member JOIN batch ON batch.id = batch_member.batch
                WHERE batch_member.number = delivery.number), '') <> 'assembled'
ORDER BY expires_at_us, number LIMIT $2

-- name: next_due
SELECT (SELECT min(expires_at_us) FROM journey WHERE state = 0 AND expires_at_us > 0
          AND coalesce((SELECT batch.state FROM batch_member JOIN batch ON batch.id = batch_member.batch
                        WHERE batch_member.number = journey.at_number), '') <> 'assembled') AS journey_us,
       (SELECT min(expires_at_us) FROM delivery WHERE state = 0 AND expires_at_us > 0
          AND coalesce((SELECT batch.state FROM batch_member JOIN batch ON batch.id = batch_member.batch
                        WHERE batch_member.number = delivery.number), '') <> 'assembled') AS delivery_us

-- UNION, not UNION ALL: a record that was reached before is not followed again, so circles end. The collation is that of the
-- columns, which PostgreSQL wants from where the recursion starts. CROSS JOIN keeps SQLite from walking through the whole map
-- instead of looking up each record that was reached.
-- name: related
WITH RECURSIVE reached (service, key_name, key_value) AS (
  SELECT CAST($3 AS text) COLLATE "C", CAST($4 AS text) COLLATE "C", CAST($5 AS text) COLLATE "C"
  UNION
  SELECT relation.other_service, relation.other_name, relation.other_value FROM reached CROSS JOIN relation
  WHERE relation.owner = $1 AND relation.map = $2 AND relation.service = reached.service
    AND relation.key_name = reached.key_name AND relation.key_value = reached.key_value
)
SELECT reference.service, reference.key_name, reference.key_value, reference.pairs FROM reached CROSS JOIN reference
WHERE reference.owner = $1 AND reference.map = $2 AND reference.service = reached.service
  AND reference.key_name = reached.key_name AND reference.key_value = reached.key_value
ORDER BY CASE WHEN reference.service = $3 AND reference.key_name = $4 AND reference.key_value = $5 THEN 0 ELSE 1 END,
  reference.service, reference.key_name, reference.key_value

-- name: batch
SELECT {batch} FROM batch WHERE id = $1

-- name: unsettled_batches
SELECT {batch} FROM batch WHERE service = $1 AND state IN ('open', 'closed', 'assembled', 'suspended') ORDER BY id

-- name: gathering_services
SELECT DISTINCT service FROM batch WHERE state IN ('open', 'closed', 'assembled', 'suspended') ORDER BY service

-- name: unsettled_batch_counts
SELECT state, count(*), min(opened_at_us) FROM batch WHERE state IN ('open', 'closed', 'assembled', 'suspended')
GROUP BY state ORDER BY state

-- name: batches_at
SELECT {batch} FROM batch WHERE service = $1 AND id < $2 ORDER BY id DESC LIMIT $3

-- name: all_batches
SELECT {batch} FROM batch WHERE id < $1 ORDER BY id DESC LIMIT $2

-- name: batch_of
SELECT {batch} FROM batch_member JOIN batch ON batch.id = batch_member.batch WHERE batch_member.number = $1

-- CROSS JOIN keeps SQLite from beginning with the deliveries.
-- name: batch_members
SELECT {member} FROM batch_member CROSS JOIN delivery
{its_message} LEFT JOIN content ON content.seq = delivery.content_seq
WHERE batch_member.batch = $1 AND batch_member.number > $2 AND delivery.number = batch_member.number
ORDER BY batch_member.number LIMIT $3

-- name: latest_number
SELECT number, seq FROM control_number WHERE series = $1 ORDER BY number DESC LIMIT 1

-- name: control_number
SELECT {control_number} FROM control_number WHERE series = $1 AND number = $2

-- name: batch_answers
SELECT {batch_answer} FROM batch_answer WHERE batch = $1 ORDER BY seq

-- name: states
SELECT state, count(*) FROM delivery GROUP BY state ORDER BY state
