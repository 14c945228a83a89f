"""What a case of the W3C's suite expects of a binding: whether the message goes.

Rule: nothing is guessed. A result from which it does not follow whether a message goes permits both outcomes, and the
case is left out. An error means no; of any other result its effective boolean value decides, and where that is not defined,
a result that is not empty means yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from xml.etree.ElementTree import Element

NAMESPACE = "{http://www.w3.org/2010/09/qt-fots-catalog}"

Permitted = frozenset[bool]  # whether the message goes
YES, NO = frozenset({True}), frozenset({False})
NOT_SAID = YES | NO

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_STRING = re.compile(r'"[^"]*"|\'[^\']*\'')
_NEVER_FALSE = re.compile(
    r"(?:xs:(?:date|time|dateTime|\w*[dD]uration|QName|gYear|gMonth|gDay|hexBinary|base64Binary)|fn:QName)\("
)
_MAY_BE_FALSE = frozenset(
    {"", "0", "-0", "0.0", "NaN", "false"}
)  # as text: of a value that is false, or of one that is not


def permitted(result: Element) -> Permitted:
    """What the children of a ``result``, or of a combination of results, permit; one of them is enough to know."""
    return _all_of(map(_of_one, result))


def errors_in(result: Element) -> frozenset[str]:
    return frozenset(error.get("code", "*") for error in result.iter(f"{NAMESPACE}error"))


def is_condition(result: Element) -> bool:
    return [one.tag.removeprefix(NAMESPACE) for one in result] in (["assert-true"], ["assert-false"])


def _of_one(assertion: Element) -> Permitted:
    kind = assertion.tag.removeprefix(NAMESPACE)
    text = assertion.text or ""
    match kind:
        case "assert-true":
            return YES
        case "assert-false" | "assert-empty" | "error":
            return NO
        case "assert-eq" | "assert-deep-eq" | "assert-permutation":
            return _of_value(text.strip())
        case "assert-string-value":
            return NOT_SAID if text.strip() in _MAY_BE_FALSE else YES
        case "assert-xml":
            return YES if "file" in assertion.attrib or "<" in text else NOT_SAID
        case "assert-count":
            return {"0": NO, "1": NOT_SAID}.get(text.strip(), YES)
        case "any-of":
            return frozenset().union(*map(_of_one, assertion))
        case "all-of":
            return permitted(assertion)
        case _:
            return NOT_SAID


def _of_value(text: str) -> Permitted:
    """Of a value as XPath writes it."""
    if _NUMBER.fullmatch(text):
        return YES if float(text) else NO
    if _STRING.fullmatch(text):
        return YES if text[1:-1] else NO
    if _NEVER_FALSE.match(text):
        return YES
    return {"()": NO, "true()": YES, "false()": NO}.get(text, NOT_SAID)


def _all_of(outcomes: Iterable[Permitted]) -> Permitted:
    return reduce(frozenset.intersection, outcomes, NOT_SAID)
