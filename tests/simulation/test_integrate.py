"""The integrator: orders, dissipation, closures, failure, and what a held command asks of it."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
import toys

from flexctl.errors import AccuracyWarning, ConvergenceError, DefinitionError
from flexctl.kernels import state, stepper, tables
from flexctl.kernels.engine import Plan
from flexctl.kernels.law import called
from flexctl.kernels.schemes import Scheme, generalised_alpha, newmark, trapezoidal
from flexctl.laws.controller import LinearLaw
from flexctl.model import MechanicalModel
from flexctl.motion.signals import Sine
from flexctl.simulation import engines
from flexctl.simulation.accuracy import Accuracy
from flexctl.simulation.response import Response
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array, order

END = 0.8  # s
TORQUE = Sine(1.5, 9.0 / (2.0 * np.pi))


def torque(t: float) -> Array:
    return np.array([1.5 * np.sin(9.0 * t)])


def march(
    model: MechanicalModel, scheme: Scheme, at: tuple[Array, Array], h: float, end: float = END, driven: bool = False
) -> Response:
    inputs = {model.inputs[0].name: TORQUE} if driven else {}
    with warnings.catch_warnings():  # of errors that are meant to be there
        warnings.simplefilter("ignore", AccuracyWarning)
        return simulate(model, duration=end, step=h, scheme=scheme, initial=at, inputs=inputs, record_states=True)


def state_at(run: Response, k: int = -1) -> tuple[Array, Array]:
    assert run.q is not None
    assert run.v is not None
    return run.q[k], run.v[k]


@cache
def elastic() -> tuple[toys.ElasticPendulum, Array, Array, Array, Array]:
    """Model, start, and its exact end."""
    model = toys.ElasticPendulum(c_theta=0.05)
    q, v = np.array([0.9, 0.7]), np.array([0.3, -1.0])
    return model, q, v, *toys.flow(model, q, v, END, torque)


def errors(scheme: Scheme, steps: tuple[float, ...] = (8e-3, 4e-3, 2e-3)) -> Array:
    model, q, v, q_end, v_end = elastic()
    ends = [state_at(march(model, scheme, (q, v), h, driven=True)) for h in steps]
    return np.array([[np.abs(x - q_end).max(), np.abs(w - v_end).max()] for x, w in ends])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9, 1.0])
def test_generalised_alpha_is_second_order_in_coordinates_and_rates(rho: float) -> None:
    found = errors(generalised_alpha(rho))
    assert found[-1].max() < 5e-3  # of rates up to 3
    for column in found.T:
        assert order(column)[-1] == pytest.approx(2.0, abs=0.1)


def test_trapezoidal_rule_is_second_order() -> None:
    assert order(errors(trapezoidal())[:, 0])[-1] == pytest.approx(2.0, abs=0.1)


def test_newmark_with_dissipation_is_first_order_only() -> None:
    assert order(errors(newmark(0.4, 0.7))[:, 0])[-1] == pytest.approx(1.0, abs=0.15)


def one_step(model: MechanicalModel, scheme: Scheme, start: Array, h: float) -> Array:
    """Return q, v, a and the shifted acceleration of one coordinate after a step that begins with them."""
    t, none = np.array([0.0, h]), np.zeros((2, 1))
    grid = tables.Tables(t, np.array([h]), np.full(2, -1), none, none, np.zeros((1, 1)), np.zeros((0, 0)))
    ny = len(model.outputs)
    record = tables.Record(np.zeros((2, ny)), np.zeros((2, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
    plan = Plan(grid, record, Accuracy(model.outputs, False).gauge, scheme, 0.0, False, {})
    engine = engines.plain(model, start[:1].copy(), start[1:2].copy(), np.zeros(1), plan, 0)
    motion = engine.motion
    motion.a[:], motion.before[:], motion.shifted[:], motion.number[state.BEGUN] = start[2], start[2], start[3], 1.0
    engine.advance(tables.no_law(), np.zeros((1, 1)), 0, 1)
    return np.concatenate([motion.q, motion.v, motion.a, motion.shifted])


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 1.0])
def test_spectral_radius_at_infinite_frequency_is_rho(rho: float) -> None:
    h = 1e-3
    model = toys.oscillator(omega=1e6 / h)
    unit = np.array([1.0, 1.0 / h, 1.0 / h**2, 1.0 / h**2])  # of q, v, a, shifted a
    columns = [one_step(model, generalised_alpha(rho), x, h) / unit for x in np.diag(unit)]
    radius = np.abs(np.linalg.eigvals(np.array(columns).T)).max()
    assert radius == pytest.approx(rho, abs=2e-4)  # a triple root: (omega h)^-2 enters by its cube root


@pytest.mark.parametrize("rho", [0.6, 0.9])
@pytest.mark.parametrize("h", [1e-2, 1e-5])
def test_closures_are_met_to_rounding_at_every_step(rho: float, h: float) -> None:
    model = toys.RodPendulum()
    run = march(model, generalised_alpha(rho), model.at(1.2, -2.0), h, 100 * h)
    assert run.q is not None
    assert max(abs(model.closure(q)[0]) for q in run.q) < 1e-12


@pytest.mark.parametrize("rho", [0.8, 1.0])
def test_rod_pendulum_returns_after_the_period_of_the_elliptic_integral(rho: float) -> None:
    model, amplitude = toys.RodPendulum(), 1.5
    period = model.period(amplitude)
    assert period > 1.1 * 2 * np.pi / model.omega  # far from small oscillations

    def miss(steps: int) -> tuple[float, float]:
        run = march(model, generalised_alpha(rho), model.at(amplitude), period / steps, period)
        angle, rate = run.y[-1, :2]
        energy = model.energy(*state_at(run)).total - model.energy(*model.at(amplitude)).total
        return abs(rate), abs(energy) + abs(angle - amplitude)

    late, lost = zip(*(miss(k) for k in (100, 200, 400)), strict=True)
    assert late[-1] < 0.02
    assert order(late)[-1] == pytest.approx(2.0, abs=0.15)
    assert lost[-1] < 2e-3
    assert order(lost)[-1] > 1.8


def test_failure_says_when_and_how() -> None:
    model, q, v, *_ = elastic()
    with pytest.raises(ConvergenceError, match="use a smaller step") as caught:
        march(model, generalised_alpha(tolerance=1e-15, iterations=2), (q, v), 0.05, driven=True)
    assert caught.value.time == pytest.approx(0.05)
    assert caught.value.iteration == 2
    assert 1e-15 < caught.value.residual < 1.0


def test_a_force_that_is_not_a_number_stops_newton_at_once() -> None:
    class Broken(toys.ElasticPendulum):
        def force(self, q: Array, v: Array, t: float = 0.0) -> Array:
            return super().force(q, v) if t == 0.0 else np.full(2, np.nan)

        def compiled(self) -> None:
            return None

    _, q, v, *_ = elastic()
    with pytest.raises(ConvergenceError, match="Newton") as caught:
        march(Broken(), trapezoidal(), (q, v), 1e-3)
    assert caught.value.iteration <= 1


PERIOD = 0.05
LAW = LinearLaw(PERIOD, ("angle", "rate"), ("torque",), Dy=[[-6.0, -1.2]])


def held_loop(substeps: int) -> Array:
    """State at the end of the loop with steps of PERIOD / substeps, plain form."""
    model, q, v, *_ = elastic()
    run = simulate(
        model.plain(), LAW, duration=END, step=PERIOD / substeps, method="trapezoidal", initial=(q, v),
        record_states=True,
    )
    assert run.q is not None
    assert run.v is not None
    return np.concatenate([run.q[-1], run.v[-1]])


@cache
def held_loop_exactly() -> Array:
    model, q, v, *_ = elastic()
    for _ in range(round(END / PERIOD)):
        u = -6.0 * q[1] - 1.2 * v[1]
        q, v = toys.flow(model, q, v, PERIOD, lambda t, u=u: np.array([u]))
    return np.concatenate([q, v])


def loop_orders() -> Array:
    """Also with the control period as the step."""
    return order([float(np.abs(held_loop(k) - held_loop_exactly()).max()) for k in (1, 2, 4, 8)])


def test_a_held_command_keeps_the_second_order() -> None:
    assert loop_orders()[-2:] == pytest.approx([2.0, 2.0], abs=0.2)
    assert np.abs(held_loop(8) - held_loop_exactly()).max() < 5e-3


def test_without_new_accelerations_at_a_jump_the_order_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is carried over to the accelerations at a jump: what `kernels.stepper` does there matters."""
    monkeypatch.setattr(stepper, "called", lambda *args: called(*args) and False)
    assert loop_orders()[-1] == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("make", [
    lambda: generalised_alpha(1.1), lambda: generalised_alpha(-0.1), lambda: generalised_alpha(float("nan")),
    lambda: newmark(0.2, 0.5), lambda: newmark(0.3, 0.4), lambda: newmark(float("nan"), 0.5),
    lambda: generalised_alpha(tolerance=0.0), lambda: trapezoidal(iterations=0),
])
def test_parameters_out_of_bounds_are_refused(make) -> None:
    with pytest.raises(DefinitionError):
        make()
