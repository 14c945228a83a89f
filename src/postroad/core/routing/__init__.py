"""Calculates the itinerary of an admitted message: pure functions of the message and a directory snapshot."""
