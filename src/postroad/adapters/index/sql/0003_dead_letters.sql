-- Dead letters and the rounds in which they are delivered again. Dead letters of before are in the journal: everything is forgotten
-- here, and rebuilt from it when the index is opened next.

-- sqlite:
-- NULL but for a delivery of a later round, where they are its journey and the first round's delivery.
ALTER TABLE delivery ADD COLUMN journey INTEGER;
ALTER TABLE delivery ADD COLUMN origin INTEGER;

CREATE TABLE dead_letter (
  number INTEGER PRIMARY KEY,
  recipient INTEGER NOT NULL,
  sender INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  reason TEXT NOT NULL,
  seq INTEGER NOT NULL,
  dealt_seq INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE round (
  seq INTEGER PRIMARY KEY,
  transaction_id TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  copy INTEGER NOT NULL,
  journey INTEGER NOT NULL,
  dead INTEGER NOT NULL
) STRICT;

-- As in the first schema: an index ends in the rowid, which is the primary key here.
CREATE INDEX dead_letter_open ON dead_letter (dealt_seq) WHERE dealt_seq = 0;
CREATE INDEX dead_letter_recipient ON dead_letter (recipient) WHERE dealt_seq = 0;
CREATE INDEX dead_letter_sender ON dead_letter (sender) WHERE dealt_seq = 0;
CREATE INDEX round_message ON round (message_seq);

DELETE FROM service;
DELETE FROM activity;
DELETE FROM message;
DELETE FROM delivery;
DELETE FROM content;
DELETE FROM journey;
DELETE FROM seen;
DELETE FROM trail;
DELETE FROM refused;
DELETE FROM object;
DELETE FROM object_version;
DELETE FROM access;
DELETE FROM reference;
DELETE FROM relation;
UPDATE position SET seq = 0, chain = zeroblob(32);

-- postgres:
ALTER TABLE delivery ADD COLUMN journey bigint;
ALTER TABLE delivery ADD COLUMN origin bigint;

CREATE TABLE dead_letter (
  number bigint PRIMARY KEY,
  recipient bigint NOT NULL,
  sender bigint NOT NULL,
  at_us bigint NOT NULL,
  reason text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  dealt_seq bigint NOT NULL DEFAULT 0
);

CREATE TABLE round (
  seq bigint PRIMARY KEY,
  transaction_id text COLLATE "C" NOT NULL,
  message_seq bigint NOT NULL,
  copy bigint NOT NULL,
  journey bigint NOT NULL,
  dead bigint NOT NULL
);

CREATE INDEX dead_letter_open ON dead_letter (number) WHERE dealt_seq = 0;
CREATE INDEX dead_letter_recipient ON dead_letter (recipient, number) WHERE dealt_seq = 0;
CREATE INDEX dead_letter_sender ON dead_letter (sender, number) WHERE dealt_seq = 0;
CREATE INDEX round_message ON round (message_seq, seq);

TRUNCATE service, activity, message, delivery, content, journey, seen, trail, refused, object, object_version, access, reference,
  relation;
UPDATE position SET seq = 0, chain = decode(repeat('00', 32), 'hex');

-- both:
CREATE INDEX round_transaction ON round (transaction_id);
