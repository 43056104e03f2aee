"""Splitting and reduction: the parts add up, the bound holds, the rigid part is untouched."""

from __future__ import annotations

from dataclasses import replace

import beams
import numpy as np
import pytest
import scipy.linalg as sla

from flexctl.errors import DefinitionError
from flexctl.linear import FirstOrder
from flexctl.linear.discrete import zero_order_hold
from flexctl.linear.matrices import from_matrices
from flexctl.linear.realise import first_order
from flexctl.linear.reduce import balanced_truncation, modal_bounds, modal_truncation, split_rigid
from flexctl.model import names


def response(plant: FirstOrder, s: np.ndarray) -> np.ndarray:
    I = np.eye(plant.A.shape[0])
    return np.array([plant.C @ np.linalg.solve(x * I - plant.A, plant.B) + plant.D for x in s])


def largest(G: np.ndarray) -> np.ndarray:
    """Largest singular value at each frequency."""
    return np.linalg.norm(G, 2, axis=(1, 2))


def peaks(plant: FirstOrder, below: float) -> np.ndarray:
    """Frequencies that resolve every resonance below a limit."""
    poles = plant.poles()
    poles = poles[(poles.imag > 0) & (np.abs(poles) < below)]
    fan = np.array([0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0])
    near = [p.imag + sign * fan * abs(p.real) for p in poles for sign in (1, -1)]
    return np.sort(np.concatenate([*near, np.geomspace(0.3, below, 60)]))


def with_friction(plant):
    D = plant.D.copy()
    D[0, 0] += 0.02
    return replace(plant, D=D)


@pytest.mark.parametrize("case", ["modal", "friction", "energy", "physical", "sampled", "Zener"])
def test_rigid_and_flexible_part_add_up_to_the_plant(case):
    plant = beams.hub_beam(5, ratio=0.02)
    if case == "Zener":  # massless damper: balanced form with exact integrators
        K = np.array([[90.0, -40, -50], [-40, 40, 0], [-50, 0, 50]])
        D = np.array([[0.0, 0, 0], [0, 0.5, -0.5], [0, -0.5, 0.5]])
        whole = first_order(from_matrices(np.diag([2.0, 3.0, 0.0]), D, K, np.array([1.0, 0, 0]), np.eye(3)))
    elif case == "sampled":
        whole = zero_order_hold(first_order(plant), 1e-3)
    else:
        whole = first_order(
            with_friction(plant) if case == "friction" else plant, case if case in ("energy", "physical") else "modal"
        )
    split = split_rigid(whole)
    assert len(split.rigid.states) == (1 if case == "friction" else 2)  # friction stops the drift, not the turn
    assert len(split.rigid.states) + len(split.flexible.states) == len(whole.states)
    s = 1j * np.geomspace(1.0, 400.0, 30)
    s = np.exp(s * 1e-3) if case == "sampled" else s
    total = response(whole, s)
    # a pair at zero computed from physical or energy coordinates is known to the root of rounding only
    tolerance = 1e-10 if case in ("modal", "friction", "Zener") else 1e-5
    assert (largest(response(split.rigid, s) + response(split.flexible, s) - total) / largest(total)).max() < tolerance
    assert (largest(response(split.join(), s) - total) / largest(total)).max() < tolerance


