-- name: load
SELECT document FROM notification_state

-- name: save
INSERT INTO notification_state (document) VALUES ($1) ON CONFLICT (only) DO UPDATE SET document = excluded.document
