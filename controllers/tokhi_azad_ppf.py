"""Joint PD with strain feedback through a slow filter on the 0.96 m arm: the clamped mode is damped at the root.

A joint PD clamps the arm, and the clamped mode near 2 Hz rings, hardly damped. The curvature at the root, through a
second-order filter at 12 rad/s, damps it: the last 0.1 % of a 60 deg move comes up to twice as fast.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.laws.combine import together
from flexctl.laws.pd import joint_pd
from flexctl.laws.strain import strain_feedback
from flexctl.scenario import Scenario, main, moves_with_payloads
from flexctl.trajectories import quintic

PLANT = "tokhi_azad_1994"
SETTINGS = {
    "model.sections": 40,
    "damping": {"kind": "modal", "ratio": 0.01},  # chosen: the paper has no damping
    "sensor": [{"name": "root_curvature", "kind": "curvature", "position": 0.0}],
}
SAMPLE_TIME = 1e-3  # s


def design(plant: fx.Plant) -> fx.Design:
    """Return the law for a payload of 10 g, which the law does not know in the runs."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": 0.010}).linearise()
    joint = joint_pd(linear, kp=12.6, kd=0.060, filter_time=0.5e-3, sample_time=SAMPLE_TIME)
    root = strain_feedback(
        linear, gain=1.83, frequency=12.0, damping=0.82, sample_time=SAMPLE_TIME, measure="root_curvature"
    )
    law = fx.Delayed(together(joint, root, limit=0.3), 1)
    return fx.Design(law, linear, {"payload": 0.010, "sample_time": SAMPLE_TIME, "limit": 0.3})


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return the large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    moves = {"60 deg": quintic(0.0, np.radians(60.0), 1.25)}
    return moves_with_payloads(moves, (0.0, 0.01, 0.02), 2.5, SETTINGS, method="march")


if __name__ == "__main__":
    main(__name__)
