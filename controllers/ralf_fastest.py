"""The fastest move of RALF: 5 deg of both links within limits of strain and valve, frequencies known to 10 % only.

The commands of the position servos of `ralf_servo`, found by running the full arm at its frequencies and 10 % off again
and again (`fx.optimal_command`); they begin with a quintic through the two-mode ZVD shaper of `ralf_shaped`. Within the
peaks of strain that the servos' own cycle of 2 deg leaves, 190 and 46 microstrain, and valves of 0.5 rad/s, both joints
are in 1 % and both strains at rest (5 and 2 microstrain) on all three arms by 0.356 s. The shortest shaped quintic
within the same limits takes 0.415 s, a quintic alone 1.17 s. It is
planned for 1 %: in 0.1 % the joints are after 0.8 s, those of the shaped quintic after 0.43 s.

The command stands beside this file, as `plan` found it; with any other law it is refused. Limits of valves and bands
are chosen. No strain is measured: what else shakes the arm is left to `ralf_hinf`.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")
SETTINGS, OFF, JOINTS = SERVO.SETTINGS, SERVO.OFF, ("joint1_angle", "joint2_angle")
ANGLE, BAND = np.radians(5.0), 0.01  # rad, of both joints; parts of it
REST = {"strain_lower": 5e-6, "strain_upper": 2e-6}
LIMITS = {"strain_lower": 190e-6, "strain_upper": 46e-6, "joint1_valve": 0.5, "joint2_valve": 0.5}  # -, rad/s
LONGEST, EXAMINED, BEGIN = 0.48, 1.0, 0.26  # s, the last of the quintic that is shaped
DURATION = 2.0  # s, of the runs of the scenarios
STEPS = {"method": "sdirk"}  # torques that jump every period: the fourth order takes fewer steps
REQUIREMENTS = {
    "disk_margin": 0.7,
    "frequency_change": (-0.1, 0.1),
    "planned: joint1_angle.settle_1pct_s": 0.4,
    "planned: joint2_angle.settle_1pct_s": 0.4,
    "joint1_valve.peak": 0.5,
    "joint2_valve.peak": 0.5,
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the position servos."""
    servo: fx.Design = SERVO.design(plant)
    return servo


def moves(plant: fx.Plant, time: float) -> dict[str, fx.Polynomial]:
    """Return quintics of both joints in a time [s]."""
    begins = [joint.angle for joint in plant.arm.joints[:2]]
    return {name: fx.quintic(x, x + ANGLE, time) for name, x in zip(JOINTS, begins, strict=True)}


def shaped(plant: fx.Plant, time: float) -> dict[str, fx.Motion]:
    """Return them through the shaper of both modes."""
    shaper = fx.shaper_for(plant.with_(SETTINGS).linearise(), "zvd", 2)
    return {name: fx.shaped(move, shaper) for name, move in moves(plant, time).items()}


def plan(plant: fx.Plant) -> fx.PlannedCommand:
    """Return the command, found anew."""
    arms = {f"nominal{off}": plant.with_(new) for off, new in fx.frequency_variations(plant, SETTINGS, OFF).items()}
    return fx.optimal_command(
        design(plant), arms, dict.fromkeys(JOINTS, ANGLE), within=BAND, longest=LONGEST, duration=EXAMINED,
        limits=LIMITS, rest=REST, start=shaped(plant, BEGIN), fine=(20,), progress=True,
    )


def command(plant: fx.Plant) -> fx.PlannedCommand:
    """Return the command that stands beside this file."""
    return fx.load_command(__file__.removesuffix(".py") + ".json", design(plant))


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move as planned, shaped and as a quintic, also with natural frequencies 10 % off."""
    ways = {"planned": command(plant).references, "shaped": shaped(plant, 0.26), "quintic": moves(plant, 1.2)}
    return [
        fx.Scenario(f"{name}{off}", way, DURATION, settings, options=STEPS)
        for name, way in ways.items() for off, settings in fx.frequency_variations(plant, SETTINGS, OFF).items()
    ]


if __name__ == "__main__":
    fx.main(__name__)
