-- Dead letters that wait once more: their content is that of an older entry, and their round has a journey of its own.

ALTER TABLE desk_queue
    ADD COLUMN content_seq bigint,  -- NULL: the content is that of the entry that queued it
    ADD COLUMN journey bigint,  -- NULL: the one that its message or its content tells
    ADD COLUMN origin bigint;  -- the first round's delivery

-- Where the facts and the body of one entry lie in its group; body_at is NULL without a body.
CREATE FUNCTION desk_entry_place(
    wanted bigint, OUT in_group bigint, OUT facts_at integer, OUT facts_bytes integer, OUT body_at integer, OUT body_bytes integer
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    lengths bytea;
    at integer := 0;
    bytes bigint;
BEGIN
    SELECT place.in_group, place.facts_at, place.facts_bytes INTO in_group, facts_at, facts_bytes
    FROM desk_facts_place(wanted) AS place;
    SELECT entries INTO STRICT lengths FROM journal_group WHERE first_seq = in_group;
    body_bytes := 0;
    FOR entry IN 0..(wanted - in_group)::integer LOOP
        at := at + body_bytes;
        bytes := get_byte(lengths, 40 * entry + 4)::bigint | (get_byte(lengths, 40 * entry + 5)::bigint << 8)
            | (get_byte(lengths, 40 * entry + 6)::bigint << 16) | (get_byte(lengths, 40 * entry + 7)::bigint << 24);
        body_at := CASE WHEN bytes = 4294967295 THEN NULL ELSE at END;
        body_bytes := CASE WHEN bytes = 4294967295 THEN 0 ELSE bytes END;
    END LOOP;
END
$$;

-- Set the locations of message and content of resent deliveries, which were unknown when they were queued.
CREATE FUNCTION desk_locate_resent(since bigint DEFAULT 0) RETURNS void LANGUAGE sql AS $$
    UPDATE desk_queue SET
        message_group = message.in_group, message_at = message.facts_at, message_bytes = message.facts_bytes,
        content_group = content.in_group, content_at = content.facts_at, content_bytes = content.facts_bytes,
        body_at = content.body_at, body_bytes = content.body_bytes
    FROM desk_queue AS resent, desk_entry_place(resent.message_seq) AS message, desk_entry_place(resent.content_seq) AS content
    WHERE desk_queue.number = resent.number AND resent.number >= since AND resent.content_seq IS NOT NULL
$$;

-- As before, with deliveries of dead letters that were resent; a node that knows of none calls the other one.
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
    OUT first_seq bigint, OUT chain bytea, OUT seen bigint[], OUT seen_seqs bigint[], OUT gone bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO first_seq, chain, seen, seen_seqs, gone FROM desk_commit(
        given_entries, given_facts, given_bodies, checked_keys, new_keys, new_key_records, required, settled,
        touched, touched_attempts, touched_available,
        posted_records, posted_ordinals, posted_mailboxes, posted_expires,
        posted_at, posted_bytes, posted_body_at, posted_body_bytes,
        returned_records, returned_deliveries, returned_mailboxes, returned_messages,
        returned_copies, returned_hops, returned_expires,
        returned_at, returned_bytes, returned_body_at, returned_body_bytes,
        woken
    );
    IF first_seq IS NOT NULL AND cardinality(resent_records) > 0 THEN
        INSERT INTO desk_queue
        SELECT (first_seq + record) << 16, mailbox, message, new.copy, new.hop, expires, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0,
            content, CASE WHEN followed THEN (first_seq + record) << 16 END, new.origin
        FROM unnest(
            resent_records, resent_mailboxes, resent_messages, resent_copies, resent_hops, resent_contents, resent_expires,
            resent_followed, resent_origins
        ) AS new (record, mailbox, message, copy, hop, content, expires, followed, origin);
        PERFORM desk_locate_resent(first_seq << 16);
    END IF;
END
$$;
