"""The compiled sweep of the chain of segments: the runs of the general loop, published runs, small steps, refusals.

Reference runs of the arms of Li and Zhang come from an assembly of the same chain in absolute angles, written
independently of the library, and from geometrically exact beams.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_finite_segment import full_arm

import flexctl as fx
from flexctl.errors import ConvergenceError
from flexctl.kernels.schemes import generalised_alpha, newmark, trapezoidal
from flexctl.laws.controller import LinearLaw
from flexctl.machine.arm import Damping
from flexctl.models.finite_segment import FiniteSegment
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.motion.moves import Cycloid, Sine, acceleration_of, bang_bang, quintic
from flexctl.motion.profiles import Cosine
from flexctl.testing.differences import assert_same, order

Array = npt.NDArray[Any]
RAYLEIGH = Damping("rayleigh", alpha=0.3, beta=1e-3)
MOVE = {f"joint{i}": Cosine(0.0, np.pi / 6.0, 0.4) for i in (1, 2, 3)}
TURN = {"joint1": quintic(0.0, np.pi / 6.0, 0.5)}


class General:
    """A model without its own stepper: the general compiled loop runs it."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name in ("own_stepper", "stepper", "with_payload"):
            raise AttributeError(name)
        return getattr(self._model, name)


def three(flexible: bool = False, **options: Any) -> FiniteSegment:
    plant = fx.load_plant("li_zhang_three_link" + "_flexible_joints" * flexible)
    return FiniteSegment(plant.arm, **{"segments": 60, **options})


def single(**options: Any) -> FiniteSegment:
    return FiniteSegment(fx.load_plant("li_zhang_single_link").arm, **{"segments": 60, **options})


def tip(run: fx.Response) -> Array:
    return np.column_stack([run["tip_x"], run["tip_y"]])


@pytest.mark.parametrize("closure", ["base", "half", "paper"])
@pytest.mark.parametrize("damping", [Damping(), RAYLEIGH], ids=lambda d: d.kind)
def test_the_sweep_takes_the_steps_of_the_general_loop(damping: Damping, closure: str) -> None:
    """Torque, servo, flexible joint, tip forces, weight, pieces, payload, dampers, every sensor; fast and far."""
    model = FiniteSegment(full_arm(damping), segments=5, closure=closure)
    inputs = {
        "joint1_torque": bang_bang(60.0, 0.2, 0.013), "joint2_command": Sine(0.5, 1.0), "tip_force_x": Sine(5.0, 3.0),
        "tip_force_y": Sine(3.0, 2.0),
    }
    q, v, _ = model.rigid_motion([0.3, 1.2], [4.0, -7.0], [0.0, 0.0])
    # both solved to rounding: what is compared is the steps, not where their corrections stop
    for kind in (generalised_alpha(), trapezoidal(), newmark(0.7, 0.8)):
        scheme = replace(kind, tolerance=1e-12)
        arguments: dict[str, Any] = {
            "inputs": inputs, "duration": 0.3, "step": 1e-3, "scheme": scheme, "initial": (q, v), "record_states": True,
        }
        fast, general = fx.simulate(model, **arguments), fx.simulate(General(model), **arguments)
        assert_same(fast, general, 1e-8)
        assert fast.q is not None
        np.testing.assert_allclose(fast.q, general.q, rtol=0, atol=1e-10)
        np.testing.assert_allclose(fast.v, general.v, rtol=0, atol=1e-7)
        assert np.ptp(fast["joint1_angle"]) > 0.3


@pytest.mark.parametrize(
    ("flexible", "commanded"), [(False, (1, 2, 3)), (True, (1, 2, 3)), (False, (1, 3)), (False, (2,))]
)
def test_commanded_joints_and_their_torques(flexible: bool, commanded: tuple[int, ...]) -> None:
    """Against the plain equations with the accelerations as inputs: the same limit, at second order."""
    model = three(flexible, segments=3)
    move = {f"joint{i}": Cycloid(0.0, 0.5, 0.3) for i in commanded}
    driven = {f"{name}_torque": name for name in move}
    wrapped = motion_driven(model, driven)
    pushes: dict[str, Any] = {f"{name}_acceleration": acceleration_of(motion) for name, motion in move.items()}
    free: dict[str, Any] = {name: Sine(0.02, 3.0) for name in model.joints if name not in driven}
    gaps, torques = [], []
    for step in (2e-3, 1e-3):
        own = fx.simulate(model, motions=move, inputs=free, duration=0.32, step=step, scheme=trapezoidal())
        other = fx.simulate(wrapped, inputs=pushes | free, duration=0.32, step=step, scheme=trapezoidal())
        gaps.append(np.abs(tip(own) - tip(other)).max())
        torques.append(max(np.linalg.norm(own[t] - other[t]) / np.linalg.norm(other[t]) for t in driven))
        for name, motion in move.items():
            np.testing.assert_allclose(own[f"{name}_angle"], motion(own.t)[0], rtol=0, atol=1e-13)
            np.testing.assert_allclose(own[f"{name}_rate"], motion(own.t)[1], rtol=0, atol=1e-12)
    assert order(gaps).min() > 1.8
    assert torques[-1] < 1e-3
    assert order(torques).min() > 1.8


