"""Sampled controllers in the time loop: compiled and called, wrapped in any order, right and wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import control
import numpy as np
import pytest
import toys
from analytical import tokhi_arm
from toys import Called

from flexctl.errors import ConvergenceError, DefinitionError
from flexctl.laws.compiled import compile_law
from flexctl.laws.controller import Controller, Delayed, LinearLaw, Noisy, Quantised, Saturated
from flexctl.models import build
from flexctl.motion.moves import PiecewiseConstant, Step, Trapezoid, bang_bang, quintic
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array, assert_same

PERIOD = 0.02
MOVE = quintic(0.0, 0.4, 0.3)
# a PD with a filtered rate and a little integral action: two states, two outputs, one channel
LAW = LinearLaw(
    PERIOD, ("angle", "tip"), ("torque",), ("angle",),
    A=[[0.4, 0.0], [0.0, 1.0]], By=[[0.6, 0.0], [0.01, 0.02]], Br=[[0.0, 0.0, 0.0], [-0.03, 0.0, 0.0]],
    C=[[12.0, -3.0]], Dy=[[-20.0, -0.4]], Dr=[[8.0, 0.5, 0.1]],
)
INTEGRATOR = LinearLaw(
    PERIOD, ("angle",), ("torque",), ("angle",), A=[[0.7]], By=[[-0.4]], Br=[[0.4, 0.0, 0.0]], Bu=[[0.3]], C=[[1.0]],
    Dy=[[-4.0]], Dr=[[4.0, 0.0, 0.0]], lower=np.array([-0.4]), upper=np.array([0.3]),
)
WRAPPERS = {
    "delay": lambda law: Delayed(law, 2),
    "limit": lambda law: Saturated(law, 0.9),
    "encoder": lambda law: Quantised(law, {law.measures[0]: 2e-3}),
    "noise": lambda law: Noisy(law, {law.measures[-1]: 1e-3, law.measures[0]: 5e-4}, seed=7),
}


def run(law: Any, model: Any = None, **options: Any) -> Any:
    chosen: dict[str, Any] = {"duration": 0.5, "step": PERIOD / 4, **options}
    return simulate(model or toys.ElasticPendulum(c_theta=0.1), law, chosen.pop("reference", MOVE), **chosen)


# ---- compiled = called ----------------------------------------------------------------------------------------------

NESTS = [names for k in range(5) for names in permutations(WRAPPERS, k)]


@pytest.mark.parametrize("names", NESTS, ids="-".join)
@pytest.mark.parametrize("law", [LAW, INTEGRATOR], ids=["linear", "limited"])
def test_compiled_law_is_the_called_law_in_every_nesting(law: LinearLaw, names: tuple[str, ...]) -> None:
    for name in names:
        law = WRAPPERS[name](law)
    one, other = run(law), run(Called(law))
    assert np.abs(one.u).max() > 0.1
    assert_same(one, other)


def test_what_is_compiled() -> None:
    model = toys.ElasticPendulum()

    def compiles(law: Any) -> bool:
        return compile_law(law, model, np.arange(10.0)) is not None

    assert compiles(LAW)
    assert compiles(INTEGRATOR)
    assert compiles(Noisy(Delayed(Saturated(Quantised(LAW, {"tip": 0.1}), 1.0), 3)))
    assert compiles(Noisy(Quantised(LAW, {"tip": 0.1})))
    # wrappers in any order: `tests/laws/test_compiled_laws.py` holds them to their steps in Python, bit by bit
    assert compiles(Quantised(Noisy(LAW), {"tip": 0.1}))
    assert compiles(Noisy(Noisy(LAW)))
    assert compiles(Saturated(INTEGRATOR, 0.2))
    assert compiles(Saturated(LAW.limited(2.0, 3.0), 1.0))
    assert not compiles(Called(LAW))
    assert not compiles(type("Changed", (LinearLaw,), {})(PERIOD, (), ("torque",)))
    assert not compiles(type("Changed", (Delayed,), {})(LAW))


@pytest.mark.parametrize("method", ["exact", "march", "generalised_alpha", "trapezoidal"])
def test_all_methods_run_the_same_laws(method: str) -> None:
    """Also with jumps off the grid, an inner payload change and more steps than one per period."""
    arm = build(tokhi_arm(), "finite_difference", sections=5)
    law = Delayed(Quantised(LinearLaw(
        4e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",),
        Dy=[[-0.9, -0.1]], Dr=[[0.9, 0.1, 0.0]],
    ), {"joint1_angle": 1e-5}), 1)
    options: dict[str, Any] = {
        "model": arm, "method": method, "step": 5e-4, "inputs": {"joint1_torque": bang_bang(0.05, 0.0633, 0.0417)},
        "payload": [(0.2022, 0.01, 0.0), (0.2022, 0.02, 0.0), (0.0, 0.001, 0.0)],
    }
    one, other = run(law, **options), run(Called(law), **options)
    assert_same(one, other, 1e-9)
    exact = run(law, **{**options, "method": "exact"})
    wanted = exact["tip_displacement"]
    np.testing.assert_allclose(one["tip_displacement"], wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize("when", [0.0, 0.1, 0.1037])
def test_the_law_is_called_once_per_period_whatever_the_payload_does(when: float) -> None:
    calls: list[float] = []

    class Counting(Called):
        def step(self, state: Any, t: float, y: Array, r: Array) -> Any:
            calls.append(t)
            return self.law.step(state, t, y, r)

    law = LinearLaw(PERIOD, ("joint1_angle",), ("joint1_torque",), Dy=[[-0.3]])
    arm = build(tokhi_arm(), "finite_difference", sections=4)
    payload = [(when, 0.01, 0.0), (when, 0.02, 0.0)]
    run(Counting(law), arm, reference=None, duration=0.2, step=None, payload=payload)
    np.testing.assert_allclose(calls, PERIOD * np.arange(10))


@pytest.mark.parametrize("hide", [False, True])
def test_a_payload_taken_between_two_calls_leaves_the_command_held(hide: bool) -> None:
    law = LinearLaw(PERIOD, (), ("joint1_torque",), ("tip_displacement",), Dr=[[1.0, 0.0, 0.0]])
    arm = build(tokhi_arm(), "finite_difference", sections=4)
    payload = [(0.1037, 0.01, 0.0)]
    found = run(Called(law) if hide else law, arm, reference=Step(0.0, 0.02), duration=0.2, payload=payload)
    np.testing.assert_array_equal(found["joint1_torque"], 0.02)


# ---- what the wrappers do -------------------------------------------------------------------------------------------

OPEN = LinearLaw(PERIOD, (), ("force",), ("first",), Dr=[[1.0, 0.0, 0.0]])
RAMP = Trapezoid(0.0, 1.0, 1.0, 0.25)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_a_delayed_command_arrives_so_many_periods_late(samples: int, hide: bool) -> None:
    law = Delayed(OPEN, samples)
    found = run(Called(law) if hide else law, toys.oscillator(5.0), reference=RAMP)["force"]
    k = np.maximum(np.arange(found.size) // 4 - samples, -1)
    wanted = np.where(k < 0, 0.0, RAMP(np.maximum(k, 0) * PERIOD)[0])
    np.testing.assert_allclose(found[:-1], wanted[:-1], atol=1e-12)


def test_the_command_is_held_between_calls_and_inputs_are_added() -> None:
    push = PiecewiseConstant((0.0333,), (0.0, 5.0))
    found = run(OPEN, toys.oscillator(5.0), reference=RAMP, inputs={"force": push})
    held = RAMP(PERIOD * np.floor(found.t / PERIOD + 1e-9))[0]
    np.testing.assert_allclose(found["force"][:-1], (held + push(found.t))[:-1], atol=1e-12)


@pytest.mark.parametrize("hide", [False, True])
def test_a_step_of_the_reference_is_seen_in_its_own_period_however_it_is_rounded(hide: bool) -> None:
    for k in range(1, 25):
        for start in (k * PERIOD, sum([PERIOD] * k), np.nextafter(k * PERIOD, 1.0)):
            law = Called(OPEN) if hide else OPEN
            found = simulate(toys.oscillator(5.0), law, Step(0.0, 1.0, start), duration=0.5)["force"]
            assert np.flatnonzero(found)[0] == k


@pytest.mark.parametrize("hide", [False, True])
def test_quantised_sensors_read_multiples(hide: bool) -> None:
    law = Quantised(LinearLaw(PERIOD, ("angle",), ("torque",), Dy=[[-1.0]]), {"angle": 0.05})
    start = (np.array([0.8, 0.5]), np.zeros(2))
    found = run(Called(law) if hide else law, reference=None, initial=start)
    read = -found["torque"][:-1:4]
    np.testing.assert_allclose(read, 0.05 * np.floor(found["angle"][:-1:4] / 0.05 + 0.5), atol=1e-14)
    assert np.unique(np.round(read, 6)).size > 5


@pytest.mark.parametrize("hide", [False, True])
def test_noise_has_its_deviation_and_its_seed(hide: bool) -> None:
    still = toys.Chain(1, m=1e9)  # does not move: the command is the noise

    def commands(seed: int, periods: int = 3000) -> Array:
        law = Noisy(LinearLaw(1e-3, ("first",), ("force",), Dy=[[1.0]]), {"first": 0.2}, seed)
        law = Called(law) if hide else law
        return simulate(still, law, duration=periods * 1e-3)["force"][:-1]

    noise = commands(1)
    assert noise.std() == pytest.approx(0.2, rel=0.05)
    assert abs(noise.mean()) < 0.02
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.06
    np.testing.assert_array_equal(noise, commands(1))
    np.testing.assert_allclose(noise[:700], commands(1, 700), atol=1e-12)  # a longer run begins like a short one
    assert np.abs(noise - commands(2)).max() > 0.1


@pytest.mark.parametrize("hide", [False, True])
def test_limits(hide: bool) -> None:
    outside = Saturated(replace(LAW, measures=("angle", "tip")), 0.5)
    inside = LAW.limited(-0.2, 0.5)
    far = Step(0.0, 3.0)
    for law, low, high in ((outside, -0.5, 0.5), (inside, -0.2, 0.5)):
        found = run(Called(law) if hide else law, reference=far)["torque"]
        assert found.max() == high
        assert found.min() >= low
    assert run(LAW, reference=far)["torque"].max() > 1.0


def test_the_applied_command_is_what_the_law_sees() -> None:
    """x+ = 0.7 x + 0.4 (r - y) + 0.3 sat(u), by hand."""
    found = run(INTEGRATOR, reference=Step(0.0, 1.0))
    x, u = 0.0, []
    for y in found["angle"][:-1:4]:
        u.append(min(max(x + 4.0 * (1.0 - y), -0.4), 0.3))
        x = 0.7 * x + 0.4 * (1.0 - y) + 0.3 * u[-1]
    np.testing.assert_allclose(found["torque"][:-1:4], u, atol=1e-12)
    assert max(u) == 0.3


# ---- other kinds of controller --------------------------------------------------------------------------------------


def test_a_sampled_python_control_system_is_a_controller() -> None:
    system = control.ss(
        LAW.A, LAW.By, LAW.C, LAW.Dy, PERIOD, inputs=list(LAW.measures), outputs=list(LAW.drives)
    )
    start = (np.array([0.8, 0.5]), np.zeros(2))
    bare = replace(LAW, follows=(), Br=np.zeros((2, 0)), Dr=np.zeros((1, 0)))
    assert_same(run(system, reference=None, initial=start), run(bare, reference=None, initial=start))
    assert_same(run(bare.feedback(), reference=None, initial=start), run(bare, reference=None, initial=start))


def test_a_sampled_system_without_its_period_is_refused() -> None:
    system = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], True, inputs=["angle"], outputs=["torque"])
    with pytest.raises(DefinitionError, match="dt = True: give its sample time"):
        run(system, reference=None)


def test_labels_of_a_linear_system_must_be_the_plants() -> None:
    matrices = ([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.01)
    with pytest.raises(DefinitionError, match="unknown output of elastic pendulum measured by the law"):
        run(control.ss(*matrices, inputs=["angel"], outputs=["torque"]), reference=None)
    with pytest.raises(DefinitionError, match="signals of the controller have no names: give them"):
        run(control.ss(*matrices), reference=None)


# ---- wrong controllers ----------------------------------------------------------------------------------------------


class Custom:
    """A controller in a user's own words."""

    sample_time, measures, drives, follows = PERIOD, ("angle",), ("torque",), ("angle",)

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def initial(self) -> int:
        return 0

    def step(self, state: int, t: float, y: Array, r: Array) -> Any:
        assert (y.shape, r.shape) == ((1,), (3,))
        y[:], r[:] = np.nan, np.nan  # what it gets is its own
        return (self.answer if state >= 3 else np.zeros(1)), state + 1


