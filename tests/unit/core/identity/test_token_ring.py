"""The token ring: each delivery has one key, pseudonyms never change, and each step of a rotation follows from what is stored."""

from __future__ import annotations

from postroad.core.identity.token_ring import RingSituation, RingStepKind, is_in_progress, next_step, rewind
from postroad.core.identity.tokens import TokenKey, Tokens
from postroad.core.model import ids
from postroad.core.model.stored_secrets import StoredTokenKey

BASE, SECOND, THIRD = b"b" * 32, b"s" * 32, b"t" * 32
SESSION, RECEIVER = "0" * 32, "a" * 16
BASE_KEY = StoredTokenKey("base", b"", 0, 0, 0, 0)
ADDED = StoredTokenKey("new", b"w", 1_000, None, None, None)


def number(seq: int) -> int:
    return ids.delivery_number(seq, 3)


def token(tokens: Tokens, seq: int, *, hidden: bool = False) -> str:
    return tokens.token(number(seq), SESSION, RECEIVER, hidden=hidden)


def holds(tokens: Tokens, text: str, seq: int, *, hidden: bool = False) -> bool:
    return tokens.holds(text, number(seq), SESSION, RECEIVER, hidden=hidden)


def test_a_delivery_keeps_its_token_and_a_later_one_has_the_new_key() -> None:
    plain, ring = Tokens(BASE), Tokens(BASE)
    ring.adopt([TokenKey(BASE, 0), TokenKey(SECOND, 100), TokenKey(THIRD, 200)])
    assert token(ring, 99) == token(plain, 99)
    assert token(ring, 100) == token(Tokens(SECOND), 100) != token(plain, 100)
    assert token(ring, 200) == token(Tokens(THIRD), 200)
    for seq in (99, 100, 199, 200, 1 << 40):
        assert holds(ring, token(ring, seq), seq)
    assert not holds(ring, token(plain, 100), 100)  # forged with a leaked key
    assert not holds(ring, token(Tokens(SECOND), 99), 99)


def test_in_the_overlap_a_token_of_the_key_before_is_accepted_too() -> None:
    plain, ring = Tokens(BASE), Tokens(BASE)
    ring.adopt([TokenKey(BASE, 0), TokenKey(SECOND, 100, None)])
    assert holds(ring, token(plain, 5_000), 5_000)
    ring.adopt([TokenKey(BASE, 0), TokenKey(SECOND, 100, 120)])
    assert holds(ring, token(plain, 120), 120)
    assert not holds(ring, token(plain, 121), 121)
    assert holds(ring, token(ring, 121), 121)


def test_an_announced_key_is_accepted_and_not_used() -> None:
    """Another node may know already that it signs."""
    plain, ring = Tokens(BASE), Tokens(BASE)
    ring.adopt([TokenKey(BASE, 0)], [SECOND])
    assert token(ring, 500) == token(plain, 500)
    assert holds(ring, token(Tokens(SECOND), 500), 500)
    ring.adopt([TokenKey(BASE, 0), TokenKey(SECOND, 501, 501)])
    assert not holds(ring, token(Tokens(SECOND), 500), 500)


def test_pseudonyms_and_form_proofs_never_change() -> None:
    plain, ring = Tokens(BASE), Tokens(BASE)
    ring.adopt([TokenKey(BASE, 0), TokenKey(SECOND, 100)])
    assert ring.pseudonyms.session(SESSION) == plain.pseudonyms.session(SESSION)
    shown = token(ring, 150, hidden=True)
    assert ids.token_number(shown) == plain.pseudonyms.number(number(150))
    assert ring.number(shown) == number(150)
    assert holds(ring, shown, 150, hidden=True)
    assert not holds(ring, token(ring, 150), 150, hidden=True)
    assert ring.secret_for("visits") == plain.secret_for("visits")
    assert ring.forms.holds(plain.forms.make("ada", "x", 0), "ada", "x", 0)