PEAKS = {  # mm over 1.5 s: x min, x max, y min, y max; steps of 0.5 ms
    (False, "base"): (-38.668, 36.628, -40.336, 19.211), (False, "paper"): (-37.886, 35.336, -39.678, 18.687),
    (True, "base"): (-42.661, 41.581, -49.710, 27.068), (True, "paper"): (-43.025, 41.913, -49.085, 26.569),
}
BEAMS = {  # the same for geometrically exact beams
    False: (-38.660, 36.614, -40.330, 19.204), True: (-42.669, 41.595, -49.705, 27.061)
}


def extremes(run: fx.Response) -> Array:
    x, y = 1e3 * run["tip_error_x"], 1e3 * run["tip_error_y"]
    return np.array([x.min(), x.max(), y.min(), y.max()])


@pytest.mark.parametrize(("flexible", "closure"), PEAKS)
def test_end_point_errors_of_the_three_link_arm(flexible: bool, closure: str) -> None:
    model = three(flexible, closure=closure)
    run = fx.simulate(model, motions=MOVE, duration=1.5, step=5e-4, method="trapezoidal")
    np.testing.assert_allclose(extremes(run), PEAKS[flexible, closure], rtol=0, atol=1e-3)
    if closure == "base":
        np.testing.assert_allclose(extremes(run), BEAMS[flexible], rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("flexible", "links", "joints"),
    [(False, (7.752, 3.268, 0.358), (0.0, 0.0, 0.0)), (True, (6.955, 2.893, 0.346), (10.28, 4.99, 0.814))],
)
def test_flexible_joints_lower_the_deformation_of_the_links(
    flexible: bool, links: tuple[float, ...], joints: tuple[float, ...]
) -> None:
    """Largest tip deflection of each link from the tangent at its root [mm], largest angle of each joint [mrad]."""
    model = three(flexible)
    run = fx.simulate(model, motions=MOVE, duration=1.5, step=2.5e-4, method="trapezoidal", record_states=True)
    chain, theta = model.chain, model.angles(run.q)
    for i in range(3):
        own, root = chain.link == i, theta[:, chain.root[i]]
        across = np.sin(theta[:, own] - root[:, None]) @ chain.length[own]
        assert 1e3 * np.abs(across).max() == pytest.approx(links[i], rel=5e-3)
        before = theta[:, chain.joint[i] - 1] if i else 0.0
        turned = root - before - run[f"joint{i + 1}_angle"]
        assert 1e3 * np.abs(turned).max() == pytest.approx(joints[i], rel=5e-3, abs=1e-9)


def test_five_segments_with_the_root_spring_beat_sixty_without() -> None:
    """Lowest y error of the arm with flexible joints [mm]; continuum -49.705."""
    found = {}
    for closure, n in (("base", 5), ("paper", 60)):
        run = fx.simulate(three(True, segments=n, closure=closure), motions=MOVE, duration=1.5, step=5e-4)
        found[closure] = abs(extremes(run)[2] + 49.705)
    assert found["base"] < 0.3 * found["paper"]


@pytest.mark.parametrize(
    ("closure", "low", "high", "residual", "frequency"),
    [("paper", (-3.7234, 0.1110), (3.4847, 0.3610), 1.453, 6.2014),
     ("base", (-3.8630, 0.1125), (3.6875, 0.3660), 1.173, 6.0974)],
)
def test_deflection_of_the_single_link(
    closure: str, low: tuple[float, float], high: tuple[float, float], residual: float, frequency: float
) -> None:
    run = fx.simulate(single(closure=closure), motions=TURN, duration=3.0, step=5e-4, method="trapezoidal")
    angle = TURN["joint1"](run.t)[0]
    y = 1e3 * (-np.sin(angle) * run["tip_x"] + np.cos(angle) * run["tip_y"])
    for (value, when), k in ((low, y.argmin()), (high, y.argmax())):
        assert y[k] == pytest.approx(value, rel=2e-4)
        assert run.t[k] == pytest.approx(when, abs=6e-4)
    after = run.t > 0.5
    assert y[after].max() == pytest.approx(residual, rel=5e-3)
    t, z = run.t[after], y[after]
    rising = np.flatnonzero((z[:-1] < 0) & (z[1:] >= 0))
    crossings = t[rising] - z[rising] * (t[rising + 1] - t[rising]) / (z[rising + 1] - z[rising])
    assert (crossings.size - 1) / np.ptp(crossings) == pytest.approx(frequency, rel=2e-3)


