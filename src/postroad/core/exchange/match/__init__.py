"""Matches a message against all bindings: reads each value that they need once, and follows the values down one tree."""
