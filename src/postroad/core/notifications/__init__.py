"""Notifications: which events there are, who receives them, when, and in which words.

From journal entries and conditions to events (``entry_events``, ``conditions``), from events to at most one notification per
subscription, event and digest time (``digests``), and from a notification to its text (``texts``).
"""
