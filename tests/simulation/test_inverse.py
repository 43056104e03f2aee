"""Inverse dynamics: the rigid part against algebra, the flexible part against its own motion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import DefinitionError, NotAvailable

MOVES = {"joint1": fx.Cycloid(0.0, 0.5, 0.4), "joint2": fx.Cycloid(0.2, -0.6, 0.4)}


def model(elements: int = 4, modulus: float = 70e9, **tables: Any) -> Any:
    arm = fx.load_plant("planar_2r_flexible").arm
    stiff = replace(arm.links[0].material, youngs_modulus=modulus)
    links = tuple(replace(link, material=stiff) for link in arm.links)
    return fx.build(replace(arm, links=links, sensors=(), **tables), "timoshenko_planar", elements=elements)


def test_torques_of_the_flexible_arm_drive_it_along_the_motion() -> None:
    """Forward dynamics of the torques, nothing commanded: the joints come back to the motion."""
    arm = model()
    found = fx.inverse_dynamics(arm, MOVES, duration=0.4, step=5e-4)
    feed = {
        f"{joint}_torque": fx.Sampled(tuple(found.t), tuple(found.flexible[:, j])) for j, joint in enumerate(MOVES)
    }
    start = arm.start({"joint1": (0.0, 0.0), "joint2": (0.2, 0.0)})
    run = fx.simulate(arm, inputs=feed, duration=0.4, step=5e-4, initial=start)
    for joint, move in MOVES.items():
        np.testing.assert_allclose(run[f"{joint}_angle"], move(run.t)[0], rtol=0, atol=2e-5)


def test_a_stiff_arm_needs_the_torques_of_the_rigid_one() -> None:
    """The difference falls with the stiffness, as the deflection does; under gravity from the bent start too."""
    differences = []
    for modulus in (70e9, 280e9, 1120e9):
        found = fx.inverse_dynamics(model(modulus=modulus, gravity=(0.0, -9.81)), MOVES, duration=0.4)
        differences.append(float(np.abs(found.flexible - found.rigid).max()))
    assert differences[0] > 2 * differences[1] > 4 * differences[2] > 0.0
    assert found.rigid[0] == pytest.approx(_weight(0.0, 0.2), rel=1e-12)


def _weight(phi1: float, phi2: float) -> list[float]:
    """Torques [N m] that hold two uniform links of 0.945 kg and 1 m."""
    w = 0.945 * 9.81
    distal = w * math.cos(phi1 + phi2) / 2
    return [1.5 * w * math.cos(phi1) + distal, distal]


def test_joints_driven_by_motion_give_the_same_torques() -> None:
    plants = [
        fx.load_plant("planar_2r_flexible", model={"elements": 3}, joint={i: {"drive": drive} for i in (1, 2)})
        for drive in ("torque", "motion")
    ]
    moves = {joint: fx.Cycloid(0.0, 0.3, 0.2) for joint in MOVES}
    one, other = (fx.inverse_dynamics(plant, moves, duration=0.2) for plant in plants)
    np.testing.assert_allclose(one.flexible, other.flexible, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.rigid, other.rigid, rtol=0, atol=1e-12)
    assert one.joints == ("joint1", "joint2")
    assert "joints ['joint1', 'joint2']" in repr(one)


def test_what_has_no_such_torques_is_refused() -> None:
    with pytest.raises(DefinitionError, match="joint2 has no motion"):
        fx.inverse_dynamics(model(), {"joint1": MOVES["joint1"]}, duration=0.1)
    with pytest.raises(NotAvailable, match="joint1 has a servo"):
        fx.inverse_dynamics(fx.load_plant("planar_2r_servo"), MOVES, duration=0.1)
    with pytest.raises(NotAvailable, match="finite_difference has no rigid arm"):
        fx.inverse_dynamics(fx.load_plant("tokhi_azad_1994"), MOVES, duration=0.1)
