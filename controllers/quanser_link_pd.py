"""PD on the servo angle of the Quanser flexible link: 30 deg, 500 Hz, encoder of 4096 counts.

The voltage is fed forward for the inertia, and for friction and back EMF. What is left of the link's vibration after
the move dies out with the damping that the motor gives it. A step of 30 deg is run too: 3.1 V at once; the tip swings.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "quanser_flexible_link"
SETTINGS = {"damping": {"kind": "modal", "ratio": 0.01}}  # chosen: the laboratory's sheets have no damping of the link
LONG = {"link.1.length": 0.419, "link.1.mass_per_length": 0.15513126491646778, "link.1.clamped_frequency_hz": 3.1}
SAMPLE_TIME = 2e-3  # s
LIMIT = 10.0  # V, of the laboratory
COUNT = 2.0 * np.pi / 4096.0  # rad, encoder
MOVE = fx.quintic(0.0, np.radians(30.0), 0.7)
DURATION = 2.5  # s
REQUIREMENTS = {
    "disk_margin": 1.2,
    "frequency_change": (-0.1, 0.1),
    "peak_over_limit": 1.0,
    "30 deg: chord1_angle.settle_1pct_s": 0.95,
    "30 deg: chord1_angle.settle_0p1pct_s": 1.4,
}


def design(plant: fx.Plant, kp: float = 6.0, kd: float = 0.2) -> fx.Design:
    """Return the law for gains [V/rad], [V s/rad]."""
    linear = plant.with_(overrides=SETTINGS).linearise()
    law = fx.joint_pd(
        linear, kp=kp, kd=kd, filter_time=SAMPLE_TIME, sample_time=SAMPLE_TIME, measure="joint1_angle",
        drive="joint1_voltage", follow="chord1_angle", limit=LIMIT,
    )
    return fx.Design(fx.Delayed(law), linear, {"sample_time": SAMPLE_TIME, "limit": LIMIT})


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move with both links of the laboratory, and the step."""
    return [
        fx.Scenario("30 deg", MOVE, DURATION, overrides=SETTINGS),
        fx.Scenario("30 deg, longer link", MOVE, DURATION, overrides={**SETTINGS, **LONG}),
        fx.Scenario("step of 30 deg", fx.Step(0.0, np.radians(30.0)), DURATION, overrides=SETTINGS),
    ]


if __name__ == "__main__":
    fx.main(__name__)
