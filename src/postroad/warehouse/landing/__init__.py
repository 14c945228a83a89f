"""Landing: converts journal entries to rows of the table ``log``, one row per event."""
