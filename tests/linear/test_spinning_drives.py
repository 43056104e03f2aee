"""Plants about steady rotation of arms with drives in their joints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx

MOTOR = fx.Motor(torque_constant=0.05, back_emf_constant=0.05, resistance=1.0, rotor_inertia=1e-5, gear_ratio=50.0)
HUB = fx.Joint(hub_inertia=0.02)
SPRING = {"stiffness": 200.0, "damping": 0.2}
LUGRE = fx.Friction("lugre", coulomb=0.1, static=0.15, bristle_stiffness=50.0, bristle_damping=0.1)
RATES = [2.0, 0.0]
JOINTS = {
    "voltage": replace(HUB, drive="voltage", motor=MOTOR, friction=0.1),
    "winding": replace(HUB, drive="voltage", motor=replace(MOTOR, inductance=0.01), friction=0.1, **SPRING),
    "current and play": replace(HUB, drive="current", motor=MOTOR, friction=0.1, backlash=1e-3, **SPRING),
    "torque and bristles": replace(HUB, rotor_inertia=0.02, friction=0.1, friction_law=LUGRE, **SPRING),
    "lossy gear": replace(HUB, motor=replace(MOTOR, gear_efficiency=0.8), friction=0.1),
    "led": replace(HUB, drive="motion", rotor_inertia=0.02, **SPRING),
}


def arm(joint: fx.Joint, kind: str = "timoshenko_planar", **mesh: Any) -> Any:
    """Return two links with such joints, the second bent."""
    plain = fx.load_plant("planar_2r_flexible").arm
    return fx.build(replace(plain, joints=(joint, replace(joint, angle=0.7))), kind, **(mesh or {"elements": 3}))


def test_a_motor_adds_its_inertia_and_damping() -> None:
    bare, driven = (fx.spinning_plant(arm(joint), RATES) for joint in (HUB, JOINTS["voltage"]))
    turns = [i for i, s in enumerate(bare.coordinates) if s.name in ("joint1", "joint2")]
    M, D = bare.M.copy(), bare.D.copy()
    B = bare.B[:, :2]
    M, D = M + 0.025 * B @ B.T, D + (0.1 + 50.0**2 * 0.05**2) * B @ B.T
    assert len(turns) == 2
    for found, wanted in ((driven.M, M), (driven.D, D), (driven.K, bare.K), (driven.B[:, :2], 2.5 * B)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("name", JOINTS)
def test_the_plant_is_the_motion_near_the_steady_one(name: str) -> None:
    """It goes on as it is under the inputs that are found, but for joint 1, which turns."""
    model = arm(JOINTS[name])
    point = fx.steady_state(model, RATES)
    pushed = {s.name: fx.PiecewiseConstant((), (float(u),)) for s, u in zip(model.inputs, point.u, strict=True) if u}
    run = fx.simulate(model, inputs=pushed, duration=0.1, step=1e-4, initial=(point.q, point.v))
    assert np.ptp(run["joint1_rate"]) <= 1e-6
    assert np.ptp(run["elbow_strain"]) <= 1e-6 * np.abs(run["elbow_strain"]).max()
    plant = fx.spinning_plant(model, RATES)
    assert plant.provenance["joint_rates"] == RATES
    held = [s.name for s in plant.coordinates if s.name.startswith("joint") and s.unit in ("rad", "A", "1")]
    bare = fx.lock(fx.spinning_plant(arm(HUB), RATES), ["joint1", "joint2"]).modes(2)
    np.testing.assert_allclose(fx.lock(plant, held).modes(2).frequencies_hz, bare.frequencies_hz, rtol=1e-6)


def test_what_a_drive_cannot_keep_is_refused() -> None:
    weak = replace(JOINTS["voltage"], motor=replace(MOTOR, max_voltage=3.0))
    with pytest.raises(fx.NotAvailable, match=r"joint1: its drive does not keep .* limit of current or voltage"):
        fx.spinning_plant(arm(weak), RATES)
    led = replace(HUB, drive="motion")
    with pytest.raises(fx.NotAvailable, match=r"follow a motion .* fx[.]lock"):
        fx.spinning_plant(arm(led), RATES)
