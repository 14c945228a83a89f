"""The contract of indexes: the required result of every query, as tests over short journals."""
