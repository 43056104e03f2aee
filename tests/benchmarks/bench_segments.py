"""Three links of rigid segments (Li and Zhang, Table III, rigid joints), cycloids 0 -> pi/6 in 0.4 s, 1 ms steps.

Exudyn runs the same chain as rigid bodies, revolute joints and torsion springs, sparse, one thread, generalised-alpha
with rho 0.9, modified Newton at 1e-4, its fastest robust setting. "Dense" is the same chain with full matrices in numpy
and full Newton: the plain methods of the model at the same tolerance (1e-10), and a script for this one arm as lean as
we could write it, which stops at 1e-8. Times are CPU seconds per step, least of several repeats, in turn; ours run the
motion and ring on to 10 s (steps cost the same; what a call costs is spread over more of them), sensors read and
recorded. With a tolerance of 1e-6 every step is one Newton pass, with the usual 1e-10 one or two. Errors are the
largest of the tip against steps solved to rounding [m].
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where flexctl is not installed

import numpy as np

import flexctl as fx
from flexctl.kernels.schemes import generalised_alpha, trapezoidal
from flexctl.models.finite_segment import FiniteSegment
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.motion.moves import Cycloid, acceleration_of

MOVE, ANGLE, STEP, LONG = 0.4, math.pi / 6.0, 1e-3, 10.0
MOTIONS = {f"joint{i}": Cycloid(0.0, ANGLE, MOVE) for i in (1, 2, 3)}
SIZES = (20, 60, 333)


def ours(
    segments: int, tolerance: float = 1e-10, step: float = STEP, duration: float = LONG
) -> tuple[float, np.ndarray]:
    """CPU seconds per step, and the tip along the run."""
    model = FiniteSegment(fx.load_plant("li_zhang_three_link").arm, segments=segments)
    scheme = generalised_alpha(0.9, tolerance=tolerance)
    begun = time.process_time()
    run = fx.simulate(model, motions=MOTIONS, duration=duration, step=step, scheme=scheme)
    spent = time.process_time() - begun
    return spent / round(duration / step), np.column_stack([run["tip_x"], run["tip_y"]])


def theirs(segments: int, tolerance: float = 1e-4, duration: float = MOVE) -> tuple[float, np.ndarray]:
    from exudyn_chain import ExudynChain

    arm = fx.load_plant("li_zhang_three_link").arm
    link = arm.links[0]
    peer = ExudynChain(
        3, segments, EI=link.bending_stiffness, rhoA=link.mass_per_length, length=link.length, mass=arm.joints[1].mass,
        angle=ANGLE, move=MOVE,
    )
    spent, tip = peer.run(duration, STEP, tolerance)
    return spent / round(duration / STEP), tip


def dense(segments: int, steps: int) -> tuple[float, np.ndarray]:
    """The textbook's way: CPU seconds per step, and the tip at the end."""
    link = fx.load_plant("li_zhang_three_link").arm.links[0]
    n, l = 3 * segments, link.length / segments
    m, K = link.mass_per_length * l, link.bending_stiffness / l
    springs = np.full(n, K)
    springs[0] = 2.0 * K
    mass = np.full(n, m)
    lumped = np.zeros(n)
    lumped[[segments - 1, 2 * segments - 1]] = 0.04
    beyond = np.append(np.cumsum((mass + lumped)[::-1])[::-1][1:], 0.0) + lumped
    mu = np.triu(np.outer(np.full(n, l), 0.5 * m * l + l * beyond), 1)
    mu = mu + mu.T + np.diag(m * l**2 / 3.0 + l**2 * beyond)
    stiff = np.diag(springs + np.append(springs[1:], 0.0)) - np.diag(springs[1:], 1) - np.diag(springs[1:], -1)
    joint = np.zeros(n)
    joint[[0, segments, 2 * segments]] = 1.0
    theta, w, a, h = np.zeros(n), np.zeros(n), np.zeros(n), STEP
    begun = time.process_time()
    for k in range(1, steps + 1):
        moment = springs * joint * float(MOTIONS["joint1"](k * h)[0])
        load = moment - np.append(moment[1:], 0.0)
        theta, w = theta + h * w + 0.5 * h * h * a, w + h * a
        for _ in range(20):
            turn = theta[:, None] - theta
            C, S = mu * np.cos(turn), mu * np.sin(turn)
            r = C @ a + S @ w**2 + stiff @ theta - load
            G = S * a - C * w**2
            T = C * (4.0 / h**2) + S * w * (4.0 / h) + stiff + G - np.diag(G.sum(axis=1))
            d = np.linalg.solve(T, r)
            theta, w, a = theta - d, w - 2.0 / h * d, a - 4.0 / h**2 * d
            if np.abs(d).max() < 1e-8:
                break
    spent = time.process_time() - begun
    return spent / steps, np.array([l * np.cos(theta).sum(), l * np.sin(theta).sum()])


