"""Marts: the tables for queries, each a pure function of frames, with its grain at the top of its module."""
