"""First-order forms: same response as the second-order equations, exact rigid modes, good scaling, singular mass."""

from __future__ import annotations

from dataclasses import replace

import beams
import numpy as np
import pytest

from flexctl.errors import DefinitionError
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.linear.descriptor import regular
from flexctl.linear.matrices import from_matrices
from flexctl.linear.realise import first_order, modal_coordinates
from flexctl.model import names

FORMS = ("modal", "energy", "physical")


def direct(plant: SecondOrder, s: np.ndarray) -> np.ndarray:
    """Solve s^2 M + s D + K frequency by frequency: (len(s), outputs, inputs)."""
    rows = [plant.Cq + x * plant.Cv + x * x * plant.Ca for x in s]
    inner = [np.linalg.solve(x * x * plant.M + x * plant.D + plant.K, plant.B) for x in s]
    return np.array([c @ x + plant.Du for c, x in zip(rows, inner, strict=True)])


def from_states(plant: FirstOrder, s: np.ndarray) -> np.ndarray:
    I = np.eye(plant.A.shape[0])
    return np.array([plant.C @ np.linalg.solve(x * I - plant.A, plant.B) + plant.D for x in s])


def relative(value: np.ndarray, reference: np.ndarray) -> float:
    """Largest error over frequencies, relative to the largest entry at each."""
    return float((np.abs(value - reference).max(axis=(1, 2)) / np.abs(reference).max(axis=(1, 2))).max())


def banded_long_double(plant: SecondOrder, s: complex, half: int = 3) -> np.ndarray:
    """Solve at one s by band elimination without pivoting in 80-bit arithmetic."""
    x = np.clongdouble(s)
    P = x * x * plant.M.astype(np.clongdouble) + x * plant.D + plant.K
    R = plant.B.astype(np.clongdouble)
    n = P.shape[0]
    for i in range(n):
        for j in range(i + 1, min(i + half + 1, n)):
            f = P[j, i] / P[i, i]
            P[j, i : i + half + 1] -= f * P[i, i : i + half + 1]
            R[j] -= f * R[i]
    for i in range(n - 1, -1, -1):
        R[i] = (R[i] - P[i, i + 1 : i + half + 1] @ R[i + 1 : i + half + 1]) / P[i, i]
    return np.asarray((plant.Cq + x * plant.Cv + x * x * plant.Ca) @ R + plant.Du, dtype=complex)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_response_of_the_second_order_equations(form):
    plant = beams.hub_beam(4, ("torque", "force"), ("hub", "joint1_rate", "tip", "tip_acceleration"), ratio=0.01)
    s = 1j * np.geomspace(2.0, 2000.0, 40) - 0.3
    assert relative(from_states(first_order(plant, form), s), direct(plant, s)) < 1e-9


@pytest.mark.parametrize("clamped", [True, False])
def test_modal_export_is_right_at_300_coordinates_through_python_control(clamped):
    # 128 elements of 1/128 m and EI = 4: the entries of K are exact, so that its rigid mode is
    plant = beams.cantilever(300) if clamped else beams.hub_beam(128, ("torque",), ("hub", "tip"), ratio=0.005)
    omega = np.array([0.5, 3.0, 15.0, 17.5, 60.0, 105.0, 330.0, 700.0, 1500.0])
    reference = np.array([banded_long_double(plant, 1j * w) for w in omega])
    exported = np.moveaxis(np.atleast_3d(first_order(plant).statespace()(1j * omega, squeeze=False)), 2, 0)
    assert relative(exported, reference) < 1e-5
    if clamped:  # the energy form does not single out rigid modes
        energy = np.moveaxis(first_order(plant, "energy").statespace()(1j * omega, squeeze=False), 2, 0)
        assert relative(energy, reference) < 1e-5


def test_rigid_mode_is_an_exact_double_integrator():
    plant = first_order(beams.hub_beam(100, outputs=("hub", "slopes"), ratio=0.01))
    assert names(plant.states)[:4] == ["rigid1", "rigid1_rate", "mode1", "mode1_rate"]
    assert plant.A[:2, :2].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert not plant.A[:2, 2:].any()
    assert not plant.A[2:, :2].any()
    assert not plant.C[1, :2].any()  # a difference of slopes does not see a rigid rotation


