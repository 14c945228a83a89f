"""Marts: the tables for queries. Each module is one table, a pure function of frames; its docstring states the grain."""
