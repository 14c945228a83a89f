"""The journal in segment files, the store of a network that runs from one directory.

A *record* is facts and possibly a body. Records are appended in *groups*: one write, one sync, all or nothing. Groups
are stored one after the other in *segments*, files that were filled with zeros in advance. Each group carries the
*chain*, a hash over everything before it; of bodies it covers only the digest, so retention may drop them. The
*durable mark* limits how far readers in other processes may read. ``docs/reference/journal-format.md`` describes
every byte.

    frame         the bytes of header and group         catalog      lists the files
    journal       append, in the one writing process    reader       read, in any process
    recovery      cuts the torn end, or refuses to open  retention    drops bodies, keeps facts
    verification  reads everything again                files        every call to the file system
"""

from postroad.adapters.journal.segments.files import FileSystem, RealFiles
from postroad.adapters.journal.segments.journal import SegmentJournal
from postroad.adapters.journal.segments.reader import SegmentReader
from postroad.adapters.journal.segments.retention import DroppedBodies
from postroad.adapters.journal.segments.settings import SegmentSettings
from postroad.adapters.journal.segments.verification import JournalDefect, VerificationProgress, verify

__all__ = [
    "DroppedBodies",
    "FileSystem",
    "JournalDefect",
    "RealFiles",
    "SegmentJournal",
    "SegmentReader",
    "SegmentSettings",
    "VerificationProgress",
    "verify",
]
