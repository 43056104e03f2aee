"""Input shaping: the factor V against its closed form and against runs, the published ratios of the 0.96 m arm."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.shaping import Shaper, optimised_shaper, shaped, shaper, shaper_for
from flexctl.linear.modes import normal_modes
from flexctl.motion.moves import quintic
from flexctl.motion.resting import Rest
from flexctl.motion.signals import bang_bang

ZETA = 0.01
COMMAND = bang_bang(0.1, 0.3)


@cache
def arm(mass: float = 0.0):
    settings = {"model.sections": 40, "damping": {"kind": "modal", "ratio": ZETA}}
    return fx.load_plant("tokhi_azad_1994", overrides=settings, payload={"mass": mass}).linearise()


def left_over(plant, signal, scale: float = 1.0) -> float:
    """Sum of the tip amplitudes of all modes after a piecewise constant torque, in closed form, frequencies scaled."""
    normal = normal_modes(plant.M, plant.K)
    tip = [y.name for y in plant.outputs].index("tip_displacement")
    b, c = normal.shapes.T @ plant.B[:, 0], plant.Cq[tip] @ normal.shapes
    edges = np.array(signal.breakpoints)
    u = signal(0.5 * (edges[1:] + edges[:-1]))
    total = 0.0
    for w, gain in zip(scale * normal.omega[1:], (b * c)[1:], strict=True):
        pole = w * (-ZETA + 1j * np.sqrt(1 - ZETA**2))
        z = (u * (np.exp(pole * (edges[-1] - edges[:-1])) - np.exp(pole * (edges[-1] - edges[1:]))) / pole).sum()
        total += abs(gain * z / pole.imag)
    return total


@pytest.mark.parametrize(("kind", "off"), [("zv", 0.1564), ("zvd", 0.0245), ("ei", 0.0243)])
def test_one_mode_at_ten_percent_off(kind, off):
    """Undamped: zv |cos(pi/2 w/w0)|, zvd its square, ei ((1+V) cos(pi x) + 1 - V)/2."""
    x = np.array([0.9, 1.0, 1.1])
    V, got = 0.05, shaper(kind, [3.0]).residual(3.0 * x)
    half = np.abs(np.cos(0.5 * np.pi * x))
    closed = {"zv": half, "zvd": half**2, "ei": np.abs((1 + V) * np.cos(np.pi * x) + 1 - V) / 2}[kind]
    assert got == pytest.approx(closed, abs=1e-12)
    assert got[0] == pytest.approx(off, abs=1e-3)


@pytest.mark.parametrize("mass", [0.0, 0.01, 0.02])
@pytest.mark.parametrize(("kind", "count"), [("zv", 1), ("zvd", 1), ("ei", 1), ("zv", 2), ("zvd", 2), ("ei", 2)])
def test_residual_ratios_of_the_arm(mass, kind, count):
    """Computed independently for this arm, with impulses split between samples of 1 ms and rounded to them."""
    split = {
        ("zv", 1): (18, 53, 8), ("zvd", 1): (46, 213, 40), ("ei", 1): (17, 21, 29),
        ("zv", 2): (238, 158, 50), ("zvd", 2): (1200, 1190, 162), ("ei", 2): (34, 31, 57),
    }
    rounded = {
        ("zv", 1): (14, 33, 8), ("zvd", 1): (27, 43, 36), ("ei", 1): (16, 19, 32),
        ("zv", 2): (53, 66, 48), ("zvd", 2): (95, 154, 70), ("ei", 2): (27, 29, 43),
    }
    plant, at = arm(mass), round(mass / 0.01)
    by, before = shaper_for(plant, kind, count), left_over(plant, COMMAND)
    assert before == pytest.approx((4.70e-3, 1.81e-3, 0.294e-3)[at], rel=5e-3)
    for variant, wanted in ((by.on_samples(1e-3), split), (by.rounded(1e-3), rounded)):
        assert before / left_over(plant, shaped(COMMAND, variant)) == pytest.approx(wanted[kind, count][at], rel=0.07)


def test_two_modes_tolerate_ten_percent():
    plant = arm()
    by = shaper_for(plant, "zvd", 2).on_samples(1e-3)
    ratios = [left_over(plant, COMMAND, x) / left_over(plant, shaped(COMMAND, by), x) for x in (0.9, 1.1)]
    assert ratios == pytest.approx([27, 44], rel=0.02)


def test_a_run_ends_as_quietly_as_predicted():
    """Exact simulation of the plant: what is left at the tip after the command falls by the predicted ratio."""
    plant = arm()
    by = shaper_for(plant, "zvd", 2).on_samples(1e-3)

    def swing(signal):
        duration = signal.breakpoints[-1] + 0.3
        run = fx.simulate(plant, inputs={"joint1_torque": signal}, duration=duration, step=1e-3, method="exact")
        after = run.t >= signal.breakpoints[-1]
        tip = run["tip_displacement"][after]
        return np.ptp(tip - np.polyval(np.polyfit(run.t[after], tip, 1), run.t[after]))

    assert swing(COMMAND) / swing(shaped(COMMAND, by)) > 500


def test_a_shaped_motion_keeps_target_and_derivatives():
    motion = shaped(quintic(0.2, 1.0, 0.5, start=0.1), shaper("zvd", [2.0, 5.0], 0.02))
    assert motion.target == 1.0
    t = np.linspace(0.0, motion.duration + 0.1, 2001)
    value, rate, acceleration = motion(t)
    assert value[[0, -1]] == pytest.approx([0.2, 1.0])
    middle = slice(1, -1)
    assert np.gradient(value, t)[middle] == pytest.approx(rate[middle], abs=2e-4)
    assert np.gradient(rate, t)[middle] == pytest.approx(acceleration[middle], abs=2e-2)


def test_convolution_multiplies_the_factors():
    a, b = shaper("zv", [2.0], 0.03), shaper("ei", [5.0], 0.03)
    f = np.linspace(0.5, 9.0, 40)
    assert (a * b).residual(f, 0.03) == pytest.approx(a.residual(f, 0.03) * b.residual(f, 0.03), rel=1e-12)


def test_optimised_is_shorter_than_the_convolved_one_and_keeps_the_band():
    bands = [(9.5, 14.0), (29.0, 35.0)]
    found = optimised_shaper(bands, 0.05, 1e-3)
    for low, high in bands:
        assert found.residual(np.linspace(low, high, 301)).max() <= 0.05
    assert np.all(found.amplitudes > 0)
    assert found.length < shaper("ei", [11.8, 32.0]).length


def test_what_should_be_at_rest_after_a_command_is_so_after_its_shaper():
    by = shaper("zvd", [5.0])
    assert shaped(Rest(0.3, 2.0), by) == Rest(0.3, 2.0 + by.length)


def test_bad_input_is_named():
    with pytest.raises(fx.DefinitionError, match="kind of shaper"):
        shaper("zvv", [1.0])
    with pytest.raises(fx.DefinitionError, match="frequency = -1"):
        shaper("zv", [-1.0])
    with pytest.raises(fx.DefinitionError, match="amplitudes sum to"):
        Shaper(np.array([0.0, 1.0]), np.array([0.5, 0.4]))
    with pytest.raises(fx.DefinitionError, match="oscillating modes"):
        shaper_for(arm(), "zv", 100)
    with pytest.raises(fx.ConvergenceError, match="no shaper of at most"):
        optimised_shaper([(1.0, 1.1)], 1e-3, 1e-2, limit=0.1)
