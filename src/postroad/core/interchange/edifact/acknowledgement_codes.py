"""CONTRL codes (0085): those for our errors, and partners' codes in words."""

from __future__ import annotations

CODES: dict[str, str] = {
    "edifact.unb": "12",
    "edifact.una": "22",
    "edifact.delimiters": "22",
    "edifact.charset": "21",
    "edifact.structure": "13",
    "edifact.truncated": "13",
    "edifact.stray": "33",
    "edifact.trailing": "33",
    "edifact.mixed": "30",
    "edifact.duplicate": "26",
    "edifact.repeated": "26",  # found by comparing with earlier interchanges
    "edifact.control": "28",
    "edifact.count": "29",
    "edifact.unsupported": "14",  # found by comparing with the accepted messages
}
UNSPECIFIED = "18"
WORDS: dict[str, str] = {
    "2": "the syntax version or level is not supported",
    "7": "the recipient of the interchange is not the actual one",
    "12": "a value is invalid",
    "13": "something is missing",
    "14": "a value is not supported here",
    "15": "something is not supported here",
    "16": "there are too many parts",
    "17": "there is no agreement with the partner",
    "18": "an unspecified error",
    "19": "the decimal mark is invalid",
    "20": "a character is invalid as a service character",
    "21": "a character is invalid",
    "22": "a service character is invalid",
    "23": "the sender is unknown",
    "24": "it is too old",
    "25": "the test indicator is not supported",
    "26": "it is a duplicate",
    "27": "the security function is not supported",
    "28": "the references of header and trailer do not match",
    "29": "the control count does not match",
    "30": "groups and messages are mixed",
    "31": "there is more than one kind of message in a group",
    "32": "the level below is empty",
    "33": "there is something outside of a message or a group",
    "34": "the nesting indicator is not allowed",
    "35": "a segment is repeated too often",
    "36": "a segment group is repeated too often",
    "37": "characters are of the wrong type",
    "38": "a digit is missing before the decimal mark",
    "39": "an element is too long",
    "40": "an element is too short",
}
