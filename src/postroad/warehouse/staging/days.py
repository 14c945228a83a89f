"""The day of a message and all of its events: the day on which the message was posted (UTC).

A session begins with the milliseconds at which it was given (``core.model.ids.session``), so every row that names a session knows
the day of its message without looking for it; a test holds the two to each other.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

HEX_OF_MILLISECONDS = 12


def day_of_session(session: Column) -> Column:
    """The day (UTC) on which this session was given."""
    milliseconds = fn.conv(fn.substring(session, 1, HEX_OF_MILLISECONDS), 16, 10).cast("bigint")
    return fn.to_date(fn.timestamp_millis(milliseconds))