@pytest.mark.parametrize(("answer", "message"), [
    (np.zeros(2), r"Custom.step returned a command of shape \(2,\) at t = 0.06 s; it drives \['torque'\]"),
    (0.0, r"shape \(\)"),
    (np.zeros((1, 1)), r"shape \(1, 1\)"),
    (np.array([np.nan]), r"returned \[nan\] at t = 0.06 s: commands must be finite"),
    (np.array([np.inf]), "must be finite"),
])
def test_a_command_of_wrong_shape_or_value_is_refused_with_its_time(answer: Any, message: str) -> None:
    assert isinstance(Custom(answer), Controller)
    with pytest.raises(DefinitionError, match=message):
        run(Custom(answer))


def test_a_custom_controller_gets_copies_and_its_state() -> None:
    found = run(Custom(np.array([0.25])))
    np.testing.assert_array_equal(found["torque"][:12], 0.0)
    np.testing.assert_array_equal(found["torque"][12:-1], 0.25)
    assert np.isfinite(found.y).all()
    np.testing.assert_allclose(found["reference:angle"], MOVE(found.t)[0])


def test_an_error_in_a_controller_comes_through() -> None:
    class Failing(Custom):
        def step(self, state: int, t: float, y: Array, r: Array) -> Any:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run(Failing(None))