def test_second_order_in_the_step() -> None:
    model = single(segments=20)
    exact = tip(fx.simulate(model, motions=TURN, duration=0.6, step=2e-5, method="trapezoidal"))
    for method in ("trapezoidal", "generalised_alpha"):
        errors = []
        for step in (2e-3, 1e-3, 5e-4):
            run = fx.simulate(model, motions=TURN, duration=0.6, step=step, method=method)
            errors.append(np.abs(tip(run) - exact[:: round(step / 2e-5)]).max())
        assert order(errors).min() > 1.85
    damped = [
        np.abs(tip(fx.simulate(model, motions=TURN, duration=0.6, step=h, scheme=newmark(0.7, 0.8)))
               - exact[:: round(h / 2e-5)]).max()
        for h in (2e-3, 1e-3, 5e-4)
    ]
    assert order(damped)[-1] == pytest.approx(1.0, abs=0.15)  # gamma above 1/2 dissipates at first order


@pytest.mark.parametrize("segments", [10, 60, 200, 1000])
def test_no_blow_up_between_10_us_and_2_ms(segments: int) -> None:
    """Every step gives the same motion up to its own error, whatever the number of segments."""
    model, duration = single(segments=segments), 0.04
    motion = {"joint1": quintic(0.0, 0.05, 0.04)}
    runs = {
        h: tip(fx.simulate(model, motions=motion, duration=duration, step=h, method="trapezoidal"))
        for h in (1e-5, 1e-4, 1e-3, 2e-3)
    }
    finest = runs[1e-5]
    assert np.abs(runs[1e-4] - finest[::10]).max() < 2e-7
    assert np.abs(runs[1e-3] - finest[::100]).max() < 2e-5
    assert np.abs(runs[2e-3] - finest[::200]).max() < 8e-5


def test_steps_of_microseconds_lose_nothing_to_rounding() -> None:
    """A form with A r + B, A = 1 / (beta dt^2), is off by 37 um at 3 us and 1 ms a step; the angles are not."""
    model, motion = single(segments=20), {"joint1": quintic(0.0, 0.05, 0.02)}
    runs = [
        tip(fx.simulate(model, motions=motion, duration=0.02, step=h, method="trapezoidal"))
        for h in (1e-6, 4e-6, 1.6e-5)
    ]
    fine, coarse = np.abs(runs[1] - runs[0][::4]).max(), np.abs(runs[2] - runs[0][::16]).max()
    assert coarse < 2e-8
    assert fine < 0.12 * coarse  # still falling at second order: nothing but the error of the scheme


@pytest.mark.parametrize("flexible", [False, True])
def test_one_pass_per_step_is_enough(flexible: bool) -> None:
    """With a tolerance of 1e-6 a step of 1 ms takes one pass, within 1e-6 m of the step solved to rounding."""
    model, kept = three(flexible), []
    make = model.stepper
    model.stepper = lambda *arguments: kept.append(make(*arguments)) or kept[-1]
    runs = [
        tip(fx.simulate(model, motions=MOVE, duration=1.5, step=1e-3, scheme=trapezoidal(tolerance=tolerance)))
        for tolerance in (1e-6, 1e-10, 1e-12)
    ]
    passes = [stepper.motion.counts[1] / 1500 for stepper in kept]
    assert passes[0] == 1.0
    assert 1.0 < passes[1] <= 2.0
    assert np.abs(runs[0] - runs[2]).max() < 1e-6
    assert np.abs(runs[1] - runs[2]).max() < 1e-10
    assert np.abs(runs[0] - runs[2]).max() > 1e-12  # it did stop earlier


def test_a_payload_gripped_on_the_way() -> None:
    """Coordinates and rates go on; the general loop agrees (its model cannot change, so it is run in two parts)."""
    model, push = single(segments=10), {"joint1_torque": bang_bang(2e-3, 1.0)}  # constant for half a second
    whole = fx.simulate(
        model, inputs=push, duration=0.2, step=1e-3, payload=[(0.1, 0.01, 1e-6)], record_states=True
    )
    first = fx.simulate(General(model), inputs=push, duration=0.1, step=1e-3, record_states=True)
    assert first.q is not None
    assert first.v is not None
    assert whole.q is not None
    np.testing.assert_allclose(whole.q[100], first.q[-1], rtol=0, atol=1e-9)
    heavy = fx.simulate(
        General(model.with_payload(0.01, 1e-6)), inputs=push, duration=0.1, step=1e-3,
        initial=(first.q[-1], first.v[-1]), record_states=True,
    )
    assert heavy.q is not None
    np.testing.assert_allclose(whole.q[100:], heavy.q, rtol=0, atol=1e-6)


def test_divergence_is_reported_with_its_time() -> None:
    model = FiniteSegment(full_arm(Damping()), segments=5)
    wild = LinearLaw(0.01, ("joint1_angle", "joint1_rate"), ("joint1_torque",), (), Dy=[[9e5, 9e4]])
    with pytest.raises(ConvergenceError) as caught:
        fx.simulate(model, wild, duration=5.0)
    assert 0.0 < caught.value.time < 5.0
