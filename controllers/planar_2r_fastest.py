"""The fastest move of the flexible 2R arm: 60 deg of shoulder, 150 deg of elbow, one command for 0 to 0.5 kg.

The law is that of `planar_2r_scheduled`, made for 0.25 kg and told nothing of the payload. Its motions were found by
running the nonlinear arm with 0, 0.25 and 0.5 kg again and again (`fx.optimal_command`), within the torques and strains
that its quintics of 1.5 s take: both joints are in 0.1 % of their moves, and the tip in 1.4 mm of where it ends, by
1.516 s with each payload. Along the quintics the joints alone take 2.5 s with 0.5 kg. 0.125 and 0.375 kg were not
planned for: there the joints take up to 1.57 s.

The command stands beside this file, as `plan` found it; with any other law, or fed the torques of another arm, it is
refused.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

SCHEDULED = fx.load_controller("planar_2r_scheduled")
PLANT, SETTINGS, JOINTS, POSES = SCHEDULED.PLANT, SCHEDULED.SETTINGS, SCHEDULED.JOINTS, SCHEDULED.POSES
PAYLOADS = (0.0, SCHEDULED.RATED, 0.5)  # kg
TARGET = dict(zip(JOINTS, np.radians([60.0, 150.0]), strict=True))
BAND, REST = 0.001, {"tip_x": 1.4e-3, "tip_y": 1.4e-3}  # parts of the moves; m
# largest torques and strains of the quintics
LIMITS = {"joint1_torque": 30.6, "joint2_torque": 11.4, "root_strain": 462e-6, "elbow_strain": 171e-6}
LONGEST, DURATION = 1.8, 4.0  # s
REQUIREMENTS = {
    "disk_margin": 0.4,
    "payload_kg": (0.0, 0.5),
    "planned: joint1_angle.settle_0p1pct_s": 1.6,
    "planned: joint2_angle.settle_0p1pct_s": 1.6,
}


def design(plant: fx.Plant, payload: float = SCHEDULED.RATED) -> fx.Design:
    """Return the law for a payload [kg]; the command is for 0.25 kg."""
    law: fx.Design = SCHEDULED.design(plant, payload)
    return law


def arm(plant: fx.Plant, mass: float) -> fx.Plant:
    """Return the arm with a payload [kg]."""
    return plant.with_({**SETTINGS, "payload.mass": mass})


def plan(plant: fx.Plant) -> fx.PlannedCommand:
    """Return the command, found anew."""
    arms = {f"{1e3 * mass:g} g": arm(plant, mass) for mass in PAYLOADS}
    return fx.optimal_command(
        design(plant), arms, TARGET, within=BAND, longest=LONGEST, limits=LIMITS, rest=REST,
        known=arm(plant, SCHEDULED.RATED), progress=True,
    )


def command(plant: fx.Plant) -> fx.PlannedCommand:
    """Return the command that stands beside this file."""
    known = arm(plant, SCHEDULED.RATED)
    return fx.load_command(__file__.removesuffix(".py") + ".json", design(plant), known)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move as planned with five payloads, and along quintics with three."""
    law, planned = design(plant), command(plant).references

    def run(name: str, mass: float, wanted: dict[str, fx.Motion]) -> fx.Scenario:
        changes = {**SETTINGS, "payload.mass": mass}
        return fx.Scenario(f"{name}, {1e3 * mass:g} g", wanted, DURATION, changes, options=SCHEDULED.STEPS)

    runs = [run("planned", mass, planned) for mass in (*PAYLOADS, 0.125, 0.375)]
    for mass in PAYLOADS:
        quintics = fx.references(arm(plant, mass), SCHEDULED.MOVES, law, arm(plant, SCHEDULED.RATED))
        runs.append(run("quintics", mass, quintics))
    return runs


if __name__ == "__main__":
    fx.main(__name__)
