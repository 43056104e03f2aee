"""The soonest circle and square of a flexible two-link arm within torques of 90 and 45 N m; 1 kHz, 20-bit encoders.

The arm of Tian et al. in absolute nodal coordinates, with 0.3 ms of damping, for without any no sampled law is stable.
The motion along the path is the soonest of the slowly bending arm within the torques, a linear programme with its own
proof (`fx.fastest_track`); it is averaged over two periods of the lowest mode, 0.06 s, and joints and torques lead by
what the links bend. The law is PD on the encoders, as ever. The limits that the plan is given were found by running the
closed loop (`fx.fastest_along`, see `plan`): its runs take up the torques to 1 %.

The circle takes 2.08 s, where nothing that bends slowly takes less than 1.99 s; at constant speed, eased over the best
part of it, the same torques need 2.69 s and the tip is 3.7 mm off, a quintic needs 3.6 s. What the links bend, 4 mm
across the path, is taken away but for 0.24 mm. A square of 0.4 m with corners blended over 50 mm takes 2.13 s, 0.17 mm
off. Limits: all this is right for the arm that is known. With 2 kg more, 7 % of it, the tip is 20 mm off, and the
torques go to 91 and 75 N m.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "tian_ancf_circle"
CIRCLE = fx.Circle((1.6, 0.0), 0.3)  # m; chosen, as in the other scripts of this arm
SQUARE = fx.Rounded([(1.4, -0.2), (1.8, -0.2), (1.8, 0.2), (1.4, 0.2)], 0.05, closed=True)  # m; chosen
LIMITS = {"joint1_torque": 90.0, "joint2_torque": 45.0, "tip.max_contour": 0.5e-3}  # N m, m; chosen
PLANNED = {
    "circle": {"joint1_torque": 88.3, "joint2_torque": 44.26},
    "square": {"joint1_torque": 79.0, "joint2_torque": 43.79},
}  # N m, as `plan` found them
CONSTANT, EASE = 2.69, 0.2  # s, part of it: the best that an eased start and end can do within the torques
GAINS = fx.pd_gains((35.0, 20.5), 8.0)  # kg m^2, rad/s
SAMPLE_TIME, FILTER_TIME = 1e-3, 20e-3  # s
LIMIT = 150.0  # N m, of the motors
ENCODERS = {f"joint{i}_angle": 2.0 * np.pi / 2**20 for i in (1, 2)}  # rad
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s
PAYLOAD = {"payload.mass": 2.0}  # kg, which nothing here knows of
REQUIREMENTS = {"disk_margin": 0.3, "tip.max_contour": 0.5e-3, "joint1_torque.peak": 90.0, "joint2_torque.peak": 45.0}


def arm(plant: fx.Plant) -> fx.Plant:
    """Return the arm with its damping."""
    return plant.with_(DAMPING)


def track(plant: fx.Plant, shape: str = "circle") -> fx.Track:
    """Return the soonest track along the circle or the square."""
    curve = {"circle": CIRCLE, "square": SQUARE}[shape]
    return fx.fastest_track(arm(plant), curve, PLANNED[shape])


def law(where: fx.Track) -> fx.Quantised:
    """Return the PD for a track."""
    sampling = {"sample_time": SAMPLE_TIME, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Quantised(fx.tip_tracking(where, GAINS, **sampling), ENCODERS)


def plan(plant: fx.Plant, shape: str = "circle") -> fx.FastestAlong:
    """Return the soonest track whose runs keep the limits, found anew."""
    curve = {"circle": CIRCLE, "square": SQUARE}[shape]
    return fx.fastest_along(law, arm(plant), curve, LIMITS, progress=True)


def design(plant: fx.Plant) -> fx.Design:
    """Return the PD; what it is fed forward is in the references."""
    where = track(plant)
    known = {"kp": GAINS.kp, "kd": GAINS.kd, "damping": "0.3 ms"}
    return fx.Design(law(where), where.linear_plant(arm(plant)), known)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the circle as planned, also with a payload, at constant speed within the same torques, and the square."""
    circle = track(plant)
    speed = fx.ConstantSpeed(CIRCLE.length, CONSTANT, EASE * CONSTANT, EASE * CONSTANT)
    constant = fx.Track(arm(plant), fx.Path(CIRCLE, speed), settled=0.0)
    runs = {
        "circle": (circle, {"own": True}),
        "circle, 2 kg unknown": (circle, {"arm": {**DAMPING, **PAYLOAD}}),
        "circle at constant speed": (constant, {}),
        "square": (track(plant, "square"), {}),
    }
    return [
        fx.tracking_scenario(name, plant, where, law(where), **{"arm": DAMPING, **how})
        for name, (where, how) in runs.items()
    ]


if __name__ == "__main__":
    fx.main(__name__)
