"""The contract of indexes: what every ``Index`` must answer, as tests over written-out stories."""
