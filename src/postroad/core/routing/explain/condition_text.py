"""Conditions in words: what each one compares, its result, and the values it read.

Only the values that were read are stored with a message, not the result of each condition. Rule: the condition is
evaluated again by the code that evaluated it then; where the stored values were truncated too much to be sure, no
result is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from postroad.core.model.rule import (
    Combining,
    Comparing,
    Condition,
    MessageSection,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from postroad.core.routing.conditions.literals import content_of
from postroad.core.routing.conditions.operators import operator_test
from postroad.core.routing.conditions.place_content import (
    CUT,
    MAX_SHOWN,
    NO_CONTENT,
    SHOWN_CHARS,
    Canonical,
    PlaceContent,
)
from postroad.core.routing.conditions.places import place_key
from postroad.core.routing.conditions.subject import CONTENT, NAMES

SeenTexts = Mapping[str, tuple[str, ...]]

_WORDS = {
    Comparing.EQUALS: "equals",
    Comparing.NOT_EQUALS: "exists and does not equal",
    Comparing.EQUALS_ONE_OF: "equals one of",
    Comparing.LESS_THAN: "is less than",
    Comparing.GREATER_THAN: "is greater than",
    Comparing.EXISTS: "exists",
    Comparing.MATCHES: "matches",
}
_COMBINED = {
    Combining.AND: "all of these are true",
    Combining.OR: "any of these is true",
    Combining.XOR: "an odd number of these are true",
    Combining.NOT: "this is not true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCondition:
    """One condition and its result; ``held`` is None if it was not evaluated, or can no longer be determined."""

    text: str
    held: bool | None
    seen: tuple[str, ...] = ()
    children: tuple[ExplainedCondition, ...] = ()


def explain_condition(condition: Condition, seen: SeenTexts) -> ExplainedCondition:
    if isinstance(condition, ValueComparison):
        return _comparison(condition, seen)
    children = tuple(explain_condition(inner, seen) for inner in condition.conditions)
    held = _combined(condition.operator, [child.held for child in children])
    return ExplainedCondition(text=_COMBINED[condition.operator], held=held, children=children)


def _combined(operator: Combining, held: list[bool | None]) -> bool | None:
    """Return the result of a combination, as far as the known parts determine it."""
    match operator:
        case Combining.AND:
            return False if False in held else None if None in held else True
        case Combining.OR:
            return True if True in held else None if None in held else False
        case Combining.XOR:
            return None if None in held else held.count(True) % 2 == 1
        case Combining.NOT:
            return None if held[0] is None else not held[0]


def _comparison(comparison: ValueComparison, seen: SeenTexts) -> ExplainedCondition:
    texts = _shown(comparison.place, seen) + (_shown(comparison.other, seen) if comparison.other else ())
    return ExplainedCondition(text=condition_text(comparison), held=_held(comparison, seen), seen=texts)


def _shown(place: ValueLocation, seen: SeenTexts) -> tuple[str, ...]:
    key = place_key(place)
    return (*seen.get(key, ()), *seen.get(key + CONTENT, ()))


# ---- evaluated again -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptContent:
    """What was stored of one location: whether it existed, its complete values, and the cut ones."""

    there: bool
    whole: PlaceContent
    cut_texts: bool
    cut_list: bool


def _kept(place: ValueLocation, seen: SeenTexts) -> _KeptContent | None:
    key = place_key(place)
    if key not in seen:
        return None
    texts, contents, names = seen[key], seen.get(key + CONTENT, ()), seen.get(key + NAMES, ())
    groups = (texts, contents, names)
    return _KeptContent(
        there=bool(texts or contents),
        whole=PlaceContent(
            _whole(texts), contents=tuple(map(_written, _whole(contents))), names=frozenset(_whole(names))
        ),
        cut_texts=any(len(text) > SHOWN_CHARS for group in groups for text in group),
        cut_list=any(len(group) > MAX_SHOWN for group in groups),
    )


def _whole(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts[:MAX_SHOWN] if len(text) <= SHOWN_CHARS)


def _written(content: str) -> Canonical:
    return lambda most: content[:most]


def _held(comparison: ValueComparison, seen: SeenTexts) -> bool | None:
    kept = _kept(comparison.place, seen)
    if kept is None:
        return None
    if not kept.there or comparison.operator is Comparing.EXISTS:
        return kept.there
    other = _kept(comparison.other, seen) if comparison.other else NO_KEPT_CONTENT
    if other is None:
        return None
    if comparison.other and not other.there:
        return False
    return _judged(comparison, kept, other)


NO_KEPT_CONTENT = _KeptContent(there=False, whole=NO_CONTENT, cut_texts=False, cut_list=False)


def _judged(comparison: ValueComparison, kept: _KeptContent, other: _KeptContent) -> bool | None:
    """Return the result of a comparison; True on truncated values is certain, False may be due to the truncation."""
    if comparison.operator is Comparing.NOT_EQUALS:
        equal = _judged(replace(comparison, operator=Comparing.EQUALS), kept, other)
        return None if equal is None else not equal
    if operator_test(comparison)(kept.whole, other.whole):
        return True
    cut_list = kept.cut_list or other.cut_list
    cut_texts = (kept.cut_texts or other.cut_texts) and not _is_short(comparison)
    return None if cut_list or cut_texts else False


def _is_short(comparison: ValueComparison) -> bool:
    """Whether no truncated value can be equal to the compared value."""
    if comparison.operator not in (Comparing.EQUALS, Comparing.EQUALS_ONE_OF) or comparison.other is not None:
        return False
    if comparison.content:
        return len(content_of(comparison.content, comparison.place)) <= SHOWN_CHARS
    return comparison.type is ValueType.STRING and all(len(text) <= SHOWN_CHARS for text in comparison.values)


# ---- in words --------------------------------------------------------------------------------------------------------


def condition_text(comparison: ValueComparison) -> str:
    """Return a comparison in words: ``body /Order/Total (as number) is greater than 1000``."""
    kind = "" if comparison.type is ValueType.STRING else f" (as {comparison.type.value})"
    words = f"{place_text(comparison.place)}{kind} {_WORDS[comparison.operator]}"
    if comparison.other is not None:
        return f"{words} {place_text(comparison.other)}"
    if comparison.content:
        return f"{words} {_shortened(comparison.content)}"
    values = ", ".join(_shortened(value) or "the empty text" for value in comparison.values[:MAX_SHOWN])
    more = CUT if len(comparison.values) > MAX_SHOWN else ""
    return f"{words} {values}{more}".rstrip()


def place_text(place: ValueLocation) -> str:
    document = f" of {place.document}" if place.document else ""
    return f"{place.path}" if place.where is MessageSection.HEADER else f"{place.where.value} {place.path}{document}"


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + CUT
