"""What the joint layer costs: the same arm, loads and steps of 1 ms with drives in its joints and without, by turns.

Joints with a hub of 0.02 kg m^2 each are pushed by sines of their inputs; a second run has a tenth of them, where every
step is one correction. With drives: motors with gear and viscous friction (voltages), flexible joints (torques), both.
CPU seconds, least of several repeats: per step is what a run of 4 s takes longer than one of 1 s; the run is that of
2 s, from `simulate` to its result. Drives have two to four readings per joint more to record. Dry friction (LuGre):
joints that may stick are run again in steps twice as long, whose time counts.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where flexctl is not installed

import warnings

import flexctl as fx
from flexctl.motion.moves import Sine

STEP, SHORT, WHOLE, LONG, REPEATS = 1e-3, 1.0, 2.0, 4.0, 9
HUB = fx.Joint(hub_inertia=0.02)
MOTOR = fx.Motor(torque_constant=0.05, back_emf_constant=0.05, resistance=1.0, rotor_inertia=1e-5, gear_ratio=50.0)
SPRING = {"stiffness": 200.0, "damping": 0.2}
DRIVES = {
    "motors": replace(HUB, drive="voltage", motor=MOTOR, friction=0.1),
    "flexible joints": replace(HUB, rotor_inertia=0.02, **SPRING),
    "both": replace(HUB, drive="voltage", motor=MOTOR, friction=0.1, **SPRING),
    "dry friction": replace(
        HUB, friction=0.1,
        friction_law=fx.Friction(kind="lugre", coulomb=0.02, bristle_stiffness=40.0, bristle_damping=0.01),
    ),
}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "assumed_modes": ("planar_2r_flexible", {"modes": 2}),
    "ancf": ("planar_2r_flexible", {"elements": 2}),
    "timoshenko_planar": ("planar_2r_flexible", {"elements": 16}),
    "finite_segment": ("planar_2r_flexible", {"segments": 20}),
    "timoshenko_spatial": ("spatial_3r", {"elements": 8}),
}
PUSHES = (2.0, -0.8, 0.5)
GOAL = ">= 0.87: 15 % more"
STICKS = ">= 0.58: 15 % more, and a second run, in steps twice as long, says how far off the first is"


def model(kind: str, joint: fx.Joint) -> Any:
    """Return an arm with such joints."""
    name, mesh = ARMS[kind]
    arm = fx.load_plant(name).arm
    return fx.build(replace(arm, joints=(joint,) * len(arm.joints)), kind, **mesh)


def spent(plant: Any, duration: float, part: float) -> float:
    """CPU seconds of a run."""
    inputs = zip(plant.inputs[: len(plant.arm.joints)], PUSHES, strict=False)
    pushes = {signal.name: Sine(part * push, 1.0) for signal, push in inputs}
    begun = time.process_time()
    fx.simulate(plant, inputs=pushes, duration=duration, step=STEP)
    return time.process_time() - begun


def compared(kind: str, part: float) -> list[dict[str, Any]]:
    """Rows of one formulation, each drive beside none."""
    plants = {"": model(kind, HUB)} | {name: model(kind, joint) for name, joint in DRIVES.items()}
    for plant in plants.values():
        spent(plant, 0.1, part)
    best = {name: [float("inf")] * 3 for name in plants}
    for _ in range(REPEATS):
        for name, plant in plants.items():
            times = [spent(plant, duration, part) for duration in (SHORT, WHOLE, LONG)]
            best[name] = [min(pair) for pair in zip(best[name], times, strict=True)]
    steps = (LONG - SHORT) / STEP
    rows = []
    for what, cost in (
        ("step", {name: (times[2] - times[0]) / steps for name, times in best.items()}),
        ("run", {name: times[1] for name, times in best.items()}),
    ):
        rows += [
            {
                "name": f"{kind}, {name}, {'large' if part == 1.0 else 'small'} motion, per {what}",
                "ours_s": cost[name], "peer": "no drives", "peer_s": cost[""], "ratio": cost[""] / cost[name],
                "error": None, "goal": STICKS if name == "dry friction" else GOAL,
            }
            for name in DRIVES
        ]
    return rows


def run() -> list[dict[str, Any]]:
    """All rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # steps are given
        return [row for kind in ARMS for part in (1.0, 0.1) for row in compared(kind, part)]


if __name__ == "__main__":
    for row in run():
        print(f"{row['name']:60s} {1e6 * row['ours_s']:10.2f} us, {1.0 / row['ratio']:.3f} times without")
