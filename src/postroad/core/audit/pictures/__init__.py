"""Explanations and histories as SVG pictures and plain text."""
