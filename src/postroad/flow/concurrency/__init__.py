"""Building blocks for concurrent tasks: limits, interruptible waits, due times and heavy work."""
