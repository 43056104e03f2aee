"""Continuous laws in the stepper of the ANCF arm: against the plain form, and servo joints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from tip_paths import GAINS, motions, paper_arm

import flexctl as fx
from flexctl.design.tracking import pd_gains, tip_tracking
from flexctl.kernels.schemes import Scheme, broyden, generalised_alpha, settled, trapezoidal
from flexctl.laws.controller import LinearLaw
from flexctl.machine.arm import Damping
from flexctl.models.ancf import Ancf
from flexctl.motion.moves import Cycloid, Step
from flexctl.motion.paths import Circle, ConstantSpeed, Path
from flexctl.motion.track import Track

CIRCLE = Circle((1.6, 0.0), 0.3)
ANGLES = ("joint1_angle", "joint2_angle")
READ = ("tip_x", "tip_y", *ANGLES, "joint1_rate", "joint2_rate", "chord2_angle")


def damped(path: str = "circle", beta: float = 1e-3, elements: tuple[int, int] = (2, 4), **more: Any) -> Ancf:
    damping = Damping("rayleigh", beta=beta) if beta else Damping()
    return Ancf(paper_arm(path, damping=damping, **more), elements=elements)


def pd(path: str, kinds: tuple[int, ...] = (1, 2)) -> LinearLaw:
    """The paper's PD of these joints as a continuous law."""
    kp, kd = (np.diag([GAINS[path][part][i - 1] for i in kinds]) for part in (0, 1))
    angles = tuple(f"joint{i}_angle" for i in kinds)
    return LinearLaw(
        0.0, (*angles, *(f"joint{i}_rate" for i in kinds)), tuple(f"joint{i}_torque" for i in kinds), angles,
        Dy=np.hstack([-kp, -kd]), Dr=np.kron(kp, [1.0, 0.0, 0.0]) + np.kron(kd, [0.0, 1.0, 0.0]),
    )


def wanted(path: str) -> dict[str, Any]:
    return {f"{joint}_angle": motion for joint, motion in motions(path).items()}


def tracking(model: Ancf, **more: Any) -> tuple[Any, Any, Track]:
    """A law of two phases of gains along the circle, which it runs through in 6 s from rest, and its references."""
    where = Track(model.arm, Path(CIRCLE, ConstantSpeed(CIRCLE.length, 6.0)), settled=0.1)
    gains = [pd_gains((35.0, 20.5), 8.0), pd_gains((35.0, 20.5), 6.0, start=0.0634)]
    law = tip_tracking(where, gains, sample_time=0.0, **more)
    return law, where.references(model, law), where


