"""Joint PD with strain feedback through a slow filter on the 0.96 m arm: the clamped mode is damped at the root.

A joint PD clamps the arm, and the clamped mode near 2 Hz rings, hardly damped. The curvature at the root, through a
second-order filter at 12 rad/s, damps it: the last 0.1 % of a 60 deg move comes up to twice as fast.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "tokhi_azad_1994"
PD = fx.load_controller("tokhi_azad_pd")  # settings and moves of all the laws that are compared on this arm
SETTINGS = {
    **PD.SETTINGS,
    "sensor": [{"name": "root_curvature", "kind": "curvature", "position": 0.0}],
}
SAMPLE_TIME = 1e-3  # s
LIMIT = 0.3  # N m
REQUIREMENTS = {
    "disk_margin": 0.26,  # 0.266 at 0 g and +5 %; 0.290 at 0 g
    "mu": 1.0,
    "payload_kg": (0.0, 0.020),
    "frequency_change": (-0.05, 0.05),
    "chord1_angle.settle_1pct_s": 1.17,
    "chord1_angle.settle_0p1pct_s": 2.3,
}


def design(
    plant: fx.Plant, kp: float = 12.6, kd: float = 0.060, filter_time: float = 0.54e-3, gain: float = 1.83,
    frequency: float = 12.0, damping: float = 0.82, payload: float = PD.RATED_PAYLOAD,
) -> fx.Design:
    """Return the law for a payload [kg], which is not that of the runs.

    Joint gains [N m/rad], [N m s/rad] with the time of the rate filter [s]; gain [N m per 1/m], frequency [rad/s] and
    damping ratio of the strain filter.
    """
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    joint = fx.joint_pd(linear, kp=kp, kd=kd, filter_time=filter_time, sample_time=SAMPLE_TIME)
    root = fx.strain_feedback(
        linear, gain=gain, frequency=frequency, damping=damping, sample_time=SAMPLE_TIME, measure="root_curvature"
    )
    law = fx.Delayed(fx.together(joint, root, limit=LIMIT), 1)
    return fx.Design(law, linear, {"payload": payload, "sample_time": SAMPLE_TIME, "limit": LIMIT})


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    large = {"60 deg": PD.MOVES["60 deg"]}
    return fx.moves_with_payloads(large, PD.PAYLOADS, PD.DURATION, SETTINGS, method="march")


if __name__ == "__main__":
    fx.main(__name__)
