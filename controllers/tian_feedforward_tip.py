"""Circle of a flexible two-link arm to a micrometre: rigid feedforward, tip integral, eased start; payload not known.

The arm of Tian et al. as they have it, undamped, with a continuous law over encoders. PD alone lags by 0.4 mm rms. The
torques of the rigid arm take that away and leave 0.015 mm, what the links bend. The encoders do not see it, the tip
does: its integral, turned into joint angles by the rigid Jacobian, leaves 0.001 mm, a four-hundredth. Feedforward alone
relies on the arm it knows: 2 kg more at the tip, 7 % of the arm, are 0.11 mm, and 0.005 mm with the integral.

The last runs are sampled: 1 kHz, rates by a filter of 20 ms, the tip read to 10 um, an arm with 0.3 ms of damping, for
without any no sampled law is stable. With 20 bits in a turn little changes; with 16 the torques ripple by 3 N m and
0.013 mm is left. Limits: the tip must be measured, and its integral is slow (0.2 s): it does nothing for corners.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "tian_ancf_circle"
CIRCLE, TIME = fx.Circle((1.6, 0.0), 0.3), 25.0  # m, chosen; s, as in the paper
EASE = 2.0  # s, in which the tip comes to speed; chosen
GAINS = fx.pd_gains((35.0, 20.5), 8.0)  # kg m^2, rad/s; chosen
INTEGRAL = 5.0  # 1/s; chosen
PAYLOAD = {"payload.mass": 2.0}  # kg, which the law does not know of; chosen
FILTER_TIME, LIMIT = 20e-3, 100.0  # s, N m; a faster filter meets the modes above 300 Hz
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s; of the sampled runs, chosen
OPTIONS = {"method": "trapezoidal", "step": 2e-3}
REQUIREMENTS = {"disk_margin": 0.7, "tip.settled_rms_error": 0.01e-3, "joint1_torque.peak": 2.0,
                "payload_kg": (0.0, 2.0)}


def track(plant: fx.Plant) -> fx.Track:
    """Return the circle with an eased start."""
    return fx.Track(plant, fx.Path(CIRCLE, fx.ConstantSpeed(CIRCLE.length, TIME, EASE)))


def law(where: fx.Track, integral: float = INTEGRAL) -> fx.Controller:
    """Return the continuous law."""
    return fx.tip_tracking(where, GAINS, integral=integral, sample_time=0.0)


def sampled(where: fx.Track, bits: int) -> fx.Quantised:
    """Return the law at 1 kHz with encoders of so many steps, 2^bits, in a turn, and a tip read to 10 um."""
    steps = {f"joint{i}_angle": 2.0 * np.pi / 2**bits for i in (1, 2)} | {f"tip_{axis}": 1e-5 for axis in "xy"}
    at_times = {"sample_time": 1e-3, "filter_time": FILTER_TIME, "limit": LIMIT}
    return fx.Quantised(fx.tip_tracking(where, GAINS, integral=INTEGRAL, **at_times), steps)


def design(plant: fx.Plant) -> fx.Design:
    """Return the whole law."""
    where = track(plant)
    known = {"kp": GAINS.kp, "kd": GAINS.kd, "integral": INTEGRAL}
    return fx.Design(law(where), where.linear_plant(plant), known)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return PD, feedforward, and tip integral; the last two with a payload they do not know; and sampled."""
    where = track(plant)
    pd, whole, real = law(where, 0.0), law(where), {"arm": DAMPING, "step": 0.5e-3}
    runs = {
        "PD": (pd, {"feedforward": False, **OPTIONS}),
        "feedforward": (pd, OPTIONS),
        "feedforward, 2 kg unknown": (pd, {"arm": PAYLOAD, **OPTIONS}),
        "1 kHz, 16 bits": (sampled(where, 16), real),
        "1 kHz, 20 bits": (sampled(where, 20), real),
        "feedforward and tip, 2 kg unknown": (whole, {"own": True, "arm": PAYLOAD, **OPTIONS}),
        "feedforward and tip": (whole, {"own": True, **OPTIONS}),
    }
    return [fx.tracking_scenario(name, plant, where, used, **how) for name, (used, how) in runs.items()]


if __name__ == "__main__":
    fx.main(__name__)
