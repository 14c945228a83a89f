-- The journal in PostgreSQL: one row per group, numbered and chained while the one row of journal_head is locked, so numbers become
-- visible in the order of commits and a reader that follows them never passes a gap.

CREATE TABLE journal_head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    seq bigint NOT NULL,  -- of the last record; 0 when there is none
    chain bytea NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000);

INSERT INTO journal_head (seq, chain) VALUES (0, decode(repeat('00', 32), 'hex'));

CREATE TABLE journal_group (
    first_seq bigint PRIMARY KEY,
    last_seq bigint NOT NULL,
    chain bytea NOT NULL,  -- after this group
    entries bytea NOT NULL,  -- per record: length of its facts, length of its body, digest of its body
    facts bytea NOT NULL,
    bodies bytea,  -- NULL once retention has dropped them
    bodies_bytes bigint NOT NULL
);

-- Not compressed, so that one body is sliced out of a group without reading the others.
ALTER TABLE journal_group ALTER COLUMN entries SET STORAGE EXTERNAL;
ALTER TABLE journal_group ALTER COLUMN facts SET STORAGE EXTERNAL;
ALTER TABLE journal_group ALTER COLUMN bodies SET STORAGE EXTERNAL;

-- Number and count of a group as the chain covers them: 8 and 4 bytes, least significant first.
CREATE FUNCTION journal_place(first_seq bigint, amount integer) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    place bytea := decode(repeat('00', 12), 'hex');
BEGIN
    FOR byte IN 0..7 LOOP
        place := set_byte(place, byte, ((first_seq >> (8 * byte)) & 255)::integer);
    END LOOP;
    FOR byte IN 0..3 LOOP
        place := set_byte(place, 8 + byte, (amount >> (8 * byte)) & 255);
    END LOOP;
    RETURN place;
END
$$;

-- Add a group. The caller holds the lock on the head until the transaction ends.
CREATE FUNCTION journal_append(given_entries bytea, given_facts bytea, given_bodies bytea, OUT first_seq bigint, OUT chain bytea)
LANGUAGE plpgsql AS $$
DECLARE
    amount integer := octet_length(given_entries) / 40;
    head journal_head%ROWTYPE;
BEGIN
    SELECT * INTO STRICT head FROM journal_head FOR UPDATE;
    first_seq := head.seq + 1;
    chain := sha256(head.chain || journal_place(first_seq, amount) || given_entries || given_facts);
    INSERT INTO journal_group VALUES (
        first_seq, head.seq + amount, chain, given_entries, given_facts, given_bodies, octet_length(given_bodies)
    );
    UPDATE journal_head SET seq = head.seq + amount, chain = journal_append.chain;
END
$$;
