"""An undecoded post is judged as the decoded one is; what is not certain is decoded."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.model.journal import DeliveriesLeased, JourneyEnding, MessagePosted, decode, encode
from postroad.core.telemetry.sampling import EndedJourney, TraceSampler, TraceSampling
from postroad.core.telemetry.spans import find_root
from postroad.core.telemetry.trace_context import pack_context
from postroad.core.telemetry.unsampled_post import build_unsampled_check, read_post_time
from postroad.testing.random_journals.journals import make_plain_posts

[POST] = make_plain_posts(1)
NOW_US = 1_800_000_000_000_000
IDS = st.binary(min_size=16, max_size=16).filter(any).map(bytes.hex)
SPANS = st.binary(min_size=8, max_size=8).filter(any).map(bytes.hex)
CONTEXTS = st.one_of(
    st.just(b""),
    st.builds(
        lambda trace, span, flags, state: pack_context(f"00-{trace}-{span}-{flags:02x}", state),
        IDS,
        SPANS,
        st.integers(0, 255),
        st.sampled_from(["", "a=1", "a=\x22"]),
    ),
)


def posted(session: str, trace: bytes = b"", **fields: object) -> MessagePosted:
    given = {"session": session, "transaction": session, "trace": trace, "at_us": NOW_US, **fields}
    return msgspec.structs.replace(POST, **given)


@pytest.mark.req("O4")
@given(IDS, CONTEXTS, st.floats(0.0, 1.0))
def test_a_post_that_is_kept_undecoded_is_in_no_sample(session: str, trace: bytes, share: float) -> None:
    facts = encode(posted(session, trace))
    root = find_root(posted(session, trace))
    sampler = TraceSampler(TraceSampling(share=share, slow_s=300, per_s=1_000))
    chosen = sampler.chooses(EndedJourney(root.trace_id, root.is_requested, False, NOW_US, NOW_US))
    has_state = len(trace) > 25
    assert build_unsampled_check(share)(facts) == (not chosen and not has_state)
    assert read_post_time(facts) == NOW_US
    assert decode(facts) == posted(session, trace)


@pytest.mark.req("O4")
def test_what_needs_other_entries_is_decoded() -> None:
    is_unsampled = build_unsampled_check(0.0)
    session = "0f" * 16
    assert is_unsampled(encode(posted(session)))
    for entry in (
        posted(session, transaction="0e" * 16),
        posted(session, transaction="0e" * 16, ends=JourneyEnding(1, 1, "failed", "why")),
        posted(session, at_us=1),  # another encoding of the time
        DeliveriesLeased(NOW_US, "0" * 16, 60.0, (1,)),
    ):
        assert not is_unsampled(encode(entry)), entry


def test_the_trace_is_the_last_field() -> None:
    """A field after it needs another head in ``unsampled_post``, and another place for the context."""
    assert MessagePosted.__struct_fields__[-1] == "trace"
