"""Damping laws on any plant: the sampled model, H-infinity damping and the LQG regulator, on three masses on a table.

The model is checked by stepping sensors, high-pass, law and plant one after the other; the laws by what they must do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.lqg_regulator import RegulatorWeights, lqg_regulator, slow
from flexctl.design.mixed_sensitivity import HinfScales
from flexctl.design.sampled_model import sampled_model
from flexctl.design.vibration import VibrationWeights, vibration_damping
from flexctl.judging.certify.loops import examine
from flexctl.laws.controller import LinearLaw
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.linear.discrete import zero_order_hold
from flexctl.linear.matrices import from_matrices
from flexctl.model import names

DT = 0.02


@cache
def masses(held: bool = True) -> SecondOrder:
    """Three masses in a row with springs, the first one held by a spring too or free; forces on the outer two."""
    K = 40.0 * np.array([[2.0 if held else 1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    return from_matrices(
        np.diag([1.0, 0.5, 0.8]), 1e-4 * K, K, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]),
        Cq=np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), inputs=("left", "right"), outputs=("near", "far"),
    )


def first_order() -> FirstOrder:
    return masses().first_order()


BOTH = {"measures": ("near", "far"), "drives": ("left", "right"), "sample_time": DT}


@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize("corner", [0.0, 2.0])
@pytest.mark.parametrize("plant", [masses, first_order])
def test_the_model_is_plant_delay_and_high_pass_one_after_the_other(plant, delay: int, corner: float) -> None:
    rng = np.random.default_rng(3)
    model = sampled_model(plant(), ("far", "near"), ("right", "left"), DT, delay, corner)
    bare = zero_order_hold(masses(), DT)
    u, w = rng.standard_normal((2, 40, 2))
    x, xp, h = np.zeros(len(model.A)), np.zeros(6), np.zeros(2)
    p = np.exp(-corner * DT)
    for k in range(40):
        raw = (bare.C @ xp)[::-1]
        np.testing.assert_allclose(model.C @ x, raw - h if corner else raw, rtol=0, atol=1e-12)
        late = (u[k - delay] if k >= delay else 0.0) + w[k]
        xp = bare.A @ xp + bare.B[:, ::-1] @ late
        h = p * h + (1 - p) * raw
        x = model.A @ x + model.B @ u[k] + model.E @ w[k]


@pytest.mark.parametrize("corner", [0.0, 2.0])
def test_a_law_reads_the_change_from_rest_through_the_high_pass(corner: float) -> None:
    rng = np.random.default_rng(4)
    model = sampled_model(masses(), ("near", "far"), ("left", "right"), DT, 0, corner)
    shapes = {"A": (2, 2), "By": (2, 2), "C": (2, 2), "Dy": (2, 2), "Bu": (2, 2), "Br": (2, 3), "Dr": (2, 3)}
    parts = {key: rng.random(shape) for key, shape in shapes.items()}
    inner = LinearLaw(DT, ("near", "far"), ("left", "right"), ("goal",), **parts)
    inner = replace(inner, A=0.3 * inner.A, Bu=0.1 * inner.Bu)
    law = model.law(inner, limit=0.8)
    assert law.follows == ("goal", "near", "far")
    rest, state, own, h, p = np.array([0.2, -0.1]), law.initial(), inner.initial(), np.zeros(2), np.exp(-corner * DT)
    bounded = inner.limited(-0.8, 0.8)
    for k in range(30):
        y, goal = rest + rng.standard_normal(2), rng.standard_normal(3)
        u, state = law.step(state, k * DT, y, np.concatenate([goal, [rest[0], 9.0, 9.0, rest[1], 9.0, 9.0]]))
        change = y - rest
        wanted, own = bounded.step(own, k * DT, change - h if corner else change, goal)
        np.testing.assert_allclose(u, wanted, rtol=0, atol=1e-12)
        h = p * h + (1 - p) * change


def designs(**options):
    weights = RegulatorWeights({"near": 1.0, "far": 1.0}, 1e-3, 1e-2, 1e-5)
    yield lqg_regulator(masses(), weights, **BOTH, **options)
    yield vibration_damping(masses(), VibrationWeights(0.3, 0.1), HinfScales(5.0, 1.0, 0.05), **BOTH, **options)


@pytest.mark.parametrize("options", [{}, {"delay": 2}, {"corner": 0.5}, {"delay": 0, "corner": 0.5}])
def test_both_designs_damp_every_mode(options) -> None:
    before = masses().modes().damping
    for design in designs(**options):
        found = examine(masses(), design)
        assert found.stable
        assert np.all(found.spillover.after > 5 * before)
        assert found.smallest("disk_margin") > 0.3
        assert design.stable
        assert set(design.margins) == {"left", "right"}
        assert design.assumptions["delay"] == options.get("delay", 1)


def test_one_input_and_one_measurement_from_a_first_order_plant() -> None:
    one = {"measures": ("far",), "drives": ("left",), "sample_time": DT}
    found = [
        lqg_regulator(first_order(), RegulatorWeights({"near": 1.0, "mode1_rate": 0.1}, 1e-3, 1e-2, 1e-5), **one),
        vibration_damping(first_order(), VibrationWeights(0.3, 0.3), HinfScales(5.0, 1.0, 0.05), **one, limit=0.5),
    ]
    assert all(design.stable for design in found)
    assert found[1].found["norm"] <= 1.001 * found[1].found["gamma"]
    assert found[1].law.law.upper == pytest.approx([0.5])


def test_a_told_law_passes_constant_commands_on_and_an_integrating_plant_is_refused() -> None:
    weights = RegulatorWeights({"near": 1.0, "far": 1.0}, 1e-3, 1e-2, 1e-5)
    design = lqg_regulator(masses(), weights, pass_commands=True, **BOTH)
    law = design.law.law
    # in the steady state of a constant command u is the command
    model = sampled_model(masses(), ("near", "far"), ("left", "right"), DT)
    r = np.array([0.7, 0.0, 0.0, -0.4, 0.0, 0.0, *np.zeros(6)])
    x = slow(model) @ r[:6]
    u = law.C @ x + law.Dy @ (model.C @ x) + law.Dr @ r
    np.testing.assert_allclose(u, [0.7, -0.4], rtol=0, atol=1e-9)
    np.testing.assert_allclose(law.A @ x + law.By @ (model.C @ x) + law.Bu @ u, x, rtol=0, atol=1e-9)
    # and along a ramp: from x where the command is to x where it is a sample later
    r[[1, 4]] = 3.0, 5.0
    x, later = slow(model) @ r[:6], slow(model) @ (r[:6] + DT * np.array([3.0, 0.0, 0.0, 5.0, 0.0, 0.0]))
    u = law.C @ x + law.Dy @ (model.C @ x) + law.Dr @ r
    np.testing.assert_allclose(u, [0.7, -0.4], rtol=0, atol=1e-9)
    np.testing.assert_allclose(law.A @ x + law.By @ (model.C @ x) + law.Bu @ u, later, rtol=0, atol=1e-9)
    with pytest.raises(fx.DefinitionError, match="integrates it"):
        lqg_regulator(masses(False), RegulatorWeights({"near": 1.0}, 1.0, 1.0, 1.0), pass_commands=True, **BOTH)


def test_wrong_input_is_named() -> None:
    def made(plant=None, weights=None, **options):
        return lqg_regulator(plant or masses(), weights or good, **{**BOTH, **options})

    good = RegulatorWeights({"near": 1.0}, 1e-3, 1e-2, 1e-5)
    with pytest.raises(fx.DefinitionError, match="did you mean"):
        made(weights=replace(good, penalty={"nearr": 1.0}))
    with pytest.raises(fx.DefinitionError, match="3 numbers for noise, 2 channels"):
        made(weights=replace(good, noise=(1.0, 1.0, 1.0)))
    with pytest.raises(fx.DefinitionError, match="must be positive and finite"):
        made(weights=replace(good, command=0.0))
    with pytest.raises(fx.DefinitionError, match="nothing is penalised"):
        made(weights=replace(good, penalty={}))
    with pytest.raises(fx.DefinitionError, match="must not be negative"):
        made(weights=replace(good, penalty={"near": -1.0}))
    with pytest.raises(fx.DefinitionError, match="corner = -1"):
        made(corner=-1.0)
    with pytest.raises(fx.DefinitionError, match="something to measure"):
        made(measures=())
    direct = replace(masses(), Du=np.eye(2))
    assert names(direct.outputs) == ["near", "far"]
    with pytest.raises(fx.DefinitionError, match="feeds the inputs through"):
        made(plant=direct)
    # a free row of masses, of which only distances count: nothing stops it
    with pytest.raises(fx.ConvergenceError, match="regulator has no stabilising solution"):
        made(plant=masses(False))
