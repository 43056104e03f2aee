"""The explicit finite-difference march: against a loop of dense numpy products, in real time, and as the mesh grows.

The paper's arm at c = 0.2, bang-bang torque, payload taken at half time; the peer checks for it at every step as the
paper does, ours marches from change to change. Ours is the whole call `model.march(...)` with all its checks (about
0.1 ms, hence 10 s, the paper's longest run, beside 1 s); the peer gets its A and B for nothing.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analytical import BangBang, step_of, tokhi_arm

from flexctl.machine.arm import Payload
from flexctl.models.finite_difference import FiniteDifference
from flexctl.models.finite_difference.inputs import step_averages

Array = npt.NDArray[np.float64]
LOAD = Payload(0.02)


def dense_loop(matrices: list[tuple[Array, Array]], change: int, torque: Array, tip: Array) -> None:
    A, B = matrices[0]
    before, now = np.zeros(len(A)), B * (0.5 * torque[0])
    tip[0], tip[1] = 0.0, now[-1]
    for k in range(1, torque.size):
        if k == change:
            A, B = matrices[1]
        before, now = now, A @ now - before + B * torque[k]
        tip[k + 1] = now[-1]


def side_by_side(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the least time of each, measured in turn."""
    best = [math.inf, math.inf]
    for _ in range(repeats):
        for i, call in enumerate((ours, peer)):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0], best[1]


def against_numpy(n: int, form: str, seconds: float) -> dict[str, Any]:
    model, dt = FiniteDifference(tokhi_arm(), sections=n, form=form), step_of(0.2, n)
    steps = round(seconds / dt)
    torque, change = step_averages(BangBang(), dt, steps)[:-1], steps // 2
    matrices = [(A, B[:, 0]) for A, B in (m.scheme(dt) for m in (model, model.with_payload(LOAD.mass)))]
    tip, payload = np.zeros(steps + 1), [(change * dt, LOAD)]
    run = model.march(torque, dt, steps=steps, payload=payload)
    ours, peer = side_by_side(
        lambda: model.march(torque, dt, steps=steps, payload=payload),
        lambda: dense_loop(matrices, change, torque, tip),
        repeats=12 if n < 80 else 4,
    )
    return {
        "name": f"march, {seconds:g} s, n = {n}, {form} form", "ours_s": ours, "peer": "numpy, dense A",
        "peer_s": peer, "ratio": peer / ours,
        "error": float(np.abs(run.tip_displacement - tip).max() / np.abs(tip).max()),
        "goal": ">= 100" if n == 19 and seconds > 1 else None,
    }


def in_real_time(seconds: float) -> dict[str, Any]:
    model, dt = FiniteDifference(tokhi_arm()), step_of(0.2, 19)
    steps = round(seconds / dt)
    torque, payload = step_averages(BangBang(), dt, steps)[:-1], [(0.5 * seconds, LOAD)]
    ours, _ = side_by_side(lambda: model.march(torque, dt, steps=steps, payload=payload), lambda: None, repeats=20)
    return {
        "name": f"march, {seconds:g} s, n = 19, {1e9 * ours / steps:.1f} ns per step", "ours_s": ours,
        "peer": "real time", "peer_s": seconds, "ratio": seconds / ours, "error": None,
        "goal": "> 10000" if seconds > 1 else None,
    }


def per_step(n: int, steps: int = 50_000) -> float:
    model, dt = FiniteDifference(tokhi_arm(), sections=n), step_of(0.2, n)
    torque = np.full(steps, 0.1)
    return side_by_side(lambda: model.march(torque, dt, steps=steps), lambda: None, repeats=8)[0] / steps


def as_the_mesh_grows() -> list[dict[str, Any]]:
    meshes = (20, 40, 80, 160, 320)
    times = [per_step(n) for n in meshes]
    rows: list[dict[str, Any]] = []
    for i, (n, ours) in enumerate(zip(meshes, times, strict=True)):
        exponent = math.log2(ours / times[i - 1]) if i else None
        text = f"one step, n = {n}" + (f", exponent {exponent:.2f}" if i else "")
        rows.append({"name": text, "ours_s": ours, "goal": "exponent <= 1.1" if i else None})
    return rows


def run() -> list[dict[str, Any]]:
    cases = [(19, "slope", 10.0), (19, "paper", 10.0), (19, "slope", 1.0), (40, "slope", 1.0), (80, "slope", 1.0)]
    return [*(against_numpy(*case) for case in cases), in_real_time(1.0), in_real_time(10.0), *as_the_mesh_grows()]


if __name__ == "__main__":
    for row in run():
        ratio = f"{row['ratio']:10.1f}" if row.get("ratio") else " " * 10
        error = f"{row['error']:9.1e}" if row.get("error") is not None else " " * 9
        print(f"{row['name']:50s} {row['ours_s']:10.3e} s {ratio} {error}  {row.get('goal') or ''}")
