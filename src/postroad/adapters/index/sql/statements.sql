-- The changes of core.projection.tables.STATEMENTS, in the dialect that SQLite and PostgreSQL share; $n is the n-th parameter.
-- Rows come as postroad.adapters.index.layout lays them out. An insert may be repeated. An update names its table's columns in
-- full, so that PostgreSQL's bulk form can be made from it.

-- name: insert_service
INSERT INTO service (number, gcid) VALUES ($1, $2)

-- name: insert_activity
INSERT INTO activity (service, part, span) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: insert_message
INSERT INTO message (seq, session, transaction_id, sender, at_us, header, body_segment, body_offset, body_length, body_digest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING

-- name: insert_delivery
INSERT INTO delivery (number, recipient, expires_at_us) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: insert_changed_delivery
INSERT INTO delivery (number, recipient, expires_at_us, state, attempts, leased_at_us, available_at_us, settled_at_us, reason,
  waits_for_push, lease_seq, settle_seq)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING

-- name: insert_onward_delivery
INSERT INTO delivery (number, message_seq, copy, hop, content_seq, recipient, sender, queued_at_us, expires_at_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING

-- name: insert_resent_delivery
INSERT INTO delivery (number, message_seq, copy, hop, content_seq, recipient, sender, queued_at_us, expires_at_us, journey, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING

-- name: insert_round
INSERT INTO round ({round}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING

-- name: insert_content
INSERT INTO content ({content}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING

-- name: insert_seen
INSERT INTO seen (span, key, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: insert_found
INSERT INTO found (span, key, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: insert_trail
INSERT INTO trail ({trail}) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: insert_refused
INSERT INTO refused ({refused}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING

-- name: insert_object_version
INSERT INTO object_version ({object_version}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING

-- name: insert_access
INSERT INTO access ({access}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING

-- name: save_object
INSERT INTO object ({object}) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (kind, key) DO UPDATE
SET version = excluded.version, value = excluded.value, at_us = excluded.at_us, by = excluded.by, seq = excluded.seq
WHERE (excluded.seq, excluded.version) > (object.seq, object.version)

-- Before a delivery is handed out by entry $2: the entry that did it before will no longer be in its row.
-- name: keep_replaced
INSERT INTO trail (number, seq)
SELECT delivery.number, delivery.lease_seq FROM delivery
WHERE delivery.number = $1 AND delivery.lease_seq > 0 AND delivery.lease_seq < $2 ON CONFLICT DO NOTHING

-- A final reason is not overwritten: so a lease and the end may be in one batch of entries or in two. A delivery that has joined a
-- batch (it is available after 1 << 62) stays in it, even if a late lease or a release follows.
-- name: hand_out
UPDATE delivery
SET attempts = delivery.attempts + $1, leased_at_us = $2,
    available_at_us = CASE WHEN delivery.available_at_us < 4611686018427387904 THEN $3 ELSE delivery.available_at_us END,
    reason = CASE WHEN delivery.settle_seq = 0 AND delivery.available_at_us < 4611686018427387904 THEN $4 ELSE delivery.reason END,
    waits_for_push = CASE WHEN delivery.settle_seq = 0 AND delivery.available_at_us < 4611686018427387904 THEN $5
      ELSE delivery.waits_for_push END,
    lease_seq = $6
WHERE delivery.number = $7 AND delivery.lease_seq < $6

-- For deliveries without an earlier lease. A writer that knows how many rows it changed tries this first, and needs no
-- keep_replaced if it changed all of them; afterwards hand_out skips those that are done.
-- name: hand_out_first
UPDATE delivery
SET attempts = delivery.attempts + $1, leased_at_us = $2, available_at_us = $3,
    reason = CASE WHEN delivery.settle_seq = 0 THEN $4 ELSE delivery.reason END,
    waits_for_push = CASE WHEN delivery.settle_seq = 0 THEN $5 ELSE delivery.waits_for_push END, lease_seq = $6
WHERE delivery.number = $7 AND delivery.lease_seq = 0

-- A final state is final: the first entry that ends a delivery counts.
-- name: settle
UPDATE delivery SET state = $1, settled_at_us = $2, reason = $3, waits_for_push = 0, settle_seq = $4
WHERE delivery.number = $5 AND delivery.settle_seq = 0

-- After the delivery itself is there; who sent its message is in the message.
-- name: keep_dead_letter
INSERT INTO dead_letter (number, recipient, sender, at_us, reason, reason_code, seq)
SELECT delivery.number, delivery.recipient,
  (SELECT message.sender FROM message WHERE message.seq = coalesce(delivery.message_seq, delivery.number >> 16)), $1, $2, $3, $4
FROM delivery
WHERE delivery.number = $5 ON CONFLICT DO NOTHING

-- name: deal_with
UPDATE dead_letter SET dealt_seq = $1
WHERE dead_letter.number = $2 AND dead_letter.dealt_seq = 0

-- name: insert_journey
INSERT INTO journey (id, at_number, expires_at_us) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: move_journey
UPDATE journey SET at_number = $1, leg = coalesce($2, journey.leg), move_seq = $3
WHERE journey.id = $4 AND journey.move_seq < $3

-- name: settle_journey
UPDATE journey SET state = $1, settled_at_us = $2, reason = $3, settle_seq = $4
WHERE journey.id = $5 AND journey.settle_seq = 0

-- name: save_reference
INSERT INTO reference ({reference}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (owner, map, service, key_name, key_value) DO UPDATE
SET pairs = excluded.pairs, at_us = excluded.at_us, seq = excluded.seq
WHERE excluded.seq > reference.seq

-- name: insert_relation
INSERT INTO relation ({relation}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING

-- name: insert_released
INSERT INTO released ({released}) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING

-- name: save_batch
INSERT INTO batch ({batch}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE
SET service = excluded.service, state = excluded.state, opened_at_us = excluded.opened_at_us,
    changed_at_us = excluded.changed_at_us, interchange = excluded.interchange, facts = excluded.facts, seq = excluded.seq
WHERE excluded.seq > batch.seq

-- name: insert_batch_member
INSERT INTO batch_member ({batch_member}) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: insert_control_number
INSERT INTO control_number ({control_number}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING

-- name: insert_batch_answer
INSERT INTO batch_answer ({batch_answer}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING

-- Never backwards, so that a second follower that lags behind does no harm.
-- name: move_position
UPDATE position SET seq = $1, chain = $2 WHERE seq < $1

-- name: reset_position
UPDATE position SET seq = $1, chain = $2
