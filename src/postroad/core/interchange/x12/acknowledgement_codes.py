"""Acknowledgment codes: those for our errors, and partners' codes in words."""

from __future__ import annotations

# The same fault has another number at each level: interchange (TA1, data element I18), group (AK9, 716), set (AK5 and IK5, 718).
INTERCHANGE_CODES: dict[str, str] = {
    "x12.control": "001",
    "x12.delimiters": "004",
    "x12.unterminated": "004",
    "x12.count": "021",
    "x12.isa": "022",
    "x12.structure": "022",
    "x12.truncated": "023",
    "x12.trailing": "024",
    "x12.stray": "024",
    "x12.binary": "024",
    "x12.repeated": "025",  # found by comparing with earlier interchanges
}
UNUSABLE_CONTENT = "024"
GROUP_CODES: dict[str, str] = {"x12.control": "4", "x12.count": "5", "x12.duplicate": "19"}
SET_CODES: dict[str, str] = {"x12.unsupported": "1", "x12.control": "3", "x12.count": "4", "x12.duplicate": "23"}

INTERCHANGE_WORDS: dict[str, str] = {
    "000": "no error",
    "001": "the control numbers of ISA and IEA do not match",
    "002": "the standard is not supported",
    "003": "the version of the controls is not supported",
    "004": "the segment terminator is invalid",
    "005": "the sender's qualifier is invalid",
    "006": "the sender's identifier is invalid",
    "007": "the receiver's qualifier is invalid",
    "008": "the receiver's identifier is invalid",
    "009": "the receiver is unknown",
    "010": "the authorization qualifier is invalid",
    "011": "the authorization is invalid",
    "012": "the security qualifier is invalid",
    "013": "the security information is invalid",
    "014": "the date is invalid",
    "015": "the time is invalid",
    "016": "the standards identifier is invalid",
    "017": "the version is invalid",
    "018": "the control number is invalid",
    "019": "the acknowledgment request is invalid",
    "020": "the test indicator is invalid",
    "021": "the number of groups is invalid",
    "022": "the control structure is invalid",
    "023": "it ends too early",
    "024": "its content is invalid",
    "025": "its control number is a duplicate",
    "026": "the element separator is invalid",
    "027": "the component separator is invalid",
}
GROUP_WORDS: dict[str, str] = {
    "1": "the group is not supported",
    "2": "the version of the group is not supported",
    "3": "the group's trailer is missing",
    "4": "the control numbers of GS and GE do not match",
    "5": "the number of sets does not match",
    "6": "the group's control number is invalid",
    "19": "the group's control number is not unique in the interchange",
}
SET_WORDS: dict[str, str] = {
    "1": "the set is not supported",
    "2": "the set's trailer is missing",
    "3": "the control numbers of ST and SE do not match",
    "4": "the number of segments does not match",
    "5": "one or more segments are in error",
    "6": "the set's identifier is missing or invalid",
    "7": "the set's control number is missing or invalid",
    "18": "the set is not in the group's functional area",
    "23": "the set's control number is not unique in the group",
}
