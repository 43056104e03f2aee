"""Start-up: import time, and first simulation step in a second process (kernels cached on disk)."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

FIRST_STEP = """
import flexctl as fx
from flexctl.trajectories import bang_bang
arm = fx.load_plant("tokhi_azad_1994")
fx.simulate(arm, inputs={"hub_torque": bang_bang(0.1, 0.3)}, duration=1e-3, method="generalised_alpha")
"""


def fastest(code: str, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def run() -> list[dict[str, Any]]:
    subprocess.run([sys.executable, "-c", FIRST_STEP], check=True)  # fills the cache
    empty, numpy = fastest("pass"), fastest("import numpy, scipy.linalg")
    return [
        {"name": "import flexctl (interpreter included)", "ours_s": fastest("import flexctl"), "peer": "empty interpreter", "peer_s": empty, "ratio": None, "goal": "< 0.4 s"},
        {"name": "first simulation step, second process", "ours_s": fastest(FIRST_STEP), "peer": "import numpy, scipy.linalg", "peer_s": numpy, "ratio": None, "goal": "< 0.6 s"},
    ]  # fmt: skip
