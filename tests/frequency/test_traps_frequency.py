"""Known traps of python-control and slycot in frequency responses, grids and margins: ours must be right.

What python-control returns is recorded with `record_property` (see it with `pytest -rP` or in a junit file), not
asserted: these tests do not fail when python-control is repaired.
"""

from __future__ import annotations

import warnings

import analytical_frequency as exact
import beams
import control
import numpy as np
import pytest

from flexctl.frequency import frequency_response, loop_gain, margins, transfer
from flexctl.linear import FirstOrder
from flexctl.linear.modes import modes
from flexctl.model import Signal


def theirs(record_property, name, call):
    """Run what python-control does and record its result, or its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = call()
        except Exception as trouble:  # noqa: BLE001 - whatever it is, it is what we report
            value = f"{type(trouble).__name__}: {trouble}"
    record_property(name, str(value))
    return value


@pytest.mark.parametrize("dof", [20, 100, 300])
def test_slycot_response_without_balancing(dof, record_property):
    plant = beams.cantilever(dof, ("force",), ("tip",))
    s = 1j * np.geomspace(3.0, 1e4, 60)
    right = exact.extended_response(plant, s)
    physical = plant.first_order("physical")

    def worst(H):
        return float(np.max(np.abs(np.squeeze(H) - right[0, 0]) / np.abs(right[0, 0])))

    record_property("ours, second order", worst(transfer(plant, s)))
    record_property("ours, first order, the same matrices", worst(transfer(physical, s)))
    theirs(record_property, "python-control", lambda: worst(physical.statespace()(s)))
    assert worst(transfer(plant, s)) < 1e-7
    assert worst(transfer(physical, s)) < 1e-5


@pytest.mark.parametrize("zeta", [1e-3, 1e-4])
def test_default_grids_miss_the_peaks(zeta, record_property):
    plant = beams.hub_beam(10, ("torque",), ("tip",)).with_modal_damping(zeta)
    poles = modes(plant, 10).poles
    peaks = np.abs(transfer(plant, 1j * poles.imag)[0, 0])

    def lost(omega, gain):
        inside = [(omega > 0.95 * w) & (omega < 1.05 * w) for w in poles.imag]
        return [
            float(20 * np.log10(p / gain[at].max())) if at.any() else np.inf
            for p, at in zip(peaks, inside, strict=True)
        ]

    found = frequency_response(plant)
    ours = lost(found.omega, found.magnitude()[0, 0])[:9]
    record_property("ours", ours)

    def default():
        data = control.frequency_response(plant.statespace(), omega_limits=[7, 5000], omega_num=1000)
        return lost(data.omega, np.abs(data.complex).ravel())

    theirs(record_property, "python-control, 1000 points", default)
    assert max(ours) < 0.1


def test_eigenvector_form_of_a_double_integrator(record_property):
    plant = beams.hub_beam(8, ("torque",), ("hub",), ratio=0.01)
    s = 1j * np.geomspace(1e-3, 10.0, 20)
    right = exact.extended_response(plant, s)[0, 0]
    first = plant.first_order("modal")
    values, vectors = np.linalg.eig(first.A)
    with np.errstate(all="ignore"):
        try:
            weights = (first.C @ vectors)[0] * np.linalg.solve(vectors, first.B)[:, 0]
            residues = np.sum(weights[:, None] / (s - values[:, None]), axis=0)
            record_property("pole and residue form", float(np.max(np.abs(residues / right - 1))))
        except np.linalg.LinAlgError as trouble:
            record_property("pole and residue form", str(trouble))
    assert transfer(plant, s)[0, 0] == pytest.approx(right, rel=1e-7)
    assert transfer(first, s)[0, 0] == pytest.approx(right, rel=1e-7)


def lead(gain, zero, pole):
    C, D = np.array([[gain * pole * (1 - pole / zero)]]), np.array([[gain * pole / zero]])
    names = (Signal("x"),), (Signal("hub"),), (Signal("torque"),)
    return FirstOrder(np.array([[-pole]]), np.ones((1, 1)), C, D, *names)


def test_stability_margins_of_a_thirty_mode_beam(record_property):
    plant = beams.hub_beam(30, ("torque",), ("hub",)).with_modal_damping(1e-3).first_order("modal", modes=30)
    compensator = lead(0.5, 5.0, 500.0)
    theirs(
        record_property,
        "control.stability_margins",
        lambda: control.stability_margins(compensator.statespace() * plant.statespace()),
    )
    found = margins(loop_gain(plant, compensator))
    # independent: dense grid, solved in one go per mode
    omega = np.unique(np.concatenate([np.geomspace(0.1, 1e5, 400_000), 1.0 + np.arange(200_000) * 0.01]))
    L = loop(plant, omega) * 0.5 * (1 + 1j * omega / 5.0) / (1 + 1j * omega / 500.0)
    at = np.flatnonzero((np.abs(L[1:]) > 1) != (np.abs(L[:-1]) > 1))
    assert found.gain_crossings.size == at.size
    assert found.phase_margin_deg == pytest.approx(np.degrees(np.abs(np.angle(-L[at]))).min(), rel=1e-2)
    assert found.disk_margin == pytest.approx(np.min(np.abs(2 * (1 + L) / (1 - L))), rel=1e-4)
    assert found.gain_margin == np.inf  # collocated, phase lead: the axis is never crossed


def loop(plant, omega):
    s = 1j * omega
    H = plant.B[1, 0] * plant.C[0, 0] / s**2
    for k in range(2, len(plant.states), 2):
        w, c = plant.A[k, k + 1], -plant.A[k + 1, k + 1]
        H = H + plant.B[k + 1, 0] * plant.C[0, k] * w / (s * s + c * s + w * w)
    return H


def test_margins_of_a_sampled_loop_do_not_depend_on_how_it_is_written(record_property):
    dt = 1e-3
    plant = beams.hub_beam(20, ("torque",), ("hub",)).with_modal_damping(0.005).discrete(dt, modes=20)
    law = FirstOrder(
        np.zeros((1, 1)), np.ones((1, 1)), np.array([[-10.0]]), np.array([[10.29]]),
        (Signal("x"),), (Signal("hub"),), (Signal("torque"),), dt,
    )
    mixed = np.linalg.qr(np.random.default_rng(1).normal(size=plant.A.shape))[0]
    same = FirstOrder(
        mixed.T @ plant.A @ mixed, mixed.T @ plant.B, plant.C @ mixed, plant.D,
        plant.states, plant.inputs, plant.outputs, dt,
    )
    one, two = margins(loop_gain(plant, law)), margins(loop_gain(same, law))
    for system, name in ((plant, "modal"), (same, "mixed")):
        for method in ("best", "frd"):
            theirs(
                record_property,
                f"control.stability_margins, {name}, {method}",
                lambda system=system, method=method: control.stability_margins(
                    law.statespace() * system.statespace(), method=method
                ),
            )
    for name in ("gain_margin", "phase_margin_deg", "delay_margin", "disk_margin"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-5)
    z = np.exp(1j * dt * one.gain_margin_frequency)
    L = transfer(plant, z)[0, 0, 0] * transfer(law, z)[0, 0, 0]
    assert one.gain_margin * L == pytest.approx(-1.0, rel=1e-6)


def test_disk_margin_does_not_depend_on_a_grid(record_property):
    plant = beams.hub_beam(20, ("torque",), ("hub",)).with_modal_damping(0.002).first_order("modal", modes=20)
    compensator = lead(0.02, 30.0, 3000.0)
    L = compensator.statespace() * plant.statespace()
    for points in (100, 1000):
        theirs(
            record_property,
            f"control.disk_margins, {points} points: margin, gain in dB, phase",
            lambda points=points: control.disk_margins(L, np.geomspace(0.1, 1e4, points)),
        )
    found = margins(loop_gain(plant, compensator))
    omega = np.unique(np.concatenate([np.geomspace(0.01, 1e4, 300_000), np.arange(1.0, 3000.0, 0.02)]))
    values = loop(plant, omega) * 0.02 * (1 + 1j * omega / 30.0) / (1 + 1j * omega / 3000.0)
    assert found.disk_margin == pytest.approx(np.min(np.abs(2 * (1 + values) / (1 - values))), rel=1e-5)
    factor = found.disk_gain_margin
    assert factor == pytest.approx((2 + found.disk_margin) / (2 - found.disk_margin))  # a factor, not dB


def test_phase_of_zeros_on_the_axis(record_property):
    plant = beams.hub_beam(8, ("torque",), ("hub",))
    ours = frequency_response(plant).phase_deg()[0, 0]
    omega = frequency_response(plant).omega
    theirs(
        record_property,
        "python-control, unwrapped phase of the undamped beam [deg], least and largest",
        lambda: [
            float(f(np.degrees(np.unwrap(np.angle(np.squeeze(plant.statespace()(1j * omega)))))))
            for f in (np.min, np.max)
        ],
    )
    assert ours.min() > -180.001
    assert ours.max() < 0.001


def test_names_survive_composition(record_property):
    plant, compensator = beams.hub_beam(3, ("torque",), ("hub", "tip")), lead(0.5, 5.0, 500.0)
    theirs(
        record_property,
        "control.feedback",
        lambda: control.feedback(plant.statespace()[0, 0] * compensator.statespace()).output_labels,
    )
    loop = loop_gain(plant, compensator)
    found = frequency_response(loop, [1.0, 2.0])
    assert [s.name for s in found.inputs] == [s.name for s in found.outputs] == ["torque"]
    assert found.to_frd().input_labels == ["torque"]