def against_exudyn() -> list[dict[str, Any]]:
    try:
        import exudyn
    except ImportError:
        exudyn = None
    rows = []
    for segments in SIZES:
        exact = ours(segments, 1e-13)[1]
        peer = min((theirs(segments)[0] for _ in range(2)), default=None) if exudyn else None
        for tolerance in (1e-6, 1e-10):
            found = [ours(segments, tolerance) for _ in range(5)]
            best = min(spent for spent, _ in found)
            rows.append({
                "name": f"3 x {segments} segments, tolerance {tolerance:.0e}, per step", "ours_s": best,
                "peer": "Exudyn", "peer_s": peer, "ratio": peer / best if peer else None,
                "error": float(np.abs(found[0][1] - exact).max()),
                "goal": f">= 20x, within 1e-6 m, {1e9 * best / (3 * segments):.0f} of 60 ns per segment",
            })
        if segments == 60:
            rows.append({
                "name": "3 x 60 segments, faster than real time", "ours_s": best, "peer": "real time", "peer_s": STEP,
                "ratio": STEP / best, "error": None, "goal": ">= 80x",
            })
    return rows


def plain(segments: int, duration: float, tolerance: float = 1e-10) -> tuple[float, np.ndarray]:
    """The plain methods of the model in the plain integrator: CPU seconds per step, and the tip at the end."""
    model = FiniteSegment(fx.load_plant("li_zhang_three_link").arm, segments=segments)
    pushes: dict[str, Any] = {f"{name}_acceleration": acceleration_of(motion) for name, motion in MOTIONS.items()}
    scheme = generalised_alpha(0.9, tolerance=tolerance)
    begun = time.process_time()
    run = fx.simulate(motion_driven(model, model.joints), inputs=pushes, duration=duration, step=STEP, scheme=scheme)
    spent = time.process_time() - begun
    return spent / round(duration / STEP), np.array([run["tip_x"][-1], run["tip_y"][-1]])


def against_dense() -> list[dict[str, Any]]:
    duration, rows = 0.1, []
    model = FiniteSegment(fx.load_plant("li_zhang_three_link").arm, segments=60)
    peers = (
        ("dense numpy, plain methods", lambda: plain(60, duration), None, 1e-10, ">= 400x, same model"),
        ("dense numpy, leanest script", lambda: dense(60, round(duration / STEP)), trapezoidal(), 1e-6, "same model"),
    )
    for name, peer, scheme, tolerance, goal in peers:
        best, (spent, tip) = min(ours(60, tolerance)[0] for _ in range(4)), peer()
        same = fx.simulate(model, motions=MOTIONS, duration=duration, step=STEP, scheme=scheme)
        rows.append({
            "name": f"3 x 60 segments, tolerance {tolerance:.0e}, per step", "ours_s": best, "peer": name,
            "peer_s": spent, "ratio": spent / best, "goal": goal,
            "error": float(np.abs([same["tip_x"][-1], same["tip_y"][-1]] - tip).max()),
        })
    return rows


def growth() -> dict[str, Any]:
    small, large = (min(ours(n)[0] for _ in range(4)) for n in (20, 333))
    return {
        "name": "exponent of the time in segments, 60 to 999", "ours_s": large, "peer": "3 x 20", "peer_s": small,
        "ratio": math.log(large / small) / math.log(333 / 20), "error": None, "goal": "exponent <= 1.05",
    }


def steps() -> dict[str, Any]:
    """Steps from 2 ms to 10 us: the largest tip difference between a step and one half of it, relative to h^2 [m]."""
    previous, worst = None, 0.0
    for h in (1e-5, 1e-4, 1e-3, 2e-3):
        tip = ours(60, step=h, duration=0.1)[1]
        if previous is not None:
            every = round(h / previous[0])
            worst = max(worst, float(np.abs(tip - previous[1][::every]).max()) * (1e-3 / h) ** 2)
        previous = h, tip
    return {
        "name": "steps from 2 ms to 10 us, tip error per (step / 1 ms)^2", "ours_s": None, "peer": None, "peer_s": None,
        "ratio": None, "error": worst, "goal": "no failure, 2e-4 m",
    }


def run() -> list[dict[str, Any]]:
    return [*against_exudyn(), *against_dense(), growth(), steps()]


if __name__ == "__main__":
    for row in run():
        print(row)
