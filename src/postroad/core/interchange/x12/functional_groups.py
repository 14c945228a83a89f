"""Which functional group (GS01) a transaction set belongs to, by its number: data element 479 of the standard."""

from __future__ import annotations

FUNCTIONAL_GROUPS: dict[str, str] = {
    # orders
    "832": "SC", "840": "RQ", "843": "RR", "846": "IB", "850": "PO", "855": "PR", "860": "PC", "865": "CA", "869": "RS",
    "870": "RS", "875": "OG", "830": "PS", "862": "SS", "866": "SQ", "852": "PD", "867": "PT", "816": "OR", "180": "AN",
    # shipping and receiving
    "856": "SH", "857": "BS", "858": "SI", "861": "RC", "863": "RT", "940": "OW", "943": "AR", "944": "RE",
    "945": "SW", "204": "SM", "210": "IM", "214": "QM", "990": "GF", "110": "IA", "417": "WB", "315": "QO",
    # money
    "810": "IN", "811": "CI", "812": "CD", "820": "RA", "821": "FR", "823": "LB", "880": "GP",
    # health care
    "270": "HS", "271": "HB", "275": "PI", "276": "HR", "277": "HN", "278": "HI", "834": "BE", "835": "HP", "837": "HC",
    # about other messages
    "824": "AG", "864": "TX", "997": "FA", "999": "FA",
}  # fmt: skip
