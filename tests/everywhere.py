"""The plants of the catalogue as the designs of test_designs_everywhere see them: coarse meshes, small moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import flexctl as fx
from flexctl.design.recipes import held_frequency
from flexctl.linear.modes import normal_modes

DAMPING = 0.01  # of the lowest free mode, where the plant file has none; higher modes in proportion to their frequency
FREE = {f"joint.{i}.drive": "torque" for i in (1, 2, 3)}
# every kind of model that has joints with torques; the overrides make small meshes
ARMS: dict[str, dict[str, Any]] = {
    "tokhi_azad_1994": {"model.sections": 20},
    "rotating_link": {"model.elements": 4},
    "simo_vu_quoc_1986": {"model.elements": 6},
    "planar_2r_flexible": {"model.elements": 3},
    "spatial_3r": {"model.elements": 2, "gravity.z": 0.0},
    "spatial_rp": {"model.elements": 2},
    "li_zhang_single_link": {"model.segments": 8},
    "li_zhang_three_link": {**FREE, "model.segments": 5},
    "tian_ancf_circle": {"model.elements": 3},
    "tian_2r_beam": {"model.elements": 3},
}


@dataclass(frozen=True, eq=False)
class Bench:
    """An arm, its linear plant, the words of its joints and the frequency [rad/s] with its joints held."""

    arm: fx.Plant
    linear: fx.SecondOrder
    torques: tuple[str, ...]
    angles: tuple[str, ...]
    held: float

    @property
    def tip(self) -> str:
        return "chord1_angle" if "chord1_angle" in {s.name for s in self.linear.outputs} else "tip_y"

    def move(self, size: float, duration: float) -> dict[str, fx.Polynomial]:
        """Return a move of all joints from where they are in the reference pose."""
        model = self.arm.model
        q = model.reference()
        zero = 0.0 * q
        begin = dict(zip((s.name for s in model.outputs), model.output(q, zero, zero, np.zeros(len(model.inputs))),
                         strict=True))
        return {name: fx.quintic(float(begin[name]), float(begin[name]) + size, duration) for name in self.angles}


def damped(arm: fx.Plant) -> fx.Plant:
    if arm.arm.damping.kind != "none":
        return arm
    linear = arm.linearise()
    normal = normal_modes(linear.M, linear.K)
    beta = 2.0 * DAMPING / float(normal.omega[normal.rigid])
    return arm.with_(overrides={"damping.kind": "rayleigh", "damping.beta": beta})


@cache
def bench(name: str) -> Bench:
    arm = damped(fx.load_plant(name, overrides=ARMS[name]))
    linear = arm.linearise()
    outputs = [s.name for s in linear.outputs]
    torques = tuple(s.name for s in linear.inputs if s.name.startswith(("joint", "hub")))
    joints = [name.split("_")[0] for name in torques]
    angles = tuple(f"{j}_angle" if f"{j}_angle" in outputs else f"{j}_extension" for j in joints)
    return Bench(arm, linear, torques, angles, held_frequency(linear, angles))


def from_start(run: fx.Response, name: str) -> np.ndarray:
    return run[name] - run[name][0]
