"""The queries of the index contract over the entries of ``story``, with hand-written expected rows.

Rule: every query of ``core.projection.queries.QUERIES`` is tested here.
"""

from __future__ import annotations

from msgspec.structs import astuple

from postroad.core.model.delivery import DeliveryState, JourneyLeg
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    encode,
)
from postroad.core.projection.project import pack_pairs
from postroad.core.projection.search_keys import search_key_hash
from postroad.core.projection.unique_keys import (
    batch_answer_key,
    batch_key,
    dead_letter_key,
    handle_key,
    journey_key,
    unique_keys,
    version_key,
)
from postroad.testing.contracts.index.story import (
    AGAIN,
    ANNOUNCED,
    ANSWER,
    ASKED,
    AT_BANK,
    AT_STAMPER,
    BANK,
    BANKS,
    BUYER,
    BUYERS,
    ERROR,
    EXPIRED,
    GIVEN_UP,
    LATER,
    LOST,
    NOBODYS,
    RESPONSE,
    RESTORED_SEQ,
    ROUND_TRIP,
    ROUTED,
    SELLER,
    SELLERS,
    SILENT,
    SPOILT,
    STAMPED,
    STAMPER,
    STORY,
    WAITING,
)
from postroad.testing.contracts.index.story_batches import (
    BATCHER,
    FARMER,
    STILL_OPEN,
    TAKEN_OUT,
    StoryQuestion,
)
from postroad.testing.contracts.index.story_batches import QUESTIONS as BATCH_QUESTIONS
from postroad.testing.contracts.index.story_billing import BILLED, PAID
from postroad.testing.contracts.index.story_secrets import KEY, LISTED, REMOVED_KEY, SECRETS, VALUE

PASSED_ON = delivery_number(25, 0)


_LIFE = "number recipient state attempts leased_at_us available_at_us settled_at_us reason lease_seq settle_seq"

_WAY = "id at_number leg state expires_at_us settled_at_us reason move_seq settle_seq"
_NO_PAIRS = pack_pairs([])
RESTORED = b'{"cut":57,"seq":58,"skip_numbers":1000}'

