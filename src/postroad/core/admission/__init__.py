"""Decides whether a sender may post this message to this recipient now; each refusal has a stable code."""
