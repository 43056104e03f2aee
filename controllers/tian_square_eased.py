"""Square of a flexible two-link arm with corners eased for a moment: 110 times less contour error, at less torque.

The paper takes the corners at constant speed, and there no law follows: 8 mm beside the path, whatever is fed forward.
Here the tip stops in every corner, but only for an instant: the speed falls and rises as V (3 z^2 - 2 z^3) within 0.1,
0.25 or 0.5 s, and each side still takes 5 s. With the torques of the rigid arm fed forward the same PD (8 rad/s,
encoders, no damping in the arm) then stays within 0.10, 0.07 or 0.04 mm of the outline. Neither does it alone: easing
without feedforward and feedforward without easing leave the error as it was. A shorter easing takes more torque: 13,
5.4, 2.9 N m at the shoulder; a hard corner asks for 80 N m, Kd times the jump of the rate.

The last runs are sampled: 1 kHz, rates by a filter of 20 ms, an arm with 0.3 ms of damping, for without any no sampled
law is stable. The corner at speed now peaks at 30 N m; easing in 0.1 s leaves 83 times less error at 13 N m with 20
bits in a turn, 50 times at 14 bits, and 12 times at 12 bits, where the elbow peaks above the corner.
Limits: what is left is what the links bend, which encoders do not see (see `tian_feedforward_tip`). The hundreds of N m
of the continuous law after a hard corner are ringing of the integrator; the tip is right.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "tian_ancf_square"
SQUARE, TIME = fx.square((1.6, 0.0), 0.4), 20.0  # m, s; chosen, the paper gives neither
RAMPS = (0.1, 0.25, 0.5)  # s, of the speed at each corner; chosen
SETTLED = 4.0  # s; scores are taken from here on, with all three corners
GAINS = fx.pd_gains((18.0, 12.0), 8.0)  # kg m^2, rad/s
FILTER_TIME, LIMIT = 20e-3, 100.0  # s, N m; a faster filter meets the modes above 300 Hz
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-4}  # s; of the sampled runs, chosen
EASED = {"scheme": fx.generalised_alpha(0.9)}
HARD = {**EASED, "step": 0.5e-3}  # s; no step resolves what a jump of the velocity does to an arm without damping
REQUIREMENTS = {"disk_margin": 1.2, "tip.settled_rms_contour": 11e-6, "tip.settled_max_contour": 0.11e-3,
                "joint1_torque.peak": 14.0, "joint2_torque.peak": 10.0}


def track(plant: fx.Plant, ramp: float) -> fx.Track:
    """Return the square with corners eased over a time [s]; 0: at constant speed."""
    times = fx.eased_sides(SQUARE, TIME, ramp) if ramp else fx.ConstantSpeed(SQUARE.length, TIME)
    return fx.Track(plant, fx.Path(SQUARE, times), settled=SETTLED)


def sampled(where: fx.Track, bits: int) -> fx.Quantised:
    """Return the same law at 1 kHz with encoders of so many steps, 2^bits, in a turn."""
    law = fx.tip_tracking(where, GAINS, filter_time=FILTER_TIME, sample_time=1e-3, limit=LIMIT)
    return fx.Quantised(law, {f"joint{i}_angle": 2.0 * np.pi / 2**bits for i in (1, 2)})


def design(plant: fx.Plant) -> fx.Design:
    """Return the PD over encoders; what it is fed forward is in the references."""
    where = track(plant, RAMPS[0])
    known = {"kp": GAINS.kp, "kd": GAINS.kd, "damping": "none needed: passive"}
    return fx.Design(fx.tip_tracking(where, GAINS, sample_time=0.0), where.linear_plant(plant), known)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the paper's corners, easing and feedforward each alone, both together, and sampled."""
    hard, *eased = (track(plant, ramp) for ramp in (0.0, *RAMPS))
    law = fx.tip_tracking(hard, GAINS, sample_time=0.0)
    alone = [("constant speed", hard, False), ("constant speed, feedforward", hard, True), ("0.1 s", eased[0], False)]
    both = [(f"{ramp:g} s, feedforward", where) for ramp, where in zip(RAMPS, eased, strict=True)]
    real = {"arm": DAMPING, "step": HARD["step"]}
    options = {True: HARD, False: EASED}
    return [
        *(
            fx.tracking_scenario(name, plant, where, law, forward, **options[where is hard])
            for name, where, forward in alone
        ),
        *(fx.tracking_scenario(name, plant, where, law, own=True, **EASED) for name, where in both),
        fx.tracking_scenario("constant speed, 1 kHz", plant, hard, sampled(hard, 20), False, **real),
        *(
            fx.tracking_scenario(
                f"0.1 s, feedforward, 1 kHz, {bits} bits", plant, eased[0], sampled(eased[0], bits), **real
            ) for bits in (12, 14, 20)
        ),
    ]


if __name__ == "__main__":
    fx.main(__name__)
