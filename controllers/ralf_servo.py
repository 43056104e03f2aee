"""Proportional position servos of RALF's cylinders, as in its experiments: one cycle of 2 deg at 0.5 Hz.

The gains are those of the fits (4.1) of Lee, Huggins and Book (1988); 5 kHz stands for the analogue controller. A servo
that knows joint angles alone does nothing about the vibration that it leaves. Amplitude and frequency of the paper's
commands are not published; 1 % damping of the arm with its joints held is chosen.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.laws.valve import ValveServo, valve_law
from flexctl.motions import Swing
from flexctl.scenario import Scenario, main

PLANT = "ralf"
VALVES = {"joint.1.hydraulic_gain": 0.0, "joint.2.hydraulic_gain": 0.0}  # the loops are closed here
SETTINGS = {**VALVES, "damping.kind": "modal", "damping.ratio": 0.01}
SAMPLE_TIME = 2e-4  # s
AMPLITUDE, FREQUENCY, DURATION = np.radians(2.0), 0.5, 3.3  # rad, Hz, s


def design(plant: fx.Plant) -> fx.Design:
    """Return the two servos, with the gains of the plant file."""
    gains = {f"joint{i}": plant.arm.joints[i - 1].hydraulic_gain for i in (1, 2)}  # 1/s
    law = valve_law({joint: ValveServo(gain) for joint, gain in gains.items()}, SAMPLE_TIME)
    return fx.Design(law, plant.with_(SETTINGS).linearise(), {"sample_time": SAMPLE_TIME}, gains)


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return one cycle of both links, of the lower and of the upper one."""
    moving = {"both links": (1, 2), "lower link": (1,), "upper link": (2,)}
    return [
        Scenario(name, {f"joint{i}_angle": _swing(plant, i, i in joints) for i in (1, 2)}, DURATION, SETTINGS)
        for name, joints in moving.items()
    ]


def _swing(plant: fx.Plant, number: int, moves: bool) -> Swing:
    return Swing(plant.arm.joints[number - 1].angle, AMPLITUDE * moves, FREQUENCY)


if __name__ == "__main__":
    main(__name__)
