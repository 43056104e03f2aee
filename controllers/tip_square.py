"""Tip tracking of a square with a flexible two-link arm: what the corners cost, and what stopping in them gains.

The arm of Tian et al. with the material of their second example, in any model. Sides at constant speed make the
velocity jump in the corners, and no law follows a jump; sides from rest to rest with the law of `tip_circle` are
followed to some micrometres. Gains as there, for inertias of 18 and 12 kg m^2.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "tian_2r_beam"
ARM = {"link.1.material": "square", "link.2.material": "square"}  # the lighter and stiffer arm of the paper's square
SQUARE = fx.square((1.6, 0.0), 0.4)  # m; chosen, the paper gives none
TIME = 20.0  # s
INERTIA = (18.0, 12.0)  # kg m^2
SAMPLE_TIME, FILTER_TIME = 1e-3, 20e-3  # s
LIMIT = 100.0  # N m
ENCODERS = {f"joint{i}_angle": 2.0 * np.pi / 2**20 for i in (1, 2)}  # rad
STEPS = {"method": "sdirk", "rtol": 4e-3}  # encoders make the torques jump; the fourth order takes fewer steps
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s; for an arm without any no sampled law is stable
REQUIREMENTS = {"disk_margin": 0.3, "tip.settled_rms_error": 0.01e-3, "joint1_torque.peak": 2.0}  # m, N m


def track(plant: fx.Plant, stops: bool) -> fx.Track:
    """Return the square, at constant speed or with a stop in every corner."""
    times = fx.by_sides(SQUARE, TIME) if stops else fx.ConstantSpeed(SQUARE.length, TIME)
    return fx.Track(plant.with_(ARM), fx.Path(SQUARE, times))


def law(where: fx.Track, *gains: float, integral: float = 0.0) -> fx.Quantised:
    """Return a law with gains at these frequencies [rad/s], the second one from half the time on."""
    sets = fx.gains_by_period(INERTIA, gains, TIME)
    sampling = {"sample_time": SAMPLE_TIME, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Quantised(fx.tip_tracking(where, sets, integral=integral, **sampling), ENCODERS)


def design(plant: fx.Plant) -> fx.Design:
    """Return the whole law, for the square with stops."""
    where = track(plant, stops=True)
    known = {"inertia": INERTIA, "sample_time": SAMPLE_TIME, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Design(law(where, 8.0, integral=2.0), where.linear_plant(plant.with_(settings(plant))), known)


def settings(plant: fx.Plant) -> dict[str, object]:
    """Return the lighter arm, and damping where it has none."""
    return {**ARM, **(DAMPING if plant.arm.damping.kind == "none" else {})}


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the paper's two laws with corners at speed, and three laws with stops, each from rest."""
    fast, stops = track(plant, stops=False), track(plant, stops=True)
    real, whole = {"arm": settings(plant), **STEPS}, law(stops, 8.0, integral=2.0)
    return [
        fx.tracking_scenario("PD", plant, fast, law(fast, 8.0), False, **real),
        fx.tracking_scenario("PD, two sets of gains", plant, fast, law(fast, 4.0, 12.0), False, **real),
        fx.tracking_scenario("stops, PD", plant, stops, law(stops, 8.0), False, **real),
        fx.tracking_scenario("stops, feedforward", plant, stops, law(stops, 8.0), **real),
        fx.tracking_scenario("stops, feedforward and tip", plant, stops, whole, own=True, **real),
    ]


if __name__ == "__main__":
    fx.main(__name__)
