"""The circle and the square of the two-link ANCF arm as joint motions, by the rigid arm's inverse kinematics.

Chosen paths (the paper shows its own in figures only): circle about (1.6, 0) of radius 0.3 m in 25 s from (1.9, 0), and
square of side 0.4 m about the same point in 20 s from its corner (1.4, -0.2), both counter-clockwise at constant speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexctl.machine.arm import Arm, Joint, Link, Material, Section

Array = np.ndarray[Any, Any]
L1, L2 = 0.4, 1.6
GAINS = {"circle": ((2240.0, 1312.0), (560.0, 328.0)), "square": ((1152.0, 768.0), (288.0, 192.0))}
SQUARE = np.array([[1.4, -0.2], [1.8, -0.2], [1.8, 0.2], [1.4, 0.2], [1.4, -0.2]])


def material(path: str) -> Material:
    return Material(30e9, 6000.0, 0.25) if path == "circle" else Material(80e9, 3500.0, 0.3)


def section(path: str, side: float = 0.05) -> Section:
    nu = material(path).poisson_ratio
    return Section(side**2, side**4 / 12, 10 * (1 + nu) / (12 + 11 * nu), side / 2)


def paper_arm(path: str, servo: bool = False, angles: Any = None, **tables: Any) -> Arm:
    """The arm of the paper, at rest at the start of the path, its joints free or pulled by the PD."""
    links = tuple(Link(length, material(path), section(path)) for length in (L1, L2))
    joints = []
    for i, angle in enumerate(start(path) if angles is None else angles):
        kp, kd = (gain[i] for gain in GAINS[path])
        pull = {"drive": "servo", "servo_stiffness": kp, "servo_damping": kd} if servo else {}
        joints.append(Joint(angle=float(angle), **pull))
    return Arm(path, links, tuple(joints), **tables)


def inverse(x: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Joint angles, rates and accelerations (2, ..) of the rigid arm, elbow to the left, from those of the tip."""
    c2 = (x[0] ** 2 + x[1] ** 2 - L1**2 - L2**2) / (2 * L1 * L2)
    t2 = np.arccos(c2)
    t1 = np.arctan2(x[1], x[0]) - np.arctan2(L2 * np.sin(t2), L1 + L2 * c2)
    s1, c1, s12, c12 = np.sin(t1), np.cos(t1), np.sin(t1 + t2), np.cos(t1 + t2)
    A, B, C, D = -L1 * s1 - L2 * s12, -L2 * s12, L1 * c1 + L2 * c12, L2 * c12
    det = A * D - B * C

    def solve(p: Array, q: Array) -> Array:
        return np.array([(D * p - B * q) / det, (-C * p + A * q) / det])

    w = solve(v[0], v[1])
    centripetal = L1 * w[0] ** 2, L2 * w.sum(axis=0) ** 2
    acceleration = solve(
        a[0] + centripetal[0] * c1 + centripetal[1] * c12, a[1] + centripetal[0] * s1 + centripetal[1] * s12
    )
    return np.array([t1, t2]), w, acceleration


def circle(t: Array) -> tuple[Array, Array, Array]:
    w = 2 * np.pi / 25
    c, s = 0.3 * np.cos(w * t), 0.3 * np.sin(w * t)
    return np.array([1.6 + c, s]), w * np.array([-s, c]), w * w * np.array([-c, -s])


def square(t: Array) -> tuple[Array, Array, Array]:
    side = np.minimum((t / 5.0).astype(int), 3)
    along = (SQUARE[1:] - SQUARE[:-1])[side] / 5.0
    x = SQUARE[side] + along * (t - 5.0 * side)[..., None]
    return np.moveaxis(x, -1, 0), np.moveaxis(along, -1, 0), np.zeros((2, *t.shape))


PATHS: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {"circle": circle, "square": square}


def start(path: str) -> Array:
    return inverse(*PATHS[path](np.array(0.0)))[0]


@dataclass(frozen=True)
class JointMotion:
    """What one joint is commanded."""

    path: str
    joint: int
    target: float = 0.0

    @property
    def duration(self) -> float:
        return 25.0 if self.path == "circle" else 20.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return () if self.path == "circle" else (5.0, 10.0, 15.0)

    def __call__(self, t: Any) -> tuple[Array, Array, Array]:
        found = inverse(*PATHS[self.path](np.asarray(t, float)))
        return found[0][self.joint], found[1][self.joint], found[2][self.joint]


def motions(path: str) -> dict[str, JointMotion]:
    return {f"joint{i + 1}": JointMotion(path, i) for i in (0, 1)}
