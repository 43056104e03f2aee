"""Default runs of arms and commands on which nothing was fitted, against another method in steps of 5 to 20 us.

Every displacement is within 1 % of its range, every rate within 2 %, and `run.error` covers the error, or the run has
warned and named the output.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from accuracy_cases import samples

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.motion.signals import PiecewiseConstant, Sine

UNITS = {"m": 0.01, "rad": 0.01, "1": 0.01, "rad/s": 0.02, "m/s": 0.02}
SURE = 2e-4  # of the range, to which references agree
THREE = """
title = "three links with gears, flexible joints, weight and a payload"
reference = "made up"
material.alu = { youngs_modulus = 6.9e10, density = 2700.0 }
section.a = { area = 8e-4, second_moment = 6e-8, outer_distance = 0.018 }
section.b = { area = 4e-4, second_moment = 1.2e-8, outer_distance = 0.011 }
link = [
    { length = 0.7, material = "alu", section = "a" }, { length = 0.55, material = "alu", section = "b" },
    { length = 0.3, material = "alu", section = "b" },
]
joint = [
    { hub_inertia = 0.004, rotor_inertia = 0.3, stiffness = 4000.0, damping = 1.5, friction = 0.8, angle = 0.7 },
    { hub_inertia = 0.002, rotor_inertia = 0.08, stiffness = 1500.0, damping = 0.5, angle = -1.1, mass = 0.9 },
    { angle = 0.5, mass = 0.3, friction = 0.05 },
]
payload = { mass = 0.6, inertia = 0.002 }
gravity.y = -9.81
damping = { kind = "rayleigh", beta = 1.5e-4 }
sensor = [{ name = "root", kind = "strain", position = 0.0 }]
model = { kind = "timoshenko_planar", elements = 6 }
"""


class Unseen(NamedTuple):
    """What is run, and how its reference is."""

    make: Callable[[Path], fx.Plant]
    duration: float
    given: dict[str, Any]
    exact: dict[str, Any] = {"step": 1e-5, "method": "sdirk"}  # noqa: RUF012


def plant(name: str, **overrides: Any) -> Callable[[Path], fx.Plant]:
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    return lambda folder: fx.load_plant(name, overrides=given)


def three(folder: Path) -> fx.Plant:
    (folder / "three.toml").write_text(THREE)
    return fx.load_plant(folder / "three.toml")


def pulses(size: float, *times: float) -> PiecewiseConstant:
    """Return pulses of 3 ms, by turns up and down."""
    jumps = [(t, t + 3e-3) for t in times]
    values = [x for i in range(len(times)) for x in (size * (-1) ** i, 0.0)]
    return PiecewiseConstant(tuple(x for pair in jumps for x in pair), (0.0, *values))


SETTLED = {"step": 5e-6, "method": "settled"}
UNSEEN = {
    "planar, posed, pulses": Unseen(
        plant("planar_2r_rigid", joint__1__angle=0.4, joint__2__angle=0.9, payload__mass=1.3, model__elements=6), 0.25,
        {"inputs": {"joint1_torque": pulses(900.0, 0.0107, 0.12), "joint2_torque": Sine(80.0, 7.0, 0.03, 0.2)}},
    ),
    "servo": Unseen(
        plant("planar_2r_servo", joint__2__angle=0.9, model__elements=6), 0.4,
        {"motions": {"joint1": fx.Trapezoid(0.0, 0.4, 0.2, 0.05), "joint2": fx.quintic(0.9, 0.4, 0.25)}},
    ),
    "assumed modes, gripped": Unseen(
        plant(
            "planar_2r_flexible", model__kind="assumed_modes", model__modes=[3, 2], damping__kind="modal",
            damping__ratio=0.02, payload__mass=0.1, payload__inertia=1e-4,
        ), 0.25,
        {"inputs": {"joint1_torque": fx.bang_bang(0.4, 0.08)}, "payload": [(0.13, 0.5, 1e-3)]}, SETTLED,
    ),
    "ANCF, pulses": Unseen(
        plant("tian_ancf_square", damping__kind="rayleigh", damping__beta=2e-4), 0.2,
        {"inputs": {"joint1_torque": pulses(60.0, 0.011, 0.1), "joint2_torque": pulses(12.0, 0.05)}},
    ),
    "own arm": Unseen(
        three, 0.4,
        {"inputs": {"joint1_torque": Sine(60.0, 3.0), "joint2_torque": PiecewiseConstant((0.1, 0.3), (0.0, 15.0, -5.0)),
                    "joint3_torque": Sine(1.5, 11.0, 0.05, 0.4)}}, {"step": 2e-5, "method": "sdirk"},
    ),
    "slide": Unseen(
        plant("spatial_rp", gravity__z=-9.81, damping__kind="rayleigh", damping__beta=2e-4), 0.25,
        {"inputs": {"joint1_torque": PiecewiseConstant((0.05, 0.12), (0.0, 3.0, -2.0)),
                    "joint2_force": PiecewiseConstant((0.05, 0.2), (0.0, 20.0, 0.0))}},
        {"step": 2e-5, "method": "sdirk"},
    ),
    "cylinders, pulses": Unseen(
        plant("ralf"), 0.8,
        {"inputs": {"joint1_command": pulses(0.05, 0.1, 0.4), "joint2_command": Sine(0.02, 3.0, 0.2, 0.7)}},
        {"step": 5e-5, "method": "sdirk"},
    ),
    "segments, flexible joints": Unseen(
        plant("li_zhang_three_link_flexible_joints", model__segments=12), 0.6,
        {"motions": {"joint1": fx.Cycloid(0.0, 0.5, 0.3), "joint2": fx.quintic(0.0, -0.4, 0.25),
                     "joint3": fx.Trapezoid(0.0, 0.9, 0.35, 0.1)}},
        {"step": 2.5e-5, "method": "sdirk"},
    ),
}
SLOW = ("own arm", "slide", "cylinders, pulses", "segments, flexible joints")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in UNSEEN]


@pytest.mark.parametrize("name", NAMES)
def test_a_default_run_that_nobody_has_seen_is_right(name: str, tmp_path: Path) -> None:
    case = UNSEEN[name]
    arm = case.make(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fx.simulate(arm, duration=case.duration, **case.given)
    said = " ".join(str(w.message) for w in caught if issubclass(w.category, AccuracyWarning))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = fx.simulate(arm, duration=case.duration, **case.given, **case.exact)
    ranges = {s.name: float(np.ptp(samples(exact, s.name))) for s in run.outputs if s.unit in UNITS}
    for output, extent in ranges.items():
        if extent <= 1e-7 * max(x for other, x in ranges.items() if run.unit(other) == run.unit(output)):
            continue
        error = float(np.abs(samples(run, output) - samples(exact, output)).max())
        assert error <= UNITS[run.unit(output)] * extent or output in said, output
        assert error <= run.error[output] + SURE * extent or output in said, output
