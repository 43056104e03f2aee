"""Start-up: import time, and first simulation step in a second process (kernels cached on disk)."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

FIRST_STEP = """
import flexctl as fx
from flexctl.motion.moves import bang_bang
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
    jobs = [
        ("import flexctl, interpreter included", "import flexctl", "empty interpreter", empty, "< 0.4 s"),
        ("first simulation step, second process", FIRST_STEP, "import numpy, scipy.linalg", numpy, "< 0.6 s"),
    ]
    return [
        {"name": name, "ours_s": fastest(code), "peer": peer, "peer_s": peer_s, "ratio": None, "goal": goal}
        for name, code, peer, peer_s, goal in jobs
    ]
