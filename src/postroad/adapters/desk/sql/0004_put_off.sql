-- A delivery whose push failed is not pushed again before retry_at_us. Until it is leased, available_at_us has the same value: nodes
-- of earlier versions leave it alone until then, and a poll may take it at once. A lease moves available_at_us and not retry_at_us.

ALTER TABLE desk_queue ADD COLUMN retry_at_us bigint NOT NULL DEFAULT 0;

CREATE INDEX desk_queue_put_off ON desk_queue (mailbox) WHERE retry_at_us > 0;

-- As before, and the deliveries in put_off are pushed again at the times in put_off_until, where they are available too.
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
    put_off bigint[], put_off_until bigint[],
    OUT first_seq bigint, OUT chain bytea, OUT seen bigint[], OUT seen_seqs bigint[], OUT gone bigint[], OUT in_batch bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO first_seq, chain, seen, seen_seqs, gone, in_batch FROM desk_commit(
        given_entries, given_facts, given_bodies, checked_keys, new_keys, new_key_records, required, settled,
        touched, touched_attempts, touched_available,
        posted_records, posted_ordinals, posted_mailboxes, posted_expires,
        posted_at, posted_bytes, posted_body_at, posted_body_bytes,
        returned_records, returned_deliveries, returned_mailboxes, returned_messages,
        returned_copies, returned_hops, returned_expires,
        returned_at, returned_bytes, returned_body_at, returned_body_bytes,
        woken,
        resent_records, resent_mailboxes, resent_messages, resent_copies, resent_hops,
        resent_contents, resent_expires, resent_followed, resent_origins,
        free
    );
    IF first_seq IS NOT NULL AND cardinality(put_off) > 0 THEN
        UPDATE desk_queue SET retry_at_us = change.until
        FROM unnest(put_off, put_off_until) AS change (number, until)
        WHERE desk_queue.number = change.number;
    END IF;
END
$$;
