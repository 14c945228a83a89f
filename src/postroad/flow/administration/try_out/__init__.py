"""Trials of rules and send ports on messages; nothing is stored or sent."""
