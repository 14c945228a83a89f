"""Matches a message against all bindings: reads the values that they ask for once, and follows them down one tree."""
