"""The named queries of an index: their parameters and the columns of their rows.

SQL indexes answer them with a statement with that name in their SQL file, the memory index with a function; the
contract suite runs every query on every index. Rows come in the order given in the comment. ``before`` and ``after``
are exclusive: a page continues where the last one ended.
"""

from __future__ import annotations

from postroad.core.projection.tables import TABLES

MESSAGE = TABLES["message"]
DELIVERY = TABLES["delivery"]
CONTENT = TABLES["content"]
JOURNEY = TABLES["journey"]

# What is needed to hand a delivery out: its own row, the message's header and body, and the content that replaced it, if any.
WAITING = (
    *DELIVERY, "header", "body_segment", "body_offset", "body_length", "body_digest",
    "content_facts", "content_segment", "content_offset", "content_length", "content_digest",
)  # fmt: skip

# A dead letter: when and why it failed, the entry by which it was dealt with (0: no one has), and the delivery.
LETTER = ("failed_at_us", "failure", "failure_code", "dealt_seq", *WAITING)

QUERIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # configuration
    "objects": (
        (),
        ("kind", "key", "version", "value", "at_us", "by", "seq"),
    ),  # by kind, key; removed ones have an empty value
    "objects_since": (("seq",), ("kind", "key", "version", "value", "at_us", "by", "seq")),  # by seq, kind, key
    "object_versions": (("kind", "key"), TABLES["object_version"]),  # newest first
    "changes": (
        ("before_seq", "limit"),
        TABLES["object_version"],
    ),  # of all objects, newest first, then by kind, key and version
    "accesses": (("before_seq", "limit"), TABLES["access"]),  # newest first
    # queues
    "mailboxes": ((), ("recipient", "waiting")),  # every service with queued deliveries
    "mailbox": (
        ("recipient", "after_number", "limit"),
        WAITING,
    ),  # queued ones, oldest first; none that is in a batch
    "delivery": (("number",), WAITING),
    "waiting_at": (("recipient", "after_number", "limit"), ("number", "queued_at_us")),  # queued ones, oldest first
    "held_back": (
        ("recipient", "after_number", "limit"),
        ("waiting", "oldest_at_us", "newest"),
    ),  # of the first of those how many, since when, up to which; NULL for nothing
    "released_to": (("recipient",), ("up_to",)),  # the highest number that was ever released; NULL when none was
    "held": (
        (),
        ("sender", "queued_messages", "stored_bytes"),
    ),  # what waits of each sender's own messages, not its answers: deliveries, and bodies, each once; by sender
    "oldest_queued": (
        (),
        ("content_seq",),
    ),  # the first entry whose body is still waited for; no row, or NULL, when none is
    # messages
    "message": (("session",), MESSAGE),
    "message_at": (("seq",), MESSAGE),
    "sent_by": (("sender", "before_seq", "limit"), MESSAGE),  # newest first
    "received_by": (("recipient", "before_number", "limit"), WAITING),  # newest first, every state
    "taken_by": (("recipient", "limit"), ("number", "settle_seq")),  # delivered ones, newest first
    "tried_at": (
        ("recipient", "after_number", "after_seq", "limit"),
        ("seq",),
    ),  # entries after that which handed out, gave back, translated or ended undelivered ones, as far as those were
    # handed out, given back or ended after it; oldest first
    "delivery_trail": (
        ("number",),
        ("seq",),
    ),  # entries that handed it out, gave it back or translated it, oldest first
    "all_messages": (("before_seq", "limit"), MESSAGE),  # newest first
    "refused": (("session",), TABLES["refused"]),
    "refused_by": (("sender", "before_seq", "limit"), TABLES["refused"]),  # newest first
    "seen": (("key",), TABLES["seen"]),
    "recent_keys": (("limit",), ("key",)),  # newest first
    "keys_from": (("key", "limit"), ("key",)),  # the smallest first
    # histories
    "transaction_messages": (("transaction_id",), MESSAGE),  # oldest first
    "transaction_contents": (("transaction_id",), CONTENT),  # oldest first
    "transaction_deliveries": (("transaction_id",), DELIVERY),  # by number
    "transaction_trail": (("transaction_id",), ("seq",)),  # distinct entries about its deliveries, oldest first
    "transaction_journeys": (("transaction_id",), JOURNEY),  # by id
    "message_rounds": (("message_seq",), TABLES["round"]),  # oldest first
    # dead letters that no one has dealt with, oldest first: all, those at a service, and those of a sender's messages
    "dead_letters": (("after_number", "limit"), LETTER),
    "dead_letters_at": (("recipient", "after_number", "limit"), LETTER),
    "dead_letters_of": (("sender", "after_number", "limit"), LETTER),
    "dead_letter_count": ((), ("letters",)),  # of those that no one has dealt with
    "dead_letter": (("number",), LETTER),  # dealt with or not
    # due times; none of what is in a batch that is assembled
    "journey": (("id",), JOURNEY),
    # open ones that expire by then, the first to expire first, with the batch that the delivery of each is in, or an empty text
    "due_journeys": (("until_us", "limit"), (*JOURNEY, "batch")),
    "due_deliveries": (
        ("until_us", "limit"),
        ("number", "expires_at_us", "batch"),
    ),  # also queued ones, with the batch that each is in, or an empty text
    "next_due": ((), ("journey_us", "delivery_us")),  # when the first of either expires; NULL when there is none
    # cross-reference maps: every record that a key is related to, directly or through others, its own first
    "related": (
        ("owner", "map", "service", "key_name", "key_value"),
        ("service", "key_name", "key_value", "pairs"),
    ),
    # batches, by their ids, which sort by time
    "batch": (("id",), TABLES["batch"]),
    "unsettled_batches": (("service",), TABLES["batch"]),  # neither sent, dropped nor dissolved; oldest first
    "gathering_services": ((), ("service",)),  # those that have such batches, in order
    "unsettled_batch_counts": ((), ("state", "batches", "oldest_opened_at_us")),  # of such batches, by state
    "batches_at": (("service", "before_id", "limit"), TABLES["batch"]),  # newest first
    "all_batches": (("before_id", "limit"), TABLES["batch"]),  # newest first
    "batch_of": (("number",), TABLES["batch"]),  # that a delivery has joined
    "batch_members": (
        ("batch", "after_number", "limit"),
        ("member_facts", *WAITING),
    ),  # every state, in the order of arrival
    "latest_number": (("series",), ("number", "seq")),  # the highest that was drawn, and the entry that uses it
    "control_number": (("series", "number"), TABLES["control_number"]),
    "batch_answers": (("batch",), TABLES["batch_answer"]),  # oldest first
    "found": (
        ("key", "before_seq", "limit"),
        ("seq", "session", "header"),
    ),  # posts that may be known by what has this hash, newest first; a refused one has NULL for its header
    "states": ((), ("state", "deliveries")),  # how many deliveries are in each state
}
