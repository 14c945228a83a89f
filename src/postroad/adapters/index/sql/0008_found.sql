-- What posts are known by, as small hashes, span by span like the keys in seen: so what is written for each message falls on a few
-- pages. Of entries from before, nothing is here until the index is rebuilt.

-- sqlite:
CREATE TABLE found (
  span INTEGER NOT NULL,
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (span, key, seq)
) STRICT, WITHOUT ROWID;

-- postgres:
CREATE TABLE found (
  span bigint NOT NULL,
  key bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (span, key, seq)
);
