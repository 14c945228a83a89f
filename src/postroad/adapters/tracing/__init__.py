"""The process that follows the journal and exports traces, and its job."""
