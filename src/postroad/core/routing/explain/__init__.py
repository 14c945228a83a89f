"""Stored explanations of routes: what was tried, and each condition in words."""
