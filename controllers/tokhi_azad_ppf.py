"""Joint PD with strain feedback through a slow filter on the 0.96 m arm: the clamped mode is damped at the root.

A joint PD clamps the arm, and the clamped mode near 2 Hz rings, hardly damped. The curvature at the root, through a
second-order filter at 12 rad/s, damps it: the last 0.1 % of a 60 deg move comes up to twice as fast.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.design.pd import joint_pd
from flexctl.design.strain import strain_feedback
from flexctl.judging.scenario import Scenario, main, moves_with_payloads
from flexctl.laws.combine import together
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"
SETTINGS = {
    "model.sections": 40,
    "damping": {"kind": "modal", "ratio": 0.01},  # chosen: the paper has no damping
    "sensor": [{"name": "root_curvature", "kind": "curvature", "position": 0.0}],
}
SAMPLE_TIME = 1e-3  # s
LIMIT = 0.3  # N m
REQUIREMENTS = {
    "disk_margin": 0.28,  # 0.290 at 0 g
    "mu": 1.0,
    "payload_kg": (0.0, 0.020),
    "frequency_change": (-0.05, 0.05),
    "tip_angle.settle_1pct_s": 1.17,
    "tip_angle.settle_0p1pct_s": 2.3,
}


def design(
    plant: fx.Plant, kp: float = 12.6, kd: float = 0.060, filter_time: float = 0.54e-3, gain: float = 1.83,
    frequency: float = 12.0, damping: float = 0.82, payload: float = 0.010,
) -> fx.Design:
    """Return the law for a payload [kg], which is not that of the runs.

    Joint gains [N m/rad], [N m s/rad] with the time of the rate filter [s]; gain [N m per 1/m], frequency [rad/s] and
    damping ratio of the strain filter.
    """
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    joint = joint_pd(linear, kp=kp, kd=kd, filter_time=filter_time, sample_time=SAMPLE_TIME)
    root = strain_feedback(
        linear, gain=gain, frequency=frequency, damping=damping, sample_time=SAMPLE_TIME, measure="root_curvature"
    )
    law = fx.Delayed(together(joint, root, limit=LIMIT), 1)
    return fx.Design(law, linear, {"payload": payload, "sample_time": SAMPLE_TIME, "limit": LIMIT})


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return the large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    moves = {"60 deg": quintic(0.0, np.radians(60.0), 1.25)}
    return moves_with_payloads(moves, (0.0, 0.01, 0.02), 2.5, SETTINGS, method="march")


if __name__ == "__main__":
    main(__name__)