class Half:
    sample_time, measures, drives = 0.1, (), ()


@pytest.mark.parametrize(("law", "options", "message"), [
    (LAW, {"reference": None}, r"the law follows \['angle'\]: give a reference"),
    (LAW, {"reference": {"tip": MOVE}}, r"no reference for channel \"angle\"; given: \['tip'\]"),
    (LAW, {"reference": 0.3}, 'the reference of "angle" is a float'),
    (replace(LAW, measures=("angel", "tip")), {}, r'measured by the law, "angel" \(did you mean "angle"\?\)'),
    (replace(LAW, drives=("torqe",)), {}, r'driven by the law, "torqe" \(did you mean "torque"\?\)'),
    (Half(), {}, "Half is not a controller: it lacks follows, initial, step"),
    (3.0, {}, "float is not a controller"),
])
def test_wrong_controllers_are_named(law: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        run(law, **options)


def test_a_negative_sample_time_of_a_custom_controller_is_refused() -> None:
    law = Custom(None)
    law.sample_time = -0.1  # type: ignore[misc]
    with pytest.raises(DefinitionError, match=r"sample_time = -0\.1 s"):
        run(law)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("method", ["exact", "march", "generalised_alpha", "plain"])
def test_an_unstable_loop_is_an_error_not_a_run(method: str, hide: bool) -> None:
    """A wrong sign: x'' = 40 (x - r)/m with m = 1.6 leaves at the rate 5 1/s and is beyond 1e6 after some 3 s."""
    model, name = (toys.Crane(m=1e-9, cart=1.6), "cart") if method == "plain" else (toys.Chain(1, m=1.6), "first")
    law = LinearLaw(1e-3, (name,), ("force",), (name,), Dy=[[40.0]], Dr=[[-40.0, 0.0, 0.0]])
    with pytest.raises(ConvergenceError, match="the closed loop is unstable") as caught:
        simulate(
            model, Called(law) if hide else law, Step(0.0, 0.1), duration=20.0,
            method="generalised_alpha" if method == "plain" else method,
        )
    # the exact method bounds the root of twice the energy, which is sqrt(m) 5 times the position here
    bound = 1e6 / (5.0 * np.sqrt(1.6) if method == "exact" else 1.0)
    assert caught.value.time == pytest.approx(np.log(2 * bound / 0.1) / 5.0, rel=0.01)
