"""Loop shaping (Glover and McFarlane) on the 0.96 m arm from hub and tip angle: two modes, 1 kHz.

Designed for 10 g, run with 0, 10 and 20 g. One gain per measurement and a roll-off are all there is to choose; the loop
has no integrator, because nothing loads the arm at rest.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.design.loop_shaping import loop_shaping
from flexctl.judging.scenario import Scenario, main, moves_with_payloads
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"
SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}  # chosen: the paper has no damping
RATED_PAYLOAD = 0.010  # kg; the law does not know the actual payload
GAINS = (5.13, 13.87)  # N m/rad on hub and tip
ROLL_OFF = 5800.0  # rad/s
REQUIREMENTS = {
    "disk_margin": 0.27,  # 0.272 at 0 g
    "mu": 1.05,  # 1.036 is attained at 0 g: 28.8 % at the torque are borne whatever the payload
    "payload_kg": (0.0, 0.020),
    "ripple_at_bits": {16: 0.0014},
    "5 deg: tip_angle.settle_1pct_s": 0.62,
    "60 deg: tip_angle.settle_1pct_s": 1.16,
    "60 deg: tip_angle.settle_0p1pct_s": 1.4,
}


def design(plant: fx.Plant, payload: float = RATED_PAYLOAD, modes: int = 2) -> fx.Design:
    """Return the law for a payload [kg] and a number of flexible modes in the design."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    return loop_shaping(
        linear, modes=modes, sample_time=1e-3, measures=("hub_angle", "tip_angle"), drive="hub_torque",
        follow="tip_angle", gains=GAINS, roll_off=ROLL_OFF, limit=0.3,
    )


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return a small and a large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    moves = {"5 deg": quintic(0.0, np.radians(5.0), 0.4), "60 deg": quintic(0.0, np.radians(60.0), 1.25)}
    return moves_with_payloads(moves, (0.0, 0.01, 0.02), 2.5, SETTINGS, method="march")


if __name__ == "__main__":
    main(__name__)
