-- The first schema. Bodies are never here: a row says where its body lies in the journal.
-- A service is stored by a small number, a message that begins its own transaction without its transaction_id and without what is
-- only shown (it is in the header), and a delivery at the first service of its copy without what its number or its message
-- tells, because what is written for every message, in a
-- table or an index of it, is what the index costs.

-- sqlite:
CREATE TABLE position (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL,
  chain BLOB NOT NULL
) STRICT;

CREATE TABLE service (
  number INTEGER PRIMARY KEY,
  gcid TEXT NOT NULL UNIQUE
) STRICT;

-- In which spans of entries a service sent (part 0) or was sent (part 1) something. It takes the place of indexes by sender and by
-- recipient: those put every message on another page for each service, this a service into a span once.
CREATE TABLE activity (
  service INTEGER NOT NULL,
  part INTEGER NOT NULL,
  span INTEGER NOT NULL,
  PRIMARY KEY (service, part, span)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
  seq INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  transaction_id TEXT,
  sender INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  header BLOB NOT NULL,
  body_segment INTEGER NOT NULL,
  body_offset INTEGER NOT NULL,
  body_length INTEGER NOT NULL,
  body_digest BLOB NOT NULL
) STRICT;

CREATE TABLE delivery (
  number INTEGER PRIMARY KEY,
  message_seq INTEGER,
  copy INTEGER,
  hop INTEGER,
  content_seq INTEGER,
  recipient INTEGER NOT NULL,
  sender INTEGER,
  state INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  queued_at_us INTEGER,
  leased_at_us INTEGER NOT NULL DEFAULT 0,
  available_at_us INTEGER NOT NULL DEFAULT 0,
  settled_at_us INTEGER NOT NULL DEFAULT 0,
  expires_at_us INTEGER NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  lease_seq INTEGER NOT NULL DEFAULT 0,
  settle_seq INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE content (
  seq INTEGER PRIMARY KEY,
  transaction_id TEXT NOT NULL,
  session TEXT NOT NULL,
  parts BLOB NOT NULL,
  body_segment INTEGER NOT NULL,
  body_offset INTEGER NOT NULL,
  body_length INTEGER NOT NULL,
  body_digest BLOB NOT NULL
) STRICT;

-- Keys are hashes. Kept by spans of entries, they fall on a few hundred pages at a time and not on all there are.
CREATE TABLE seen (
  span INTEGER NOT NULL,
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (span, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE trail (
  number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (number, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE refused (
  seq INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  at_us INTEGER NOT NULL,
  sender TEXT NOT NULL,
  code TEXT NOT NULL,
  detail TEXT NOT NULL,
  size INTEGER NOT NULL,
  form TEXT NOT NULL,
  handle TEXT NOT NULL
) STRICT;

CREATE TABLE object (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value BLOB NOT NULL,
  at_us INTEGER NOT NULL,
  by TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT;

CREATE TABLE object_version (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value BLOB NOT NULL,
  at_us INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (kind, key, version)
) STRICT;

CREATE TABLE access (
  seq INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL,
  by TEXT NOT NULL,
  what TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;

-- A rowid table's index ends in the rowid, which is the primary key here: naming it again would store it twice.
-- Who waits is found span by span, through activity: by recipient alone, every message would be put on another page.
CREATE INDEX delivery_waiting ON delivery (number >> 28, recipient) WHERE state = 0;
CREATE INDEX refused_sender ON refused (sender);

INSERT INTO position (one, seq, chain) VALUES (1, 0, zeroblob(32));

-- postgres:
CREATE TABLE position (
  one bigint PRIMARY KEY CHECK (one = 1),
  seq bigint NOT NULL,
  chain bytea NOT NULL
);

CREATE TABLE service (
  number bigint PRIMARY KEY,
  gcid text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE activity (
  service bigint NOT NULL,
  part bigint NOT NULL,
  span bigint NOT NULL,
  PRIMARY KEY (service, part, span)
);

CREATE TABLE message (
  seq bigint PRIMARY KEY,
  session text COLLATE "C" NOT NULL,
  transaction_id text COLLATE "C",
  sender bigint NOT NULL,
  at_us bigint NOT NULL,
  header bytea NOT NULL,
  body_segment bigint NOT NULL,
  body_offset bigint NOT NULL,
  body_length bigint NOT NULL,
  body_digest bytea NOT NULL
);

-- Deliveries are changed a few times after they are made: room in the page keeps the new version beside the old one.
CREATE TABLE delivery (
  number bigint PRIMARY KEY,
  message_seq bigint,
  copy bigint,
  hop bigint,
  content_seq bigint,
  recipient bigint NOT NULL,
  sender bigint,
  state bigint NOT NULL DEFAULT 0,
  attempts bigint NOT NULL DEFAULT 0,
  queued_at_us bigint,
  leased_at_us bigint NOT NULL DEFAULT 0,
  available_at_us bigint NOT NULL DEFAULT 0,
  settled_at_us bigint NOT NULL DEFAULT 0,
  expires_at_us bigint NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  lease_seq bigint NOT NULL DEFAULT 0,
  settle_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE content (
  seq bigint PRIMARY KEY,
  transaction_id text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  parts bytea NOT NULL,
  body_segment bigint NOT NULL,
  body_offset bigint NOT NULL,
  body_length bigint NOT NULL,
  body_digest bytea NOT NULL
);

CREATE TABLE seen (
  span bigint NOT NULL,
  key bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (span, key)
);

CREATE TABLE trail (
  number bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (number, seq)
);

CREATE TABLE refused (
  seq bigint PRIMARY KEY,
  session text COLLATE "C" NOT NULL,
  at_us bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  form text COLLATE "C" NOT NULL,
  handle text COLLATE "C" NOT NULL
);

CREATE TABLE object (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  value bytea NOT NULL,
  at_us bigint NOT NULL,
  by text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (kind, key)
);

CREATE TABLE object_version (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  value bytea NOT NULL,
  at_us bigint NOT NULL,
  by text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (kind, key, version)
);

CREATE TABLE access (
  seq bigint PRIMARY KEY,
  at_us bigint NOT NULL,
  by text COLLATE "C" NOT NULL,
  what text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL
);

CREATE INDEX delivery_waiting ON delivery ((number >> 28), recipient, number) WHERE state = 0;
CREATE INDEX refused_sender ON refused (sender, seq);

INSERT INTO position (one, seq, chain) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

-- both:
CREATE INDEX message_session ON message (session);
CREATE INDEX message_transaction ON message (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX content_transaction ON content (transaction_id);
CREATE INDEX refused_session ON refused (session);
