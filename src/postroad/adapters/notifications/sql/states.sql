-- name: load
SELECT document FROM notification_state

-- name: save
INSERT INTO notification_state AS saved (document) VALUES ($1)
ON CONFLICT (id) DO UPDATE SET document = excluded.document WHERE saved.document = $2
RETURNING 1
