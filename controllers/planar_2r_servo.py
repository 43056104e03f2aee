"""Servo joints on the flexible 2R arm: spring and damper at half the structural frequency, critically damped.

The thesis's rule, computed from the model: J and f0 of each joint are those of the arm beyond it, stretched and locked.
It is the best damped choice and leaves four times the tip error of rigid joints. A servo at f0 leaves half of that and
an eighth of the vibration; at 2 f0 and 4 f0 the joints hold the arm so firmly that it rings on. What takes the lag
away is feedforward of the rigid arm's torques: then the softest servo is as accurate as rigid joints.

The law is continuous, as in the thesis: the links have no hub, on which a sampled rate loop would have to act. It does
not know the payload.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "planar_2r_flexible"
STRETCHED = (0.0, 0.0)  # rad; where the joints feel the largest inertia
MOVE = fx.Cycloid(0.0, np.pi / 3, 2.5)  # rad, s; both joints, the motion of the thesis
SETTINGS = {"damping": {"kind": "rayleigh", "beta": 8e-5}}  # s; chosen: 0.1 % at f0, where the thesis has none
PAYLOADS = (0.0, 0.25, 0.5)  # kg
OTHERS = {"f0": (1.0, 1.0), "f0, zeta 0.7": (1.0, 0.7), "2 f0": (2.0, 1.0), "4 f0": (4.0, 1.0)}  # ratio, zeta
REQUIREMENTS = {"disk_margin": 1.0, "damping": 0.04, "payload_kg": (0.0, 0.5), "joint1_angle.overshoot_pct": 1.0}


def design(plant: fx.Plant, ratio: float = 0.5, zeta: float = 1.0, feedforward: bool = False) -> fx.Design:
    """Return the law of both joints: the servo's frequency over f0, its damping ratio; the thesis's by default."""
    servos = fx.design_servos(plant.model, STRETCHED, ratio=ratio, zeta=zeta)
    gains = {f"{joint}_{key}": getattr(servo, key) for joint, servo in servos.items() for key in ("kp", "kv")}
    law = fx.servo_law(servos)
    assumed = {"pose": STRETCHED, "ratio": ratio, "zeta": zeta, "feedforward": feedforward}
    return fx.Design(fx.fed_forward(law) if feedforward else law, plant.with_(SETTINGS).linearise(), assumed, gains)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the thesis's move with payloads that the law does not know, stiffer servos, and both with feedforward."""

    def run(name: str, mass: float = 0.0, law: fx.Design | None = None) -> fx.Scenario:
        changes = {**SETTINGS, "payload.mass": mass}
        wanted = fx.references(plant.with_(changes), {"joint1": MOVE, "joint2": MOVE}, law, known=plant)
        return fx.Scenario(name, wanted, 5.0, changes, law=law)

    return [
        *(run(f"f0/2, {1e3 * mass:g} g", mass) for mass in PAYLOADS),
        *(run(name, law=design(plant, *values)) for name, values in OTHERS.items()),
        run("f0/2, feedforward", law=design(plant, feedforward=True)),
        run("f0, feedforward", law=design(plant, 1.0, feedforward=True)),
    ]


if __name__ == "__main__":
    fx.main(__name__)
