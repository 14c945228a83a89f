"""Metrics: their table, the numbers of one process, and the page that Prometheus reads. Pure."""
