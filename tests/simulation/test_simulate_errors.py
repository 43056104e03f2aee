"""What `simulate` refuses, and how it fails: with the name, the number and the time, never with a partial run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toys
from analytical import tokhi_arm

import flexctl as fx
from flexctl.catalogue import load_plant
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.kernels.schemes import generalised_alpha
from flexctl.models import build
from flexctl.motion.moves import PiecewiseConstant, Sine, Step, bang_bang
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array

LINEAR_METHODS = ("exact", "march", "generalised_alpha", "trapezoidal", "newmark")
OSCILLATOR = toys.oscillator(7.0, 0.05)


def test_a_step_above_the_stability_limit_is_refused_with_the_number() -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=19)
    limit = 1e6 * arm.stability_limit()
    with pytest.raises(DefinitionError, match=f"step = 300 us is above the stability limit {limit:.6g} us") as caught:
        simulate(arm, duration=0.03, step=3e-4, method="march")
    told = float(str(caught.value).split("use step <= ")[1].split(" us")[0])
    assert limit - 0.1 <= told <= limit
    inputs = {"joint1_torque": bang_bang(0.1, 0.01)}
    run, exact = (
        simulate(arm, inputs=inputs, duration=0.5, step=1e-6 * told, method=m)["tip_displacement"]
        for m in ("march", "exact")
    )
    np.testing.assert_allclose(run, exact, atol=0.1 * np.abs(exact).max())


def test_the_limit_of_the_heaviest_part_of_the_run_counts() -> None:
    """A payload taken away raises the highest frequency: the refusal comes, not a blown-up run."""
    with pytest.raises(DefinitionError, match="stability limit"):
        simulate(Springy(1.0), duration=1.0, step=0.09, method="march", payload=[(0.5, -0.9, 0.0)])


class Springy(toys.Chain):
    def __init__(self, m: float) -> None:
        super().__init__(1, m, 400.0, wall=True)

    def with_payload(self, mass: float, inertia: float) -> Springy:
        return Springy(1.0 + mass)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_an_unstable_model_is_an_error_with_its_time(method: str) -> None:
    with pytest.raises(ConvergenceError, match="diverged at t = ") as caught:
        simulate(
            toys.Chain(1, k=-400.0, wall=True), duration=10.0, step=1e-2, method=method,
            inputs={"force": PiecewiseConstant((), (1.0,))},
        )
    growth = np.sqrt(400.0 / 0.5)
    assert caught.value.time == pytest.approx(np.log(2 * 1e6 * 400.0) / growth, rel=0.15)


def test_newton_failure_in_the_compiled_loop_is_an_error_with_its_time() -> None:
    scheme = generalised_alpha(tolerance=1e-16, iterations=3)
    for model in (toys.ElasticPendulum(), toys.ElasticPendulum().plain()):
        with pytest.raises(ConvergenceError, match="use a smaller step") as caught:
            simulate(
                model, duration=1.0, step=0.05, scheme=scheme, initial=(np.array([0.8, 2.0]), np.array([1.0, 9.0]))
            )
        assert caught.value.time == pytest.approx(0.05)
        assert caught.value.iteration == 3
        assert caught.value.residual > 0.0


def test_a_sensor_that_reads_no_number_is_an_error() -> None:
    model = toys.ElasticPendulum().plain()
    model.output = lambda q, v, a, u: np.array([q[1], v[1], np.nan if q[1] > 0.5 else 0.0, 0.0])
    with pytest.raises(ConvergenceError, match="sensor of elastic pendulum does not read a finite number at t = "):
        simulate(model, duration=0.2, initial=(np.array([0.8, 0.45]), np.array([0.0, 1.0])))


@pytest.mark.parametrize("method", ["exact", "march"])
def test_methods_for_linear_models_refuse_others(method: str) -> None:
    with pytest.raises(NotAvailable, match=f'method "{method}" needs a linear model; elastic pendulum is not: use'):
        simulate(toys.ElasticPendulum(), duration=0.1, method=method)


def test_methods_that_need_symmetry_say_so_and_auto_goes_round_them() -> None:
    model = toys.Chain(2, wall=True)
    model.M = np.array([[0.5, 0.1], [0.0, 0.5]])
    with pytest.raises(NotAvailable, match='method "exact" needs a symmetric M'):
        simulate(model, duration=0.1, method="exact")
    initial = (np.zeros(2), np.array([1.0, 0.3]))
    run = simulate(model, duration=0.1, step=1e-4, initial=initial)
    assert run.provenance["method"] == "generalised_alpha"
    q, _ = toys.flow(model, *initial, 0.1, lambda t: np.zeros(1))
    assert run["first"][-1] == pytest.approx(q[0], rel=1e-5)
    twisted = toys.Chain(2, wall=True)
    twisted.K = twisted.K + np.array([[0.0, 50.0], [0.0, 0.0]])
    with pytest.raises(NotAvailable, match='method "march" needs a symmetric K'):
        simulate(twisted, duration=0.1, method="march")
    run = simulate(twisted, duration=0.1, initial=initial)
    assert run.provenance["method"] == "exact"
    q, _ = toys.flow(twisted, *initial, 0.1, lambda t: np.zeros(1))
    assert run["first"][-1] == pytest.approx(q[0], rel=1e-10)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_a_massless_coordinate_is_an_error_or_followed_quasi_statically(method: str) -> None:
    """Implicit steps ask for no mass: the coordinate then stands where the springs and dampers balance."""
    model = toys.Chain(2, wall=True)
    model.M = np.diag([0.5, 0.0])
    if method in ("exact", "march"):
        with pytest.raises(ConvergenceError, match="mass"):
            simulate(model, duration=0.1, step=1e-3, method=method)
        return
    force = {model.inputs[0].name: bang_bang(1.0, 0.03)}
    run = simulate(model, duration=0.1, step=1e-3, method=method, inputs=force, record_states=True)
    assert run.q is not None
    assert run.v is not None
    left = run.q[5:] @ model.K[1] + run.v[5:] @ model.D[1] - run.u[5:] @ model.B[1]
    assert np.abs(left).max() < 1e-6 * np.abs(run.q[5:] @ np.abs(model.K[1])).max()


class NoSignal:
    def __call__(self, t: Array) -> Array:
        return np.zeros_like(t)


class Endless:
    breakpoints = (0.0,)

    def __call__(self, t: Array, before: bool = False) -> Array:
        return 1.0 / (0.5 - np.asarray(t)) if before else np.full(np.shape(t), np.nan)


@pytest.mark.parametrize(("options", "message"), [
    ({"duration": 0.0}, "duration = 0.0 s must be positive"),
    ({"duration": float("nan")}, "duration = nan s"),
    ({"duration": 1.0, "step": -1.0}, "step = -1.0 s"),
    ({"duration": 1.0, "step": 0.0}, "step = 0.0 s"),
    ({"duration": 1.0, "method": "exakt"}, r'unknown method "exakt" \(did you mean "exact"\?\)'),
    ({"duration": 1.0, "method": "exact", "scheme": generalised_alpha()}, "scheme has no effect"),
    ({"duration": 1.0, "inputs": {"forse": Sine(1.0, 1.0)}}, r'unknown input of chain "forse" \(did you mean "force"'),
    ({"duration": 1.0, "inputs": {"force": 3.0}}, r'inputs\["force"\] is a float'),
    ({"duration": 1.0, "inputs": {"force": NoSignal()}}, r'inputs\["force"\] is a NoSignal'),
    ({"duration": 1.0, "inputs": {"force": Endless()}}, 'signal of input "force" is not finite at t = 0 s'),
    ({"duration": 1.0, "initial": (np.zeros(2), np.zeros(1))}, r"initial state has shapes \(2,\), \(1,\)"),
    ({"duration": 1.0, "initial": (np.array([np.nan]), np.zeros(1))}, "not finite"),
    ({"duration": 1.0, "reference": Step(0.0, 1.0)}, "controller follows nothing"),
    ({"duration": 1.0, "reference": {"frist": Step(0.0, 1.0)}}, r'unknown reference channel "frist" \(did you mean'),
    ({"duration": 1.0, "reference": {"first": 1.0}}, 'the reference of "first" is a float'),
    ({"duration": "1"}, "duration = '1' is not a number"),
    ({"duration": 1.0, "step": True}, "step = True is not a number"),
    ({"duration": 1.0, "inputs": np.ones(3)}, "inputs is a ndarray; give a mapping"),
    ({"duration": 1.0, "payload": (0.5, 0.02, 0.0)}, "payload change 0.5 must be three finite numbers"),
])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        simulate(OSCILLATOR, **options)


def test_only_models_are_simulated() -> None:
    with pytest.raises(DefinitionError, match="a dict is not a mechanical model: give a Plant"):
        simulate({}, duration=1.0)


def test_a_start_that_opens_a_closure_is_refused() -> None:
    model = toys.RodPendulum()
    with pytest.raises(DefinitionError, match="leaves a closure of rod pendulum open"):
        simulate(model, duration=0.1, initial=(np.array([0.1, -model.L]), np.zeros(2)))
    with pytest.raises(DefinitionError, match="rates open a closure"):
        simulate(model, duration=0.1, initial=(model.reference(), np.array([0.0, 0.5])))


def test_the_end_of_a_run_is_the_start_of_the_next() -> None:
    model = toys.RodPendulum()
    run = simulate(model, duration=0.5, step=5e-3, initial=model.at(1.0), record_states=True)
    follow = simulate(model, duration=0.1, step=5e-3, initial=(run.q[-1], run.v[-1]), record_states=True)
    np.testing.assert_array_equal(follow.q[0], run.q[-1])
    np.testing.assert_array_equal(follow.v[0], run.v[-1])


class OnlyTheCommand:
    """A law that forgets to return its next state."""

    sample_time, measures, drives, follows = 0.01, (), ("force",), ()

    def initial(self) -> None:
        return None

    def step(self, state: Any, t: float, y: Any, r: Any) -> Any:
        return np.zeros(1)


def test_a_law_that_returns_no_state_is_told_what_to_return() -> None:
    with pytest.raises(DefinitionError, match=r"OnlyTheCommand\.step .* return the pair \(command, next state\)"):
        simulate(OSCILLATOR, OnlyTheCommand(), duration=0.1)


def test_a_payload_change_in_the_wrong_unit_is_refused_as_in_a_plant_file() -> None:
    with pytest.raises(DefinitionError, match=r"mass = 20 kg .*\(0\.02 if g was meant\)"):
        simulate(load_plant("tokhi_azad_1994"), duration=1.0, payload=[(0.5, 20.0, 0.0)])


def test_a_method_that_is_no_text() -> None:
    plant = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 4})
    with pytest.raises(fx.DefinitionError, match=r"method = 3 \(int\) is of the wrong kind .*: give a text"):
        fx.simulate(plant, inputs={"joint1_torque": fx.bang_bang(0.1, 0.05)}, duration=0.1, method=3)  # type: ignore[arg-type]
