"""Runs at the default tolerance: beside SciPy's Radau at equal error, and beside real time.

`planar_2r_flexible` (98 coordinates) is hit by bang-bang torques on both joints for 1.5 s. Ours at the default rtol;
Radau at the largest rtol that is within 0.4 % of every deflection, strain, angle and rate, once on the plain methods of
the model with its tangent as Jacobian, and once on its compiled functions with banded solves. Errors are the largest
over 1 ms samples, in parts of the range, against steps of 5 us of another method. Real time: sampled PD at 1 kHz, and
RALF after a sine of one command. Times are CPU seconds, ours the least of several repeats, peers once.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # where flexctl is not installed

import accuracy_truth as truth
import numpy as np
import scipy.linalg as sla
from accuracy_cases import CASES, samples

import flexctl as fx
from flexctl.errors import AccuracyWarning

ASKED, RTOLS = 4e-3, (1e-3, 3e-4, 1e-4, 3e-5)
UNITS = ("m", "rad", "1", "rad/s")


class CompiledTruth(truth.Truth):
    """The same with accelerations and Jacobian from the compiled functions of the model."""

    def __init__(self, model: Any, rtol: float) -> None:
        super().__init__(model, rtol)
        self.c = model.compiled()
        w, n = self.c.bandwidth, self.n
        self.S, self.r, self.rest = np.empty((3 * w + 1, n)), np.empty(n), np.zeros(n)

    def _matrix(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray, parts: tuple[float, ...]) -> Any:
        self.c.tangent(0.0, q, v, a, u, *parts, self.c.reals, self.c.ints, self.S)
        return self.S[self.c.bandwidth :].copy()

    def accelerations(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        q, v, u, c = q.copy(), v.copy(), np.ascontiguousarray(u), self.c
        c.residual(t, q, v, self.rest, u, c.reals, c.ints, self.r)
        w = c.bandwidth
        return -sla.solve_banded((w, w), self._matrix(q, v, self.rest, u, (1.0, 0.0, 0.0)), self.r, check_finite=False)

    def slopes(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        a, w = self.accelerations(t, q, v, u), self.c.bandwidth
        q, v, u = q.copy(), v.copy(), np.ascontiguousarray(u)
        M, D, K = (self._matrix(q, v, a, u, parts) for parts in np.eye(3))
        return -sla.solve_banded((w, w), M, np.hstack([_full(K, w), _full(D, w)]), check_finite=False)


def _full(ab: np.ndarray, w: int) -> np.ndarray:
    n = ab.shape[1]
    i, j = np.indices((n, n))
    near = np.abs(i - j) <= w
    out = np.zeros((n, n))
    out[near] = ab[(w + i - j)[near], j[near]]
    return out


def ours(name: str, **options: Any) -> tuple[float, fx.Response]:
    """CPU seconds, the least of several, and the run."""
    times, arm = [], CASES[name].arm()
    for _ in range(1 if "step" in options else 4):
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            run = CASES[name].run(arm, **options)
        times.append(time.process_time() - begun)
    return min(times), run


def off(series: Callable[[str], np.ndarray], exact: fx.Response) -> float:
    """Largest error of all outputs but accelerations, in parts of their ranges."""
    found = []
    for signal in exact.outputs:
        wanted = samples(exact, signal.name)
        if signal.unit in UNITS and np.ptp(wanted) > 1e-12:
            found.append(np.abs(series(signal.name) - wanted).max() / np.ptp(wanted))
    return float(max(found))


def radau(kind: type[truth.Truth], exact: fx.Response) -> tuple[float, float]:
    """CPU seconds and error of the first tolerance that is good enough."""
    case = CASES["B"]
    spent, error = np.nan, np.nan
    for rtol in RTOLS:
        begun = time.process_time()
        found = truth.open_loop(case.arm(), case.inputs, case.duration, rtol, kind=kind)
        spent, error = time.process_time() - begun, off(found.__getitem__, exact)
        if error <= ASKED:
            break
    return spent, error


def beside_radau() -> list[dict[str, Any]]:
    ours("B")
    spent, run = ours("B")
    _, exact = ours("B", step=5e-6, method="settled")
    error = off(lambda name: samples(run, name), exact)
    rows = []
    peers: list[tuple[str, type[truth.Truth], str]] = [("plain methods", truth.Truth, ">= 20x")]
    if CASES["B"].arm().model.compiled() is not None:  # beams have a stepper of their own, and no right side by itself
        peers.append(("compiled", CompiledTruth, ""))
    for label, kind, goal in peers:
        peer, peer_error = radau(kind, exact)
        rows.append({
            "name": f"2R arm, bang-bang, 1.5 s; Radau on {label} ({peer_error:.1e})", "ours_s": spent,
            "peer": f"SciPy Radau, {label}", "peer_s": peer, "ratio": peer / spent, "error": error, "goal": goal,
        })
    return rows


def beside_real_time() -> list[dict[str, Any]]:
    rows = []
    cases = (
        ("K", "2R arm, sampled PD at 1 kHz", 50), ("I", "RALF, sine of a command", 20),
        ("J", "RALF, both commands bang-bang", 20),
    )
    for name, label, goal in cases:
        ours(name)
        spent, run = ours(name)
        length = CASES[name].duration
        worst = max(run.error[o] / np.ptp(samples(run, o)) for o in CASES[name].wanted)
        rows.append({
            "name": f"{label}, {length:g} s at defaults (estimated error)", "ours_s": spent, "peer": "real time",
            "peer_s": length, "ratio": length / spent, "error": float(worst), "goal": f">= {goal}x",
        })
    return rows


def run() -> list[dict[str, Any]]:
    return [*beside_real_time(), *beside_radau()]
