-- name: load
SELECT document FROM backup_status

-- name: note
INSERT INTO backup_status AS known (document) VALUES ($1::jsonb)
ON CONFLICT (id) DO UPDATE SET document = known.document || excluded.document
    || CASE WHEN known.document ? 'first_backup_at'
       THEN jsonb_build_object('first_backup_at', known.document -> 'first_backup_at') ELSE '{}' END
