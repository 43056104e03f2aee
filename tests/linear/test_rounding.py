"""What is rounding is not taken for stiffness, damping or coupling; what drowns in it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError
from flexctl.linear import FirstOrder, LinearPlant
from flexctl.linear.balance import balanced, check_same
from flexctl.linear.rounding import cleaned
from flexctl.model import FloatArray, Signal

TORQUES = {"joint.1.drive": "torque", "joint.2.drive": "torque", "gravity.y": 0.0}


def ralf(**more: Any) -> Any:
    return fx.load_plant("ralf", overrides=TORQUES | {k.replace("__", "."): v for k, v in more.items()}).model


def poses(count: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    return [{"joint1": np.pi / 2 + a, "joint2": 0.52 + b} for a, b in rng.uniform([-0.5, -0.3], [0.5, 0.3], (count, 2))]


def difference(found: LinearPlant, wanted: LinearPlant) -> float:
    """Return the largest difference of two responses as part of the largest gain of each channel."""
    omega = np.geomspace(1.0, 3000.0, 50)
    H, G = found.frequency_response(omega).response, wanted.frequency_response(omega).response
    size = np.abs(G).max(axis=2)
    return float(np.max(np.abs(H - G).max(axis=2) / np.where(size > 0, size, 1.0)))


@pytest.fixture(scope="module")
def weightless() -> Any:
    return ralf()


def test_every_pose_of_a_weightless_arm_has_its_rigid_modes(weightless: Any) -> None:
    for hold in poses(60):
        found = fx.linearise(weightless, fx.equilibrium(weightless, hold=hold)).modes()
        assert found.rigid_modes == 2, hold
        assert found.frequencies_hz[0] > 29.0
        assert found.real_poles.size == 0


def test_the_weight_of_a_hundred_thousandth_is_not_rounding() -> None:
    """Stiffness of weight scales with it, over five decades; only what an ulp of the pose explains is left out."""
    hold = {"joint1": 1.3, "joint2": 0.6}
    slow = []
    for g in (1.0, 1e-5):
        model = ralf(gravity__y=-g)
        found = fx.linearise(model, fx.equilibrium(model, hold=hold)).modes()
        assert found.rigid_modes == 0
        slow.append(np.sort(np.abs(found.real_poles))[:2])
    np.testing.assert_allclose(slow[0], slow[1] * np.sqrt(1e5), rtol=1e-3)


@pytest.mark.parametrize("angles", np.random.default_rng(1).uniform(-2.5, 2.5, (6, 2)).tolist())
def test_modal_damping_in_space_invents_no_mode(angles: list[float]) -> None:
    changes = {"damping.kind": "modal", "damping.ratio": 0.01}
    changes |= {f"joint.{i}.angle": a for i, a in enumerate(angles, 1)}
    found = fx.load_plant("planar_2r_flexible", model="timoshenko_spatial", overrides=changes).modes()
    assert (found.rigid_modes, found.real_poles.size) == (2, 0)
    assert found.frequencies_hz[0] > 1.0
    np.testing.assert_allclose(found.damping, 0.01, rtol=1e-6)


def test_a_real_coupling_by_damping_survives() -> None:
    """Symmetric and indefinite: it couples a mode that has no damping of its own."""
    plant = fx.from_matrices(np.eye(2), [[0.0, 0.1], [0.1, 0.5]], np.diag([0.0, 100.0]), [1.0, 0.0])
    assert np.max(np.abs(plant.first_order().A[1])) == pytest.approx(0.1)
    assert plant.modes().real_poles.size == 1


@pytest.mark.parametrize("damping", [{}, {"damping__kind": "modal", "damping__ratio": 0.01}])
def test_first_order_forms_have_the_response_of_the_plant(damping: dict[str, Any]) -> None:
    model = ralf(**damping)
    for at in (None, *(fx.equilibrium(model, hold=hold) for hold in poses(3))):
        plant = fx.linearise(model, at)
        assert difference(plant.first_order(), plant) < 1e-9
        assert difference(fx.modal_truncation(plant, 6), plant) < 1e-9
        damped = plant.with_modal_damping(0.01)
        states = len(damped.first_order().states)
        assert difference(fx.balanced_truncation(damped, order=states).plant, damped) < 1e-6
        forms = [plant.first_order(form) for form in ("physical", "energy")]
        assert max(difference(form, plant) for form in forms) < 1e-9


def oscillators(coupling: float) -> FirstOrder:
    """Return a double integrator and four oscillators coupled one way by `coupling`, and back by its power of 1.5."""
    A = np.zeros((10, 10))
    A[0, 1] = 1.0
    for i, w in enumerate((10.0, 30.0, 100.0, 1000.0)):
        A[2 + 2 * i : 4 + 2 * i, 2 + 2 * i : 4 + 2 * i] = [[0.0, w], [-w, -0.02 * w]]
    A += coupling * np.triu(np.ones((10, 10)), 4)
    A[9, 1] = coupling**1.5
    rng = np.random.default_rng(1)
    B, C = rng.standard_normal((10, 2)), rng.standard_normal((2, 10))
    x, u, y = (tuple(Signal(f"{letter}{i}") for i in range(n)) for letter, n in (("x", 10), ("u", 2), ("y", 2)))
    return FirstOrder(A, B, C, np.zeros((2, 2)), x, u, y)


@pytest.mark.parametrize("coupling", [1e-16, 1e-20, 1e-40, 1e-80, 1e-110])
def test_balancing_leaves_rounding_out(coupling: float) -> None:
    plant = oscillators(coupling)
    assert difference(plant, oscillators(0.0)) < 1e-12
    assert plant.modes().rigid_modes == 1
    if coupling < 1e-35:
        assert balanced(plant.A).scale.max() < 1e10


def test_balancing_is_lapacks_own() -> None:
    import scipy.linalg as sla

    rng = np.random.default_rng(3)
    for _ in range(50):
        A = rng.standard_normal((7, 7)) * (rng.random((7, 7)) < 0.35) * 10.0 ** rng.integers(-3, 4, (7, 7))
        for permute in (False, True):
            found, (scale, order) = sla.matrix_balance(A, permute=permute, separate=True)
            ours = balanced(A, permute)
            np.testing.assert_array_equal(ours.A, found)
            np.testing.assert_array_equal(ours.scale, scale)
            np.testing.assert_array_equal(ours.order, order)


def test_scales_beyond_numbers_are_refused() -> None:
    A: FloatArray = np.array([[0.0, 1e308], [1e-308, np.inf]])
    with pytest.raises(ConvergenceError, match="cannot be balanced: its entries reach from 1e-308"):
        balanced(A)


def test_a_form_that_is_not_the_plant_is_refused() -> None:
    plant = fx.load_plant("tokhi_azad_1994").linearise()
    good = plant.first_order()
    check_same(good, plant, "the form")
    wrong = FirstOrder(good.A, good.B, 1.001 * good.C, good.D, good.states, good.inputs, good.outputs)
    with pytest.raises(ConvergenceError, match=r"the form is not the plant: at s = .* wrong by 0\.00"):
        check_same(wrong, plant, "the form")


def test_stiffness_between_rigid_and_rounding_is_refused() -> None:
    """A bare ValueError about infs or NaNs came out of this."""
    rng = np.random.default_rng(0)
    messages = []
    for _ in range(300):
        M = rng.standard_normal((6, 6))
        N = 10.0 ** -rng.integers(5, 60) * rng.standard_normal((6, 6))
        K = np.diag([0.0, 0.0, 1e4, 1e5, 1e6, 4e8]) + N + N.T
        try:
            found = fx.from_matrices(M @ M.T + 6 * np.eye(6), K=K, B=np.eye(6)[0]).modes()
            assert np.isfinite(found.frequencies_hz).all()
        except DefinitionError as error:
            messages.append(str(error))
    assert 0 < len(messages) < 60
    assert all("set to zero what is rounding in K" in text for text in messages)


def test_a_jump_is_not_rounding() -> None:
    """Entries that change as a whole when the pose moves by an ulp are those of a jump, and stay."""
    K = np.diag([1e3, 2e3])
    np.testing.assert_array_equal(cleaned(K, np.full((2, 2), 1e3)), K)
    np.testing.assert_array_equal(cleaned(K + 1e-13, np.full((2, 2), 1e-13)), K + np.diag([1e-13, 1e-13]))


def test_an_arm_with_a_pole_far_beyond_the_others_has_a_response() -> None:
    """Its damped stub of a segment has one of 2.5 MHz; the check of the Schur form there had its own rounding alone."""
    material, section = fx.Material(2.1e11, 7850.0), fx.Section(3e-5, 5.625e-12)
    motor = fx.Motor(
        gear_ratio=50.0, torque_constant=0.02, resistance=1.5, inductance=1e-3, rotor_inertia=8e-7,
        gear_efficiency=0.8, gear_loss="constant",
    )
    joint = fx.Joint(hub_inertia=2e-3, drive="voltage", motor=motor, friction=0.05, stiffness=20.0, damping=0.02)
    link = fx.Link(0.45, material, section)
    damping = fx.Damping("rayleigh", beta=2e-4)
    arm = fx.Arm("two", (link, link), (joint, joint), payload=fx.Payload(0.05, 1e-4), damping=damping)
    model = fx.build(arm, "finite_segment", segments=6)
    plant = fx.linearise(model, fx.rest_point(model, {"joint1": 0.3, "joint2": 0.6}))
    assert np.abs(plant.first_order().poles()).max() > 1e7
    s = np.array([3j, 40j, 300j])
    found = plant.transfer(s)
    for k, x in enumerate(s):
        C = plant.Cq + x * plant.Cv + x * x * plant.Ca
        wanted = C @ np.linalg.solve(x * x * plant.M + x * plant.D + plant.K, plant.B) + plant.Du
        assert np.abs(found[:, :, k] - wanted).max() < 1e-9 * np.abs(wanted).max()
