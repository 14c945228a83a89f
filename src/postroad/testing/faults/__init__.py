"""Simulated storage failures: failing system calls and power cuts."""
