"""H-infinity on RALF: both strains to small corrections of both cylinder commands, told nothing of the commands.

All 18 states of the arm with its cylinders are in the design, with the hold and a sample of delay at 1 kHz, and the
strains go through high-passes at 20 rad/s, so that the law does not lean against what gravity does to them. It is
designed on the arm without any damping: modes 4 to 6 (104 to 127 Hz) then keep what damping they have. The first mode,
which the move shakes most, gets a damping ratio of 0.37 for a tenth of a degree of correction: 19 times less is left in
the lower link, 4 times less with frequencies 10 % low. With frequencies 10 % off and *no* damping at all the loop is
unstable, slowly, at 115 and 34 Hz; 0.3 % of damping are enough.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")  # the move; here the plant closes the position loops
SETTINGS = {"damping.kind": "modal", "damping.ratio": 0.01}  # chosen
SAMPLE_TIME = 1e-3  # s
DRIVES = ("joint1_command", "joint2_command")
ALONE = "servo alone"
HIGH_PASS = 20.0  # rad/s, chosen
SCALES = fx.HinfScales(rate=50.0, command=1e-3, output=1e-4)  # rad/s, rad, strain
WEIGHTS = fx.VibrationWeights(noise=0.3, command=0.3)
REQUIREMENTS = {
    "disk_margin": 0.6,
    "gain_margin": 2.0,
    "phase_margin_deg": 40.0,
    "frequency_change": (-0.1, 0.1),
    "vibration_ratio": {"both links": 18, "both links, frequencies -10 %": 4, "both links, frequencies +10 %": 20},
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the law for the undamped arm."""
    return fx.vibration_damping(
        plant.linearise(), WEIGHTS, SCALES, measures=SERVO.STRAINS, drives=DRIVES, sample_time=SAMPLE_TIME,
        corner=HIGH_PASS, slack=1.05,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return one cycle of both links with the law and without, also with natural frequencies 10 % off."""
    return [*beside(plant, "both links"), *beside(plant, ALONE, fx.LinearLaw(SAMPLE_TIME, (), DRIVES))]


def beside(plant: fx.Plant, name: str, law: fx.Design | fx.LinearLaw | None = None) -> list[fx.Scenario]:
    """Return the cycle at nominal frequencies and 10 % off, given to the cylinders beside a law."""
    cycle = dict.fromkeys(DRIVES, fx.Sine(SERVO.AMPLITUDE, SERVO.FREQUENCY, 0.0, 1.0 / SERVO.FREQUENCY))
    return [
        fx.Scenario(
            name + off, SERVO.goals(plant, settings), SERVO.DURATION, settings, cycle, law=law, options=SERVO.STEPS,
            against="" if name == ALONE else ALONE + off,
        ) for off, settings in fx.frequency_variations(plant, SETTINGS, SERVO.OFF).items()
    ]


if __name__ == "__main__":
    fx.main(__name__)
