"""Random values of journal entries for property tests.

Rule: few distinct services, keys and expiries, so that they coincide; all other values vary as much as possible.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.formats import Format
from postroad.core.model.journal import CrossReferenceChanged, ReturnedContext
from postroad.core.model.message import Argument, Property, Status
from postroad.core.model.part_facts import MessageArrival
from postroad.core.model.reason import Reason
from postroad.core.model.route import Context, Hop

Draw = Any

SERVICES = tuple(f"{number:016x}" for number in range(0xA0, 0xA6))
ENDINGS = ("expired", "cancelled", "failed", "rejected")
MAPS = ("Customers", "customers", "Straße", "STRASSE")  # two maps, by their folded names

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
reasons = st.none() | st.builds(
    Reason, st.sampled_from(["push.refused", "delivery.not-acknowledged", "other"]), st.tuples(st.tuples(words, words))
)
times = st.integers(0, 2**60)
an_expiry = st.sampled_from([0, 10, 20]) | times
sizes = st.integers(0, 2**40)
services = st.sampled_from(SERVICES)
statuses = st.none() | st.builds(Status, words, words)
formats = st.sampled_from([format.value for format in Format])
_notes = st.lists(words, max_size=2).map(tuple)
arrivals = st.none() | st.builds(MessageArrival, st.sampled_from([0, 2]), _notes, words, words, _notes)

contexts = st.none() | st.builds(
    Context,
    id=st.integers(1, 9), parent=st.integers(0, 9), topic=words, payer=services, shown_sender=services,
    absorbs=st.booleans(), rule=words, dynamic=st.booleans(), through=st.tuples() | st.tuples(services),
    isolated=st.booleans(),
)  # fmt: skip
_arguments = st.tuples() | st.tuples(st.builds(Argument, words, words))
_hop = st.builds(Hop, services, _arguments, st.just("") | services, contexts)
hops = st.lists(_hop, min_size=1, max_size=3).map(tuple)
logical = st.tuples() | st.tuples(_hop)
_properties = st.tuples() | st.tuples(st.builds(Property, words, words))
returned = st.lists(st.builds(ReturnedContext, st.integers(0, 9), _properties), max_size=2).map(tuple)

_keys = st.builds(Key, st.sampled_from(SERVICES[:2]), st.sampled_from(["no", "id"]), st.sampled_from(["1", "ä", ""]))
_pairs = st.lists(st.tuples(words, words), max_size=2).map(tuple)
_records = st.lists(st.builds(CrossReferenceRecord, _keys, _pairs), max_size=3).map(tuple)
_relations = st.lists(st.tuples(_keys, _keys), max_size=3).map(tuple)
cross_reference = st.builds(
    CrossReferenceChanged,
    times, services, st.sampled_from(SERVICES[:2]), st.sampled_from(MAPS), _records, _relations, words,
)  # fmt: skip
