"""LQG from joint angles and strains to the valves of RALF's cylinders, which keeps no offset of a valve.

All states of the arm with its cylinders are in the design, and beside them what each valve lets through when it is
closed and what gravity does to each strain: one unknown constant for every sensor, so that the angles come to their
commands whatever these are: an offset of 0.17 rad/s is gone (0.1 % of the move) in 0.7 s or less, where the servos of
ralf_servo keep 2 mrad for good. Knowing what the valves will do, the law also leaves less vibration than the servos: 20
and 7 times less in the two links, 1.6 times with frequencies 10 % low. A force at the tip does not move a cylinder.
With no structural damping at all the loop is unstable.
"""

from __future__ import annotations

from dataclasses import replace

import flexctl as fx

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")  # the move, and what it is compared with
ANGLES, VALVES = ("joint1_angle", "joint2_angle"), ("joint1_valve", "joint2_valve")
SAMPLE_TIME, LIMIT = 1e-3, 1.0  # s, rad/s
# angles in rad, valves in rad/s; chosen: the ratio of penalty and command sets a crossover of 5 Hz
WEIGHTS = fx.ServoWeights(
    penalty={**dict.fromkeys(ANGLES, 1.0), **dict.fromkeys(SERVO.STRAINS, 300.0)}, command=1e-3, disturbance=1e-5,
    noise=(1e-9, 1e-9, 1e-10, 1e-10), load=1e-8, bias=1e-13,
)
ALONE = "servo alone"
REQUIREMENTS = {
    "disk_margin": 0.7, "gain_margin": 2.5, "phase_margin_deg": 40.0, "frequency_change": (-0.1, 0.1),
    "decay_rate": 1.5, "load_recovery_s": 1.0,
    "vibration_ratio": {"both links": 6.0, "both links, frequencies -10 %": 1.5, "both links, frequencies +10 %": 1.9},
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the law."""
    return fx.lqg_servo(
        plant.with_(SERVO.SETTINGS).linearise(), WEIGHTS, measures=(*ANGLES, *SERVO.STRAINS), drives=VALVES,
        follow=ANGLES, sample_time=SAMPLE_TIME, limit=LIMIT,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return one cycle of both links, also with natural frequencies 10 % off, and the same with the servos alone."""
    servo, found = SERVO.design(plant), []
    for off, settings in fx.frequency_variations(plant, SERVO.SETTINGS, SERVO.OFF).items():
        goals = SERVO.goals(plant, settings)
        run = fx.Scenario(f"both links{off}", goals, SERVO.DURATION, settings, options=SERVO.STEPS)
        found += [replace(run, against=ALONE + off), replace(run, name=ALONE + off, law=servo)]
    return found


if __name__ == "__main__":
    fx.main(__name__)
