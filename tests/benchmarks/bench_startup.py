"""Start-up: import time, first simulation step in a second process, and what a first command compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FIRST_STEP = """
import flexctl as fx
from flexctl.motion.moves import bang_bang
arm = fx.load_plant("tokhi_azad_1994")
fx.simulate(arm, inputs={"joint1_torque": bang_bang(0.1, 0.3)}, duration=1e-3, method="generalised_alpha")
"""
PUSH = ("--torque", "joint1_torque=bang-bang:0.1,0.01", "--duration", "0.02")
FIRST_USE = {
    "bode tokhi_azad_1994": (),
    "run tokhi_azad_lqg": (),
    "simulate tokhi_azad_1994": ("--torque", "bang-bang:0.1,0.01", "--duration", "0.02"),
    "simulate planar_2r_flexible": PUSH,
    "simulate spatial_3r": PUSH,
    "simulate li_zhang_single_link": ("--torque", "constant:1e-4", "--duration", "0.02"),
    "simulate tian_ancf_circle": PUSH,
    "simulate quanser_flexible_link": ("--input", "joint1_voltage=constant:0.1", "--duration", "0.02"),
    "simulate ralf": ("--input", "joint1_command=constant:0.01", "--duration", "0.02"),
}
"""Commands, one for every formulation that brings compiled code of its own."""


def fastest(code: str, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def command(words: list[str], cache: str) -> float:
    """Return how long a command takes [s] in a fresh process with compiled code in the folder `cache`."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "flexctl", *words], check=True, capture_output=True, cwd=folder,
            env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    return time.perf_counter() - start


def first_uses() -> list[dict[str, Any]]:
    """Commands with an empty cache, beside the same again."""
    rows = []
    for name, options in FIRST_USE.items():
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (command([*name.split(), *options], cache) for _ in range(2))
        rows.append({
            "name": f"first use: {name}", "ours_s": cold, "peer": "the same again", "peer_s": warm, "ratio": None,
            "goal": "< 10 s",
        })
    return rows


def run() -> list[dict[str, Any]]:
    subprocess.run([sys.executable, "-c", FIRST_STEP], check=True)  # fills the cache
    empty, numpy = fastest("pass"), fastest("import numpy, scipy.linalg")
    jobs = [
        ("import flexctl, interpreter included", "import flexctl", "empty interpreter", empty, "< 0.4 s"),
        ("first simulation step, second process", FIRST_STEP, "import numpy, scipy.linalg", numpy, "< 0.6 s"),
    ]
    started = [
        {"name": name, "ours_s": fastest(code), "peer": peer, "peer_s": peer_s, "ratio": None, "goal": goal}
        for name, code, peer, peer_s, goal in jobs
    ]
    return started + first_uses()
