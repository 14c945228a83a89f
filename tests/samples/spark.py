"""Options of Spark that make short tests faster."""

from __future__ import annotations

# C1 alone starts in half the CPU time; tests are short, so they never get the better code of C2 anyway.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
