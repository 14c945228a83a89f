"""Landing: journal entries become rows of the table ``log``, one row per event."""
