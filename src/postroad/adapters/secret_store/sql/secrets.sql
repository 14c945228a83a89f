-- name: meta
SELECT value FROM secret_meta WHERE name = $1

-- name: add_meta
INSERT INTO secret_meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: set_meta
INSERT INTO secret_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: data_key
SELECT organization, wrapped FROM secret_data_key WHERE organization = $1

-- name: data_keys
SELECT organization, wrapped FROM secret_data_key WHERE organization > $1 ORDER BY organization LIMIT $2

-- name: add_data_key
INSERT INTO secret_data_key (organization, wrapped) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: rewrap_data_key
UPDATE secret_data_key SET wrapped = $3 WHERE organization = $1 AND wrapped = $2

-- name: find
SELECT organization, service, name, version, digest, sealed, active, staged_at_us FROM secret
WHERE organization = $1 AND service = $2 AND name = $3 ORDER BY version

-- name: list
SELECT organization, service, name, version, digest, active, staged_at_us FROM secret
ORDER BY organization, service, name, version

-- name: list_of
SELECT organization, service, name, version, digest, active, staged_at_us FROM secret
WHERE organization = $1 ORDER BY organization, service, name, version

-- name: stage
INSERT INTO secret (organization, service, name, version, digest, sealed, active, staged_at_us)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT DO NOTHING RETURNING version

-- name: activate
UPDATE secret SET active = 1 WHERE organization = $1 AND service = $2 AND name = $3 AND version = $4 RETURNING version

-- name: remove_older
DELETE FROM secret WHERE organization = $1 AND service = $2 AND name = $3 AND version < (
    SELECT max(version) FROM secret WHERE organization = $1 AND service = $2 AND name = $3 AND active = 1
)

-- name: discard
DELETE FROM secret WHERE organization = $1 AND service = $2 AND name = $3 AND version = $4 AND active = 0

-- name: remove
DELETE FROM secret WHERE organization = $1 AND service = $2 AND name = $3 AND version <= $4

-- name: token_keys
SELECT id, wrapped, added_at_us, from_seq, signs_at_us, overlap_to_seq FROM token_key ORDER BY added_at_us, id

-- name: save_token_key
INSERT INTO token_key (id, wrapped, added_at_us, from_seq, signs_at_us, overlap_to_seq) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET wrapped = excluded.wrapped, from_seq = excluded.from_seq,
    signs_at_us = excluded.signs_at_us, overlap_to_seq = excluded.overlap_to_seq

-- name: remove_token_key
DELETE FROM token_key WHERE id = $1
