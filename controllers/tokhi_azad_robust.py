"""LQG on the 0.96 m arm, one law certified for payloads of 0 to 20 g and 5 % of error in all frequencies: three modes.

The LQG of tokhi_azad_lqg is tuned for speed at a disk margin of 0.3 over the payloads; it loses its stability at 0 g
when the arm is 4 % stiffer, at 20 g when it is 2.4 % softer, and with 25 g. A third mode in the design, four times the
weight on torque and more on the energy of the modes make it robust: disk margin above 0.55 over all payloads and 0.3 at
+-5 %, mu below 0.56 (more than 50 % at the torque, whatever the payload), stable to 85 g.

What it costs: up to 10 % of time to 1 % on 5 deg (0.45, 0.44, 0.44 s in place of 0.44, 0.40, 0.43 s with 0, 10, 20 g),
5 % to 0.1 %. It is gentler, too: encoders leave half the ripple.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "tokhi_azad_1994"
LQG = fx.load_controller("tokhi_azad_lqg")  # this law is that one with other weights, and one mode more
PD, SETTINGS, RATED_PAYLOAD = LQG.PD, LQG.SETTINGS, LQG.RATED_PAYLOAD
SAMPLE_TIME, LIMIT = LQG.SAMPLE_TIME, LQG.LIMIT  # s, N m
# angles in rad, torque in N m; found by a search for the fastest law with these margins
WEIGHTS = fx.LqgWeights(
    rate=4.7e-5, energy=9.3e-5, integral=0.15, command=2.8e-4, disturbance=0.063, noise=(7.0e-7, 0.4e-7)
)
REQUIREMENTS = {
    "disk_margin": 0.3,  # at 0 g and +5 %; 0.55 with the frequencies as given
    "mu": 0.56,
    "payload_kg": (0.0, 0.020),
    "frequency_change": (-0.05, 0.05),
    "ripple_at_bits": {16: 0.015},
    "5 deg: chord1_angle.settle_1pct_s": 0.5,
    "5 deg: chord1_angle.settle_0p1pct_s": 0.8,
    "60 deg: chord1_angle.settle_1pct_s": 1.15,
    "60 deg: chord1_angle.settle_0p1pct_s": 1.3,
}


def design(plant: fx.Plant, payload: float = RATED_PAYLOAD, modes: int = 3) -> fx.Design:
    """Return the law for a payload [kg] and a number of flexible modes in the design."""
    return LQG.with_weights(plant, WEIGHTS, payload, modes, sample_time=SAMPLE_TIME, limit=LIMIT)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return a small and a large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    return fx.moves_with_payloads(PD.MOVES, PD.PAYLOADS, PD.DURATION, SETTINGS, method="march")


if __name__ == "__main__":
    fx.main(__name__)
