"""Sums of laws, and strain feedback: what is added acts as it does alone, and damps the clamped mode."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.pd import joint_pd
from flexctl.design.strain import strain_feedback
from flexctl.laws.combine import together
from flexctl.laws.controller import LinearLaw
from flexctl.linear.interconnect import closed_loop

script = fx.load_controller("tokhi_azad_ppf")
PLANT = fx.load_plant(script.PLANT, overrides=script.SETTINGS, payload={"mass": 0.01}).linearise()


def some_law(seed: int, measures: tuple[str, ...], drives: tuple[str, ...], follows: tuple[str, ...]) -> LinearLaw:
    rng = np.random.default_rng(seed)
    ny, nu, nr = len(measures), len(drives), 3 * len(follows)
    draw = lambda *shape: 0.3 * rng.standard_normal(shape)  # noqa: E731
    return LinearLaw(
        0.01, measures, drives, follows, A=draw(2, 2), By=draw(2, ny), Br=draw(2, nr), Bu=draw(2, nu), C=draw(nu, 2),
        Dy=draw(nu, ny), Dr=draw(nu, nr),
    )


def test_the_sum_commands_the_sum():
    a, b = some_law(1, ("p", "q"), ("u",), ("r",)), some_law(2, ("q", "s"), ("v", "u"), ("r", "w"))
    both = together(a, b)
    assert (both.measures, both.drives, both.follows) == (("p", "q", "s"), ("u", "v"), ("r", "w"))
    rng = np.random.default_rng(3)
    xa, xb, x = a.initial(), b.initial(), both.initial()
    for _ in range(5):
        y, r = rng.standard_normal(3), rng.standard_normal(6)
        ua, xa = a.step(xa, 0.0, y[:2], r[:3])
        ub, xb = b.step(xb, 0.0, y[1:], r)
        u, x = both.step(x, 0.0, y, r)
        assert u == pytest.approx([ua[0] + ub[1], ub[0]], abs=1e-14)


def test_the_sum_is_limited_as_a_whole():
    a = LinearLaw(0.01, ("y",), ("u",), Dy=np.array([[1.0]]))
    both = together(a, a, limit=1.5)
    assert both.step(both.initial(), 0.0, np.array([1.0]), np.zeros(0))[0] == pytest.approx([1.5])
    with pytest.raises(fx.DefinitionError, match="limit the sum"):
        together(a.limited(-1.0, 1.0), a)
    with pytest.raises(fx.DefinitionError, match="differ"):
        together(a, LinearLaw(0.02, ("y",), ("u",)))


def clamped_damping(law) -> float:
    z = closed_loop(PLANT.discrete(1e-3), law.feedback()).poles()
    s = np.log(z[np.abs(z) > 0.5]) / 1e-3
    slow = s[(np.abs(s) > 5.0) & (np.abs(s) < 25.0) & (s.imag > 0)]
    return float((-slow.real / np.abs(slow)).min())


def test_strain_feedback_damps_the_clamped_mode():
    joint = joint_pd(PLANT, kp=12.6, kd=0.060, filter_time=0.5e-3, sample_time=1e-3)
    assert clamped_damping(joint) < 0.05
    assert clamped_damping(script.design(fx.load_plant(script.PLANT))) > 0.12


def test_the_filter_is_the_one_stated():
    """Gain and phase at the filter's own frequency: g / (2 j zeta) and g / (1 + j)."""
    for order, wanted in ((2, 1.83 / (2j * 0.82)), (1, 1.83 / (1 + 1j))):
        law = strain_feedback(
            PLANT, gain=1.83, frequency=12.0, damping=0.82, sample_time=1e-3, measure="root_curvature", order=order
        )
        found = law.feedback().transfer(np.array([np.exp(12j * 1e-3)]))[0, 0, 0]
        assert found == pytest.approx(wanted, rel=1e-9)


def test_in_a_slow_acceleration_the_root_asks_for_nothing():
    """kappa_ref is the quasi-static bending: with it the law commands nothing when the arm bends as it must."""
    law = strain_feedback(PLANT, gain=1.0, frequency=50.0, damping=0.7, sample_time=1e-3, measure="root_curvature")
    torque = 0.01
    run = fx.simulate(
        PLANT.with_modal_damping(0.5), inputs={"joint1_torque": _constant(torque)},
        duration=2.0, step=1e-3, method="exact",
    )
    J = 0.0498 + 0.01 * 0.96**2
    state, r = law.initial(), np.array([0.0, 0.0, torque / J])
    for _ in range(2000):
        u, state = law.step(state, 0.0, run["root_curvature"][-1:], r)
    assert abs(u[0]) < 2e-3 * abs(run["root_curvature"][-1])


def _constant(value: float):
    from flexctl.motion.signals import PiecewiseConstant

    return PiecewiseConstant((0.0,), (0.0, value))
