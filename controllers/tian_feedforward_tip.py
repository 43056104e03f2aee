"""Circle of a flexible two-link arm: rigid feedforward and tip integral from an eased start; payload not known.

On the arm of Tian et al. as they have it, undamped, in absolute nodal coordinates, with a continuous law over encoders.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx
from flexctl.laws.tracking import pd_gains, tip_tracking
from flexctl.paths import Circle, ConstantSpeed, Path
from flexctl.scenario import Scenario, main
from flexctl.track import Track
from flexctl.tracked import tracked

PLANT = "tian_ancf_circle"
CIRCLE, TIME = Circle((1.6, 0.0), 0.3), 25.0  # m, chosen; s, as in the paper
EASE = 2.0  # s, in which the tip comes to speed; chosen
GAINS = pd_gains((35.0, 20.5), 8.0)  # kg m^2, rad/s; chosen
INTEGRAL = 2.0  # 1/s; chosen
PAYLOAD = {"payload.mass": 2.0}  # kg, which the law does not know of; chosen
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s; of the sampled run, chosen
STEPS = {"joint1_angle": 2 * np.pi / 2**16, "joint2_angle": 2 * np.pi / 2**16, "tip_x": 1e-5, "tip_y": 1e-5}
OPTIONS = {"method": "trapezoidal", "step": 2e-3}


def track(plant: fx.Plant) -> Track:
    """Return the circle with an eased start."""
    return Track(plant.arm, Path(CIRCLE, ConstantSpeed(CIRCLE.length, TIME, EASE)))


def law(where: Track, integral: float = INTEGRAL, sampled: bool = False) -> fx.Controller:
    """Return the law, continuous, or at 1 kHz with rates by a filter."""
    if not sampled:
        return tip_tracking(where, GAINS, integral=integral, sample_time=0.0)
    return fx.Quantised(tip_tracking(where, GAINS, integral=integral, filter_time=20e-3, limit=100.0), STEPS)


def design(plant: fx.Plant) -> fx.Design:
    """Return the whole law."""
    where = track(plant)
    known = {"kp": GAINS.kp, "kd": GAINS.kd, "integral": INTEGRAL}
    return fx.Design(law(where), where.linear_plant(plant), known)


def scenarios(plant: fx.Plant) -> list[Scenario]:
    where = track(plant)
    pd = law(where, 0.0)
    return [
        tracked("PD", plant, where, pd, False, **OPTIONS),
        tracked("feedforward", plant, where, pd, **OPTIONS),
        tracked("feedforward and tip", plant, where, law(where), own=True, **OPTIONS),
        tracked("feedforward, 2 kg unknown", plant, where, pd, arm=PAYLOAD, **OPTIONS),
        tracked("feedforward and tip, 2 kg unknown", plant, where, law(where), own=True, arm=PAYLOAD, **OPTIONS),
        tracked("1 kHz, 16 bits, tip to 10 um", plant, where, law(where, sampled=True), arm=DAMPING, step=0.5e-3),
    ]


if __name__ == "__main__":
    main(__name__)
