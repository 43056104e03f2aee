"""Stable inversion of the tip on the 0.96 m arm, with LQG on what is left: the tip follows a smooth path exactly.

The torque that makes the non-minimum-phase tip do a polynomial of degree 9 begins before the tip does (pre-actuation of
20 to 80 ms), and no feedback is needed as long as the arm is as modelled. It assumes the payload. The LQG law acts on
measured minus predicted hub and tip angle, so that it stays still where the prediction is right and brings the tip back
where the payload is another; a stiff joint PD in its place would hold the wrong hub path against the bending.

"known" scenarios invert the arm that is run, "unknown" ones are inverted for 10 g and run with 0 and 20 g. A polynomial
of degree 9 needs 1.6 times the torque of a quintic, hence slower moves than those of the other controllers for the same
0.3 N m; the "fast" ones take up to 0.33 N m. Times count from the start of the pre-actuation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import flexctl as fx

PLANT = "tokhi_azad_1994"
LQG = fx.load_controller("tokhi_azad_lqg")  # acts on the deviations
SETTINGS, RATED_PAYLOAD = LQG.SETTINGS, LQG.RATED_PAYLOAD  # 1 % damping; 10 g
MODES = 6  # of the inverse; each one more leaves a fifth of the error
# angle [deg], time [s], payloads that are run, payload that is inverted [g]; None: the one that is run
MOVES = {
    "5 deg, known": (5.0, 0.40, (0, 10, 20), None),
    "60 deg, known": (60.0, 1.5, (0, 10, 20), None),
    "5 deg, unknown": (5.0, 0.45, (0, 20), 10),
    "60 deg, unknown": (60.0, 1.5, (0, 20), 10),
    "5 deg, fast": (5.0, 0.30, (0,), None),
    "60 deg, fast": (60.0, 1.25, (0,), None),
}
REQUIREMENTS = {
    "disk_margin": 0.29,
    "payload_kg": (0.0, 0.020),
    "joint1_torque.peak": 0.33,
    "5 deg, known: joint1_torque.peak": 0.3,
    "60 deg, known: joint1_torque.peak": 0.3,
    "60 deg, unknown: joint1_torque.peak": 0.3,
    "5 deg, known: chord1_angle.max_error": 1e-6,
    "60 deg, known: chord1_angle.max_error": 2e-6,
    "5 deg, unknown: chord1_angle.settle_1pct_s": 0.65,
    "60 deg, unknown: chord1_angle.settle_1pct_s": 1.4,
}


def design(plant: fx.Plant, payload: float = RATED_PAYLOAD, modes: int = 2) -> fx.Design:
    """Return the law on deviations, for a payload [kg] and a number of flexible modes; its limit is of the feedback."""
    made = LQG.design(plant, payload, modes)
    return replace(made, law=fx.deviation(made))


def inverse(plant: fx.Plant, payload: float, angle: float, time: float, modes: int = MODES) -> fx.Inversion:
    """Return torque and motions of a move [deg, s] with a payload [kg]."""
    linear = plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()
    move = fx.Polynomial(0.0, np.radians(angle), time, degree=9)
    return fx.stable_inversion(
        linear, move, modes=modes, drive="joint1_torque", follow="chord1_angle", measures=("joint1_angle",)
    )


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return moves with known payloads and with payloads that are not known, on the finite-difference march."""
    found = []
    for name, (angle, time, payloads, assumed) in MOVES.items():
        for grams in payloads:
            path = inverse(plant, 1e-3 * (grams if assumed is None else assumed), angle, time)
            found.append(
                fx.Scenario(
                    f"{name}, {grams} g", path.references, 2.5, {**SETTINGS, "payload.mass": 1e-3 * grams},
                    inputs={"joint1_torque": path.torque}, options={"method": "march"},
                )
            )
    return found


if __name__ == "__main__":
    fx.main(__name__)
