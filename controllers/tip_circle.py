"""Tip tracking of a circle with a flexible two-link arm: PD, rigid feedforward, tip integral; 1 kHz, 20-bit encoders.

The arm of Tian et al. in any model. The paper's law, PD on the joints with one or two sets of gains, lags by
millimetres; the torques of the rigid arm take the lag away, the integral of the tip's error what the links bend. The
paper gives no gains: these are critically damped at 8 rad/s on the arm's inertia where it is largest.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "tian_2r_beam"
CIRCLE = fx.Circle((1.6, 0.0), 0.3)  # m; chosen, the paper gives none
TIME = 25.0  # s, as in the paper
INERTIA = (35.0, 20.5)  # kg m^2, about the joints at the begin of the circle
SAMPLE_TIME, FILTER_TIME = 1e-3, 20e-3  # s; a faster filter meets the modes above 300 Hz
LIMIT = 100.0  # N m
ENCODERS = {f"joint{i}_angle": 2.0 * np.pi / 2**20 for i in (1, 2)}  # rad
STEPS = {"method": "sdirk", "rtol": 4e-3}  # encoders make the torques jump; the fourth order takes fewer steps
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s; for an arm without any no sampled law is stable
REQUIREMENTS = {"disk_margin": 0.3, "tip.settled_rms_error": 0.01e-3, "joint1_torque.peak": 2.0}  # m, N m


def track(plant: fx.Plant, ease: float = 0.0) -> fx.Track:
    """Return the circle, started at full speed or eased in."""
    return fx.Track(plant, fx.Path(CIRCLE, fx.ConstantSpeed(CIRCLE.length, TIME, ease)))


def law(where: fx.Track, *gains: float, integral: float = 0.0) -> fx.Quantised:
    """Return a law with gains at these frequencies [rad/s], the second one from half the time on."""
    sets = fx.gains_by_period(INERTIA, gains, TIME)
    sampling = {"sample_time": SAMPLE_TIME, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Quantised(fx.tip_tracking(where, sets, integral=integral, **sampling), ENCODERS)


def design(plant: fx.Plant) -> fx.Design:
    """Return the whole law, for the eased start."""
    where = track(plant, ease=2.0)
    known = {"inertia": INERTIA, "sample_time": SAMPLE_TIME, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Design(law(where, 8.0, integral=2.0), where.linear_plant(plant.with_(damping(plant))), known)


def damping(plant: fx.Plant) -> dict[str, object]:
    """Return the damping that an arm without any is given."""
    return DAMPING if plant.arm.damping.kind == "none" else {}


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the paper's two laws, feedforward alone, and the whole law, each from rest."""
    hard, eased = track(plant), track(plant, ease=2.0)
    real, whole = {"arm": damping(plant), **STEPS}, law(eased, 8.0, integral=2.0)
    return [
        fx.tracking_scenario("PD", plant, hard, law(hard, 8.0), False, **real),
        fx.tracking_scenario("PD, two sets of gains", plant, hard, law(hard, 4.0, 12.0), False, **real),
        fx.tracking_scenario("feedforward", plant, eased, law(eased, 8.0), **real),
        fx.tracking_scenario("feedforward and tip", plant, eased, whole, own=True, **real),
    ]


if __name__ == "__main__":
    fx.main(__name__)
