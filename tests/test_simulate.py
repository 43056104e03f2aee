"""The time loop without a controller: methods, grid, jumps, payload, starts, failures. Laws: `test_closed_loop`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toys
from analytical import tokhi_arm
from differences import Array, order
from hypothesis import given
from hypothesis import strategies as st

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.integrate import generalised_alpha
from flexctl.linear import linearise
from flexctl.models import build
from flexctl.simulate import simulate
from flexctl.timegrid import limits, time_grid
from flexctl.trajectories import PiecewiseConstant, Sampled, Sine, Step, bang_bang

LINEAR_METHODS = ("exact", "march", "generalised_alpha", "trapezoidal", "newmark")
W, ZETA, M = 7.0, 0.05, 1.3
OSCILLATOR = toys.oscillator(W, ZETA, M)


def step_response(t: Array) -> tuple[Array, Array]:
    """Position and rate of the oscillator after a unit step of force at t = 0."""
    t = np.maximum(t, 0.0)
    wd = W * np.sqrt(1 - ZETA**2)
    decay = np.exp(-ZETA * W * t) / (M * W**2)
    x = 1 / (M * W**2) - decay * (np.cos(wd * t) + ZETA * W / wd * np.sin(wd * t))
    return x, decay * W**2 / wd * np.sin(wd * t)


def bang_bang_response(t: Array, half: float, begin: float) -> tuple[Array, Array]:
    parts = [(1.0, begin), (-2.0, begin + half), (1.0, begin + 2 * half)]
    x, v = zip(*(step_response(t - start) for _, start in parts), strict=True)
    return sum(k * one for (k, _), one in zip(parts, x, strict=True)), sum(
        k * one for (k, _), one in zip(parts, v, strict=True)
    )


@pytest.mark.parametrize("step", [0.001, 0.017, 0.3])
def test_exact_is_exact_for_jumps_on_and_off_the_grid(step: float) -> None:
    run = simulate(OSCILLATOR, inputs={"force": bang_bang(1.0, 0.2371, 0.1)}, duration=1.5, step=step)
    assert run.provenance["method"] == "exact"
    x, v = bang_bang_response(run.t, 0.2371, 0.1)
    np.testing.assert_allclose(run["first"], x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run["first_rate"], v, rtol=0, atol=1e-12)


def test_exact_is_exact_for_ramps() -> None:
    t = np.array([0.0, 1.0])
    run = simulate(OSCILLATOR, inputs={"force": Sampled(t, t)}, duration=1.0, step=0.1)
    fine = np.linspace(0, 1, 20001)
    wanted = np.trapezoid(step_response(fine)[0], fine)  # the ramp is the integral of the step
    assert run["first"][-1] == pytest.approx(wanted, rel=1e-8)


def miss(method: str, step: float, half: float = 0.2371, begin: float = 0.1) -> float:
    signal = {"force": bang_bang(1.0, half, begin)}
    run = simulate(OSCILLATOR, inputs=signal, duration=1.5, step=step, method=method)
    return float(np.abs(run["first"] - bang_bang_response(run.t, half, begin)[0]).max())


@pytest.mark.parametrize("method", LINEAR_METHODS[1:])
@pytest.mark.parametrize("half", [0.2371, 0.2])
def test_all_methods_are_second_order_with_jumps_on_and_off_the_grid(method: str, half: float) -> None:
    """With begin = 0.1 and half = 0.2 the jumps are at 0.1 + 0.2 and 0.1 + 2 x 0.2, which are not 0.3 and 0.5."""
    errors = [miss(method, h, half) for h in (0.02, 0.01, 0.005)]
    assert errors[-1] < 3e-3 / (M * W**2)
    assert order(errors)[-1] == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_two_signals_that_jump_at_nearly_one_time(method: str) -> None:
    """0.1 + 0.2 and 0.3 are one time: neither a step of 4e-17 s nor a jump one step early."""
    model = toys.oscillator(W, ZETA, M)
    one, two = PiecewiseConstant((0.1 + 0.2,), (0.0, 1.0)), PiecewiseConstant((0.3,), (0.0, 1.0))
    for first, second in ((one, two), (two, one)):
        run = simulate(TwoForces(), inputs={"force": first, "more": second}, duration=1.0, step=0.01, method=method)
        both = PiecewiseConstant((0.3,), (0.0, 2.0))
        twice = simulate(model, inputs={"force": both}, duration=1.0, step=0.01, method=method)
        assert run.t.size == 101
        assert np.diff(run.t).min() > 0.009
        np.testing.assert_allclose(run["first"], twice["first"], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(run.u[29:31], [[0.0, 0.0], [1.0, 1.0]])


class TwoForces(toys.Chain):
    """The oscillator with its force split in two."""

    def __init__(self) -> None:
        super().__init__(1, M, M * W**2, 2 * ZETA * W * M, wall=True)
        self.inputs = (*self.inputs, fx.Signal("more", "N"))
        self.B = np.ones((1, 2))
        self.sensors = self.sensors._replace(input=np.zeros((4, 2)))


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_a_free_mass_under_a_constant_force(method: str) -> None:
    run = simulate(
        toys.Chain(1, m=2.0), inputs={"force": PiecewiseConstant((), (3.0,))}, duration=1.0, step=0.04, method=method
    )  # fmt: skip
    np.testing.assert_allclose(run["first"], 0.75 * run.t**2, atol=1e-13)
    np.testing.assert_allclose(run["first_rate"], 1.5 * run.t, atol=1e-13)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_free_oscillation_from_an_initial_state(method: str) -> None:
    model = toys.oscillator(W)
    start = (np.array([0.3]), np.array([-1.1]))
    run = simulate(model, duration=1.0, step=1e-3, method=method, initial=start, record_states=True)
    exact = 0.3 * np.cos(W * run.t) - 1.1 / W * np.sin(W * run.t)
    tolerance = 1e-13 if method == "exact" else 2e-5
    np.testing.assert_allclose(run["first"], exact, atol=tolerance)
    np.testing.assert_allclose(run.q[:, 0], exact, atol=tolerance)
    np.testing.assert_allclose(run.v[:, 0], run["first_rate"], atol=1e-12)
    np.testing.assert_array_equal(start, [[0.3], [-1.1]])


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_recorded_coordinates_belong_to_the_outputs(method: str) -> None:
    model = build(tokhi_arm(), "finite_difference", sections=5)
    inputs = {"hub_torque": bang_bang(0.1, 0.0213)}
    run = simulate(model, inputs=inputs, duration=0.05, step=1e-3, method=method, record_states=True)
    np.testing.assert_allclose(run.q @ model.sensors.position.T + run.v @ model.sensors.rate.T, run.y, atol=1e-12)
    assert run.coordinates[0].name == "theta"
    assert simulate(model, inputs=inputs, duration=0.05, method=method).q is None


def test_sensors_are_read_before_a_jump_and_inputs_told_after_it() -> None:
    jump = PiecewiseConstant((0.5,), (1.0, 5.0))
    run = simulate(toys.Chain(1, m=2.0), inputs={"force": jump}, duration=1.0, step=0.1)
    acceleration, force = run["shake"], run["force"]
    assert (acceleration[0], force[0]) == (0.0, 1.0)  # nothing acted before the run
    np.testing.assert_allclose(acceleration[1:6], 0.5)
    np.testing.assert_allclose(acceleration[6:], 2.5)
    np.testing.assert_array_equal(force, [1.0] * 5 + [5.0] * 6)


# ---- payload -----------------------------------------------------------------------------------------------------


class Loaded(toys.Chain):
    """A free mass that takes a payload."""

    def __init__(self, m: float = 2.0) -> None:
        super().__init__(1, m)

    def with_payload(self, mass: float, inertia: float) -> Loaded:
        return Loaded(2.0 + mass)


@pytest.mark.parametrize("method", LINEAR_METHODS)
@pytest.mark.parametrize("when", [0.5, 0.4732])
def test_payload_changes_where_it_is_told_and_rates_go_on(method: str, when: float) -> None:
    run = simulate(
        Loaded(), inputs={"force": PiecewiseConstant((), (6.0,))}, duration=1.0, step=0.1, method=method,
        payload=[(when, 1.0, 0.0)],
    )  # fmt: skip
    assert when in run.t
    later = np.maximum(run.t - when, 0.0)
    wanted = 3.0 * np.minimum(run.t, when) + 2.0 * later
    np.testing.assert_allclose(run["first_rate"], wanted, atol=1e-13)


def test_payload_changes_are_one_run_after_the_other() -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=6)
    inputs, step = {"hub_torque": Sine(0.1, 2.0)}, 1e-3
    whole = simulate(arm, inputs=inputs, duration=0.4, step=step, payload=[(0.3, 0.0, 0.0), (0.1, 0.02, 0.0)])
    run = simulate(arm, inputs=inputs, duration=0.1, step=step, record_states=True)
    loaded = arm.with_payload(0.02)
    shifted = {"hub_torque": Sampled(np.arange(0, 0.5, step) - 0.1, Sine(0.1, 2.0)(np.arange(0, 0.5, step)))}
    run = simulate(
        loaded, inputs=shifted, duration=0.2, step=step, initial=(run.q[-1], run.v[-1]), record_states=True
    )  # fmt: skip
    np.testing.assert_allclose(whole["tip"][100:301], run["tip"], atol=1e-12)


def test_payload_at_the_start_is_there_from_the_start() -> None:
    force = {"force": PiecewiseConstant((), (6.0,))}
    run = simulate(Loaded(), inputs=force, duration=1.0, step=0.1, payload=[(0.0, 1.0, 0.0)])
    np.testing.assert_allclose(run["first_rate"], 2.0 * run.t, atol=1e-13)


@pytest.mark.parametrize(("payload", "message"), [
    ([(0.5, 0.1)], "three finite numbers"),
    ([(0.5, float("nan"), 0.0)], "three finite numbers"),
    ([(1.5, 0.1, 0.0)], "1.5 s lies outside the run, 0 to 1 s"),
    ([(-0.1, 0.1, 0.0)], "outside the run"),
])  # fmt: skip
def test_wrong_payload_changes_are_refused(payload: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        simulate(Loaded(), duration=1.0, payload=payload)


def test_models_that_cannot_take_a_payload_say_so() -> None:
    with pytest.raises(NotAvailable, match="chain cannot change its payload"):
        simulate(toys.Chain(2), duration=1.0, payload=[(0.5, 0.1, 0.0)])
    arm = build(tokhi_arm(), "finite_difference", sections=5)
    with pytest.raises(NotAvailable, match="adds or removes a coordinate"):
        simulate(arm, duration=0.1, payload=[(0.05, 0.01, 1e-4)])


# ---- the grid ----------------------------------------------------------------------------------------------------


@given(
    st.floats(1e-3, 10.0), st.integers(1, 400), st.sampled_from([None, 1, 3, 8]),
    st.lists(st.floats(0.0, 12.0), max_size=6),
)  # fmt: skip
def test_any_grid_ascends_holds_its_breakpoints_and_divides_the_period(
    duration: float, count: int, per_period: int | None, breaks: list[float]
) -> None:
    step = duration / count * 1.0371
    period = per_period and per_period * step
    t, h, due = time_grid(duration, step, period, breaks)
    assert t[0] == 0.0
    assert duration <= t[-1] * (1 + 1e-12)
    assert t[-1] < duration + step
    assert np.all(np.diff(t) > 1e-9 * h.max())
    np.testing.assert_allclose(h, np.diff(t), rtol=1e-6, atol=2e-9 * step)
    assert h.max() <= step * (1 + 1e-12)
    for b in breaks:
        if b <= t[-1]:
            assert np.abs(t - b).min() <= 2e-9 * step
    calls = np.flatnonzero(due >= 0)
    np.testing.assert_array_equal(due[calls], np.arange(calls.size))
    if period:
        np.testing.assert_allclose(t[calls], period * np.arange(calls.size), atol=2e-9 * step)
        assert calls.size == pytest.approx(t[-1] / period, abs=1)
    else:
        assert calls.size == 0


def test_two_jumps_of_one_signal_at_one_time_are_one_jump() -> None:
    t = 0.1 * np.arange(6)
    signal = PiecewiseConstant((0.3, 0.1 + 0.2), (1.0, 50.0, 2.0))
    left, right = limits("force", signal, t, 0.1)
    np.testing.assert_array_equal(left, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(right, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


def test_equal_steps_are_equal_to_the_last_bit() -> None:
    _, h, _ = time_grid(1.0, 1e-3, 1e-3, [0.1 + 0.2, 0.71234])
    assert len(set(h.tolist())) == 3  # the step, and the two parts of the one that is divided


def test_too_many_steps_are_refused_before_memory_is_asked_for() -> None:
    with pytest.raises(DefinitionError, match="use a longer step"):
        simulate(OSCILLATOR, duration=1e9, step=1e-3)


def test_defaults_of_the_step() -> None:
    assert simulate(OSCILLATOR, duration=0.01).provenance["step_s"] == pytest.approx(1e-3)
    arm = build(tokhi_arm(), "finite_difference", sections=19)
    run = simulate(arm, duration=0.01, method="march")
    assert run.provenance["step_s"] == pytest.approx(0.9 * arm.stability_limit(), rel=0.05)
    assert run.provenance["step_s"] <= 0.9 * arm.stability_limit()


# ---- failures ----------------------------------------------------------------------------------------------------


def test_a_step_above_the_stability_limit_is_refused_with_the_number() -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=19)
    limit = 1e6 * arm.stability_limit()
    with pytest.raises(DefinitionError, match=f"step = 300 us is above the stability limit {limit:.6g} us") as caught:
        simulate(arm, duration=0.03, step=3e-4, method="march")
    told = float(str(caught.value).split("use step <= ")[1].split(" us")[0])
    assert limit - 0.1 <= told <= limit
    inputs = {"hub_torque": bang_bang(0.1, 0.01)}
    run, exact = (simulate(arm, inputs=inputs, duration=0.5, step=1e-6 * told, method=m) for m in ("march", "exact"))
    np.testing.assert_allclose(run["tip"], exact["tip"], atol=0.1 * np.abs(exact["tip"]).max())


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
        )  # fmt: skip
    growth = np.sqrt(400.0 / 0.5)
    assert caught.value.time == pytest.approx(np.log(2 * 1e6 * 400.0) / growth, rel=0.15)


def test_newton_failure_in_the_compiled_loop_is_an_error_with_its_time() -> None:
    scheme = generalised_alpha(tolerance=1e-16, iterations=3)
    for model in (toys.ElasticPendulum(), toys.ElasticPendulum().plain()):
        with pytest.raises(ConvergenceError, match="use a smaller step") as caught:
            simulate(
                model, duration=1.0, step=0.05, scheme=scheme, initial=(np.array([0.8, 2.0]), np.array([1.0, 9.0]))
            )  # fmt: skip
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
def test_a_massless_coordinate_is_an_error(method: str) -> None:
    model = toys.Chain(2, wall=True)
    model.M = np.diag([0.5, 0.0])
    with pytest.raises(ConvergenceError, match="mass"):
        simulate(model, duration=0.1, step=1e-3, method=method)


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
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        simulate(OSCILLATOR, **options)


def test_only_models_are_simulated() -> None:
    with pytest.raises(DefinitionError, match="cannot simulate a dict"):
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
    simulate(model, duration=0.1, step=5e-3, initial=(run.q[-1], run.v[-1]))


# ---- runs as a whole -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [toys.Chain(3), toys.ElasticPendulum(), toys.ElasticPendulum().plain()])
def test_progress_rises_to_one_and_an_interrupt_comes_through(model: Any) -> None:
    seen: list[float] = []
    inputs = {model.inputs[0].name: bang_bang(0.1, 0.05)}
    simulate(model, inputs=inputs, duration=0.3, progress=seen.append)
    assert len(seen) >= 10
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)

    def interrupt(done: float) -> None:
        if done > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(model, inputs=inputs, duration=0.3, progress=interrupt)
    again = simulate(model, inputs=inputs, duration=0.3)  # nothing is left behind
    np.testing.assert_array_equal(again.y, simulate(model, inputs=inputs, duration=0.3).y)


def test_the_progress_bar_leaves_the_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    bare = simulate(OSCILLATOR, inputs={"force": Sine(1.0, 1.0)}, duration=0.3)
    shown = simulate(OSCILLATOR, inputs={"force": Sine(1.0, 1.0)}, duration=0.3, progress=True)
    np.testing.assert_array_equal(bare.y, shown.y)


@pytest.mark.parametrize("method", ["auto", "march", "generalised_alpha"])
def test_runs_repeat_to_the_last_bit(method: str) -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=6)
    runs = [
        simulate(arm, inputs={"hub_torque": bang_bang(0.1, 0.0713)}, duration=0.2, step=1e-3, method=method)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].y, runs[1].y)
    np.testing.assert_array_equal(runs[0].u, runs[1].u)
    assert runs[0].scores == runs[1].scores


def test_a_plant_a_model_and_its_linear_plant_run_alike() -> None:
    plant = fx.load_plant("tokhi_azad_1994")
    inputs = {"hub_torque": bang_bang(0.1, 0.02)}
    runs = [simulate(s, inputs=inputs, duration=0.05) for s in (plant, plant.model, linearise(plant.model))]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.y, runs[0].y)
    told = runs[0].provenance
    assert (told["plant"], told["model"]) == ("tokhi_azad_1994", "finite_difference")
    assert {"overrides", "version", "source", "method", "step_s", "duration_s", "wall_s"} <= set(told)
    assert runs[1].provenance["model"] == "finite_difference"
    assert runs[2].provenance["model"] == "finite_difference"


def test_scoring_against_a_reference_that_nobody_follows() -> None:
    run = simulate(OSCILLATOR, None, {"first": Step(0.0, 1.0)}, duration=0.5, inputs={"force": Sine(1.0, 1.0)})
    assert run.scores["first.final_error"] == pytest.approx(run["first"][-1] - 1.0)
    np.testing.assert_array_equal(run["reference:first"], 1.0)


def test_at_rest_without_inputs_nothing_moves() -> None:
    for model in (toys.Chain(3), toys.ElasticPendulum(), toys.RodPendulum()):
        run = simulate(model, duration=0.5, step=5e-3)
        np.testing.assert_allclose(run.y, np.broadcast_to(run.y[0], run.y.shape), atol=1e-12)
