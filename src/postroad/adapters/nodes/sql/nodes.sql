-- name: saw
INSERT INTO node (id, host, version, level) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE
SET host = excluded.host, version = excluded.version, level = excluded.level, seen_at = now()
-- name: restarted
UPDATE node SET started_at = now() WHERE id = $1
-- name: left
DELETE FROM node WHERE id = $1
-- name: forget
DELETE FROM node WHERE seen_at < now() - make_interval(secs => $1)
-- name: seen
SELECT id, host, version, level,
       (extract(epoch FROM started_at) * 1000000)::bigint, (extract(epoch FROM seen_at) * 1000000)::bigint
FROM node WHERE seen_at >= now() - make_interval(secs => $1) ORDER BY host, id
-- name: has_index
SELECT to_regclass('object') IS NOT NULL
-- name: level
SELECT value FROM object WHERE kind = $1 AND key = $2
-- name: unregistered
SELECT coalesce(host(client_addr), 'this machine'), application_name, min(pid)
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = ANY ($1::text[])
GROUP BY 1, 2 ORDER BY 1, 2
