"""The linear plant of an arm that spins is its motion near the steady one: the nonlinear arm, spinning and tapped.

The elbow at 0.7 rad is tapped by a half sine; the run is turned back by the angle of the spin and compared with the
linear plant of the turning frames, integrated by another package. What is left is the size of the tap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.signal

import flexctl as fx
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Section
from flexctl.model import names
from flexctl.models import build

SPIN, ELBOW, TAP, STEP = 8.0, 0.7, 0.02, 1e-4  # rad/s, rad, N m, s
VECTORS = ("tip", "tip_acceleration", "tip_error")
TURNING = ("joint1_angle", "chord1_angle")
SIGNAL = fx.Sine(TAP, 5.0, 0.0, 0.1)


@dataclass(frozen=True)
class Shifted:
    """A signal on top of the torque that holds the elbow."""

    level: float
    breakpoints: tuple[float, ...] = SIGNAL.breakpoints

    def __call__(self, t: Any, before: bool = False) -> Any:
        return self.level + SIGNAL(t, before)


@cache
def model(kind: str) -> Any:
    bar = Link(1.0, Material(70e9, 2700.0), Section(350e-6, 1e-8, 0.8864, 0.0106))
    damping = Damping("rayleigh", alpha=0.0, beta=1e-3)
    return build(Arm("2r", (bar, bar), (Joint(), Joint()), damping=damping), kind, elements=2)


@cache
def motion(kind: str) -> tuple[fx.Response, dict[str, Any]]:
    """Return the run of the nonlinear arm, and its outputs less those of the steady state, in the turning frame."""
    arm = model(kind)
    point = fx.steady_state(arm, (SPIN, 0.0), (0.0, ELBOW))
    held = {name: fx.PiecewiseConstant((), (float(u),)) for name, u in zip(names(arm.inputs), point.u, strict=True)}
    tapped = {**held, "joint2_torque": Shifted(float(point.u[1]))}
    solved = fx.generalised_alpha(tolerance=1e-12)  # accelerations show what Newton leaves, over h^2
    run = fx.simulate(arm, inputs=tapped, duration=0.3, step=STEP, initial=(point.q, point.v), scheme=solved)
    found = {name: run[name] for name in names(run.outputs)}
    c, s = np.cos(SPIN * run.t), np.sin(SPIN * run.t)
    for name in VECTORS:
        x, y = found[f"{name}_x"], found[f"{name}_y"]
        found[f"{name}_x"], found[f"{name}_y"] = c * x + s * y, c * y - s * x
    steady = dict(zip(found, arm.output(point.q, point.v, point.a, point.u), strict=True))
    return run, {n: x - steady[n] - (SPIN * run.t if n in TURNING else 0.0) for n, x in found.items()}


def deviation(kind: str, change: Callable[[fx.SecondOrder, Any], fx.SecondOrder]) -> dict[str, float]:
    """Return by how much the linear plant, changed, is off, in parts of the range of each output."""
    run, moved = motion(kind)
    plant = fx.spinning_plant(model(kind), (SPIN, 0.0), (0.0, ELBOW))
    first = change(plant, model(kind).turning((SPIN, 0.0), (0.0, ELBOW))).first_order("physical")
    j = names(plant.inputs).index("joint2_torque")
    _, y, _ = scipy.signal.lsim((first.A, first.B[:, [j]], first.C, first.D[:, [j]]), SIGNAL(run.t), run.t)
    columns = dict(zip(names(plant.outputs), y.T, strict=True))
    return {name: float(np.abs(moved[name] - x).max() / np.ptp(x)) for name, x in columns.items()}


@pytest.mark.parametrize("kind", ["timoshenko_planar", "ancf"])
def test_spinning_plant_is_the_motion_near_the_steady_one(kind: str) -> None:
    off = deviation(kind, lambda plant, W: plant)
    assert {"joint2_angle", "tip_x", "tip_acceleration_y", "link2_deflection"} <= off.keys()
    assert max(off.values()) < 1e-3, off


@pytest.mark.parametrize(
    ("change", "where", "least"),
    [
        (lambda p, W: replace(p, D=p.D - p.M @ W), "joint1_angle", 0.1),  # M W in place of 2 M W
        (lambda p, W: replace(p, D=p.D - 2.0 * p.M @ W), "joint1_angle", 0.2),
        (lambda p, W: replace(p, K=p.K - p.M @ W @ W), "joint1_angle", 0.2),
        (lambda p, W: replace(p, K=p.K - (p.D - 2.0 * p.M @ W) @ W), "tip_error_x", 0.003),
        (lambda p, W: replace(p, Cv=p.Cv - 2.0 * p.Ca @ W), "tip_acceleration_y", 0.1),
        (lambda p, W: replace(p, Cq=p.Cq - p.Ca @ W @ W), "tip_acceleration_y", 0.02),
    ],
)
def test_no_term_of_it_can_be_left_out(change: Any, where: str, least: float) -> None:
    """That the comparison sees each of them."""
    assert deviation("timoshenko_planar", change)[where] > least


def test_a_stretched_arm_turns_as_fast() -> None:
    """Rates of chords do not change when all is stretched: Cq of the inertial frame and Cv W cancel."""
    arm = model("timoshenko_planar")
    plant = fx.spinning_plant(arm, (SPIN, 0.0), (0.0, ELBOW))
    assert plant.operating_point is not None
    stretch = np.zeros(len(plant.coordinates))
    nodes = arm.mesh.node[1:, :2]
    stretch[nodes] = plant.operating_point.q[nodes]
    W, i = arm.turning((SPIN, 0.0)), names(plant.outputs).index("chord1_rate")
    assert plant.Cq[i] @ stretch == pytest.approx(0.0, abs=1e-9)
    own = plant.Cv[i] - 2.0 * plant.Ca[i] @ W
    assert own @ W @ stretch == pytest.approx(SPIN, rel=1e-3)
