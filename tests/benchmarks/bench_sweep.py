"""Sweeps and certificates: 200 closed-loop runs on all cores against the ideal, and the certificate of the 0.96 m arm.

The ideal is the time of the same runs in one process divided by the number of cores; both are measured in turn.
"""

from __future__ import annotations

import time
from typing import Any

import flexctl as fx
from flexctl.judging.workers import cores

RUNS, REPEATS = 200, 2
CONTROLLER, SCENARIO = "tokhi_azad_lqg", "5 deg, 0 g"


def sweep(workers: int) -> tuple[float, list[Any]]:
    over = {"payload.mass": fx.Span(0.0, 0.02, RUNS)}
    start = time.perf_counter()
    table = fx.sweep(CONTROLLER, over=over, scenarios=[SCENARIO], workers=workers)
    return time.perf_counter() - start, table["joint1_torque.rms"]


def run() -> list[dict[str, Any]]:
    fx.certify(CONTROLLER)  # fills the caches of compiled code
    count = cores()
    pairs = [(sweep(1), sweep(count)) for _ in range(REPEATS)]
    alone, together = (min(pair[i][0] for pair in pairs) for i in range(2))
    worst = max(abs(a - b) for (_, one), (_, other) in pairs for a, b in zip(one, other, strict=True))
    certified = min(fx.certify(CONTROLLER).elapsed for _ in range(3))
    ideal = alone / count
    return [
        {
            "name": f"{RUNS} closed-loop runs on {count} cores", "ours_s": together, "peer": "one process / cores",
            "peer_s": ideal, "ratio": ideal / together, "error": worst, "goal": ">= 0.9",
        },
        {"name": "certificate of the 0.96 m arm", "ours_s": certified, "goal": "< 20 s"},
    ]
