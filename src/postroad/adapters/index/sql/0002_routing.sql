-- Journeys (copies that outlast their first delivery), due times, cross-reference maps; and an answer of an in-transit service as the
-- journal has it, because it now tells more than its parts. What older entries mean for these tables is in the journal: everything
-- is forgotten here, and rebuilt from it when the index is opened next.

-- sqlite:
DROP TABLE content;
CREATE TABLE content (
  seq INTEGER PRIMARY KEY,
  transaction_id TEXT NOT NULL,
  session TEXT NOT NULL,
  facts BLOB NOT NULL,
  body_segment INTEGER NOT NULL,
  body_offset INTEGER NOT NULL,
  body_length INTEGER NOT NULL,
  body_digest BLOB NOT NULL
) STRICT;

CREATE TABLE journey (
  id INTEGER PRIMARY KEY,
  at_number INTEGER NOT NULL,
  leg INTEGER NOT NULL DEFAULT 0,
  state INTEGER NOT NULL DEFAULT 0,
  expires_at_us INTEGER NOT NULL,
  settled_at_us INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  move_seq INTEGER NOT NULL DEFAULT 0,
  settle_seq INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE reference (
  owner TEXT NOT NULL,
  map TEXT NOT NULL,
  service TEXT NOT NULL,
  key_name TEXT NOT NULL,
  key_value TEXT NOT NULL,
  pairs BLOB NOT NULL,
  at_us INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (owner, map, service, key_name, key_value)
) STRICT, WITHOUT ROWID;

CREATE TABLE relation (
  owner TEXT NOT NULL,
  map TEXT NOT NULL,
  service TEXT NOT NULL,
  key_name TEXT NOT NULL,
  key_value TEXT NOT NULL,
  other_service TEXT NOT NULL,
  other_name TEXT NOT NULL,
  other_value TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (owner, map, service, key_name, key_value, other_service, other_name, other_value)
) STRICT, WITHOUT ROWID;

-- As in the first schema: an index ends in the rowid, which is the primary key here.
CREATE INDEX delivery_due ON delivery (expires_at_us) WHERE state = 0;
CREATE INDEX journey_due ON journey (expires_at_us) WHERE state = 0;

DELETE FROM service;
DELETE FROM activity;
DELETE FROM message;
DELETE FROM delivery;
DELETE FROM seen;
DELETE FROM trail;
DELETE FROM refused;
DELETE FROM object;
DELETE FROM object_version;
DELETE FROM access;
UPDATE position SET seq = 0, chain = zeroblob(32);

-- postgres:
DROP TABLE content;
CREATE TABLE content (
  seq bigint PRIMARY KEY,
  transaction_id text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  facts bytea NOT NULL,
  body_segment bigint NOT NULL,
  body_offset bigint NOT NULL,
  body_length bigint NOT NULL,
  body_digest bytea NOT NULL
);

CREATE TABLE journey (
  id bigint PRIMARY KEY,
  at_number bigint NOT NULL,
  leg bigint NOT NULL DEFAULT 0,
  state bigint NOT NULL DEFAULT 0,
  expires_at_us bigint NOT NULL,
  settled_at_us bigint NOT NULL DEFAULT 0,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  move_seq bigint NOT NULL DEFAULT 0,
  settle_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE reference (
  owner text COLLATE "C" NOT NULL,
  map text COLLATE "C" NOT NULL,
  service text COLLATE "C" NOT NULL,
  key_name text COLLATE "C" NOT NULL,
  key_value text COLLATE "C" NOT NULL,
  pairs bytea NOT NULL,
  at_us bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (owner, map, service, key_name, key_value)
);

CREATE TABLE relation (
  owner text COLLATE "C" NOT NULL,
  map text COLLATE "C" NOT NULL,
  service text COLLATE "C" NOT NULL,
  key_name text COLLATE "C" NOT NULL,
  key_value text COLLATE "C" NOT NULL,
  other_service text COLLATE "C" NOT NULL,
  other_name text COLLATE "C" NOT NULL,
  other_value text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (owner, map, service, key_name, key_value, other_service, other_name, other_value)
);

CREATE INDEX delivery_due ON delivery (expires_at_us, number) WHERE state = 0;
CREATE INDEX journey_due ON journey (expires_at_us, id) WHERE state = 0;

TRUNCATE service, activity, message, delivery, seen, trail, refused, object, object_version, access;
UPDATE position SET seq = 0, chain = decode(repeat('00', 32), 'hex');

-- both:
CREATE INDEX content_transaction ON content (transaction_id);
