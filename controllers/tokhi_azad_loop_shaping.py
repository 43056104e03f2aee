"""Loop shaping (Glover and McFarlane) on the 0.96 m arm from hub and tip angle: two modes, 1 kHz.

Designed for 10 g, run with 0, 10 and 20 g. One gain per measurement and a roll-off are all there is to choose; the loop
has no integrator, because nothing loads the arm at rest.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "tokhi_azad_1994"
PD = fx.load_controller("tokhi_azad_pd")  # settings and moves of all the laws that are compared on this arm
SETTINGS, RATED_PAYLOAD = PD.SETTINGS, PD.RATED_PAYLOAD  # 1 % damping; 10 g, the actual payload is not known
GAINS = (5.13, 13.87)  # N m/rad on hub and tip
ROLL_OFF = 5800.0  # rad/s
REQUIREMENTS = {
    "disk_margin": 0.27,  # 0.272 at 0 g
    "mu": 1.05,  # 1.036 is attained at 0 g: 28.8 % at the torque are borne whatever the payload
    "payload_kg": (0.0, 0.020),
    "ripple_at_bits": {16: 0.0014},
    "5 deg: chord1_angle.settle_1pct_s": 0.62,
    "60 deg: chord1_angle.settle_1pct_s": 1.16,
    "60 deg: chord1_angle.settle_0p1pct_s": 1.4,
}


def design(plant: fx.Plant, payload: float = RATED_PAYLOAD, modes: int = 2) -> fx.Design:
    """Return the law for a payload [kg] and a number of flexible modes in the design."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    return fx.loop_shaping(
        linear, modes=modes, sample_time=1e-3, measures=("joint1_angle", "chord1_angle"), drive="joint1_torque",
        follow="chord1_angle", gains=GAINS, roll_off=ROLL_OFF, limit=0.3,
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return a small and a large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    return fx.moves_with_payloads(PD.MOVES, PD.PAYLOADS, PD.DURATION, SETTINGS, method="march")


if __name__ == "__main__":
    fx.main(__name__)
