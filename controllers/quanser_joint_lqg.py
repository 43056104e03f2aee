"""LQG on the Quanser flexible joint from both encoders: 30 deg in half a second, 500 Hz, below 10 V.

One encoder reads the servo, the other the arm against it. The rigid mode and the one of the springs are all there is.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "quanser_flexible_joint"
MOVE = fx.quintic(0.0, np.radians(30.0), 0.5)
DURATION = 2.5  # s
SAMPLE_TIME, LIMIT = 2e-3, 10.0  # s, V
# angles in rad, voltage in V
WEIGHTS = fx.LqgWeights(rate=1e-4, energy=1e-2, integral=1.0, command=1e-3, disturbance=100.0, noise=(2e-7, 2e-7))
REQUIREMENTS = {
    "disk_margin": 0.8,
    "frequency_change": (-0.1, 0.1),
    "peak_over_limit": 1.0,
    "30 deg: joint1_angle.settle_1pct_s": 0.72,
    "30 deg: joint1_angle.settle_0p1pct_s": 1.35,
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the law for the plant as it is, with or without the short arm; it does not serve both."""
    return fx.lqg(
        plant.linearise(), WEIGHTS, modes=1, sample_time=SAMPLE_TIME, measures=("joint1_motor_angle", "joint1_angle"),
        drive="joint1_voltage", follow="joint1_angle", limit=LIMIT,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move, with the springs as they are and as they may be."""
    changed = fx.frequency_variations(plant, {}, (0.0, -0.1, 0.1))
    return [fx.Scenario(f"30 deg{name}", MOVE, DURATION, overrides=overrides) for name, overrides in changed.items()]


if __name__ == "__main__":
    fx.main(__name__)
