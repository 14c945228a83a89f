"""Histories, status texts and pictures of messages, built from journal entries alone."""
