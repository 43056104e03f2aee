"""Input shaping on RALF: the commands of its position servos through a two-mode ZVD shaper; feedback as it was.

The cylinders hold their course whatever the arm does, so the modes to shape are those of the arm with its joints held,
7.83 and 16.94 Hz, whatever the servo. The shaper makes the command 0.17 s longer and needs no sensor on the arm; it
does nothing about anything else that shakes it. It leaves 300 times less in both links, 49 times less with frequencies
10 % off; ZV, half as long, 7 times less then. What is left counts from 0.2 s after the end of the shaped command on.
Law, amplitude, frequency and damping are those of `ralf_servo`.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")
SETTINGS = SERVO.SETTINGS
MODES = 2
REQUIREMENTS = {
    "disk_margin": 0.7,
    "frequency_change": (-0.1, 0.1),
    "vibration_ratio": {"both links": 300, "both links, frequencies -10 %": 45, "both links, frequencies +10 %": 65},
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the position servos."""
    servo: fx.Design = SERVO.design(plant)
    return servo


def shapers(plant: fx.Plant) -> dict[str, fx.Shaper | None]:
    """Return the shapers by what to add to the name of a scenario, for the arm as it should be."""
    arm = plant.with_(SETTINGS).linearise()
    return {"": fx.shaper_for(arm, "zvd", MODES), ", ZV": fx.shaper_for(arm, "zv", MODES), ", unshaped": None}


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return one cycle of both links with each shaper, also with natural frequencies 10 % off."""
    found = []
    for kind, shaper in shapers(plant).items():
        for off, settings in fx.frequency_variations(plant, SETTINGS, SERVO.OFF).items():
            goals = SERVO.goals(plant, settings)
            if shaper is not None:
                goals = {name: fx.shaped(motion, shaper) for name, motion in goals.items()}
            against = "" if shaper is None else f"both links, unshaped{off}"
            name, steps = f"both links{kind}{off}", SERVO.STEPS
            found.append(fx.Scenario(name, goals, SERVO.DURATION, settings, against=against, options=steps))
    return found


if __name__ == "__main__":
    fx.main(__name__)