QUESTIONS = [
    StoryQuestion(
        "objects",
        (),
        "kind key version seq",
        [*BILLED[:3], ("restore", "58", 1, RESTORED_SEQ), ("rule", "z", 1, 1), *LISTED, ("service", "a", 2, 12)],
    ),
    StoryQuestion(
        "objects_since",
        (1,),
        "kind key version seq",
        [("service", "a", 2, 12), *BILLED, ("restore", "58", 1, RESTORED_SEQ), *LISTED],
    ),
    StoryQuestion(
        "objects_since",
        (56,),
        "kind key value",
        [
            ("payment", "2026-10-0001/1", PAID),
            ("restore", "58", RESTORED),
            ("secret", KEY, VALUE),
            ("secret", REMOVED_KEY, b""),
        ],
    ),
    StoryQuestion(
        "object_versions",
        ("secret", KEY),
        "version by reason",
        [(2, "bob", "secret set"), (1, "ada", "secret set")],
    ),
    StoryQuestion("object_versions", ("payment", "2026-10-0001/1"), "version value by", [(1, PAID, "ada")]),
    StoryQuestion("object_versions", ("rule", "z"), "version value", [(1, b"{}")]),
    StoryQuestion(
        "object_versions", ("service", "a"), "version value reason", [(2, b"", "gone"), (1, b'{"name":"A"}', "new")]
    ),
    StoryQuestion("object_versions", ("service", "b"), "version", []),
    StoryQuestion("changes", (55, 2), "kind key version seq", [("service", "a", 2, 12), ("rule", "z", 1, 1)]),
    StoryQuestion("changes", (12, 10), "kind key version by", [("rule", "z", 1, "ada"), ("service", "a", 1, "ada")]),
    StoryQuestion("accesses", (100, 10), "by what detail", [("eve", "login.failed", "wrong password")]),
    StoryQuestion("accesses", (13, 10), "by", []),
    StoryQuestion("mailboxes", (), "recipient waiting", [(BATCHER, 2), (BANK, 4), (BUYER, 2)]),
    StoryQuestion(
        "mailbox",
        (BANK, 0, 10),
        "number sender content_facts",
        [
            (WAITING, BUYER, None),
            (ANNOUNCED, BUYER, None),
            (PASSED_ON, STAMPER, encode(STORY[24])),
            (AGAIN, BUYER, None),
        ],
    ),
    StoryQuestion("mailbox", (BANK, WAITING, 1), "number", [(ANNOUNCED,)]),
    StoryQuestion(
        "mailbox",
        (BANK, PASSED_ON, 10),
        "number message_seq copy content_seq journey origin",
        [(AGAIN, 15, 1, 15, AGAIN, GIVEN_UP)],
    ),
    StoryQuestion("mailbox", (BANK, AGAIN, 10), "number", []),
    StoryQuestion("mailbox", (BANK, 0, 0), "number", []),
    StoryQuestion("mailbox", ("unknown", 0, 10), "number", []),
    StoryQuestion(
        "waiting_at", (BANK, 0, 3), "number queued_at_us", [(WAITING, 14_000), (ANNOUNCED, 23_000), (PASSED_ON, 25_000)]
    ),
    StoryQuestion("waiting_at", (BANK, PASSED_ON, 3), "number queued_at_us", [(AGAIN, 36_000)]),
    StoryQuestion("waiting_at", ("unknown", 0, 3), "number", []),
    StoryQuestion("held_back", (BANK, 0, 10), "waiting oldest_at_us newest", [(4, 14_000, AGAIN)]),
    StoryQuestion("held_back", (BANK, WAITING, 2), "waiting oldest_at_us newest", [(2, 23_000, PASSED_ON)]),
    StoryQuestion("held_back", (BANK, AGAIN, 2), "waiting oldest_at_us newest", [(0, None, None)]),
    StoryQuestion("held_back", ("unknown", 0, 2), "waiting oldest_at_us newest", [(0, None, None)]),
    StoryQuestion("released_to", (BANK,), "up_to", [(ANNOUNCED,)]),
    StoryQuestion("released_to", (SELLER,), "up_to", [(None,)]),
    StoryQuestion("held", (), "sender queued_messages stored_bytes", [(BUYER, 4, 40), (FARMER, 2, 20)]),
    StoryQuestion("oldest_queued", (), "content_seq", [(7,)]),
    StoryQuestion(
        "delivery", (AT_BANK,), _LIFE, [(AT_BANK, BANK, DeliveryState.DELIVERED, 2, 6000, 0, 7000, "answered", 6, 7)]
    ),
    StoryQuestion(
        "delivery", (STAMPED,), _LIFE, [(STAMPED, SELLER, DeliveryState.DELIVERED, 0, 0, 0, 8000, "acknowledged", 0, 8)]
    ),
    StoryQuestion(
        "delivery", (EXPIRED,), _LIFE, [(EXPIRED, BANK, DeliveryState.EXPIRED, 0, 0, 0, 10_000, "too late", 0, 10)]
    ),
    StoryQuestion(
        "delivery",
        (ANNOUNCED,),
        _LIFE,
        [(ANNOUNCED, BANK, DeliveryState.QUEUED, 0, 30_000, 5_030_000, 0, "push failed: HTTP 503", 30, 0)],
    ),
    StoryQuestion(
        "delivery",
        (STAMPED,),
        "message_seq copy hop content_seq sender body_length content_length",
        [(2, 0, 1, 4, STAMPER, 9, 9)],
    ),
    StoryQuestion("delivery", (delivery_number(2, 2),), "number", []),
    StoryQuestion("message", ("session 9",), "seq sender transaction_id", [(9, BUYER, "session 9")]),
    StoryQuestion("message", ("session 11",), "seq", []),
    StoryQuestion(
        "message_at", (7,), "session transaction_id sender type", [("session 7", "session 2", BANK, "request")]
    ),
    StoryQuestion("sent_by", (BUYER, LATER, 2), "seq type", [(24, "notification"), (23, "notification")]),
    StoryQuestion("sent_by", (BUYER, 15, 2), "seq topic", [(14, "ä ☃"), (9, "orders")]),
    StoryQuestion("sent_by", (BUYER, 9, 2), "seq handle", [(2, "h1")]),
    StoryQuestion(
        "received_by",
        (BANK, LATER, 3),
        "number state",
        [(AGAIN, DeliveryState.QUEUED), (PASSED_ON, DeliveryState.QUEUED), (ANNOUNCED, DeliveryState.QUEUED)],
    ),
    StoryQuestion(
        "received_by",
        (BANK, GIVEN_UP, 10),
        "number state",
        [(WAITING, DeliveryState.QUEUED), (EXPIRED, DeliveryState.EXPIRED), (AT_BANK, DeliveryState.DELIVERED)],
    ),
    StoryQuestion("received_by", (BANK, WAITING, 1), "number", [(EXPIRED,)]),
    StoryQuestion("taken_by", (BANK, 10), "number settle_seq", [(AT_BANK, 7)]),
    StoryQuestion("taken_by", (SELLER, 2), "number settle_seq", [(SILENT, 21), (ROUTED, 17)]),
    StoryQuestion("taken_by", ("unknown", 2), "number", []),
    StoryQuestion("tried_at", (BANK, 0, 7, 10), "seq", [(10,), (19,), (30,), (37,)]),
    StoryQuestion("tried_at", (BANK, EXPIRED, 7, 10), "seq", [(19,), (30,), (37,)]),
    StoryQuestion("tried_at", (BANK, 0, 30, 10), "seq", []),
    StoryQuestion("tried_at", (BANK, 0, 10, 1), "seq", [(19,)]),
    StoryQuestion("tried_at", (SELLER, 0, 34, 10), "seq", []),
    StoryQuestion("delivery_trail", (ANNOUNCED,), "seq", [(30,), (37,)]),
    StoryQuestion("delivery_trail", (WAITING,), "seq", []),
    StoryQuestion("delivery_trail", (1,), "seq", []),
    StoryQuestion("all_messages", (40, 3), "seq", [(33,), (31,), (24,)]),
    StoryQuestion("all_messages", (7, 3), "seq", [(2,)]),
    StoryQuestion("refused", ("session 11",), "seq code detail handle", [(11, "topic.unknown", "no such topic", "h2")]),
    StoryQuestion("refused_by", (BUYER, LATER, 5), "seq size form", [(11, 7, "soap12")]),
    StoryQuestion("refused_by", (BUYER, 11, 5), "seq", []),
    StoryQuestion("seen", (handle_key(BUYER, "h1"),), "session seq", [("session 2", 2)]),
    StoryQuestion("seen", (version_key("rule", "z", 1),), "session seq", [("", 1)]),
    StoryQuestion("seen", (handle_key(BUYER, "h2"),), "seq", []),
    StoryQuestion("seen", (journey_key(ROUND_TRIP),), "session seq", [("", 18)]),
    StoryQuestion("seen", (journey_key(GIVEN_UP),), "session seq", [("session 19", 19)]),
    StoryQuestion("seen", (journey_key(SILENT),), "session seq", [("", 22)]),
    StoryQuestion("seen", (journey_key(ASKED),), "seq", []),
    StoryQuestion(
        "recent_keys",
        (2,),
        "key",
        [(key,) for key in sorted(key for entry in SECRETS[-2:] for key in unique_keys(entry))],
    ),
    StoryQuestion("seen", (batch_answer_key("session 52", "b-1"),), "seq", [(52,)]),
    StoryQuestion("seen", (batch_key(STILL_OPEN),), "seq", [(51,)]),
    StoryQuestion("seen", (version_key("invoice", "2026-10-0002", 1),), "seq", [(56,)]),
    StoryQuestion("keys_from", ((1 << 63) - 1, 2), "key", []),
    StoryQuestion("seen", (dead_letter_key(GIVEN_UP),), "seq", [(36,)]),
    StoryQuestion("seen", (dead_letter_key(LOST),), "seq", []),
    StoryQuestion("transaction_messages", ("session 2",), "seq", [(2,), (7,)]),
    StoryQuestion("transaction_messages", ("session 7",), "seq", []),
    StoryQuestion("transaction_contents", ("session 2",), "seq session body_length", [(4, "session 4", 9)]),
    StoryQuestion(
        "transaction_deliveries", ("session 2",), "number", [(AT_STAMPER,), (AT_BANK,), (STAMPED,), (ANSWER,)]
    ),
    StoryQuestion("transaction_trail", ("session 2",), "seq", [(3,), (4,), (5,), (6,), (7,), (8,)]),
    StoryQuestion("transaction_trail", ("session 14",), "seq", []),
    StoryQuestion(
        "transaction_contents", ("session 15",), "seq session facts", [(16, "session 16", encode(STORY[15]))]
    ),
    StoryQuestion(
        "transaction_deliveries",
        ("session 15",),
        "number state reason",
        [
            (ROUND_TRIP, DeliveryState.DELIVERED, "answered"),
            (GIVEN_UP, DeliveryState.FAILED, "no answer"),
            (ROUTED, DeliveryState.DELIVERED, "answered"),
            (RESPONSE, DeliveryState.DELIVERED, "acknowledged"),
            (ERROR, DeliveryState.QUEUED, ""),
            (AGAIN, DeliveryState.QUEUED, ""),
        ],
    ),
    StoryQuestion("transaction_trail", ("session 15",), "seq", [(16,), (17,), (18,), (19,), (36,)]),
    StoryQuestion("transaction_trail", ("session 33",), "seq", [(34,), (35,)]),
    StoryQuestion("transaction_trail", ("session 23",), "seq", [(30,), (37,)]),
    StoryQuestion(
        "transaction_journeys",
        ("session 15",),
        _WAY,
        [
            (ROUND_TRIP, RESPONSE, JourneyLeg.BACK, DeliveryState.DELIVERED, 90_000, 18_000, "acknowledged", 17, 18),
            (GIVEN_UP, GIVEN_UP, JourneyLeg.OUT, DeliveryState.FAILED, 90_000, 19_000, "no answer", 0, 19),
            (AGAIN, AGAIN, JourneyLeg.OUT, DeliveryState.QUEUED, 95_000, 0, "", 0, 0),
        ],
    ),
    StoryQuestion(
        "message_rounds", (15,), "seq transaction_id copy journey dead", [(36, "session 15", 1, AGAIN, GIVEN_UP)]
    ),
    StoryQuestion("message_rounds", (31,), "seq", []),
    StoryQuestion(
        "dead_letters",
        (0, 10),
        "failed_at_us failure failure_code dealt_seq number recipient sender header",
        [
            (32_000, "handed out 20 times", "delivery.not-acknowledged", 0, LOST, SELLER, STAMPER, encode(STORY[30])),
            (46_000, "taken out", "", 0, TAKEN_OUT, BATCHER, FARMER, encode(STORY[41])),
        ],
    ),
    StoryQuestion("dead_letters", (TAKEN_OUT, 10), "number", []),
    StoryQuestion("dead_letters_at", (SELLER, 0, 10), "number", [(LOST,)]),
    StoryQuestion("dead_letters_at", (BANK, 0, 10), "number", []),
    StoryQuestion("dead_letters_of", (STAMPER, 0, 10), "number", [(LOST,)]),
    StoryQuestion("dead_letters_of", (BUYER, 0, 10), "number", []),
    StoryQuestion("dead_letter_count", (), "letters", [(2,)]),
    StoryQuestion(
        "dead_letter",
        (GIVEN_UP,),
        "dealt_seq failure failure_code state",
        [(36, "no answer", "push.no-answer", DeliveryState.FAILED)],
    ),
    StoryQuestion("dead_letter", (SPOILT,), "dealt_seq", [(35,)]),
    StoryQuestion("dead_letter", (AGAIN,), "number", []),
    StoryQuestion(
        "transaction_journeys",
        ("session 2",),
        _WAY,
        [
            (AT_STAMPER, STAMPED, JourneyLeg.OUT, DeliveryState.QUEUED, 0, 0, "", 4, 0),
            (AT_BANK, AT_BANK, JourneyLeg.OUT, DeliveryState.DELIVERED, 0, 7000, "answered", 0, 7),
        ],
    ),
    StoryQuestion("transaction_journeys", ("session 23",), "id", []),
    StoryQuestion(
        "journey",
        (SILENT,),
        _WAY,
        [(SILENT, SILENT, JourneyLeg.OUT, DeliveryState.EXPIRED, 21_500, 22_000, "no response", 0, 22)],
    ),
    StoryQuestion(
        "journey", (ASKED,), _WAY, [(ASKED, PASSED_ON, JourneyLeg.OUT, DeliveryState.QUEUED, 90_000, 0, "", 25, 0)]
    ),
    StoryQuestion("journey", (RESPONSE,), "id", []),
    StoryQuestion("due_journeys", (90_000, 10), "id", [(ASKED,)]),
    StoryQuestion("due_journeys", (89_999, 10), "id", []),
    StoryQuestion("due_journeys", (90_000, 0), "id", []),
    StoryQuestion(
        "due_deliveries",
        (85_000, 10),
        "number expires_at_us",
        [(ERROR, 60_000), (ANNOUNCED, 60_000), (PASSED_ON, 85_000)],
    ),
    StoryQuestion("due_deliveries", (84_999, 10), "number", [(ERROR,), (ANNOUNCED,)]),
    StoryQuestion("due_deliveries", (85_000, 1), "number", [(ERROR,)]),
    StoryQuestion("next_due", (), "journey_us delivery_us", [(90_000, 60_000)]),
    StoryQuestion(
        "related",
        (STAMPER, "customers", *astuple(SELLERS)),
        "service key_name key_value pairs",
        [
            (SELLER, "no", "3489", pack_pairs([("tone", "curt")])),
            (BANK, "no", "7", _NO_PAIRS),
            (BUYER, "no", "BX0045012", _NO_PAIRS),
        ],
    ),
    StoryQuestion("related", (STAMPER, "customers", *astuple(BANKS)), "service", [(BANK,), (SELLER,), (BUYER,)]),
    StoryQuestion("related", (STAMPER, "customers", *astuple(NOBODYS)), "service", [(SELLER,), (BANK,), (BUYER,)]),
    StoryQuestion("related", (BANK, "customers", *astuple(SELLERS)), "service", [(SELLER,)]),
    StoryQuestion("related", (BANK, "customers", *astuple(BUYERS)), "service", []),
    StoryQuestion("related", (STAMPER, "suppliers", *astuple(SELLERS)), "service", []),
    StoryQuestion(
        "found", (search_key_hash("po 4711"), LATER, 10), "seq session", [(24, "session 24"), (23, "session 23")]
    ),
    StoryQuestion("found", (search_key_hash("PO 4711"), LATER, 1), "seq header", [(24, encode(STORY[23]))]),
    StoryQuestion("found", (search_key_hash("PO 4711"), 24, 10), "seq", [(23,)]),
    StoryQuestion("found", (search_key_hash("815"), LATER, 10), "seq", [(24,)]),
    StoryQuestion("found", (search_key_hash("1@ACME"), LATER, 10), "seq", [(23,)]),
    StoryQuestion("found", (search_key_hash("h2"), LATER, 10), "seq session header", [(11, "session 11", None)]),
    StoryQuestion("found", (search_key_hash("000000001"), LATER, 10), "seq", [(47,)]),
    StoryQuestion("found", (search_key_hash("h3"), LATER, 10), "seq", []),
    StoryQuestion(
        "states",
        (),
        "state deliveries",
        [
            (DeliveryState.QUEUED, 8),
            (DeliveryState.DELIVERED, 11),
            (DeliveryState.FAILED, 4),
            (DeliveryState.EXPIRED, 1),
        ],
    ),
    *BATCH_QUESTIONS,
]
