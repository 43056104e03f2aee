"""Proportional position servos of RALF's cylinders, as in its experiments: one cycle of 2 deg at 0.5 Hz.

The gains are those of the fits (4.1) of Lee, Huggins and Book (1988); 5 kHz stands for the analogue controller. A servo
that knows joint angles alone does nothing about the vibration that it leaves: 174 and 33 microstrain in the lower and
the upper link. Amplitude and frequency of the paper's commands are not published; 1 % damping of the arm with its
joints held is chosen.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "ralf"
VALVES = {"joint.1.hydraulic_gain": 0.0, "joint.2.hydraulic_gain": 0.0}  # the loops are closed here
SETTINGS = {**VALVES, "damping.kind": "modal", "damping.ratio": 0.01}
SAMPLE_TIME = 2e-4  # s
AMPLITUDE, FREQUENCY, DURATION = np.radians(2.0), 0.5, 3.3  # rad, Hz, s
OFF = (0.0, -0.1, 0.1)  # parts by which the natural frequencies of a run differ from the arm's
STRAINS = ("strain_lower", "strain_upper")
STEPS = {"method": "sdirk"}  # torques that jump every period: the fourth order takes fewer steps
REQUIREMENTS = {"disk_margin": 0.7, "gain_margin": 3.5, "phase_margin_deg": 50.0, "frequency_change": (-0.1, 0.1)}


def design(plant: fx.Plant) -> fx.Design:
    """Return the two servos, with the gains of the plant file."""
    gains = {f"joint{i}": plant.arm.joints[i - 1].hydraulic_gain for i in (1, 2)}  # 1/s
    law = fx.valve_law({joint: fx.ValveServo(gain) for joint, gain in gains.items()}, SAMPLE_TIME)
    return fx.Design(law, plant.with_(SETTINGS).linearise(), {"sample_time": SAMPLE_TIME}, gains)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return one cycle of both links, also with natural frequencies 10 % off, of the lower and of the upper link."""
    offs = fx.frequency_variations(plant, SETTINGS, OFF)
    runs = [(f"both links{off}", (1, 2), settings) for off, settings in offs.items()]
    runs += [("lower link", (1,), SETTINGS), ("upper link", (2,), SETTINGS)]
    return [
        fx.Scenario(name, goals(plant, settings, joints), DURATION, settings, options=STEPS)
        for name, joints, settings in runs
    ]


def goals(plant: fx.Plant, settings: dict[str, object], moving: tuple[int, ...] = (1, 2)) -> dict[str, fx.Motion]:
    """Return the cycle of the joints that move, and that the strains should come to rest when it is over."""
    angles = (plant.arm.joints[i - 1].angle for i in (1, 2))
    cycles = {f"joint{i}_angle": fx.Swing(x, AMPLITUDE * (i in moving), FREQUENCY) for i, x in enumerate(angles, 1)}
    return {**cycles, **fx.rest_references(plant.with_(settings), STRAINS, 1.0 / FREQUENCY)}


if __name__ == "__main__":
    fx.main(__name__)
