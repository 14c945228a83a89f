-- name: load
SELECT document FROM notification_state

-- name: save
INSERT INTO notification_state (document) VALUES ($1) ON CONFLICT (id) DO UPDATE SET document = excluded.document
