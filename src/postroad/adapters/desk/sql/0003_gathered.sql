-- A delivery that has joined a batch waits and is never handed out: it is available after 1 << 62. One mailbox may have very many,
-- so searches for deliveries to hand out do not read them. The value of the column changes only when
-- something joins, so leases are still changed in place.

ALTER TABLE desk_queue
    ADD COLUMN gathered boolean NOT NULL GENERATED ALWAYS AS (available_at_us = 4611686018427387904) STORED;

CREATE INDEX desk_queue_free ON desk_queue (mailbox, number) WHERE NOT gathered;
DROP INDEX desk_queue_mailbox;

-- As before, and nothing is written while one of the deliveries that must be free is in a batch; it says which are.
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
    resent_records integer[], resent_mailboxes text[], resent_messages bigint[], resent_copies integer[], resent_hops integer[],
    resent_contents bigint[], resent_expires bigint[], resent_followed boolean[], resent_origins bigint[],
    free bigint[],
    OUT first_seq bigint, OUT chain bytea, OUT seen bigint[], OUT seen_seqs bigint[], OUT gone bigint[], OUT in_batch bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM journal_head FOR UPDATE;
    IF cardinality(free) > 0 THEN
        SELECT array_agg(number) INTO in_batch FROM desk_queue WHERE number = ANY (free) AND gathered;
        IF in_batch IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    SELECT * INTO first_seq, chain, seen, seen_seqs, gone FROM desk_commit(
        given_entries, given_facts, given_bodies, checked_keys, new_keys, new_key_records, required, settled,
        touched, touched_attempts, touched_available,
        posted_records, posted_ordinals, posted_mailboxes, posted_expires,
        posted_at, posted_bytes, posted_body_at, posted_body_bytes,
        returned_records, returned_deliveries, returned_mailboxes, returned_messages,
        returned_copies, returned_hops, returned_expires,
        returned_at, returned_bytes, returned_body_at, returned_body_bytes,
        woken,
        resent_records, resent_mailboxes, resent_messages, resent_copies, resent_hops,
        resent_contents, resent_expires, resent_followed, resent_origins
    );
END
$$;
