"""The time loop without a controller: methods, grid, jumps, payload, starts, failures. Laws: `test_closed_loop`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toys
from analytical import tokhi_arm

import flexctl as fx
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.linear import linearise
from flexctl.models import build
from flexctl.motion.moves import PiecewiseConstant, Sampled, Sine, Step, bang_bang
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array, order

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
    )
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
    inputs = {"joint1_torque": bang_bang(0.1, 0.0213)}
    run = simulate(model, inputs=inputs, duration=0.05, step=1e-3, method=method, record_states=True)
    zero = np.zeros_like
    y = [model.output(q, v, zero(q), zero(u)) for q, v, u in zip(run.q, run.v, run.u, strict=True)]
    np.testing.assert_allclose(y, run.y, atol=1e-12)
    linear = run.q @ model.sensors.position.T + run.v @ model.sensors.rate.T
    turned = [one.row for one in model.turned]
    np.testing.assert_allclose(np.delete(linear, turned, 1), np.delete(run.y, turned, 1), atol=1e-12)
    assert run.coordinates[0].name == "theta"
    assert simulate(model, inputs=inputs, duration=0.05, method=method).q is None


def test_sensors_are_read_before_a_jump_and_inputs_told_after_it() -> None:
    jump = PiecewiseConstant((0.5,), (1.0, 5.0))
    run = simulate(toys.Chain(1, m=2.0), inputs={"force": jump}, duration=1.0, step=0.1)
    acceleration, force = run["shake"], run["force"]
    np.testing.assert_allclose(acceleration[:6], 0.5)  # what acts from the start on has always acted
    np.testing.assert_allclose(acceleration[6:], 2.5)
    np.testing.assert_array_equal(force, [1.0] * 5 + [5.0] * 6)
    jump = PiecewiseConstant((0.0,), (0.0, 1.0))
    begun = simulate(toys.Chain(1, m=2.0), inputs={"force": jump}, duration=0.2, step=0.1)
    np.testing.assert_allclose(begun["shake"], [0.0, 0.5, 0.5])  # but not what jumps at the start
    np.testing.assert_array_equal(begun["force"], [1.0] * 3)


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
    )
    assert when in run.t
    later = np.maximum(run.t - when, 0.0)
    wanted = 3.0 * np.minimum(run.t, when) + 2.0 * later
    np.testing.assert_allclose(run["first_rate"], wanted, atol=1e-13)


def test_payload_changes_are_one_run_after_the_other() -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=6)
    inputs, step = {"joint1_torque": Sine(0.1, 2.0)}, 1e-3
    whole = simulate(arm, inputs=inputs, duration=0.4, step=step, payload=[(0.3, 0.0, 0.0), (0.1, 0.02, 0.0)])
    run = simulate(arm, inputs=inputs, duration=0.1, step=step, record_states=True)
    loaded = arm.with_payload(0.02)

    class Later:
        breakpoints = ()

        def __call__(self, t: Array, before: bool = False) -> Array:
            return Sine(0.1, 2.0)(np.asarray(t) + 0.1, before)

    start = run.q[-1], run.v[-1]
    inputs = {"joint1_torque": Later()}
    run = simulate(loaded, inputs=inputs, duration=0.2, step=step, initial=start, record_states=True)
    np.testing.assert_allclose(whole["tip_displacement"][100:301], run["tip_displacement"], atol=1e-12)


def test_payload_at_the_start_is_there_from_the_start() -> None:
    force = {"force": PiecewiseConstant((), (6.0,))}
    run = simulate(Loaded(), inputs=force, duration=1.0, step=0.1, payload=[(0.0, 1.0, 0.0)])
    np.testing.assert_allclose(run["first_rate"], 2.0 * run.t, atol=1e-13)


@pytest.mark.parametrize(("payload", "message"), [
    ([(0.5, 0.1)], "three finite numbers"),
    ([(0.5, float("nan"), 0.0)], "three finite numbers"),
    ([(1.5, 0.1, 0.0)], "1.5 s lies outside the run, 0 to 1 s"),
    ([(-0.1, 0.1, 0.0)], "outside the run"),
])
def test_wrong_payload_changes_are_refused(payload: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        simulate(Loaded(), duration=1.0, payload=payload)


def test_models_that_cannot_take_a_payload_say_so() -> None:
    with pytest.raises(NotAvailable, match="chain cannot change its payload"):
        simulate(toys.Chain(2), duration=1.0, payload=[(0.5, 0.1, 0.0)])
    arm = build(tokhi_arm(), "finite_difference", sections=5)
    with pytest.raises(NotAvailable, match="adds or removes a coordinate"):
        simulate(arm, duration=0.1, payload=[(0.05, 0.01, 1e-4)])


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
        simulate(arm, inputs={"joint1_torque": bang_bang(0.1, 0.0713)}, duration=0.2, step=1e-3, method=method)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].y, runs[1].y)
    np.testing.assert_array_equal(runs[0].u, runs[1].u)
    assert runs[0].scores == runs[1].scores


def test_a_plant_a_model_and_its_linear_plant_run_alike() -> None:
    plant = fx.load_plant("tokhi_azad_1994")
    inputs = {"joint1_torque": bang_bang(0.1, 0.02)}
    runs = [simulate(s, inputs=inputs, duration=0.05) for s in (plant, plant.model, linearise(plant.model))]
    np.testing.assert_array_equal(runs[1].y, runs[0].y)
    turned = [one.row for one in plant.model.turned]  # with the arm; a linear plant moves along the tangent at rest
    np.testing.assert_array_equal(*(np.delete(run.y, turned, 1) for run in (runs[2], runs[0])))
    assert runs[0]["tip_x"][0] == 0.96
    bent = np.abs(runs[0]["chord1_angle"])
    assert np.all(np.abs(runs[0]["tip_y"] - runs[2]["tip_y"]) <= 0.96 * bent**3 / 6.0 + 1e-15)
    assert np.all(np.abs(runs[0]["tip_x"] - 0.96 - runs[2]["tip_x"]) <= 0.96 * bent**2 / 2.0 + 1e-15)
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


@pytest.mark.parametrize("motion", [fx.Step(0.0, 1.0), fx.Cycloid(0.0, 1.0, 1.0)])
def test_motions_are_no_inputs(motion) -> None:
    with pytest.raises(fx.DefinitionError, match=r"give an input signal such as fx\.bang_bang"):
        fx.simulate("tokhi_azad_1994", inputs={"joint1_torque": motion}, duration=0.1)
