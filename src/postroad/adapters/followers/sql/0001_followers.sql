-- How far each follower has read the journal: the head after the last group that it has handled.

CREATE TABLE follower_cursor (
    name text PRIMARY KEY,
    seq bigint NOT NULL,
    chain bytea NOT NULL
);
