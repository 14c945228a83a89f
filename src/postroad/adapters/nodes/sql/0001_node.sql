-- The nodes of a shared network. Not derived from the journal: a node writes its own row, again and again.
CREATE TABLE node (
    id text PRIMARY KEY,
    host text NOT NULL,
    version text NOT NULL,
    level integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);
