-- name: commit
SELECT first_seq, chain, seen, seen_seqs, gone, in_batch FROM desk_commit(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
    $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43
)

-- name: reserve
WITH chosen AS (
    SELECT number FROM desk_queue
    WHERE mailbox = $1 AND NOT gathered AND ($5::bigint[] IS NULL OR number = ANY ($5)) AND number <= $6
        AND CASE WHEN $7 THEN available_at_us <= $2 OR available_at_us = retry_at_us
            ELSE available_at_us <= $2 AND retry_at_us <= $2 END
    ORDER BY number LIMIT $3 FOR UPDATE SKIP LOCKED
), reserved AS (
    UPDATE desk_queue SET available_at_us = $4 FROM chosen WHERE desk_queue.number = chosen.number RETURNING desk_queue.*
)
SELECT number, message_seq, copy, hop, mailbox, expires_at_us, attempts, content_group, body_at, body_bytes,
    substring(message.facts FROM message_at + 1 FOR message_bytes),
    CASE WHEN coalesce(content_seq, number >> 16) <> message_seq THEN substring(content.facts FROM content_at + 1 FOR content_bytes) END,
    substring(content.entries FROM (40 * (coalesce(content_seq, number >> 16) - content_group) + 9)::integer FOR 32),
    CASE WHEN body_bytes <= 65536 THEN substring(content.bodies FROM body_at + 1 FOR body_bytes) END,
    content_seq, journey, origin
FROM reserved
JOIN journal_group AS message ON message.first_seq = message_group
JOIN journal_group AS content ON content.first_seq = content_group
ORDER BY number

-- name: give_up_reservation
UPDATE desk_queue SET available_at_us = 0
FROM (
    SELECT number FROM desk_queue WHERE number = ANY ($1::bigint[]) AND available_at_us = $2 FOR UPDATE SKIP LOCKED
) AS mine
WHERE desk_queue.number = mine.number

-- name: candidates
SELECT number, copy, hop, substring(message.facts FROM message_at + 1 FOR message_bytes),
    CASE WHEN coalesce(content_seq, number >> 16) <> message_seq THEN substring(content.facts FROM content_at + 1 FOR content_bytes) END
FROM desk_queue
JOIN journal_group AS message ON message.first_seq = message_group
JOIN journal_group AS content ON content.first_seq = content_group
WHERE mailbox = $1 AND NOT gathered AND number > $3
    AND CASE WHEN $5 THEN available_at_us <= $2 OR available_at_us = retry_at_us
        ELSE available_at_us <= $2 AND retry_at_us <= $2 END
ORDER BY number LIMIT $4

-- name: next_due
SELECT min(due_us) FROM (
    SELECT greatest(available_at_us, retry_at_us) AS due_us
    FROM desk_queue WHERE mailbox = $1 AND NOT gathered ORDER BY number LIMIT 1000
) AS first_ones WHERE due_us > $2

-- Leased deliveries, and those given back with a delay.
-- name: count_leased
SELECT mailbox, count(*) FROM desk_queue
WHERE available_at_us > $1 AND available_at_us <> retry_at_us AND NOT gathered
GROUP BY mailbox

-- Makes what waits for its next push available at once.
-- name: hasten
WITH hastened AS (
    UPDATE desk_queue SET available_at_us = 0, retry_at_us = 0
    FROM (
        SELECT number FROM desk_queue
        WHERE mailbox = $1 AND NOT gathered AND retry_at_us > 0 AND available_at_us = retry_at_us FOR UPDATE SKIP LOCKED
    ) AS put_off
    WHERE desk_queue.number = put_off.number RETURNING desk_queue.number
)
SELECT count(*) FROM hastened

-- name: waiting
SELECT number, message_seq, copy, hop, mailbox, expires_at_us, attempts, content_group, body_at, body_bytes,
    substring(message.facts FROM message_at + 1 FOR message_bytes),
    CASE WHEN coalesce(content_seq, number >> 16) <> message_seq THEN substring(content.facts FROM content_at + 1 FOR content_bytes) END,
    substring(content.entries FROM (40 * (coalesce(content_seq, number >> 16) - content_group) + 9)::integer FOR 32),
    NULL::bytea, content_seq, journey, origin, available_at_us, retry_at_us
FROM desk_queue
JOIN journal_group AS message ON message.first_seq = message_group
JOIN journal_group AS content ON content.first_seq = content_group
WHERE number = ANY ($1::bigint[])

-- name: seen
SELECT seq FROM desk_seen WHERE key = $1

-- name: count_waiting
SELECT mailbox, count(*) FROM desk_queue GROUP BY mailbox
