"""The 3R arm in space (post 0.5 m, links 1 m + 1 m), no gravity, all joints 0 -> pi/3 in 1 s along cycloids, 1 ms
steps, beside Exudyn and python-control.

Exudyn runs geometrically exact beams of the same mesh, and reduced floating frames with 6 modes per link, both with
springs and dampers in the joints (stiff ones where ours are prescribed), its fastest robust settings: sparse, one
thread, modified Newton at 1e-4 relative and 1e-2 absolute, the faster of its two solvers (trapezoidal, and generalised
alpha with rho 0.9), commands as compiled symbolic functions. Times are CPU seconds per step, least of several repeats,
in turn: the motion in theirs, the motion and a dwell to 10 s in ours. Sensors are read and recorded in ours, nothing is
written in theirs. Errors are of the tip after half a second [m]: ours against steps solved to rounding; the rows
"tip at 0.5 s" say by which part of the tip error (tip minus rigid tip) the codes differ.
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where flexctl is not installed

import numpy as np

import flexctl as fx
from flexctl.kernels.schemes import generalised_alpha
from flexctl.machine.arm import Joint
from flexctl.models import build
from flexctl.motion.moves import Cycloid

MOVE, ANGLE, STEP, LONG, LOOK = 1.0, math.pi / 3.0, 1e-3, 10.0, 0.5
MOTIONS = {f"joint{i}": Cycloid(0.0, ANGLE, MOVE) for i in (1, 2, 3)}
SERVO = ((2e5, 4e3), (2e5, 4e3), (5e4, 1e3))
STIFF = ((1e8, 1e3),) * 3
CASES = {  # elements per part, analysis, joints, peer, goals
    "linear": (8, "linear", None, "Frames", "<= 25 us, >= 6x"),
    "nonlinear": (8, "nonlinear", None, "Beams", "<= 45 us, >= 9x"),
    "joint PD": (8, "nonlinear", SERVO, "Beams", "<= 45 us, >= 9x"),
    "joint PD, frames": (8, "nonlinear", SERVO, "Frames", "<= 45 us, >= 6x"),
    "linear, fine": (32, "linear", None, "Beams", "<= 80 us"),
    "joint PD, fine": (32, "nonlinear", SERVO, "Beams", ""),
}


def model(elements: int, analysis: str = "nonlinear", gains: Any = None) -> Any:
    arm = replace(fx.load_plant("spatial_3r").arm, gravity=(0.0, 0.0, 0.0), sensors=())
    if gains:
        servos = tuple(Joint(drive="servo", servo_stiffness=kp, servo_damping=kv) for kp, kv in gains)
        arm = replace(arm, joints=servos)
    return build(arm, "timoshenko_spatial", elements=elements, analysis=analysis)


def ours(arm: Any, duration: float = LONG, tolerance: float = 1e-10) -> tuple[float, np.ndarray]:
    """CPU seconds per step, and the tip after half a second."""
    scheme = generalised_alpha(0.9, tolerance=tolerance)
    begun = time.process_time()
    run = fx.simulate(arm, motions=MOTIONS, duration=duration, step=STEP, scheme=scheme)
    spent = time.process_time() - begun
    k = round(LOOK / STEP)
    return spent / round(duration / STEP), np.array([run[f"tip_{axis}"][k] for axis in "xyz"])


def theirs(arm: Any, elements: int, kind: str, gains: Any, trapezoidal: bool, move: float) -> tuple[float, np.ndarray]:
    import exudyn_spatial

    link = arm.arm.links[1]
    section, E, G = link.section, link.material.youngs_modulus, link.material.shear_modulus
    numbers = {
        "EA": E * section.area, "GA": section.shear_factor * G * section.area, "GJ": 2.0 * G * section.second_moment,
        "EI": E * section.second_moment, "rhoA": link.mass_per_length,
        "rhoI": link.material.density * section.second_moment,
    }
    peer = getattr(exudyn_spatial, kind)(numbers, (0.5, 1.0, 1.0), elements, gains or STIFF, ANGLE, MOVE)
    spent, tip = peer.run(move, STEP, trapezoidal=trapezoidal)
    return spent / round(move / STEP), tip


@cache
def exudyn_there() -> bool:
    try:
        import exudyn  # noqa: F401
    except ImportError:
        return False
    return True


def against_exudyn() -> list[dict[str, Any]]:
    rows = []
    for name, (elements, analysis, gains, kind, goal) in CASES.items():
        arm = model(elements, analysis, gains)
        _, exact = ours(arm, LOOK, 1e-13)
        times, peer_times = [], []
        for _ in range(4):
            spent, tip = ours(arm)
            times.append(spent)
            if exudyn_there() and len(peer_times) < 4:
                peer_times += [theirs(arm, elements, kind, gains, way, MOVE)[0] for way in (True, False)]
        best, peer = min(times), min(peer_times, default=None)
        rows.append({
            "name": f"3R arm in space, 3 x {elements}, {name}, per step", "ours_s": best, "peer": f"Exudyn {kind}",
            "peer_s": peer, "ratio": peer / best if peer else None, "error": float(np.abs(tip - exact).max()),
            "goal": goal,
        })
    return rows


def agreement() -> list[dict[str, Any]]:
    """How far the tips differ after half a second, of the elastic displacement (prescribed) or of its error (PD)."""
    rows = []
    for kind, gains in (("Beams", None), ("Frames", None), ("Beams", SERVO)):
        arm = model(8, "nonlinear", gains)
        wanted = arm.rigid_tip([MOTIONS["joint1"](LOOK)[0]] * 3)
        _, tip = ours(arm, LOOK)
        _, other = theirs(arm, 8, kind, gains, False, LOOK)
        part = float(np.abs(tip - other).max() / np.abs(tip - wanted).max())
        joints = "PD" if gains else "prescribed"
        rows.append({"name": f"tip at 0.5 s, {joints}, part of its error", "peer": f"Exudyn {kind}", "error": part,
                     "goal": "5e-3"})
    return rows


def growth() -> dict[str, Any]:
    small, large = (min(ours(model(n))[0] for _ in range(3)) for n in (8, 128))
    return {
        "name": "exponent of the time in elements, 3 x 8 to 3 x 128", "ours_s": large, "peer": "3 x 8",
        "peer_s": small, "ratio": math.log(large / small) / math.log(16.0), "error": None, "goal": "exponent <= 1.1",
    }


def against_control() -> dict[str, Any]:
    import control

    # what a longer run takes is in proportion in theirs, and hardly more in ours
    arm, duration, t = model(1, gains=SERVO), 2.5e-4, np.linspace(0.0, 2.5e-4, 3)
    u = np.zeros((len(arm.inputs), t.size))
    for i, signal in enumerate(arm.inputs):
        joint = signal.name.split("_command")[0]
        if joint in MOTIONS:
            u[i] = MOTIONS[joint](t)[int(signal.name.endswith("rate"))]
    system, n = fx.nonlinear(arm), len(arm.coordinates)
    begun = time.process_time()
    peer = control.input_output_response(system, t, u, np.concatenate([arm.reference(), np.zeros(n)]))
    spent = time.process_time() - begun
    times = []
    for _ in range(5):
        begun = time.process_time()
        run = fx.simulate(arm, motions=MOTIONS, duration=duration, step=1.25e-4)
        times.append(time.process_time() - begun)
    row = [s.name for s in arm.outputs].index("tip_z")
    return {
        "name": "3R arm in space, 3 x 1, 0.25 ms, whole call", "ours_s": min(times), "peer": "control, RK45",
        "peer_s": spent, "ratio": spent / min(times), "error": float(np.abs(run["tip_z"] - peer.outputs[row]).max()),
        "goal": ">= 100x",
    }


def run() -> list[dict[str, Any]]:
    return [*against_exudyn(), *(agreement() if exudyn_there() else []), growth(), against_control()]


if __name__ == "__main__":
    for row in run():
        print(row)
