"""Joint PD on the 0.96 m arm: 1 kHz, one sample of computation delay, quasi-static hub reference.

The delay and the small hub inertia limit the rate gain, so the vibration of the clamped-like modes dies out slowly: the
tip reaches 1 % of a 60 deg move in good time, but not 0.1 %, and a 5 deg move rings for seconds.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.laws.pd import joint_pd
from flexctl.scenario import Scenario, main, moves_with_payloads
from flexctl.trajectories import quintic

PLANT = "tokhi_azad_1994"
SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}  # chosen: the paper has no damping
RATED_PAYLOAD = 0.010  # kg; the law does not know the actual payload
SAMPLE_TIME = 1e-3  # s
LIMIT = 0.3  # N m


def design(plant: fx.Plant) -> fx.Design:
    """Return the law, tuned for the 60 deg move at this rate and delay (disk margin about 0.26)."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": RATED_PAYLOAD}).linearise()
    law = joint_pd(linear, kp=6.8, kd=0.034, filter_time=0.16e-3, sample_time=SAMPLE_TIME, limit=LIMIT)
    return fx.Design(fx.Delayed(law), linear, {"payload": RATED_PAYLOAD, "sample_time": SAMPLE_TIME, "limit": LIMIT})


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return a small and a large move with payloads of 0, 10 and 20 g on the finite-difference march."""
    moves = {"5 deg": quintic(0.0, np.radians(5.0), 0.4), "60 deg": quintic(0.0, np.radians(60.0), 1.25)}
    return moves_with_payloads(moves, (0.0, 0.01, 0.02), 2.5, SETTINGS, method="march")


if __name__ == "__main__":
    main(__name__)
