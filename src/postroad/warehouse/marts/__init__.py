"""Marts: the tables that people and programs ask, each a pure function of frames, its grain at the top of its module."""
