-- Releases of messages that waited for release at a service; older entries have none.

-- sqlite:
CREATE TABLE released (
  seq INTEGER PRIMARY KEY,
  recipient TEXT NOT NULL,
  up_to INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;

-- postgres:
CREATE TABLE released (
  seq bigint PRIMARY KEY,
  recipient text COLLATE "C" NOT NULL,
  up_to bigint NOT NULL,
  waiting bigint NOT NULL,
  at_us bigint NOT NULL,
  by text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL
);

-- both:
CREATE INDEX released_recipient ON released (recipient, up_to);
