"""Servo joints on the flexible 2R arm: spring and damper at half the structural frequency, critically damped.

The thesis's rule, computed from the model: J and f0 of each joint are those of the arm beyond it, stretched and locked.
The law is continuous, as in the thesis: the links have no hub, on which a sampled rate loop would have to act. It knows
neither the payload nor the acceleration of the command, so that the arm lags while it is accelerated.
"""

from __future__ import annotations

import math

import flexctl as fx
from flexctl.laws.servo import design_servos, servo_law
from flexctl.scenario import Scenario, main
from flexctl.trajectories import Cycloid

PLANT = "planar_2r_flexible"
STRETCHED = (0.0, 0.0)  # rad; where the joints feel the largest inertia
MOVE = Cycloid(0.0, math.pi / 3, 2.5)  # rad, s; both joints, the motion of the thesis
STEP = 5e-3  # s; the arm is integrated together with the law
SETTINGS = {"damping": {"kind": "modal", "ratio": 0.01}}  # chosen: the thesis has none


def design(plant: fx.Plant) -> fx.Design:
    """Return the law of both joints."""
    servos = design_servos(plant.model, STRETCHED)
    gains = {f"{joint}_{key}": getattr(servo, key) for joint, servo in servos.items() for key in ("kp", "kv")}
    return fx.Design(servo_law(servos), plant.with_(SETTINGS).linearise(), {"pose": STRETCHED}, gains)


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return the move of the thesis without payload and with 0.25 and 0.5 kg, which the law does not know."""
    follow = {"joint1_angle": MOVE, "joint2_angle": MOVE}
    return [
        Scenario(f"60 deg, {1e3 * mass:g} g", follow, 5.0, {**SETTINGS, "payload.mass": mass}, options={"step": STEP})
        for mass in (0.0, 0.25, 0.5)
    ]


if __name__ == "__main__":
    main(__name__)