def test_two_rigid_modes_of_a_free_beam():
    M, K = beams.hermite(30, free=True)
    plant = first_order(beams.plant(M, 1e-5 * K, K, ("force",), ("tip",)))
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[2, 3] = 1.0
    assert np.array_equal(plant.A[:4, :4], expected)
    assert names(plant.states)[:5] == ["rigid1", "rigid1_rate", "rigid2", "rigid2_rate", "mode1"]


def test_hub_friction_couples_the_rates_and_nothing_else():
    plant = beams.hub_beam(10)
    D = plant.D.copy()
    D[0, 0] += 0.02
    realised = first_order(replace(plant, D=D))
    assert not realised.A[:, 0].any()  # a displaced rigid mode still stays where it is
    assert realised.A[0].tolist() == np.eye(realised.A.shape[0])[1].tolist()
    assert np.abs(realised.A[1, 3::2]).min() > 0
    s = 1j * np.geomspace(1.0, 500.0, 20)
    assert relative(from_states(realised, s), direct(replace(plant, D=D), s)) < 1e-9


@pytest.mark.parametrize("form", ["modal", "energy"])
def test_undamped_flexible_part_conserves_the_norm_of_its_states(form):
    M, K = beams.hermite(8, hub=None)
    A = first_order(beams.plant(M, 0 * K, K), form).A
    assert np.abs(A + A.T).max() <= 1e-11 * np.abs(A).max()


