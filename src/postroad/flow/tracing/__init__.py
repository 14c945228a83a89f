"""Traces from the journal: follows the entries, finds journeys that have ended, and exports the spans of the chosen ones."""
