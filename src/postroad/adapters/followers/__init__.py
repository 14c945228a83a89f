"""The cursors of followers: in files beside the journal, in PostgreSQL, or in memory."""
