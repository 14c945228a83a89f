-- name: append
SELECT first_seq, chain FROM journal_append($1, $2, $3)

-- name: head
SELECT seq, chain FROM journal_head

-- name: read
SELECT first_seq, last_seq, chain, entries, facts, has_bodies, bodies_bytes
FROM (
    SELECT *, sum(octet_length(facts)) OVER (ORDER BY first_seq) - octet_length(facts) AS bytes_before
    FROM (
        SELECT first_seq, last_seq, chain, entries, facts, bodies IS NOT NULL AS has_bodies, bodies_bytes
        FROM journal_group
        WHERE first_seq >= coalesce(
            (SELECT max(first_seq) FROM journal_group WHERE first_seq <= $1::bigint + 1), 1
        ) AND last_seq > $1
        ORDER BY first_seq
        LIMIT 1000
    ) AS page
) AS sized
WHERE bytes_before < $2::bigint
ORDER BY first_seq

-- name: bodies
SELECT substring(journal_group.bodies FROM wanted.place + 1 FOR wanted.length)
FROM unnest($1::bigint[], $2::integer[], $3::integer[]) WITH ORDINALITY AS wanted (segment, place, length, turn)
LEFT JOIN journal_group ON journal_group.first_seq = wanted.segment
ORDER BY wanted.turn

-- name: drop_bodies
UPDATE journal_group SET bodies = NULL
WHERE first_seq IN (
    SELECT first_seq FROM journal_group
    WHERE last_seq < $1 AND first_seq < $1 AND first_seq > $2 AND bodies IS NOT NULL
    ORDER BY first_seq LIMIT 100
)
RETURNING first_seq

-- name: first_with_bodies
SELECT first_seq FROM journal_group WHERE bodies IS NOT NULL AND bodies_bytes > 0 ORDER BY first_seq LIMIT 1

-- name: restore_head
UPDATE journal_head SET seq = $1, chain = $2