def test_a_retired_key_verifies_nothing() -> None:
    plain, ring = Tokens(BASE), Tokens(BASE)
    ring.adopt([TokenKey(SECOND, 100)])
    assert not holds(ring, token(plain, 99), 99)
    assert holds(ring, token(ring, 99), 99)
    assert ring.pseudonyms.number(5) == plain.pseudonyms.number(5)


def situation(now_us: int, head: int = 500, oldest: int | None = None, spread: int = 100) -> RingSituation:
    return RingSituation(now_us=now_us, head_seq=head, oldest_open_seq=oldest, spread_us=spread, keep_us=10_000)


def test_a_key_signs_only_when_every_node_has_it() -> None:
    keys = [BASE_KEY, ADDED]
    assert is_in_progress(keys)
    assert next_step(keys, situation(1_099)) is None
    step = next_step(keys, situation(1_100))
    assert step == (RingStepKind.SIGN, ADDED._replace(from_seq=501, signs_at_us=1_100))
    keys = [BASE_KEY, step.key]
    assert is_in_progress(keys)
    assert next_step(keys, situation(1_199)) is None
    step = next_step(keys, situation(1_200, head=510))
    assert step == (RingStepKind.SETTLE, keys[1]._replace(overlap_to_seq=510))
    assert not is_in_progress([BASE_KEY, step.key])


def test_one_node_needs_no_waiting() -> None:
    step = next_step([BASE_KEY, ADDED], situation(1_000, spread=0))
    assert step is not None
    assert step.kind is RingStepKind.SIGN


def test_an_old_key_is_kept_as_long_as_a_delivery_of_it_is_open() -> None:
    keys = [BASE_KEY, ADDED._replace(from_seq=501, signs_at_us=1_100, overlap_to_seq=510)]
    assert next_step(keys, situation(11_099)) is None  # too early
    assert next_step(keys, situation(11_100, oldest=510)) is None
    assert next_step(keys, situation(11_100, oldest=511)) == (RingStepKind.RETIRE, BASE_KEY)
    assert next_step(keys, situation(11_100, oldest=None)) == (RingStepKind.RETIRE, BASE_KEY)
    assert next_step(keys[1:], situation(99_999)) is None
    assert next_step([], situation(99_999)) is None


SIGNED = ADDED._replace(from_seq=501, signs_at_us=1_100, overlap_to_seq=510)


def test_a_cut_before_a_rotation_makes_its_key_sign_at_once() -> None:
    moved = SIGNED._replace(from_seq=301, signs_at_us=9_000, overlap_to_seq=300)
    assert rewind([BASE_KEY, SIGNED], 300, 9_000) == [BASE_KEY, moved]
    assert rewind([BASE_KEY, moved], 300, 9_000) == [BASE_KEY, moved]
    assert rewind([SIGNED], 300, 9_000) == [moved]  # the key before is retired


def test_a_cut_after_a_rotation_changes_no_key_but_its_overlap() -> None:
    assert rewind([BASE_KEY, SIGNED], 600, 9_000) == [BASE_KEY, SIGNED]
    assert rewind([BASE_KEY, SIGNED], 505, 9_000) == [BASE_KEY, SIGNED._replace(overlap_to_seq=505)]
    unsettled = SIGNED._replace(overlap_to_seq=None)
    assert rewind([BASE_KEY, unsettled, ADDED], 505, 9_000) == [BASE_KEY, unsettled, ADDED]


def test_a_cut_before_two_rotations_leaves_only_the_newest_key() -> None:
    """Otherwise a key in between would sign after the newest one, and be retired before its deliveries have ended."""
    newest = StoredTokenKey("newest", b"n", 2_000, 801, 2_000, 801)
    kept = rewind([BASE_KEY, SIGNED, newest], 300, 9_000)
    assert kept == [BASE_KEY, newest._replace(from_seq=301, signs_at_us=9_000, overlap_to_seq=300)]
    announced = ADDED._replace(id="announced", added_at_us=3_000)
    assert rewind([BASE_KEY, SIGNED, newest, announced], 300, 9_000) == [*kept, announced]