def test_split_of_the_modal_form_moves_no_number():
    whole = first_order(beams.hub_beam(20, ratio=0.01))
    split = split_rigid(whole)
    assert split.rigid.A.tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert names(split.rigid.states) == ["rigid1", "rigid1_rate"]
    joined = split.join()
    for name in ("A", "B", "C", "D"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
    assert joined.states == whole.states


def test_hub_friction_leaves_one_integrator_and_a_slow_pole():
    split = split_rigid(first_order(with_friction(beams.hub_beam(8))))
    assert np.sum(np.abs(split.rigid.poles()) < 1e-12) == len(split.rigid.states) == 1


def test_a_clamped_beam_has_no_rigid_part():
    split = split_rigid(first_order(beams.cantilever(20)))
    assert len(split.rigid.states) == 0
    assert len(split.flexible.states) == 40


def test_400_flexible_states_are_reduced_within_one_millionth():
    plant = beams.hub_beam(100, ("torque", "force")).with_modal_damping(0.005)
    omega = 2 * np.pi * plant.modes(10).frequencies_hz
    whole = first_order(plant)
    reduced = balanced_truncation(plant, order=2 + 24)
    assert len(whole.states) == 402
    assert names(reduced.plant.states)[:3] == ["rigid1", "rigid1_rate", "balanced1"]
    flexible = split_rigid(whole).flexible
    s = 1j * peaks(whole, omega[9] * 1.1)
    error = largest(response(reduced.plant, s) - response(whole, s)).max()
    assert error < 1e-6 * largest(response(flexible, s)).max()  # the rigid part is not allowed to hide it
    assert error <= reduced.error_bound
    assert np.array_equal(reduced.plant.A[:2, :2], [[0.0, 1.0], [0.0, 0.0]])
    assert (names(reduced.plant.inputs), names(reduced.plant.outputs)) == (["torque", "force"], ["hub", "tip"])


@pytest.mark.parametrize("order", [2, 4, 6, 9, 14])
def test_the_error_bound_holds_at_every_order(order):
    whole = first_order(beams.hub_beam(10, ("torque", "force"), ratio=0.01))
    reduced = balanced_truncation(whole, order=order)
    assert len(reduced.plant.states) == order
    s = 1j * peaks(whole, 1e5)
    error = largest(response(reduced.plant, s) - response(whole, s)).max()
    assert error <= reduced.error_bound * (1 + 1e-9)
    # and is not a phantasy: the largest value left out is a lower bound
    assert error >= reduced.hankel[order - 2] * 0.9


def test_hankel_values_are_those_of_the_gramians():
    plant = first_order(beams.cantilever(8, ("force",), ("tip",), ratio=0.02))
    P = sla.solve_continuous_lyapunov(plant.A, -plant.B @ plant.B.T)
    Q = sla.solve_continuous_lyapunov(plant.A.T, -plant.C.T @ plant.C)
    expected = np.sort(np.sqrt(np.abs(sla.eigvals(P @ Q))))[::-1]
    assert balanced_truncation(plant, order=2).hankel[:6] == pytest.approx(expected[:6], rel=1e-6)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_tolerance_picks_the_fewest_states(tolerance):
    whole = first_order(beams.hub_beam(12, ratio=0.01))
    reduced = balanced_truncation(whole, tolerance=tolerance)
    kept = len(reduced.plant.states) - 2
    assert reduced.error_bound <= tolerance * reduced.hankel[0] < 2 * reduced.hankel[kept - 1 :].sum()
    same = balanced_truncation(whole, order=kept + 2)
    s = 1j * np.geomspace(1.0, 2000.0, 50)
    assert largest(response(reduced.plant, s) - response(same.plant, s)).max() < 1e-9 * reduced.hankel[0]


def test_undamped_modes_are_refused_with_their_frequency():
    plant = beams.hub_beam(6)
    lowest = np.sqrt(sla.eigvalsh(plant.K, plant.M)[1])
    with pytest.raises(DefinitionError, match=f"{lowest:.4g}.*undamped.*with_modal_damping"):
        balanced_truncation(plant, order=6)


def test_unstable_poles_are_kept():
    plant = from_matrices(np.eye(4), 0.3 * np.eye(4), np.diag([-4.0, 9.0, 100.0, 900.0]), np.ones(4), np.ones(4))
    whole = first_order(plant)
    reduced = balanced_truncation(whole, order=4)
    unstable = whole.poles().real.max()
    assert reduced.plant.poles().real.max() == pytest.approx(unstable, rel=1e-12)
    s = 1j * np.geomspace(0.1, 100.0, 60)
    assert largest(response(reduced.plant, s) - response(whole, s)).max() <= reduced.error_bound


def test_sampled_plants_are_reduced_too():
    whole = zero_order_hold(first_order(beams.hub_beam(6, ratio=0.02)), 1e-3)
    reduced = balanced_truncation(whole, order=8)
    assert reduced.plant.dt == 1e-3
    z = np.exp(1j * np.linspace(0.01, np.pi, 400))
    assert largest(response(reduced.plant, z) - response(whole, z)).max() <= reduced.error_bound * (1 + 1e-6)


def test_scales_rescue_outputs_of_small_numbers():
    """Two modes seen by the tip, two by a strain gauge whose numbers are a million times smaller."""
    K = np.diag([1.0, 4.0, 9.0, 16.0])
    sensors = np.array([[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1e-6, 1e-6]])
    plant = from_matrices(np.eye(4), 0.02 * np.eye(4), K, np.ones(4), sensors, outputs=["tip", "strain"])
    s = 1j * np.linspace(0.5, 5.0, 400)

    def worst(reduced):
        error = np.abs(response(reduced.plant, s) - response(first_order(plant), s))[:, 1, 0]
        return error.max() / np.abs(response(first_order(plant), s))[:, 1, 0].max()

    assert worst(balanced_truncation(plant, order=4)) > 0.9  # strain is gone
    assert worst(balanced_truncation(plant, order=6, scales={"strain": 1e-7})) < 0.1
    with pytest.raises(DefinitionError, match='did you mean "strain"'):
        balanced_truncation(plant, order=4, scales={"strian": 1.0})


def test_bad_orders_are_refused():
    whole = first_order(beams.hub_beam(4, ratio=0.01))
    for arguments in ({}, {"order": 4, "tolerance": 0.1}, {"order": 1}, {"order": 99}, {"tolerance": 2.0}):
        with pytest.raises(DefinitionError):
            balanced_truncation(whole, **arguments)


@pytest.mark.parametrize("form", ["modal", "physical"])
def test_modal_truncation_of_a_first_order_plant_is_that_of_the_second_order_plant(form):
    plant = beams.hub_beam(5, ratio=0.02)
    cut = modal_truncation(first_order(plant, form), 3)
    assert len(cut.states) == 8
    s = 1j * np.geomspace(1.0, 3000.0, 40)
    expected = response(modal_truncation(plant, 3), s)
    assert (largest(response(cut, s) - expected) / largest(expected)).max() < (1e-11 if form == "modal" else 1e-5)
    if form == "modal":
        assert names(cut.states) == names(first_order(plant).states)[:8]


def test_static_correction_of_a_truncated_first_order_plant():
    plant = beams.cantilever(10, ("force",), ("tip",), ratio=0.02)
    D = plant.D.copy()
    D[4, 4] += 0.5  # far from modal damping
    whole = first_order(replace(plant, D=D))
    cut = modal_truncation(whole, 2, static_correction=True)
    s = np.array([1e-6j])
    assert response(cut, s) == pytest.approx(response(whole, s), rel=1e-9)
    assert (
        np.abs(response(modal_truncation(whole, 2), s) - response(whole, s)).max()
        > 1e-5 * np.abs(response(whole, s)).max()
    )


def test_modal_truncation_keeps_all_or_refuses():
    whole = first_order(beams.hub_beam(4, ratio=0.01))
    assert modal_truncation(whole, 8) is whole
    assert names(modal_truncation(whole, 0).states) == ["rigid1", "rigid1_rate"]
    for bad in (-1, 9):
        with pytest.raises(DefinitionError):
            modal_truncation(whole, bad)


# --- modal truncation: error bound, choice by tolerance ---------------------------------------------------------------


@pytest.mark.parametrize("static_correction", [False, True])
@pytest.mark.parametrize("case", ["modal", "damper", "strong damper"])
def test_modal_bounds_hold_and_are_no_phantasy(case, static_correction):
    plant = beams.hub_beam(5, ("torque", "force")).with_modal_damping(0.02)
    if case != "modal":
        D = plant.D.copy()
        D[4, 4] += 0.05 if case == "damper" else 5.0  # to the ground: real poles
        plant = replace(plant, D=D)
    whole = first_order(plant)
    bounds = modal_bounds(plant, static_correction)
    assert bounds[-1] == 0.0
    assert np.all(np.diff(bounds) < 0)
    s = 1j * peaks(whole, 1e5)
    for modes in range(len(bounds) - 1):
        error = largest(response(modal_truncation(whole, modes, static_correction), s) - response(whole, s)).max()
        assert error <= bounds[modes]
        assert error > 0.1 * bounds[modes], "not many times too large"


def test_a_tolerance_picks_the_fewest_modes():
    plant = beams.hub_beam(12, ratio=0.01)
    bounds = modal_bounds(plant)
    for tolerance in (1e-1, 1e-2, 1e-4):
        cut = modal_truncation(plant, tolerance=tolerance)
        kept = (len(cut.states) - 2) // 2
        assert bounds[kept] <= tolerance * bounds[0] < bounds[kept - 1]
        s = 1j * peaks(first_order(plant), 1e5)
        assert largest(response(cut, s) - response(first_order(plant), s)).max() <= tolerance * bounds[0]
        assert cut.A[:2, :2].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    for wrong in ({}, {"modes": 2, "tolerance": 0.1}, {"tolerance": 0.0}, {"tolerance": 1.0}):
        with pytest.raises(DefinitionError):
            modal_truncation(plant, **wrong)
    with pytest.raises(DefinitionError, match="undamped"):
        modal_truncation(beams.hub_beam(4), tolerance=0.1)


def test_the_rigid_part_stays_to_the_last_digit():
    """Both reductions, of modal coordinates: A, B, C of the rigid pair are the numbers of the whole plant."""
    whole = first_order(beams.hub_beam(100, ("torque", "force")).with_modal_damping(0.005))
    for cut in (modal_truncation(whole, 6), balanced_truncation(whole, order=14).plant):
        assert np.array_equal(cut.A[:2, :2], whole.A[:2, :2])
        assert np.array_equal(cut.B[:2], whole.B[:2])
        assert np.array_equal(cut.C[:, :2], whole.C[:, :2])
        assert not cut.A[:2, 2:].any()
        assert not cut.A[2:, :2].any()
