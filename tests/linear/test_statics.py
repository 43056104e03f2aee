"""Equilibria and consistent accelerations against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import toys
from analytical import tokhi_arm

from flexctl.errors import ConvergenceError, DefinitionError
from flexctl.linear import linearise
from flexctl.linear.equilibrium import accelerations, equilibrium
from flexctl.model import OperatingPoint
from flexctl.models import build
from flexctl.testing.differences import some_motion


def test_rod_pendulum_hangs_and_its_pivot_carries_half_the_weight() -> None:
    model = toys.RodPendulum()
    at = equilibrium(model, guess=model.at(0.9)[0])
    np.testing.assert_allclose(at.q, [0.0, -model.L], atol=1e-12)
    assert at.lam[0] * model.L == pytest.approx(0.5 * model.m * model.g, rel=1e-12)
    assert at.u[0] == 0.0


def test_rod_pendulum_is_held_by_the_torque_of_its_weight() -> None:
    model, angle = toys.RodPendulum(), 0.7
    at = equilibrium(model, hold={"x": model.L * np.sin(angle)})
    np.testing.assert_allclose(at.q, model.at(angle)[0], rtol=1e-12)
    assert at.u[0] == pytest.approx(0.5 * model.m * model.g * model.L * np.sin(angle), rel=1e-10)


def test_a_given_input_moves_the_equilibrium() -> None:
    model, angle = toys.RodPendulum(), 0.4
    torque = 0.5 * model.m * model.g * model.L * np.sin(angle)
    at = equilibrium(model, load=np.array([torque]))
    np.testing.assert_allclose(at.q, model.at(angle)[0], rtol=1e-10)


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.0])
def test_linear_plant_of_a_loaded_pendulum_has_its_geometric_stiffness(angle: float) -> None:
    """J theta'' + m g L/2 cos(angle) theta = tau; without d(G^T lam)/dq the sign is wrong beyond a quarter turn."""
    model = toys.RodPendulum()
    at = equilibrium(model, hold={"x": model.L * np.sin(angle)}, guess=model.at(angle)[0])
    plant = linearise(model, at)
    J = model.m * model.L**2 / 3
    stiffness, gain = plant.K[0, 0] / plant.M[0, 0], plant.Cq[0, 0] * plant.B[0, 0] / plant.M[0, 0]
    assert stiffness == pytest.approx(0.5 * model.m * model.g * model.L * np.cos(angle) / J, rel=1e-9)
    assert gain == pytest.approx(1.0 / J, rel=1e-12)
    assert plant.Cq[0, 0] == pytest.approx(plant.Cv[1, 0])


def test_linear_plant_with_closures_is_taken_at_rest_only() -> None:
    model = toys.RodPendulum()
    q, v = model.at(0.3, 1.0)
    a, lam = accelerations(model, q, v, np.zeros(1))
    with pytest.raises(DefinitionError, match="at rest"):
        linearise(model, OperatingPoint(q, v, a, np.zeros(1), lam))


def test_elastic_pendulum_under_a_torque() -> None:
    model, torque = toys.ElasticPendulum(), 2.0
    at = equilibrium(model, load=np.array([torque]))
    r, theta = at.q
    assert model.k * (r - model.r0) == pytest.approx(model.m * model.g * np.cos(theta), rel=1e-10)
    assert model.m * model.g * r * np.sin(theta) == pytest.approx(torque, rel=1e-10)


def test_small_oscillations_have_their_closed_form() -> None:
    model = toys.ElasticPendulum()
    np.testing.assert_allclose(linearise(model, equilibrium(model)).modes().frequencies_hz * 2 * np.pi, model.omega)


def test_an_arm_that_is_free_to_turn_stays_where_it_is() -> None:
    model = build(tokhi_arm(), "finite_difference", sections=8)
    guess = np.concatenate([[0.4], 0.4 * model.dx * np.arange(1, 9)])
    np.testing.assert_allclose(equilibrium(model, guess=guess).q, guess, rtol=1e-9)


def test_no_equilibrium_is_an_error_not_a_pose() -> None:
    with pytest.raises(ConvergenceError, match="no equilibrium of elastic pendulum") as caught:
        equilibrium(toys.ElasticPendulum(), load=np.array([50.0]))  # more than the weight can balance
    assert caught.value.iteration > 0


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_an_unbalanced_free_arm_is_an_error_whatever_its_weight(scale: float) -> None:
    """A constant force on a free chain has no equilibrium; a light push must not pass for rounding."""
    model = toys.Chain(4, k=1e7)
    with pytest.raises(ConvergenceError):
        equilibrium(model, load=np.array([scale * 1e4]))


def test_wrong_arguments_are_named() -> None:
    model = toys.RodPendulum()
    with pytest.raises(DefinitionError, match='unknown coordinate "xx" \\(did you mean "x"'):
        equilibrium(model, hold={"xx": 0.1})
    with pytest.raises(DefinitionError, match='unknown input "torqe"'):
        equilibrium(model, hold={"x": 0.1}, balance=["torqe"])
    with pytest.raises(DefinitionError, match="load has shape"):
        equilibrium(model, load=np.zeros(3))
    with pytest.raises(DefinitionError, match="guess has shape"):
        equilibrium(model, guess=np.zeros(5))
    with pytest.raises(DefinitionError, match="finite"):
        equilibrium(model, hold={"x": float("nan")})
    with pytest.raises(DefinitionError, match="2 coordinates are held by the 1 inputs"):
        equilibrium(model, hold={"x": 0.1, "y": -0.1})


def test_accelerations_meet_balance_and_closures() -> None:
    model = toys.RodPendulum(damping=0.3)
    q, v = model.at(0.8, -1.7)
    u = np.array([0.6])
    a, lam = accelerations(model, q, v, u)
    balance = model.mass(q) @ a + model.force(q, v) + model.closure_jacobian(q).T @ lam - model.input_matrix(q) @ u
    np.testing.assert_allclose(balance, 0.0, atol=1e-12)
    J, c = model.m * model.L**2 / 3, 0.3 * model.L**2
    turn = (0.6 - 0.5 * model.m * model.g * model.L * np.sin(0.8) + c * 1.7) / J
    along, across = np.array([np.cos(0.8), np.sin(0.8)]), np.array([np.sin(0.8), -np.cos(0.8)])
    assert a @ along == pytest.approx(model.L * turn, rel=1e-12)
    assert a @ across == pytest.approx(-model.L * 1.7**2, rel=1e-12)


def test_a_massless_free_coordinate_is_an_error() -> None:
    class Massless(toys.ElasticPendulum):
        def mass(self, q: np.ndarray) -> np.ndarray:
            return np.diag([self.m, 0.0])

    x = some_motion(Massless())
    with pytest.raises(ConvergenceError, match="mass matrix of elastic pendulum is singular"):
        accelerations(Massless(), x.q, x.v, x.u)
