"""LQG on the 0.96 m arm from hub and tip angle: two modes, integral action, 1 kHz, one sample of delay.

Designed on the rigid mode and two flexible ones with a payload of 10 g, run on the whole plant with 0, 10 and 20 g.
On a 5 deg move it is several times faster than the joint PD; on 60 deg the torque bounds both, and the difference is
in the last 0.1 %.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "tokhi_azad_1994"
PD = fx.load_controller("tokhi_azad_pd")  # settings and moves of all the laws that are compared on this arm
SETTINGS, RATED_PAYLOAD = PD.SETTINGS, PD.RATED_PAYLOAD  # 1 % damping; 10 g, the actual payload is not known
SAMPLE_TIME = 1e-3  # s
LIMIT = 0.3  # N m
# angles in rad, torque in N m; the tip's noise is taken a quarter of the hub's
WEIGHTS = fx.LqgWeights(
    rate=5.9e-6, energy=3.4e-5, integral=0.18, command=7.9e-5, disturbance=0.21, noise=(1.65e-7, 0.38e-7)
)
REQUIREMENTS = {
    "disk_margin": 0.29,  # 0.295 at 0 g
    "mu": 1.0,
    "payload_kg": (0.0, 0.020),
    "ripple_at_bits": {16: 0.027, 20: 0.0018},
    "5 deg: chord1_angle.settle_1pct_s": 0.5,
    "5 deg: chord1_angle.settle_0p1pct_s": 0.8,
    "60 deg: chord1_angle.settle_1pct_s": 1.15,
    "60 deg: chord1_angle.settle_0p1pct_s": 1.3,
}


def design(plant: fx.Plant, payload: float = RATED_PAYLOAD, modes: int = 2) -> fx.Design:
    """Return the law for a payload [kg] and a number of flexible modes in the design."""
    return with_weights(plant, WEIGHTS, payload, modes, sample_time=SAMPLE_TIME, limit=LIMIT)


def with_weights(
    plant: fx.Plant, weights: fx.LqgWeights, payload: float, modes: int, *, sample_time: float, limit: float
) -> fx.Design:
    """Return an LQG from hub and tip angle to hub torque: this law, and those that differ from it in their weights."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    return fx.lqg(
        linear, weights, modes=modes, sample_time=sample_time, measures=("joint1_angle", "chord1_angle"),
        drive="joint1_torque", follow="chord1_angle", limit=limit,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return a small and a large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    return fx.moves_with_payloads(PD.MOVES, PD.PAYLOADS, PD.DURATION, SETTINGS, method="march")


if __name__ == "__main__":
    fx.main(__name__)
