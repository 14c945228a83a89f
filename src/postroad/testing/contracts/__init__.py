"""Contract suites of the ports: a new desk, index or journal is finished when it passes its suite."""
