"""Stability along the path against the quadratic eigenvalue problem in physical coordinates; the paper's feedback."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg as sla
from test_tracking import plant, track

import flexctl as fx
from flexctl.design.tracking import pd_gains, tip_tracking
from flexctl.errors import NotAvailable
from flexctl.linear.interconnect import loop_poles
from flexctl.model import OperatingPoint, index_of
from flexctl.simulation.path_stability import PathStability, law_at, path_stability, stability_over_damping

BETAS = (0.0, 1e-4, 1e-3, 3e-3)
WN = (1.0, 2.0, 4.0, 8.0)


@cache
def over_damping() -> dict[str, list[PathStability]]:
    laws = {
        f"{angles} {w:g}": tip_tracking(track(), pd_gains((35.0, 20.5), w), angles=angles, sample_time=0.0)
        for angles in ("joint", "chord")
        for w in WN
    }
    return stability_over_damping(plant(), laws, track(), BETAS, 5)


def test_encoder_feedback_is_stable_at_every_gain_without_damping() -> None:
    for w in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        law = tip_tracking(track(), pd_gains((35.0, 20.5), w), sample_time=0.0)
        found = path_stability(plant(), law, track(), 5)
        assert found.stable, f"{w} rad/s: {found}"


def test_chord_feedback_is_unstable_at_every_gain_without_damping() -> None:
    """And the growth is proportional to Kd, down to zero."""
    assert min(over_damping()[f"chord {w:g}"][0].worst for w in WN) > 100.0
    gains = [pd_gains((35.0, 20.5), w) for w in (1e-3, 1e-2, 0.1)]
    laws = [tip_tracking(track(), one, angles="chord", sample_time=0.0) for one in gains]
    growth = [path_stability(plant(), law, track(), 3).worst for law in laws]
    assert [growth[i + 1] / growth[i] for i in (0, 1)] == pytest.approx([10.0, 10.0], rel=0.01)


@pytest.mark.parametrize(("w", "stable"), [
    (1.0, (False, False, True, True)), (2.0, (False, False, True, True)), (4.0, (False, False, True, True)),
    (8.0, (False, False, False, True)),
])
def test_chord_feedback_becomes_stable_with_damping_as_in_independent_code(w: float, stable: tuple[bool, ...]) -> None:
    """Elements in absolute nodal coordinates: 8 rad/s unstable at 1e-3 s (+4.0 1/s), the others not; all at 3e-3 s."""
    assert tuple(item.stable for item in over_damping()[f"chord {w:g}"]) == stable
    assert all(item.stable for item in over_damping()[f"joint {w:g}"])


def test_poles_are_those_of_the_quadratic_problem() -> None:
    """M s^2 + (D + B Kd C) s + K + B Kp C, rows C of the angles; all poles below 500 Hz."""
    arm, law = plant(beta=1e-4), tip_tracking(track(), pd_gains((35.0, 20.5), 4.0), angles="chord", sample_time=0.0)
    linear = arm.linearise(OperatingPoint.at_rest(arm.model, arm.model.pose(track().joints(3.0).angles)))
    C = linear.Cq[[index_of("output", f"chord{i}_angle", linear.outputs) for i in (1, 2)]]
    B = linear.B[:, :2]
    Kp, Kd = np.diag([35.0 * 16, 20.5 * 16]), np.diag([35.0 * 8, 20.5 * 8])
    n = len(linear.M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-(linear.K + B @ Kp @ C), -(linear.D + B @ Kd @ C)]])
    E = sla.block_diag(np.eye(n), linear.M)
    wanted = sla.eigvals(A, E)
    found = loop_poles(linear, law.feedback())
    low = wanted[np.abs(wanted) < 2 * np.pi * 500]
    assert low.size >= 10
    for pole in low:
        assert np.abs(found - pole).min() < 1e-5 * max(1.0, abs(pole))


def test_a_sampled_loop_tends_to_the_continuous_one() -> None:
    """The slow poles, error of first order in the period; the fast ones of a rate held over a period are lost."""
    arm = plant(beta=1e-3)
    gains = pd_gains((35.0, 20.5), 4.0)
    exact = path_stability(arm, tip_tracking(track(), gains, filter_time=0.02, sample_time=0.0), track(), 2)
    gaps = []
    for T in (2e-3, 1e-3):
        found = path_stability(arm, tip_tracking(track(), gains, filter_time=0.02, sample_time=T), track(), 2)
        gaps.append(abs(found.worst - exact.worst))
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.2)
    bare = tip_tracking(track(), pd_gains((35.0, 20.5), 8.0))
    assert path_stability(arm, bare, track(), 2).worst > 100.0


def test_the_law_that_is_on_decides_and_wrappers_count() -> None:
    gains = [pd_gains((35.0, 20.5), 4.0), pd_gains((35.0, 20.5), 8.0, start=12.5)]
    law = tip_tracking(track(), gains, filter_time=0.02)
    quantised = fx.Quantised(law, {"joint1_angle": 1e-5})
    assert law_at(quantised, 20.0).law is law.laws[1]  # type: ignore[union-attr]
    arm = plant(beta=1e-3)
    plain, late = path_stability(arm, quantised, track(), 3), path_stability(arm, fx.Delayed(quantised, 15), track(), 3)
    assert plain.stable
    assert late.worst > plain.worst
    alone = tip_tracking(track(), gains[0], filter_time=0.02)
    first = path_stability(arm, alone, track(), 3)
    assert plain.growth[0] == pytest.approx(first.growth[0], rel=1e-9)
    assert plain.growth[2] != pytest.approx(first.growth[2], rel=1e-2)


def test_what_cannot_be_told_is_not_guessed() -> None:
    with pytest.raises(NotAvailable, match="cannot be put into a pose"):
        path_stability(fx.load_plant("tokhi_azad_1994"), None, track())
    with pytest.raises(NotAvailable, match="no linear part"):
        path_stability(plant(), object(), track())


def test_a_law_scheduled_by_a_reading_is_taken_as_it_is_in_each_pose() -> None:
    laws = [
        fx.Delayed(tip_tracking(track(), pd_gains((35.0, 20.5), w), sample_time=1e-3, filter_time=0.02), 1)
        for w in (4.0, 12.0)
    ]
    law = fx.blended(laws, (0.5, 1.5), "joint2_angle")
    arm = plant().with_({"damping.kind": "rayleigh", "damping.beta": 1e-3})
    found = path_stability(arm, law, track(), 3)
    elbows = found.angles[:, 1]
    frozen = [fx.Delayed(law.law.frozen(elbow), 1) for elbow in elbows]
    for k, own in enumerate(frozen):
        assert found.growth[k] == pytest.approx(path_stability(arm, own, track(), 3).growth[k], rel=1e-9)
    run = fx.simulate(arm, law, track().references(arm, law), duration=0.05, initial=track().start)
    assert np.isfinite(run["tip_x"]).all()


def test_a_wrapped_law_of_steps_alone_has_no_poles_and_runs() -> None:
    own = tip_tracking(track(), pd_gains((35.0, 20.5), 4.0), sample_time=1e-3, filter_time=0.02)

    class Steps:
        sample_time, measures, drives, follows = own.sample_time, own.measures, own.drives, own.follows

        def initial(self):
            return own.initial()

        def step(self, state, t, y, r):
            return own.step(state, t, y, r)

    with pytest.raises(NotAvailable, match="Steps has no linear part"):
        path_stability(plant(), fx.Delayed(Steps(), 1), track(), 3)
    references = track().references(plant(), own)
    run = fx.simulate(plant(), fx.Delayed(Steps(), 1), references, duration=0.01, initial=track().start)
    assert np.isfinite(run["tip_x"]).all()
