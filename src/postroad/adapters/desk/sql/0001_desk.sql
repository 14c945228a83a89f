-- What the shared desk must know at once: keys seen, and deliveries that wait. Both are derived from the journal, in the same
-- transaction as the group that changes them, and can be rebuilt from it.

CREATE TABLE desk_seen (
    key bigint PRIMARY KEY,
    seq bigint NOT NULL  -- the entry that used it first
);

CREATE TABLE desk_queue (
    number bigint PRIMARY KEY,
    mailbox text NOT NULL,
    message_seq bigint NOT NULL,
    copy integer NOT NULL,
    hop integer NOT NULL,
    expires_at_us bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    available_at_us bigint NOT NULL DEFAULT 0,  -- later than now while leased or put back with a delay
    message_group bigint NOT NULL,  -- where the message's facts lie in the journal …
    message_at integer NOT NULL,
    message_bytes integer NOT NULL,
    content_group bigint NOT NULL,  -- … and those that list the parts it has now
    content_at integer NOT NULL,
    content_bytes integer NOT NULL,
    body_at integer,  -- in the bodies of content_group; NULL without a body
    body_bytes integer NOT NULL
) WITH (  -- room to change leases in place, and prompt cleaning behind the head of the queues
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX desk_queue_mailbox ON desk_queue (mailbox, number);

-- Where the facts of one entry lie in its group.
CREATE FUNCTION desk_facts_place(wanted bigint, OUT in_group bigint, OUT facts_at integer, OUT facts_bytes integer)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    lengths bytea;
BEGIN
    SELECT first_seq, entries INTO STRICT in_group, lengths
    FROM journal_group WHERE first_seq <= wanted ORDER BY first_seq DESC LIMIT 1;
    facts_at := 0;
    facts_bytes := 0;
    FOR entry IN 0..(wanted - in_group)::integer LOOP
        facts_at := facts_at + facts_bytes;
        facts_bytes := get_byte(lengths, 40 * entry) | (get_byte(lengths, 40 * entry + 1) << 8)
            | (get_byte(lengths, 40 * entry + 2) << 16) | (get_byte(lengths, 40 * entry + 3) << 24);
    END LOOP;
END
$$;

-- Write a group and let it take effect, or write nothing and say which keys were seen before and which deliveries are gone.
-- Everything below the lock on the head happens one group at a time, over all nodes.
CREATE FUNCTION desk_commit(
    given_entries bytea, given_facts bytea, given_bodies bytea,
    checked_keys bigint[], new_keys bigint[], new_key_records integer[],
    required bigint[], settled bigint[],
    touched bigint[], touched_attempts integer[], touched_available bigint[],
    posted_records integer[], posted_ordinals integer[], posted_mailboxes text[], posted_expires bigint[],
    posted_at integer[], posted_bytes integer[], posted_body_at integer[], posted_body_bytes integer[],
    returned_records integer[], returned_deliveries bigint[], returned_mailboxes text[], returned_messages bigint[],
    returned_copies integer[], returned_hops integer[], returned_expires bigint[],
    returned_at integer[], returned_bytes integer[], returned_body_at integer[], returned_body_bytes integer[],
    woken text,
    OUT first_seq bigint, OUT chain bytea, OUT seen bigint[], OUT seen_seqs bigint[], OUT gone bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM journal_head FOR UPDATE;
    IF cardinality(checked_keys) > 0 THEN
        SELECT array_agg(key), array_agg(seq) INTO seen, seen_seqs FROM desk_seen WHERE key = ANY (checked_keys);
    END IF;
    IF cardinality(required) > 0 THEN
        SELECT array_agg(number) INTO gone FROM unnest(required) AS wanted (number)
        WHERE NOT EXISTS (SELECT FROM desk_queue WHERE desk_queue.number = wanted.number);
    END IF;
    IF seen IS NOT NULL OR gone IS NOT NULL THEN
        RETURN;
    END IF;

    SELECT * INTO first_seq, chain FROM journal_append(given_entries, given_facts, given_bodies);

    IF cardinality(new_keys) > 0 THEN
        INSERT INTO desk_seen
        SELECT key, first_seq + record FROM unnest(new_keys, new_key_records) AS used (key, record)
        ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(returned_records) > 0 THEN
        INSERT INTO desk_queue
        SELECT (first_seq + record) << 16, new.mailbox, message, new.copy, new.hop, expires, 0, 0,
            coalesce(message_group, in_group), coalesce(message_at, place.facts_at), coalesce(message_bytes, place.facts_bytes),
            first_seq, new.at, new.bytes, new.body_at, new.body_bytes
        FROM unnest(
            returned_records, returned_deliveries, returned_mailboxes, returned_messages, returned_copies, returned_hops,
            returned_expires, returned_at, returned_bytes, returned_body_at, returned_body_bytes
        ) AS new (record, delivery, mailbox, message, copy, hop, expires, at, bytes, body_at, body_bytes)
        LEFT JOIN desk_queue ON number = delivery
        LEFT JOIN LATERAL desk_facts_place(message) AS place ON number IS NULL;
    END IF;
    IF cardinality(settled) > 0 THEN
        DELETE FROM desk_queue WHERE number = ANY (settled);
    END IF;
    IF cardinality(touched) > 0 THEN
        UPDATE desk_queue SET attempts = attempts + change.attempts_more, available_at_us = change.available
        FROM unnest(touched, touched_attempts, touched_available) AS change (number, attempts_more, available)
        WHERE desk_queue.number = change.number;
    END IF;
    IF cardinality(posted_records) > 0 THEN
        INSERT INTO desk_queue
        SELECT (first_seq + record) << 16 | ordinal, mailbox, first_seq + record, ordinal, 0, expires, 0, 0,
            first_seq, at, bytes, first_seq, at, bytes, new.body_at, new.body_bytes
        FROM unnest(
            posted_records, posted_ordinals, posted_mailboxes, posted_expires,
            posted_at, posted_bytes, posted_body_at, posted_body_bytes
        ) AS new (record, ordinal, mailbox, expires, at, bytes, body_at, body_bytes);
    END IF;
    PERFORM pg_notify('postroad_desk', (first_seq + octet_length(given_entries) / 40 - 1) || ' ' || woken);
END
$$;
