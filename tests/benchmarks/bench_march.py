"""The explicit march: against a loop of dense numpy products, in real time, and as the mesh grows.

The paper's arm at c = 0.2, bang-bang torque, payload taken at half time. Ours is all of `simulate(.., method="march")`:
its checks, every sensor and state at every step, errors by a second, exact run, scores and provenance; the peer records
the tip, and gets its A and B for nothing.
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

from analytical import step_of, tokhi_arm

import flexctl as fx

Array = npt.NDArray[np.float64]
MASS = 0.02
TORQUE = fx.bang_bang(0.1, 0.3)


def step_at(n: int) -> float:
    """Return a step near c = 0.2 that divides 0.1 s, and so all times of the runs."""
    return float(0.1 / np.ceil(0.1 / step_of(0.2, n)))


def march(model: fx.FiniteDifference, seconds: float) -> fx.Response:
    return fx.simulate(
        model, inputs={"joint1_torque": TORQUE}, duration=seconds, step=step_at(model.sections), method="march",
        payload=[(0.5 * seconds, MASS, 0.0)],
    )


def dense_loop(first: tuple[Array, Array], changes: dict[int, tuple[Array, Array]], torque: Array, tip: Array) -> None:
    A, B = first
    before, now = np.zeros(len(A)), B * (0.5 * torque[0])
    tip[0], tip[1] = 0.0, now[-1]
    for k in range(1, torque.size):
        if k in changes:
            A, B = changes[k]
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
    model, dt = fx.FiniteDifference(tokhi_arm(), sections=n, form=form), step_at(n)
    steps = round(seconds / dt)
    t = dt * np.arange(steps)
    torque, change = 0.5 * (TORQUE(t, before=True) + TORQUE(t)), steps // 2
    torque[0] = TORQUE(0.0)
    light, heavy = ((A, B[:, 0]) for A, B in (m.scheme(dt) for m in (model, model.with_payload(MASS))))
    between = (0.5 * (light[0] + heavy[0]), 0.5 * (light[1] + heavy[1]))  # half a step with either
    tip, changes = np.zeros(steps + 1), {change: between, change + 1: heavy}
    run = march(model, seconds)
    ours, peer = side_by_side(
        lambda: march(model, seconds), lambda: dense_loop(light, changes, torque, tip), repeats=12 if n < 80 else 4
    )
    return {
        "name": f"march, {seconds:g} s, n = {n}, {form} form", "ours_s": ours, "peer": "numpy, dense A",
        "peer_s": peer, "ratio": peer / ours,
        "error": float(np.abs(run["tip_displacement"] - tip).max() / np.abs(tip).max()),
        "goal": ">= 2" if n == 19 and seconds > 1 else None,
    }


def in_real_time(seconds: float) -> dict[str, Any]:
    model = fx.FiniteDifference(tokhi_arm())
    ours, _ = side_by_side(lambda: march(model, seconds), lambda: None, repeats=20)
    each = 1e9 * ours * step_at(19) / seconds
    return {
        "name": f"march, {seconds:g} s, n = 19, {each:.0f} ns per step", "ours_s": ours,
        "peer": "real time", "peer_s": seconds, "ratio": seconds / ours, "error": None, "goal": "> 100",
    }


def per_step(n: int) -> float:
    model, seconds = fx.FiniteDifference(tokhi_arm(), sections=n), 20_000 * step_of(0.2, n)
    run = {"inputs": {"joint1_torque": fx.Sine(0.1, 1.0)}, "duration": seconds, "step": step_of(0.2, n)}
    return side_by_side(lambda: fx.simulate(model, method="march", **run), lambda: None, repeats=8)[0] / 20_000


def as_the_mesh_grows() -> list[dict[str, Any]]:
    meshes = (20, 40, 80, 160)
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