def test_squared_states_are_twice_the_energy():
    rng = np.random.default_rng(3)
    M, K = beams.hermite(6, hub=None)
    plant = beams.plant(M, 0 * K, K)
    Phi = modal_coordinates(plant).basis
    eta, rate = rng.standard_normal((2, Phi.shape[1]))
    omega = first_order(plant).A[0::2, 1::2].diagonal()
    q, v = Phi @ eta, Phi @ rate
    assert np.sum((omega * eta) ** 2) + np.sum(rate**2) == pytest.approx(q @ K @ q + v @ M @ v, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", ["gyroscopic", "circulatory", "unsymmetric mass", "indefinite mass"])
def test_unsymmetric_matrices_are_kept_exactly(form, case):
    rng = np.random.default_rng(7)
    X, skew = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
    M, K, D = X @ X.T + np.eye(5), 50 * np.diag([1.0, 2, 3, 4, 5]) + X + X.T, 0.1 * np.eye(5)
    skew = skew - skew.T
    if case == "gyroscopic":
        D = D + skew
    elif case == "circulatory":
        K = K + 5 * skew
    elif case == "unsymmetric mass":
        M, K = M + skew, K + 3 * skew
    else:
        M = M - 4.0 * np.eye(5)
        assert np.linalg.eigvalsh(M)[0] < 0
    rows = {name: rng.standard_normal((2, 5)) for name in ("Cq", "Cv", "Ca")}
    plant = from_matrices(M, D, K, rng.standard_normal((5, 2)), **rows)
    s = np.array([0.5j, 3.0j, 1.0 + 20.0j, 100.0j])
    assert relative(from_states(first_order(plant, form), s), direct(plant, s)) < 1e-10


def test_follower_force_on_a_free_mode_is_not_taken_for_rigid():
    # K e1 is zero, but e1' K is not: the first coordinate is driven by the second
    K = np.array([[0.0, -3.0], [0.0, 40.0]])
    plant = from_matrices(np.eye(2), np.zeros((2, 2)), K, np.array([0.0, 1.0]))
    s = np.array([0.3j, 2.0j, 9.0j])
    assert relative(from_states(first_order(plant), s), direct(plant, s)) < 1e-12


def test_statically_unstable_mode_is_named_and_survives_truncation():
    plant = from_matrices(np.eye(3), np.zeros((3, 3)), np.diag([-4.0, 9.0, 100.0]), np.ones(3), np.eye(3))
    kept = first_order(plant, modes=0)
    assert names(kept.states) == ["unstable1", "unstable1_rate"]
    assert np.sort(kept.poles().real).tolist() == pytest.approx([-2.0, 2.0])


def test_truncation_keeps_rigid_and_lowest_modes():
    plant = beams.hub_beam(20, ratio=0.01)
    full, cut = first_order(plant), first_order(plant, modes=3)
    assert names(cut.states) == names(full.states)[:8]
    assert np.array_equal(cut.A, full.A[:8, :8])
    assert np.array_equal(cut.C, full.C[:, :8])
    for bad in (-1, 41):
        with pytest.raises(DefinitionError, match="flexible modes"):
            first_order(plant, modes=bad)


@pytest.mark.parametrize("correction", [False, True])
def test_static_correction_removes_the_error_at_low_frequency(correction):
    plant = beams.cantilever(40, ("force",), ("tip",))
    cut = first_order(plant, modes=2, static_correction=correction)
    s = 1j * np.array([0.5, 1.0])
    low, high = np.abs(from_states(cut, s) - direct(plant, s)).ravel()
    rate = np.log2(high / low)
    # what is left out is a constant, and after its removal the next term: s times the damping of the modes left out
    assert rate == pytest.approx(1.0 if correction else 0.0, abs=0.15)
    assert cut.D.any() == correction


def test_unknown_form_and_modes_of_other_forms_are_refused():
    plant = beams.hub_beam(3)
    with pytest.raises(DefinitionError, match='did you mean "modal"'):
        first_order(plant, "model")
    with pytest.raises(DefinitionError, match="modal"):
        first_order(plant, "energy", modes=2)


# --- singular mass ---------------------------------------------------------------------------------------------------


def test_massless_coordinate_between_springs_is_two_springs_in_series():
    m, c, k1, k2 = 2.0, 0.3, 300.0, 700.0
    K = np.array([[k1, -k1], [-k1, k1 + k2]])
    plant = from_matrices(np.diag([m, 0.0]), np.diag([c, 0.0]), K, np.eye(2), np.eye(2))
    k = k1 * k2 / (k1 + k2)
    s = np.array([0.1j, 5.0j, 10.2j, 80.0j])
    motion = 1.0 / (m * s * s + c * s + k)
    share = k1 / (k1 + k2)
    # a force on the massless point reaches the mass through the springs, and moves the point at once
    closed = np.moveaxis(
        np.array([[motion, share * motion], [share * motion, share**2 * motion + 1.0 / (k1 + k2)]]), 2, 0
    )
    for form in FORMS:
        realised = first_order(plant, form)
        assert len(realised.states) == 2
        assert relative(from_states(realised, s), closed) < 1e-13
    assert regular(plant).coordinates == plant.coordinates[:1]


def test_massless_damper_adds_one_real_pole():
    """Mass on a spring k in series with a damper c: m s^2 x + (k c s / (k + c s)) x = F, the mass free to drift."""
    m, k, c = 2.0, 300.0, 4.0
    plant = from_matrices(
        np.diag([m, 0.0]), np.diag([0.0, c]), np.array([[k, -k], [-k, k]]), np.array([1.0, 0.0]), np.eye(2)
    )
    s = np.array([0.1j, 2.0j, 10.2j, 80.0j])
    x = 1.0 / (m * s * s + k * c * s / (k + c * s))
    closed = np.moveaxis(np.array([[x], [k * x / (k + c * s)]]), 2, 0)
    for form in FORMS:
        realised = first_order(plant, form)
        assert len(realised.states) == 3
        assert relative(from_states(realised, s), closed) < 1e-12
    assert np.sum(realised.poles() == 0.0) == 1  # free to drift, exactly
    with pytest.raises(DefinitionError, match="massless dampers"):
        first_order(plant, modes=1)


def test_rigid_mode_stays_exact_beside_a_massless_damper():
    """Two rotors coupled by a Zener element (spring, parallel to spring and damper in series): free to turn."""
    K = np.array([[90.0, -40, -50], [-40, 40, 0], [-50, 0, 50]])
    D = np.array([[0.0, 0, 0], [0, 0.5, -0.5], [0, -0.5, 0.5]])
    plant = from_matrices(np.diag([2.0, 3.0, 0.0]), D, K, np.array([1.0, 0, 0]), np.eye(3))
    realised = first_order(plant)
    assert names(realised.states)[:2] == ["rigid1", "rigid1_rate"]
    assert not realised.A[:, 0].any()
    assert not realised.A[1:, 1].any()
    s = 1j * np.array([1e-3, 0.1, 3.0, 50.0])
    Z = 40.0 + 50.0 * 0.5 * s / (50.0 + 0.5 * s)
    denominator = s * s * (6.0 * s * s + 5.0 * Z)
    x1, x2 = (3.0 * s * s + Z) / denominator, Z / denominator
    x3 = (50.0 * x1 + 0.5 * s * x2) / (50.0 + 0.5 * s)
    assert relative(from_states(realised, s), np.array([x1, x2, x3]).T[:, :, None]) < 1e-12


def test_multipliers_as_coordinates_equal_the_eliminated_system():
    """Two masses tied together by a Lagrange multiplier (index 3) are one mass; the multiplier is the tie's force."""
    k1, k2, c1, c2 = 5.0, 7.0, 0.1, 0.2
    K = np.array([[k1, 0, 1], [0, k2, -1], [1, -1, 0]])
    D = np.diag([c1, c2, 0.0])
    plant = from_matrices(np.diag([1.0, 2.0, 0.0]), D, K, np.array([1.0, 0, 0]), np.eye(3))
    s = np.array([0.1j, 1.0j, 2.0j, 30.0j])
    x = 1.0 / (3.0 * s * s + (c1 + c2) * s + k1 + k2)
    force = 1.0 - (s * s + c1 * s + k1) * x
    closed = np.moveaxis(np.array([[x], [x], [force]]), 2, 0)
    realised = first_order(plant)
    assert len(realised.states) == 2
    assert relative(from_states(realised, s), closed) < 1e-13


def test_beam_with_a_massless_maxwell_element():
    plant = beams.cantilever(40)
    n = plant.M.shape[0]
    M, D, K = (np.zeros((n + 1, n + 1)) for _ in range(3))
    M[:n, :n], D[:n, :n], K[:n, :n] = plant.M, plant.D, plant.K
    K[np.ix_([n - 2, n], [n - 2, n])] += 50.0 * np.array([[1, -1], [-1, 1]])
    D[n, n] = 0.5
    B, C = np.zeros((n + 1, 1)), np.zeros((1, n + 1))
    B[n - 2], C[0, n - 2] = 1.0, 1.0
    whole = from_matrices(M, D, K, B, C)
    s = 1j * np.geomspace(1.0, 2000.0, 40)
    closed = direct(plant, s)  # the element is a force -k c s / (k + c s) on the tip
    element = (50.0 * 0.5 * s / (50.0 + 0.5 * s))[:, None, None]
    assert relative(from_states(first_order(whole), s), closed / (1.0 + element * closed)) < 1e-7


def test_impulsive_outputs_are_refused_by_name():
    K = np.array([[300.0, -300.0], [-300.0, 1000.0]])
    sensors = {"Cq": np.eye(2), "Cv": np.eye(2), "outputs": ["mass", "node"], "inputs": ["push", "pull"]}
    plant = from_matrices(np.diag([2.0, 0.0]), np.zeros((2, 2)), K, np.eye(2), **sensors)
    with pytest.raises(DefinitionError, match='"node" contains the derivative of input "pull"'):
        first_order(plant)
    multiplier = from_matrices(
        np.diag([1.0, 2.0, 0.0]), None, np.array([[5.0, 0, 1], [0, 7, -1], [1, -1, 0]]),
        np.eye(3)[:, [0, 2]], np.eye(3), inputs=["push", "gap"], outputs=["left", "right", "force"],
    )
    with pytest.raises(DefinitionError, match='"force" contains the derivative of input "gap"'):
        first_order(multiplier)


def test_velocity_of_a_massless_point_nobody_pushes_is_allowed():
    K = np.array([[300.0, -300.0], [-300.0, 1000.0]])
    plant = from_matrices(np.diag([2.0, 0.0]), None, K, np.array([1.0, 0.0]), Cq=np.zeros((2, 2)), Cv=np.eye(2))
    s = np.array([0.1j, 5.0j, 80.0j])
    assert relative(from_states(first_order(plant), s), direct(plant, s)) < 1e-13


def test_singular_pencil_is_refused():
    with pytest.raises(DefinitionError, match="zero for every s"):
        from_matrices(np.diag([1.0, 0.0]), None, np.diag([1.0, 0.0]), np.ones(2))
    # regular stiffness of a direction, but another one without anything: hidden in a rotation
    R = np.array([[0.6, 0.8], [-0.8, 0.6]])
    with pytest.raises(DefinitionError, match="zero for every s"):
        from_matrices(R @ np.diag([3.0, 0.0]) @ R.T, None, R @ np.diag([1.0, 0.0]) @ R.T)


def test_massless_direction_that_is_no_coordinate():
    R = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    M, K = R @ np.diag([2.0, 3.0, 0.0]) @ R.T, R @ np.array([[50.0, 0, 5], [0, 20, 7], [5, 7, 30]]) @ R.T
    plant = from_matrices(M, None, K, np.eye(3)[:, :1], np.eye(3))
    s = np.array([0.1j, 2.0j, 40.0j])
    assert len(first_order(plant).states) == 4
    assert relative(from_states(first_order(plant), s), direct(plant, s)) < 1e-12
