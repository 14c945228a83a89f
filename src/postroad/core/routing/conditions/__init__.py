"""Conditions of rules: compiled, and evaluated against the header and documents of a message."""
