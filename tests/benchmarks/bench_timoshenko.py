"""The planar 2R arm of example 1 of the thesis (cycloid pi/3 in 2.5 s), 1 ms steps, beside Exudyn and python-control.

Exudyn runs the same mesh of the same beam with its fastest robust settings: sparse, one thread, generalised-alpha with
rho 0.9, modified Newton at 1e-4, commands as compiled symbolic functions. Times are CPU seconds per step, least of
several repeats, in turn: the motion in theirs, the motion and a dwell to 10 s in ours (the steps cost the same; what a
call costs is spread over more of them). Sensors are read and recorded in ours, nothing is written in theirs. Errors are
of the tip at the end of the run [m]: ours against steps solved to rounding.
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where flexctl is not installed

import numpy as np

import flexctl as fx
from flexctl.kernels.schemes import generalised_alpha
from flexctl.models import build
from flexctl.motion.moves import Cycloid

MOVE, ANGLE, STEP, LONG = 2.5, math.pi / 3.0, 1e-3, 10.0
MOTIONS = {"joint1": Cycloid(0.0, ANGLE, MOVE), "joint2": Cycloid(0.0, ANGLE, MOVE)}
GOALS = {8: ("<= 2 us, >= 8x", 8), 32: ("<= 5 us, >= 10x", 10), 128: ("<= 18 us, >= 10x", 10)}


def arms() -> dict[str, Any]:
    prescribed = fx.load_plant("planar_2r_flexible").arm
    return {"prescribed": replace(prescribed, sensors=()), "joint PD": fx.load_plant("planar_2r_servo").arm}


def ours(arm: Any, elements: int, tolerance: float = 1e-10) -> tuple[float, np.ndarray]:
    """CPU seconds per step, and the tip at the end."""
    model, scheme = build(arm, "timoshenko_planar", elements=elements), generalised_alpha(0.9, tolerance=tolerance)
    begun = time.process_time()
    run = fx.simulate(model, motions=MOTIONS, duration=LONG, step=STEP, scheme=scheme)
    spent = time.process_time() - begun
    return spent / round(LONG / STEP), np.array([run["tip_x"][-1], run["tip_y"][-1]])


def theirs(arm: Any, elements: int, tolerance: float = 1e-4) -> tuple[float, np.ndarray]:
    from exudyn_planar import ExudynArm

    link = arm.links[0]
    kt, G = link.section.shear_factor, link.material.shear_modulus
    gains = tuple((j.servo_stiffness, j.servo_damping) for j in arm.joints if j.drive == "servo") or None
    peer = ExudynArm(
        elements, EA=link.material.youngs_modulus * link.section.area, GA=kt * G * link.section.area,
        EI=link.bending_stiffness, rhoA=link.mass_per_length, rhoI=link.material.density * link.section.second_moment,
        length=link.length, angle=ANGLE, move=MOVE, gains=gains,
    )
    spent, tip = peer.run(MOVE, STEP, tolerance)
    return spent / round(MOVE / STEP), tip


def against_exudyn() -> list[dict[str, Any]]:
    try:
        import exudyn
    except ImportError:
        exudyn = None
    rows = []
    for drive, arm in arms().items():
        for elements, (goal, _) in GOALS.items():
            ours(arm, elements)
            _, exact = ours(arm, elements, 1e-13)
            times, peer_times = [], []
            for _ in range(4):
                spent, tip = ours(arm, elements)
                times.append(spent)
                if exudyn and len(peer_times) < 2:
                    peer_times.append(theirs(arm, elements)[0])
            best, peer = min(times), min(peer_times, default=None)
            rows.append({
                "name": f"2R beams, {elements} per link, {drive}, per step", "ours_s": best, "peer": "Exudyn",
                "peer_s": peer, "ratio": peer / best if peer else None, "error": float(np.abs(tip - exact).max()),
                "goal": f"{goal}, 1e-7 m",
            })
    return rows


def growth() -> dict[str, Any]:
    arm = arms()["prescribed"]
    small, large = (min(ours(arm, n)[0] for _ in range(3)) for n in (8, 512))
    return {
        "name": "exponent of the time in elements, 8 to 512", "ours_s": large, "peer": "8 per link", "peer_s": small,
        "ratio": math.log(large / small) / math.log(64.0), "error": None, "goal": "exponent <= 1.1",
    }


def against_control() -> dict[str, Any]:
    import control

    model = build(arms()["joint PD"], "timoshenko_planar", elements=2)
    duration, t = 4e-3, np.linspace(0.0, 4e-3, 5)
    u = np.zeros((len(model.inputs), t.size))
    for i, signal in enumerate(model.inputs):
        joint = signal.name.split("_command")[0]
        if joint in MOTIONS:
            u[i] = MOTIONS[joint](t)[int(signal.name.endswith("rate"))]
    system = fx.nonlinear(model)
    n = len(model.coordinates)
    begun = time.process_time()
    peer = control.input_output_response(system, t, u, np.concatenate([model.reference(), np.zeros(n)]))
    spent = time.process_time() - begun
    times = []
    for _ in range(5):
        begun = time.process_time()
        run = fx.simulate(model, motions=MOTIONS, duration=duration, step=STEP)
        times.append(time.process_time() - begun)
    row = [s.name for s in model.outputs].index("tip_y")
    return {
        "name": "2R beams, 2 per link, 4 ms, whole call", "ours_s": min(times), "peer": "control, RK45",
        "peer_s": spent, "ratio": spent / min(times), "error": float(np.abs(run["tip_y"] - peer.outputs[row]).max()),
        "goal": ">= 100x",
    }


def run() -> list[dict[str, Any]]:
    return [*against_exudyn(), growth(), against_control()]


if __name__ == "__main__":
    for row in run():
        print(row)
