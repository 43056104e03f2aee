"""RALF: the full nonlinear arm with its closed loop, beside real time and python-control.

Both run the same equations from equilibrium under the same torques: ours by generalised-alpha in one compiled call,
theirs by `control.input_output_response` (adaptive Runge-Kutta, its defaults) with the model's plain NumPy methods as
the right side. With a right side made of our compiled functions it would be some 40 times faster. Errors are of all
coordinates at the end against order 8 at 1e-11. Times are CPU seconds, least of several repeats.
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

import numpy as np

import flexctl as fx
from flexctl.linear.equilibrium import accelerations
from flexctl.motion.moves import Sine

WITHOUT_CYLINDERS = {"joint.1.drive": "torque", "joint.2.drive": "torque"}
LONG, STEP, FINE = 0.2, 5e-4, 8e-5  # 127 Hz has 16 steps; what is as accurate as the peer
TORQUES = (300.0, 40.0)


def right_side(model: Any) -> Callable[..., np.ndarray]:
    """x' = f(t, x, u) of the closed loop, x = (q, v)."""
    c, n, m = model.compiled(), len(model.coordinates), len(model.closures)
    r, S, i, rest = np.empty(n), np.empty((3 * n - 2, n)), np.arange(n), np.zeros(n)
    parts = [np.empty(shape) for shape in (m, m, (m, n), (m, n), (n, m))]
    kkt, inputs = np.zeros((n + m, n + m)), np.zeros(len(model.inputs) + m)

    def slope(t: float, x: np.ndarray, u: Any) -> np.ndarray:
        q, v = x[:n].copy(), x[n:].copy()
        inputs[:2] = u
        c.residual(0.0, q, v, rest, inputs, c.reals, c.ints, r)
        c.tangent(0.0, q, v, rest, inputs, 1.0, 0.0, 0.0, c.reals, c.ints, S)
        c.closure(q, v, c.reals, c.ints, *parts)
        kkt[:n, :n] = S[2 * (n - 1) + i[:, None] - i, i]
        kkt[:n, n:], kkt[n:, :n] = parts[4], parts[2]
        return np.concatenate([v, np.linalg.solve(kkt, -np.concatenate([r, parts[1]]))[:n]])

    return slope


def least(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best, value = np.inf, None
    for _ in range(repeats):
        begun = time.process_time()
        value = run()
        best = min(best, time.process_time() - begun)
    return best, value


def against_control() -> dict[str, Any]:
    import control
    from scipy.integrate import solve_ivp

    model = fx.load_plant("ralf", overrides=WITHOUT_CYLINDERS).model
    at = fx.equilibrium(model, hold={"joint1": np.pi / 2, "joint2": np.pi / 6})
    x0, slope = np.concatenate([at.q, at.v]), right_side(model)
    push = [Sine(size, 2.0) for size in TORQUES]
    n, p = at.q.size, len(model.inputs)

    def plain(t: float, x: np.ndarray, u: Any, params: Any) -> np.ndarray:
        a, _ = accelerations(model, x[:n], x[n:], np.append(u, np.zeros(p - 2)), t)
        return np.concatenate([x[n:], a])

    grid = np.arange(round(LONG / STEP) + 1) * STEP
    u = np.array([size * np.sin(4 * np.pi * grid) for size in TORQUES])

    def exact(t: float, x: np.ndarray) -> np.ndarray:
        return slope(t, x, np.array(TORQUES) * np.sin(4 * np.pi * t))

    end = solve_ivp(exact, (0.0, LONG), x0, method="DOP853", rtol=1e-11, atol=1e-13).y[:n, -1]
    system = control.nlsys(plain, None, inputs=2, outputs=2 * n, states=2 * n)
    peer, theirs = least(lambda: control.input_output_response(system, grid, u, x0), 1)

    def ours() -> Any:
        names = [s.name for s in model.inputs[:2]]
        signals = dict(zip(names, push, strict=True))
        return fx.simulate(
            model, duration=LONG, step=FINE, inputs=signals, initial=(at.q, at.v), record_states=True,
            method="trapezoidal",
        )

    ours()
    spent, run = least(ours, 7)
    error, missed = (float(np.abs(q - end).max()) for q in (run.q[-1], theirs.states[:n, -1]))
    return {
        "name": "RALF, both links, torques: closed loop of 10 coordinates, 0.2 s", "ours_s": spent, "peer_s": peer,
        "peer": f"input_output_response (error {missed:.1e})", "ratio": peer / spent, "error": error, "goal": ">= 100x",
    }


def against_real_time() -> dict[str, Any]:
    plant = fx.load_plant("ralf")
    swing = Sine(np.radians(2.0), 0.5, 0.0, 2.0)
    commands = {"joint1_command": swing, "joint2_command": swing}

    def ours() -> Any:
        return fx.simulate(plant, inputs=commands, duration=4.0, step=STEP)

    ours()
    spent, _ = least(ours, 7)
    return {
        "name": "RALF, both links, cylinders: 4 s in steps of 0.5 ms", "ours_s": spent, "peer": "real time",
        "peer_s": 4.0, "ratio": 4.0 / spent, "error": 0.0, "goal": ">= 20x",
    }


def run() -> list[dict[str, Any]]:
    return [against_control(), against_real_time()]


if __name__ == "__main__":
    for row in run():
        print(row)
