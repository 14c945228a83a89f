"""The kinds of business documents that the network recognizes."""

from __future__ import annotations

from enum import StrEnum


class BusinessDocumentKind(StrEnum):
    X12 = "x12"
    EDIFACT = "edifact"
    TRADACOMS = "tradacoms"
    HL7 = "hl7"  # version 2, alone or in a batch
    HL7_MLLP = "hl7-mllp"  # the same in the frame of its transport
    SWIFT_FIN = "swift-fin"  # with its blocks, alone or several in a file
    SWIFT_TEXT = "swift-text"  # only the fields, as banks give account statements
    IDOC = "idoc"  # of SAP, flat
    ISO20022 = "iso20022"
    GS1 = "gs1"
    UBL = "ubl"
    OAGIS = "oagis"
    ROSETTANET = "rosettanet"
    SBDH = "sbdh"  # an envelope around a document of any of these
    CII = "cii"
    CXML = "cxml"
    SOAP = "soap"
    XML = "xml"  # of no one we know
    CLOUDEVENTS = "cloudevents"
    CLOUDEVENTS_BATCH = "cloudevents-batch"
    JSON = "json"
    JSON_LINES = "json-lines"
    UNKNOWN = ""
