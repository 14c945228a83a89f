"""Contract suites of the ports: a new desk, index or journal is complete when it passes its suite."""
