"""What happened, told again from journal entries alone."""
