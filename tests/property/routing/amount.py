"""How many random networks are tried: ``POSTROAD_TEST_ROUTES``, and a quarter of it for what is true of every route."""

from __future__ import annotations

import os

from hypothesis import Phase

NETWORKS = int(os.environ.get("POSTROAD_TEST_ROUTES", "4000"))
FEWER = max(1, NETWORKS // 4)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)  # explaining takes longer than finding
