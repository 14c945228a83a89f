-- Batches, who is in them, the control numbers that interchanges have used, and what partners answered; entries of before know of
-- none.

-- sqlite:
CREATE TABLE batch (
  id TEXT PRIMARY KEY,
  service TEXT NOT NULL,
  state TEXT NOT NULL,
  opened_at_us INTEGER NOT NULL,
  changed_at_us INTEGER NOT NULL,
  interchange TEXT NOT NULL,
  facts BLOB NOT NULL,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_member (
  number INTEGER PRIMARY KEY,
  batch TEXT NOT NULL,
  facts BLOB NOT NULL,
  seq INTEGER NOT NULL
) STRICT;

CREATE TABLE control_number (
  series TEXT NOT NULL,
  number INTEGER NOT NULL,
  session TEXT NOT NULL,
  batch TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (series, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_answer (
  seq INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL,
  batch TEXT NOT NULL,
  session TEXT NOT NULL,
  verdict TEXT NOT NULL,
  facts BLOB NOT NULL
) STRICT;

-- As in the first schema: an index ends in the rowid, which is the primary key here.
CREATE INDEX batch_member_batch ON batch_member (batch);
CREATE INDEX batch_answer_batch ON batch_answer (batch);

-- postgres:
CREATE TABLE batch (
  id text COLLATE "C" PRIMARY KEY,
  service text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  opened_at_us bigint NOT NULL,
  changed_at_us bigint NOT NULL,
  interchange text COLLATE "C" NOT NULL,
  facts bytea NOT NULL,
  seq bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE batch_member (
  number bigint PRIMARY KEY,
  batch text COLLATE "C" NOT NULL,
  facts bytea NOT NULL,
  seq bigint NOT NULL
);

CREATE TABLE control_number (
  series text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  batch text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (series, number)
);

CREATE TABLE batch_answer (
  seq bigint PRIMARY KEY,
  at_us bigint NOT NULL,
  batch text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  facts bytea NOT NULL
);

CREATE INDEX batch_member_batch ON batch_member (batch, number);
CREATE INDEX batch_answer_batch ON batch_answer (batch, seq);

-- both:
CREATE INDEX batch_service ON batch (service, id);
-- The few batches that are not finished.
CREATE INDEX batch_unsettled ON batch (service, id) WHERE state IN ('open', 'closed', 'assembled', 'suspended');
