"""The process that follows the journal and exports traces, and what it is told to do."""
