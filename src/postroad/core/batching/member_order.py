"""The order of the members of a batch in its interchange.

Rule: the order is total and depends only on the members. Members without a value, or with a value of another type,
are last; equal members stay in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from postroad.core.model.batch import BatchMember
from postroad.core.model.batch_policy import BatchPolicy, SortKey
from postroad.core.routing.conditions.places import place_key
from postroad.core.routing.conditions.values import READERS


def order_members(policy: BatchPolicy, members: Iterable[BatchMember]) -> list[BatchMember]:
    """Return the members in the order of the interchange."""
    ordered = sorted(members, key=lambda member: member.number)
    for key in reversed(policy.sort_by):  # sorting is stable, so the order by later keys is kept
        ordered = _sorted_by(key, ordered)
    return ordered


def _sorted_by(key: SortKey, members: list[BatchMember]) -> list[BatchMember]:
    place, read = place_key(key.place), READERS[key.type]
    texts = [dict(member.sort).get(place) for member in members]
    read_values = [(None if text is None else read(text), member) for text, member in zip(texts, members, strict=True)]
    present: list[tuple[Any, BatchMember]] = [(value, member) for value, member in read_values if value is not None]
    present.sort(key=lambda pair: pair[0], reverse=key.descending)
    return [member for _, member in present] + [member for value, member in read_values if value is None]
