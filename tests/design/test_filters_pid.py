"""Filters against their formulas, motions through them, and PID gains against the loop they are made for."""

from __future__ import annotations

import re

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.filters import filtered, lead, low_pass, notch, smoothed
from flexctl.design.pid import pid, pid_gains
from flexctl.frequency import loop_gain, margins
from flexctl.laws.controller import LinearLaw
from flexctl.motion.moves import Cycloid, quintic

W = 200.0
SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}
PLANT = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS, payload={"mass": 0.01}).linearise()
LOOP = {"measure": "joint1_angle", "drive": "joint1_torque"}


def at(system, s):
    return system.transfer(np.atleast_1d(np.asarray(s, complex)))[0, 0]


def test_filters_are_their_formulas():
    s = 1j * np.array([1.0, 50.0, W, 900.0])
    second = s**2 + 2 * 0.3 * W * s + W**2
    assert at(notch(W, 0.3, 0.05), s) == pytest.approx((s**2 + 2 * 0.05 * 0.3 * W * s + W**2) / second, rel=1e-12)
    assert at(low_pass(W, 0.3), s) == pytest.approx(W**2 / second, rel=1e-12)
    a = (1 + np.sin(np.radians(40))) / (1 - np.sin(np.radians(40)))
    assert at(lead(W, 40.0), s) == pytest.approx((s * np.sqrt(a) / W + 1) / (s / (W * np.sqrt(a)) + 1), rel=1e-12)
    assert np.degrees(np.angle(at(lead(W, 40.0), 1j * W))) == pytest.approx(40.0)


def test_a_filtered_law_is_the_law_times_the_filter():
    rng = np.random.default_rng(0)
    law = LinearLaw(
        1e-3, ("y",), ("u",), ("r",), A=np.array([[0.9]]), By=np.array([[1.3]]), Br=rng.standard_normal((1, 3)),
        Bu=np.array([[0.1]]), C=rng.standard_normal((1, 1)), Dy=np.array([[0.5]]), Dr=rng.standard_normal((1, 3)),
    ).limited(-2.0, 3.0)
    after = filtered(law, notch(W, 0.1, 0.0))
    z = np.exp(1j * W * 1e-3)
    assert abs(at(after.feedback(), z)) < 1e-12 * abs(at(law.feedback(), z))  # it sits exactly on its frequency
    slow = np.exp(1j * 1e-6)
    assert at(after.feedback(), slow) == pytest.approx(at(law.feedback(), slow), rel=1e-6)
    assert (after.lower, after.upper) == (np.array([-2.0]), np.array([3.0]))


def test_a_smoothed_motion_is_the_filter_s_answer():
    """Against scipy's simulation of the filter fed with the value; the error falls with the step squared."""
    from scipy.signal import lsim

    by, motion = low_pass(30.0), Cycloid(0.5, 2.0, 0.4, start=0.1)
    fine = np.linspace(0.0, 0.8, 16001)
    _, value, _ = lsim((by.A, by.B, by.C, by.D), motion(fine)[0] - 0.5, fine)
    errors = [np.abs(smoothed(motion, by, step=h)(fine)[0] - 0.5 - value).max() for h in (1e-3, 5e-4)]
    assert errors[1] < 1e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    out = smoothed(motion, by, step=5e-4)
    assert np.gradient(out.value, out.t)[1:-1] == pytest.approx(out.rate[1:-1], abs=1e-3)
    assert np.gradient(out.rate, out.t)[1:-1] == pytest.approx(out.acceleration[1:-1], abs=3e-2)
    assert out.target == pytest.approx(2.0, abs=2e-4)


def test_a_notch_on_the_command_leaves_the_mode_at_rest():
    first = PLANT.modes(1)
    w = 2 * np.pi * first.frequencies_hz[0]
    motion = quintic(0.0, 1.0, 0.1)

    def left(command):
        t = np.linspace(0.0, 3.0, 60001)
        a = command(t)[2]
        return abs(np.trapezoid(a * np.exp(1j * w * t), t))

    assert left(smoothed(motion, notch(w, 0.5, 0.0), settle=1e-8)) < 1e-4 * left(motion)


@pytest.mark.parametrize("reset", [None, 8.0])
def test_gains_put_crossover_and_margin_where_asked(reset):
    found = pid_gains(PLANT, crossover=6.0, phase_margin_deg=55.0, delay=1.5e-3, reset=reset, **LOOP)
    C = at(found.controller("joint1_angle", "joint1_torque"), 6j)
    gain = C * PLANT.transfer(np.array([6j]))[0, 0, 0] * np.exp(-9e-3j)
    assert gain == pytest.approx(-np.exp(1j * np.radians(55.0)), rel=1e-10)
    assert (found.ki > 0) == (reset is not None)


def test_the_sampled_law_has_the_margin_on_the_full_plant():
    law = pid(PLANT, crossover=1.2, phase_margin_deg=60.0, sample_time=1e-3, follow="chord1_angle", limit=0.3, **LOOP)
    found = margins(loop_gain(PLANT, law))
    near = np.abs(found.gain_crossings - 1.2).min()
    assert near < 1e-3 * 1.2
    run = fx.simulate(PLANT, law, quintic(0.0, 0.3, 2.0), duration=6.0, method="exact", step=1e-3)
    assert abs(run["joint1_angle"][-1] - 0.3) < 0.02 * 0.3


def test_what_cannot_be_reached_is_said():
    with pytest.raises(fx.DefinitionError, match="no PD reaches"):
        pid_gains(PLANT, crossover=20.0, phase_margin_deg=60.0, delay=1.5e-3, **LOOP)
    for delay, wanted, way in ((3e-2, 88.0, "less"), (3e-2, 0.5, "more")):
        plant = fx.load_plant("quanser_flexible_link").linearise() if way == "more" else PLANT
        loop = {**LOOP, "drive": plant.inputs[0].name}
        with pytest.raises(fx.DefinitionError, match=f"deg or {way}") as told:
            pid_gains(plant, crossover=2.0, phase_margin_deg=wanted, delay=delay, **loop)
        remedy = re.search(r"ask for (\S+) deg", str(told.value))
        assert remedy is not None
        assert pid_gains(plant, crossover=2.0, phase_margin_deg=float(remedy[1]), delay=delay, **loop).kd > 0.0
    with pytest.raises(fx.DefinitionError, match="unstable on the full plant: a mode at"):
        pid(PLANT, crossover=8.0, phase_margin_deg=60.0, sample_time=1e-3, follow="chord1_angle", **LOOP)
