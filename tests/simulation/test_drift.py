"""Arms that nothing holds do not drift away with what steps leave behind where they become shorter or longer."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from accuracy_cases import samples
from accuracy_unseen import plant

import flexctl as fx
from flexctl.errors import Caution
from flexctl.motion.signals import PiecewiseConstant, Sine
from flexctl.simulation.given_steps import uncompared

SOFT = """
title = "three soft links"
reference = "made up"
material.alu = { youngs_modulus = 69e9, density = 2700.0 }
section.a = { area = 2e-4, second_moment = 1.03e-9, outer_distance = 3.9e-3 }
section.b = { area = 2.2e-5, second_moment = 1.7e-11, outer_distance = 1.5e-3 }
section.c = { area = 2.2e-4, second_moment = 6.9e-10, outer_distance = 3e-3 }
joint = [{ angle = 0.16 }, { angle = -0.61 }, { angle = -0.64 }]
link = [
    { length = 1.01, material = "alu", section = "a" },
    { length = 0.52, material = "alu", section = "b" },
    { length = 0.89, material = "alu", section = "c" },
]
payload = { mass = 0.034, inertia = 6.7e-5 }
damping = { kind = "rayleigh", beta = 2.7e-3 }
model = { kind = "assumed_modes", modes = 1 }
"""


def pulses(size: float, begin: float, length: float) -> PiecewiseConstant:
    return PiecewiseConstant((begin, begin + length, begin + 2.0 * length), (0.0, size, -size, 0.0))


def test_a_soft_arm_does_not_drift_away_where_steps_become_others(tmp_path: Path) -> None:
    """Its angles were five times further off than claimed, more than in steps of 1 ms throughout."""
    (tmp_path / "soft.toml").write_text(SOFT)
    arm = fx.load_plant(tmp_path / "soft.toml")
    blow = {"joint2_torque": pulses(3.5, 0.0, 0.152), "joint3_torque": pulses(1.06, 0.015, 0.0725)}
    with warnings.catch_warnings(), uncompared():
        warnings.simplefilter("ignore", Caution)
        run = fx.simulate(arm, inputs=blow, duration=0.45)
        exact = fx.simulate(arm, inputs=blow, duration=0.45, step=1e-4, method="sdirk")
    assert run.provenance["shortest_step_s"] < 0.1 * run.provenance["longest_step_s"]
    for name in (f"{part}{i}_angle" for part in ("joint", "chord") for i in (1, 2, 3)):
        off = np.abs(samples(run, name) - samples(exact, name)).max()
        assert off <= run.error[name], name


def test_undamped_arms_do_not_ring_up_where_steps_become_others() -> None:
    """With all modes that a step resolves in what is moved, it took twice the steps, and claimed ten times more."""
    arm = plant("planar_2r_flexible", model__elements=3)()
    torques = {"joint1_torque": Sine(0.2, 7.0), "joint2_torque": Sine(0.05, 11.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Caution)
        run = fx.simulate(arm, inputs=torques, duration=0.6)
    assert run.provenance["rejected"] > 500
    assert run.provenance["steps"] < 50000
