"""Strategies that make CloudEvents of any content."""

from __future__ import annotations

from hypothesis import strategies as st

from postroad.core.codecs.cloudevents import CloudEvent, is_attribute_name
from tests.samples.message_strategies import DOCUMENTS

CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Cn")) | st.sampled_from("\"% <>&\\'é😀")
TEXTS = st.text(CHARACTERS, max_size=20)
WORDS = st.text(CHARACTERS, min_size=1, max_size=20)
TYPES = st.sampled_from(
    [
        "", "application/json", "text/json; charset=utf-8", "application/vnd.x+json", "text/plain", "application/xml",
        "text/xml; charset=iso-8859-1", "text/plain; charset=us-ascii", "text/plain; charset=utf-16", "application/EDIFACT",
        "application/octet-stream", "image/png", "nonsense",
    ]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
EXTENSIONS = st.dictionaries(
    st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True).filter(is_attribute_name),
    TEXTS | st.booleans() | st.integers(-(1 << 31), (1 << 31) - 1),
    max_size=4,
).map(lambda given: tuple(given.items()))
EVENTS = st.builds(
    CloudEvent,
    id=WORDS,
    source=WORDS,
    type=WORDS,
    subject=TEXTS,
    time=st.sampled_from(["", "2018-04-05T17:31:00Z", "0001-01-01T00:00:00.000000001-11:59"]),
    data_content_type=TYPES,
    data_schema=TEXTS,
    extensions=EXTENSIONS,
    data=st.none() | DOCUMENTS | st.binary(max_size=40) | st.text(max_size=20).map(str.encode),
)
