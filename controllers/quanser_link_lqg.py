"""LQG on the Quanser flexible link from servo angle and tip angle: 30 deg in half a second, 500 Hz, below 10 V.

Encoder and strain gauge give the angle of the servo and, with the bending, that of the tip. One flexible mode is in the
design; the motor's friction and back EMF are in it, and are fed forward.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "quanser_flexible_link"
PD = fx.load_controller("quanser_link_pd")
MOVE = fx.quintic(0.0, np.radians(30.0), 0.5)
DURATION = 2.5  # s
SAMPLE_TIME, LIMIT = PD.SAMPLE_TIME, PD.LIMIT  # s, V
# angles in rad, voltage in V
WEIGHTS = fx.LqgWeights(rate=1e-4, energy=1e-2, integral=1.0, command=1e-3, disturbance=100.0, noise=(2e-6, 2e-6))
REQUIREMENTS = {
    "disk_margin": 0.8,
    "frequency_change": (-0.1, 0.1),
    "peak_over_limit": 1.0,
    "30 deg: chord1_angle.settle_1pct_s": 0.65,
    "30 deg: chord1_angle.settle_0p1pct_s": 0.9,
}


def design(plant: fx.Plant, modes: int = 1) -> fx.Design:
    """Return the law with a number of flexible modes in the design."""
    return fx.lqg(
        plant.with_(overrides=PD.SETTINGS).linearise(), WEIGHTS, modes=modes, sample_time=SAMPLE_TIME,
        measures=("joint1_angle", "chord1_angle"), drive="joint1_voltage", follow="chord1_angle", limit=LIMIT,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move with both links of the laboratory."""
    return [
        fx.Scenario("30 deg", MOVE, DURATION, overrides=PD.SETTINGS),
        fx.Scenario("30 deg, longer link", MOVE, DURATION, overrides={**PD.SETTINGS, **PD.LONG}),
    ]


if __name__ == "__main__":
    fx.main(__name__)
