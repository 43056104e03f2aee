"""Every design on every plant of the catalogue where it makes sense, with weights that know nothing of the plant.

Each pair goes the whole way: the exported linear plant, the design, stability of the sampled loop with one sample of
delay on the whole plant, a small move on the full nonlinear model, and that run against the linear prediction. Where a
design makes no sense on a plant it says why.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from everywhere import ARMS, FREE, Bench, bench, damped, from_start

import flexctl as fx
from flexctl.certify.loops import growth, loop_poles
from flexctl.laws import recipes
from flexctl.laws.combine import together
from flexctl.laws.inversion import deviation, stable_inversion
from flexctl.laws.linear_part import linear_law
from flexctl.laws.loop_shaping import loop_shaping
from flexctl.laws.lqg import lqg
from flexctl.laws.mixed_sensitivity import mixed_sensitivity
from flexctl.laws.pd import joint_pd
from flexctl.laws.pid import pid
from flexctl.laws.servo import design_servos, servo_law
from flexctl.laws.shaping import shaped, shaper_for
from flexctl.laws.strain import strain_feedback
from flexctl.laws.valve import lead, proportional, valve_law

SLOW = {"spatial_3r", "spatial_rp", "li_zhang_three_link"}  # by default with one design each; all with -m slow
SIZE = 0.01  # rad or m


def by_pid(b: Bench, reset: float | None = None) -> tuple[fx.Design, float]:
    """Joint feedback alone: a tenth of the held frequency."""
    w = 0.1 * b.held
    found = pid(
        b.linear, crossover=w, phase_margin_deg=45.0, sample_time=0.1 / (10.0 * w), spread=5.0, reset=reset,
        measure=b.angles, drive=b.torques, follow=b.angles,
    )  # fmt: skip
    return found, w


def by_pd(b: Bench) -> tuple[fx.Design, float]:
    return by_pid(b)


def by_pid_with_integral(b: Bench) -> tuple[fx.Design, float]:
    return by_pid(b, reset=10.0)


def words(b: Bench) -> dict[str, tuple[str, ...]]:
    return {"measures": b.angles, "drive": b.torques, "follow": b.angles}


def by_lqg(b: Bench) -> tuple[fx.Design, float]:
    w = 0.3 * b.held
    weights = recipes.bryson(b.linear, bandwidth=w, **words(b))
    return lqg(b.linear, weights, modes=2, sample_time=1.0 / (40.0 * b.held), **words(b)), w


def by_hinf(b: Bench) -> tuple[fx.Design, float]:
    w = 0.5 * b.held
    weights, scales = recipes.hinf_weights(b.linear, bandwidth=w, **words(b))
    period = 1.0 / (60.0 * b.held)
    return mixed_sensitivity(b.linear, weights, scales, modes=2, sample_time=period, **words(b)), w


def by_loop_shaping(b: Bench) -> tuple[fx.Design, float]:
    w = 0.5 * b.held
    gains, roll_off = recipes.shaping_gains(b.linear, bandwidth=w, **words(b))
    return loop_shaping(
        b.linear, gains=gains, roll_off=roll_off, modes=2, sample_time=1.0 / (40.0 * b.held), **words(b)
    ), w  # fmt: skip


DESIGNS = {"PD": by_pd, "PID": by_pid_with_integral, "LQG": by_lqg, "H-infinity": by_hinf, "loop": by_loop_shaping}
LIGHT = {"spatial_3r": "loop", "spatial_rp": "LQG", "li_zhang_three_link": "loop"}
PAIRS = [
    pytest.param(arm, design, marks=[pytest.mark.slow] if arm in LIGHT and design != LIGHT[arm] else [])
    for arm in ARMS for design in DESIGNS
]  # fmt: skip


def certified(b: Bench, law: fx.Design) -> float:
    """Return the smallest disk margin of a loop that is stable on the whole plant with its delay."""
    assert growth(loop_poles(b.linear, law), law.sample_time) < 0.0
    assert law.stable
    return min(m.disk_margin for m in law.margins.values())


def predicted(b: Bench, law: fx.Design, moves: dict, duration: float) -> fx.Response:
    """Return the run on the linear plant, whose outputs count from the reference pose."""
    shifted = {name: fx.quintic(0.0, SIZE, move.duration) for name, move in moves.items()}
    return fx.simulate(b.linear, linear_law(law.law, b.arm.model), shifted, duration=duration)


@pytest.mark.parametrize(("arm", "design"), PAIRS)
def test_from_the_linear_plant_to_the_nonlinear_run(arm: str, design: str) -> None:
    b = bench(arm)
    law, bandwidth = DESIGNS[design](b)
    assert certified(b, law) > 0.2
    duration = 10.0 / bandwidth
    moves = b.move(SIZE, 0.5 * duration)
    run = fx.simulate(b.arm, law, moves, duration=duration)
    linear = predicted(b, law, moves, duration)
    for name in b.angles:
        moved = from_start(run, name)
        wanted = np.interp(run.t, linear.t, from_start(linear, name))
        assert np.abs(moved - wanted).max() < 0.02 * SIZE, "the linear prediction holds"
        assert abs(moved[-1] - SIZE) < 0.05 * SIZE, "the move ends where it should"
