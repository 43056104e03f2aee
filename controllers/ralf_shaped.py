"""Input shaping on RALF: the commands of its position servos through a two-mode ZVD shaper; feedback as it was.

The cylinders hold their course whatever the arm does, so the modes to shape are those of the arm with its joints held,
7.83 and 16.94 Hz, whatever the servo. The shaper makes the command 0.17 s longer and needs no sensor on the arm; it does
nothing about anything else that shakes it. ZV is half as long, and worse by a factor of 8 when the frequencies are off.
Residuals count from 0.2 s after the end of the shaped command on. Amplitude, frequency and damping are those of
`ralf_servo`, of which this is the same law.
"""

from __future__ import annotations

import flexctl as fx
from flexctl.laws.shaping import Shaper, shaped, shaper_for
from flexctl.scenario import Scenario, main
from flexctl.variations import frequencies

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")
SETTINGS = SERVO.SETTINGS
MODES = 2
# ratios to the unshaped run: 50 and more, 20 and more with frequencies 10 % off
REQUIREMENTS = {
    "disk_margin": 0.7, "frequency_change": (-0.1, 0.1),
}  # fmt: skip


def design(plant: fx.Plant) -> fx.Design:
    """Return the position servos."""
    servo: fx.Design = SERVO.design(plant)
    return servo


def shapers(plant: fx.Plant) -> dict[str, Shaper | None]:
    """Return the shapers by what to add to the name of a scenario, for the arm as it should be."""
    arm = plant.with_(SETTINGS).linearise()
    return {"": shaper_for(arm, "zvd", MODES), ", ZV": shaper_for(arm, "zv", MODES), ", unshaped": None}


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return one cycle of both links with each shaper, also with natural frequencies 10 % off."""
    found = []
    for kind, shaper in shapers(plant).items():
        for off, settings in frequencies(plant, SETTINGS, SERVO.OFF).items():
            goals = SERVO.goals(plant, settings)
            if shaper is not None:
                goals = {name: shaped(motion, shaper) for name, motion in goals.items()}
            found.append(Scenario(f"both links{kind}{off}", goals, SERVO.DURATION, settings))
    return found


if __name__ == "__main__":
    main(__name__)
