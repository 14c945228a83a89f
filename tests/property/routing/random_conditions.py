"""Random conditions over values that the generated messages share."""

from __future__ import annotations

from postroad.core.model.rule import (
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from tests.property.routing.choices import Choices

TOPICS = ("orders", "bills", "news")
REGIONS = ("north", "south")
NUMBERS = ("0", "5", "10")

REGION = ValueLocation(where=MessageSection.HEADER, path="properties.region")
AMOUNT = ValueLocation(where=MessageSection.HEADER, path="properties.amount")
TOPIC = ValueLocation(where=MessageSection.HEADER, path="topic")
KIND = ValueLocation(where=MessageSection.HEADER, path="type")
IN_DOCUMENTS = tuple(
    ValueLocation(where=where, path=path)
    for where in (MessageSection.BODY, MessageSection.ATTACHMENT)
    for path in ("$.total", "$.lines[*]", "/order/total", "/order/line", "/order/@total")
)
ALWAYS = ValueComparison(operator=Comparing.EXISTS, place=TOPIC)

OF_TEXTS = (Comparing.EQUALS, Comparing.NOT_EQUALS, Comparing.MATCHES)
OF_NUMBERS = (Comparing.EQUALS, Comparing.NOT_EQUALS, Comparing.LESS_THAN, Comparing.GREATER_THAN)


def condition(choices: Choices) -> Condition:
    shape = choices.number(8)
    if shape < 4:
        return ALWAYS
    if shape < 6:
        return comparison(choices)
    operator = choices.one_of(tuple(Combining))
    parts = (comparison(choices), comparison(choices))
    return Combination(operator=operator, conditions=parts[:1] if operator is Combining.NOT else parts)


def comparison(choices: Choices) -> ValueComparison:
    shape = choices.number(6)
    if shape == 0:
        place = choices.one_of((REGION, AMOUNT, *IN_DOCUMENTS))
        return ValueComparison(operator=Comparing.EXISTS, place=place)
    if shape == 1:
        values = tuple(topic for topic in TOPICS if topic != choices.one_of(TOPICS)) or TOPICS
        return ValueComparison(operator=Comparing.EQUALS_ONE_OF, place=TOPIC, values=values)
    if shape < 4:
        value = choices.one_of((*TOPICS, *REGIONS, "notification"))
        operator = choices.one_of(OF_TEXTS)
        return ValueComparison(operator=operator, place=choices.one_of((TOPIC, REGION, KIND)), values=(value,))
    operator, place = choices.one_of(OF_NUMBERS), choices.one_of((AMOUNT, *IN_DOCUMENTS))
    return ValueComparison(operator=operator, place=place, type=ValueType.NUMBER, values=(choices.one_of(NUMBERS),))
