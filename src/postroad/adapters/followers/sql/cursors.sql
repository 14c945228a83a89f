-- name: load
SELECT seq, chain FROM follower_cursor WHERE name = $1

-- name: load_all
SELECT name, seq, chain FROM follower_cursor ORDER BY name

-- name: save
INSERT INTO follower_cursor (name, seq, chain) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, chain = excluded.chain