@pytest.fixture(autouse=True)
def _unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poles along the path take longer than these runs, and tests of tracking have them."""
    monkeypatch.setattr(import_module("flexctl.simulation.simulate"), "warn_if_unstable", lambda *_: None)


LAWS: dict[str, dict[str, Any]] = {
    "rates": {}, "filtered": {"filter_time": 0.02}, "tip": {"filter_time": 0.02, "integral": 2.0},
    "tip, rates": {"integral": 2.0}, "chord": {"angles": "chord", "integral": 1.0},
}


@pytest.mark.parametrize(
    "scheme", [generalised_alpha(0.9), settled(), broyden(), replace(trapezoidal(), newton="modified")]
)
@pytest.mark.parametrize("kind", LAWS)
def test_the_plain_form_takes_the_same_schemes_and_laws(
    kind: str, scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law as a part of the model: jumps and backward Euler steps at the start are of the law too.

    Within steps a law goes by the trapezoidal rule; as a part of the model it goes by the scheme, which may be another
    one of second order: a filter of 20 ms shows it.
    """
    model = damped(elements=(1, 1))
    law, references, where = tracking(model, **LAWS[kind])
    run = partial(
        fx.simulate, model, law.laws[0], references, duration=0.01, initial=where.start,
        scheme=replace(scheme, tolerance=1e-12, iterations=32),
    )
    steps = (1e-3, 2.5e-4)
    fast = [run(step=h) for h in steps]
    monkeypatch.setattr(Ancf, "own_stepper", False)
    plain = [run(step=h) for h in steps]
    if scheme.alpha_f and "filter_time" in LAWS[kind]:
        coarse, fine = (
            max(np.abs(one[name] - two[name])[::i].max() for name in READ)
            for one, two, i in zip(fast, plain, (1, 4), strict=True)
        )
        assert coarse < 1e-5
        assert fine < coarse / 10.0
        return
    for name in READ:
        np.testing.assert_allclose(fast[0][name], plain[0][name], rtol=0, atol=1e-8)
    np.testing.assert_allclose(fast[0]["joint1_torque"], plain[0]["joint1_torque"], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("scheme", [generalised_alpha(0.9), settled()])
@pytest.mark.parametrize("path", ["circle", "square"])
def test_a_continuous_pd_is_a_servo_joint(path: str, scheme: Scheme) -> None:
    """Springs and dampers of the model in place of a law."""
    arm = {"damping": Damping("rayleigh", beta=1e-3)}
    model, servo = (Ancf(paper_arm(path, servo, **arm), elements=(2, 4)) for servo in (False, True))
    run = partial(
        fx.simulate, duration=0.3, step=1e-3, scheme=scheme, initial=(model.reference(), 0.0 * model.reference())
    )
    one, two = run(model, pd(path), wanted(path)), run(servo, motions=motions(path))
    for name in ("tip_x", "tip_y", *ANGLES):
        np.testing.assert_allclose(one[name], two[name], rtol=0, atol=1e-10)
    torques = (run["joint1_torque"][1:] for run in (one, two))  # a servo's is read before it is commanded
    np.testing.assert_allclose(*torques, rtol=0, atol=1e-5)


def test_a_law_with_a_prescribed_joint_and_a_payload_that_changes() -> None:
    """One joint follows exactly and the other is held by the law: against the joint as a servo."""
    arm = {"damping": Damping("rayleigh", beta=1e-3), "gravity": (0.0, -9.81)}
    model = damped(gravity=(0.0, -9.81))
    joints = paper_arm("circle", True).joints
    mixed = paper_arm("circle", **arm)
    servo = Ancf(replace(mixed, joints=(mixed.joints[0], joints[1])), elements=(2, 4))
    a, b = (joint.angle for joint in model.arm.joints)
    turn, hold = Cycloid(a, a + 0.4, 0.2), Step(b, b)
    q = model.reference()
    run = partial(
        fx.simulate, duration=0.3, step=1e-3, payload=[(0.15, 2.0, 0.01)], initial=(q, 0.0 * q), method="settled"
    )
    one = run(model, pd("circle", (2,)), {"joint2_angle": hold}, motions={"joint1": turn})
    two = run(servo, motions={"joint1": turn, "joint2": hold})
    for name in ("tip_x", "tip_y", *ANGLES, "joint1_torque"):
        np.testing.assert_allclose(one[name], two[name], rtol=0, atol=1e-6 if "torque" in name else 1e-9)
    np.testing.assert_allclose(one["joint1_angle"][-1], a + 0.4, atol=1e-12)
    assert np.abs(one["joint2_angle"] - b).max() > 1e-2


@pytest.mark.parametrize("beta", [0.0, 1e-3])
def test_hard_corners_are_taken_in_long_steps_and_do_not_ring(beta: float) -> None:
    """The square at constant speed; where jumps are not filtered the trapezoidal rule rings by more than 5 N m."""
    model = damped("square", beta)
    q = model.reference()
    run = partial(fx.simulate, model, pd("square"), wanted("square"), initial=(q, 0.0 * q), duration=5.6)

    def alternating(found: fx.Response) -> float:
        """What the torque does from one step to the next and back, from 0.1 s after the corner on [N m]."""
        return float(np.abs(np.diff(found["joint1_torque"][found.t > 5.1], 2)).max() / 4.0)

    for step in (8e-3, 4e-3, 2e-3):
        found = run(step=step, method="settled")
        # the jump itself is kd times that of the rate, whatever the step
        assert np.abs(found["joint1_torque"][found.t > 4.99]).max() == pytest.approx(57.971, rel=5e-4)
        assert found["tip_y"][-1] == pytest.approx(-0.1526685, abs=3e-6)
        assert alternating(found) < 0.2
    assert alternating(run(step=2e-3, method="trapezoidal")) < 0.5
