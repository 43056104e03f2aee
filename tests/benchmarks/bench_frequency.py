"""Frequency response of finely meshed beams, 1000 frequencies, beside python-control with slycot.

Both get the same plant: ours as M, D, K, theirs as the state space in (q, q'), which is what a user writes down. Times
are CPU seconds with one BLAS thread, least of several repeats, taken in turn; every time includes whatever is prepared
(bands, factors) anew. Errors are relative maxima against a banded solve in 80-bit arithmetic.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where flexctl is not installed
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import analytical_frequency
import beams
import control
import numpy as np

from flexctl.frequency import frequency_response, transfer
from flexctl.linear.modes import modes

OMEGA = np.geomspace(10**0.5, 10**4.2, 1000)
CHANNELS = {
    "1x1": (("torque",), ("tip",)),
    "2x4": (("torque", "force"), ("hub", "tip", "joint1_rate", "tip_acceleration")),
}
GOALS = {20: 20, 100: 40, 300: 100}


def seconds(call: Callable[[], object], least: float = 0.05) -> float:
    """CPU time of one call, averaged over enough calls to last `least` seconds."""
    count, spent = 0, 0.0
    start = time.process_time()
    while spent < least:
        call()
        count, spent = count + 1, time.process_time() - start
    return spent / count


def in_turn(ours: Callable[[], object], peer: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """Least times of both, measured alternately."""
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def state_space(plant: Any) -> control.StateSpace:
    """Physical coordinates; accelerations through the equation of motion."""
    n, p = plant.B.shape
    solved = np.linalg.solve(plant.M, np.hstack([plant.K, plant.D, plant.B]))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n : 2 * n]]])
    B = np.vstack([np.zeros((n, p)), solved[:, 2 * n :]])
    C = np.hstack([plant.Cq - plant.Ca @ solved[:, :n], plant.Cv - plant.Ca @ solved[:, n : 2 * n]])
    return control.ss(A, B, C, plant.Du + plant.Ca @ solved[:, 2 * n :])


def worst(H: Any, right: Any) -> float:
    return float(np.max(np.abs(np.asarray(H).reshape(right.shape) - right) / np.abs(right)))


def compare(name: str, plant: Any, goal: int) -> dict[str, Any]:
    s, theirs = 1j * OMEGA, state_space(plant)
    right = analytical_frequency.extended_response(plant, s)
    ours_s, peer_s = in_turn(lambda: transfer(plant, s), lambda: theirs(s))
    return {
        "name": name,
        "ours_s": ours_s,
        "peer": "control+slycot",
        "peer_s": peer_s,
        "ratio": peer_s / ours_s,
        "error": worst(transfer(plant, s), right),
        "peer_error": worst(theirs(s), right),
        "goal": f">= {goal}x, error < 1e-5",
    }


def alone(name: str, call: Callable[[], object]) -> dict[str, Any]:
    call()
    ours_s = min(seconds(call) for _ in range(3))
    return {"name": name, "ours_s": ours_s, "peer": "", "peer_s": None, "ratio": None, "error": None, "goal": ""}


def run() -> list[dict[str, Any]]:
    rows = []
    for label, channels in CHANNELS.items():
        mine = [
            compare(f"cantilever, {dof} coordinates, {label}", beams.cantilever(dof, *channels), goal)
            for dof, goal in GOALS.items()
        ]
        exponent = float(np.log(mine[2]["ours_s"] / mine[1]["ours_s"]) / np.log(3.0))
        theirs = float(np.log(mine[2]["peer_s"] / mine[1]["peer_s"]) / np.log(3.0))
        rows += mine
        rows.append(
            {
                "name": f"exponent in the mesh, 100 to 300, {label}: {exponent:.2f} (peer {theirs:.2f})",
                "ours_s": None, "peer": "", "peer_s": None, "ratio": None, "error": None, "goal": "<= 1.1",
                "exponent": exponent,
            }
        )
    for elements, goal in ((10, 20), (50, 40), (150, 100)):
        plant = beams.hub_beam(elements, *CHANNELS["1x1"], ratio=0.005)
        rows.append(compare(f"hub-driven (rigid mode), {2 * elements + 1} coordinates, 1x1", plant, goal))
    plant = beams.hub_beam(150, *CHANNELS["2x4"], ratio=0.005)
    rows.append(alone("modes, 301 coordinates", lambda: modes(plant)))
    what = "response on a grid of its own with ten modes, 301 coordinates, 2x4"
    rows.append(alone(what, lambda: frequency_response(plant)))
    return rows


def main() -> None:
    for row in run():
        times = [f"{1e3 * row[k]:9.3f} ms" if row[k] is not None else " " * 12 for k in ("ours_s", "peer_s")]
        ratio = f"{row['ratio']:7.1f}x" if row["ratio"] is not None else " " * 8
        errors = [f"{row[k]:.1e}" if row.get(k) is not None else " " * 7 for k in ("error", "peer_error")]
        print(f"{row['name']:68s} {times[0]} {times[1]} {ratio}  {errors[0]}  {errors[1]}  {row['goal']}", flush=True)


if __name__ == "__main__":
    main()
