"""Repeat a simulation: ``python -m postroad.testing.simulation SEED [--days 2] [--services 8] [--posts 400] [--crashes 6]``."""

from __future__ import annotations

import argparse
import sys

from postroad.testing.simulation.scenario import simulate


def main() -> int:
    parser = argparse.ArgumentParser(description="Run one simulation and say which promises were broken.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--days", type=float, default=2.0)
    for name, default in (("services", 8), ("posts", 400), ("crashes", 6)):
        parser.add_argument(f"--{name}", type=int, default=default)
    report = simulate(**vars(parser.parse_args()))
    print(report)
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
