"""Shaped joint commands on the three-link arm with flexible joints: ZVD for two modes, nothing measured.

All joints turn by 30 deg in 0.4 s, the motion of Li and Zhang, and follow their commands exactly; what the move leaves
is in the undamped modes of the arm with its joints held. The shaper is made for the first two of them at the end of the
move, where most of its impulses act, and makes the command 0.26 s longer.

The modes belong to a pose: 4.51 and 26.6 Hz where the move begins, 4.71 and 22.8 Hz where it ends, and the move is
nonlinear. No fixed shaper can then reach what it reaches on a linear plant: three modes, or frequencies in between, end
at the same ratio (about 80). The same shaper, not told, meets frequencies 10 % off and a payload.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "li_zhang_three_link_flexible_joints"
JOINTS = ("joint1", "joint2", "joint3")
MOVE = fx.Cosine(0.0, np.pi / 6, 0.4)  # rad, s; all joints
END = (np.pi / 6,) * 3  # rad
MODES = 2
AFTER = 1.5  # s that are looked at after the end of the command
STEPS = {"method": "sdirk"}  # joints that follow jumps of the acceleration: the fourth order is far more accurate
PAYLOAD = 0.005  # kg; chosen, a tenth of the arm's mass
REQUIREMENTS = {  # m; about 1.3 times what is reached: 46, 28, 44 and 37 mm without the shaper
    "ZVD: tip_x.residual": 1.7e-3, "ZVD: tip_y.residual": 0.75e-3,
}


def design(plant: fx.Plant) -> fx.Design:
    """Return the law: joints that do as they are told, and the linear plant at the end of the move."""
    shaper = shaper_at(plant)
    numbers = {"shaper_length_s": shaper.length, "impulses": float(shaper.times.size)}
    return fx.Design(fx.MotionCommand(JOINTS), linear(plant), {"modes": MODES, "pose": END}, numbers)


def linear(plant: fx.Plant, angles: tuple[float, ...] = END) -> fx.SecondOrder:
    """Return the linear plant with joints held at these angles [rad]."""
    return plant.linearise(fx.OperatingPoint.at_rest(plant.model, plant.model.inner.pose(angles)))


def shaper_at(plant: fx.Plant, kind: str = "zvd", modes: int = MODES, angles: tuple[float, ...] = END) -> fx.Shaper:
    """Return the shaper for the first modes at these angles [rad]."""
    return fx.shaper_for(linear(plant, angles), kind, modes)


def off(plant: fx.Plant, change: float) -> dict[str, float]:
    """Return the overrides that change all natural frequencies by a part: links and joints stiffer by its square."""
    factor = (1.0 + change) ** 2
    modulus = plant.arm.links[0].material.youngs_modulus
    joints = {f"joint.{i}.stiffness": factor * joint.stiffness for i, joint in enumerate(plant.arm.joints, 1)}
    return {"material.aluminium.youngs_modulus": factor * modulus, **joints}


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the move with and without the shaper: the arm as it is, frequencies 10 % off, a payload."""
    arms = {"": {}, ", -10 %": off(plant, -0.1), ", +10 %": off(plant, 0.1), ", 5 g": {"payload.mass": PAYLOAD}}
    moves = {"ZVD": fx.shaped(MOVE, shaper_at(plant)), "unshaped": MOVE}

    def run(name: str, move: fx.Motion, changes: dict[str, float]) -> fx.Scenario:
        wanted = fx.references(plant.with_(changes), dict.fromkeys(JOINTS, move))
        return fx.Scenario(name, wanted, move.duration + AFTER, changes, options=STEPS)

    return [run(f"{kind}{arm}", move, changes) for kind, move in moves.items() for arm, changes in arms.items()]


if __name__ == "__main__":
    fx.main(__name__)
