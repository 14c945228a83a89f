"""How many random networks are tried: ``POSTROAD_TEST_ROUTES``, and a sixth of it for each thing that is true of every route."""

from __future__ import annotations

import os

from hypothesis import Phase

NETWORKS = int(os.environ.get("POSTROAD_TEST_ROUTES", "1500"))
FEWER = max(1, NETWORKS // 6)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)  # explaining takes longer than finding
