"""Windings with inductance in the exact model, against closed forms, finite elements and the page's rigid load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_transfer_matrix import BAR, SENSORS, bent_arm, entry

import flexctl as fx
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.linear import linearise
from flexctl.machine.arm import Arm, Joint
from flexctl.models import build

SLOW = fx.Motor(gear_ratio=70.0, torque_constant=7.68e-3, resistance=2.6, inductance=0.03, rotor_inertia=4.6e-7)
QUICK = replace(SLOW, gear_ratio=50.0, inductance=8e-3, resistance=2.0)


def driven(second: str = "voltage") -> Arm:
    """The arm with everything, two of its motors with windings (or the second on a current)."""
    arm = bent_arm()
    joints = (
        replace(arm.joints[0], drive="voltage", motor=SLOW, friction=0.1),
        replace(arm.joints[1], drive=second, motor=QUICK if second == "voltage" else replace(QUICK, inductance=0.0)),
        arm.joints[2],
    )
    return replace(arm, joints=joints)


def test_a_rigid_link_behind_a_winding() -> None:
    """theta / V = c / ((J + Jm) s^2 + d s + c N Ke s), c = N Kt / (R + L s); a force at the tip works against it."""
    arm = Arm("rigid", (BAR,), (Joint(drive="voltage", motor=SLOW, friction=0.2, hub_inertia=0.03),))
    model = TransferMatrixArm(arm, theory="rigid")
    J = 0.03 + SLOW.inertia + BAR.mass / 3 + 2700.0 * 1e-8
    for s in (0.5j, -80.0 + 20j, 300j):
        c = 70.0 * 7.68e-3 / (2.6 + 0.03 * s)
        stiffness = J * s**2 + 0.2 * s + c * 70.0 * 7.68e-3 * s
        assert entry(model, "joint1_angle", "joint1_voltage", s)[0] == pytest.approx(c / stiffness, rel=1e-11)
        assert entry(model, "joint1_angle", "tip_force_y", s)[0] == pytest.approx(1.0 / stiffness, rel=1e-11)


@pytest.mark.parametrize("second", ["voltage", pytest.param("current", marks=pytest.mark.slow)])
def test_windings_against_finite_elements(second: str) -> None:
    """Extrapolated from 40 and 80 elements (order 4): every input, every output the two have in common."""
    arm = driven(second)
    exact = TransferMatrixArm(arm)
    s = np.array([1j, 3 + 30j, -60 + 5j, 20 + 100j, 20 + 400j])
    H, found = exact.transfer(s), []
    for elements in (40, 80):
        plant = linearise(build(arm, "timoshenko_planar", elements=elements))
        rows = [fx.names(plant.outputs).index(name) for name in fx.names(exact.outputs)]
        assert fx.names(plant.inputs) == fx.names(exact.inputs)
        found.append(plant.transfer(s)[rows])
    best = found[1] + (found[1] - found[0]) / 3
    size = np.abs(H).max(axis=1, keepdims=True) + 1e-300
    assert np.abs(best - H).max(axis=1) / size[:, 0] == pytest.approx(0.0, abs=3e-4)
    assert np.median(np.abs(best - H) / size) < 2e-6


def test_poles_and_zeros_with_windings() -> None:
    """As many as are counted; the slow windings' own among them, and those of the exact modes at the same places."""
    arm = replace(driven(), sensors=SENSORS[:1])
    exact = TransferMatrixArm(arm)
    poles = exact.poles(below=400.0)
    near, off = (np.abs(entry(exact, "joint1_angle", "joint1_voltage", poles * (1 + d))) for d in (1e-9, 1e-3))
    assert (near / off).min() > 1e3
    modal = exact.modal_plant(12).first_order().poles()
    for p in poles:
        assert np.abs(modal / p - 1.0).min() < 1e-4
    upper = modal[(modal.imag >= 0.0) & (np.abs(modal) < 400.0) & (np.abs(modal) > 1e-6)]
    assert poles.size == upper.size
    zeros = exact.zeros("joint1_angle", "joint1_voltage", below=300.0)
    scale = np.abs(entry(exact, "joint1_angle", "joint1_voltage", zeros + 0.5 + 0.5j))
    assert np.all(np.abs(entry(exact, "joint1_angle", "joint1_voltage", zeros)) < 1e-6 * scale)


def test_without_inductance_it_is_a_damper() -> None:
    s = np.array([2j, 5 + 40j, 200j])
    arms = [
        Arm("bar", (BAR,), (Joint(drive="voltage", motor=replace(SLOW, inductance=L)),)) for L in (1e-9, 0.0)
    ]
    small, none = (TransferMatrixArm(arm).transfer(s) for arm in arms)
    assert small == pytest.approx(none, rel=1e-6)
    held = TransferMatrixArm(arms[0], held=True)
    assert "joint1_voltage" not in fx.names(held.inputs)
    assert not held.joint_dampers
