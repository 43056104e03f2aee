"""Optimal commands of several joints: a planar arm of two links of its own, and the programme beneath."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.optimize

import flexctl as fx
from flexctl.design.interior import least_slack

JOINTS, TORQUES = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")
LIMIT, BAND = 20.0, 0.01  # N m, parts of the moves
PAYLOADS = {"100 g": 0.1, "0 g": 0.0, "250 g": 0.25}
MOVE = dict(zip(JOINTS, (0.15, 0.2), strict=True))  # rad


@cache
def arm(mass: float) -> fx.Plant:
    """Links of 0.7 m and 0.55 m, the second one softer by its section, with a payload [kg]."""
    return fx.load_plant("planar_2r_flexible", overrides={
        "model.elements": 3, "damping": {"kind": "rayleigh", "beta": 6.4e-5}, "link.1.length": 0.7,
        "link.2.length": 0.55, "material.aluminium.youngs_modulus": 55e9, "payload.mass": mass,
    })


@cache
def linear(mass: float) -> fx.SecondOrder:
    plant = arm(mass)
    return plant.linearise(fx.OperatingPoint.at_rest(plant.model, plant.model.pose([0.0, 0.6])))


@cache
def law() -> fx.Design:
    weights = fx.LqgWeights(rate=1e-3, energy=1e-4, integral=300.0, command=(5e-4, 2e-3), disturbance=0.1,
                            noise=(1e-8, 1e-7))
    return fx.lqg(linear(0.1), weights, modes=2, sample_time=2e-3, measures=JOINTS, drive=TORQUES, follow=JOINTS,
                  limit=LIMIT)


def plants(*names: str) -> dict[str, fx.SecondOrder]:
    return {name: linear(PAYLOADS[name]) for name in names or PAYLOADS}


def off(run: fx.Response, since: float, start: dict[str, float]) -> float:
    """Return how far the joints are from their targets after a time, in parts of the moves."""
    late = run.t >= since - 1e-9
    return max(float(np.abs(run[name][late] - start[name] - x).max()) / x for name, x in MOVE.items())


def test_one_command_brings_two_joints_with_three_payloads_there(monkeypatch) -> None:
    """HiGHS took up to 18 s for a programme of two joints, and there are thirty."""

    def never(*args, **options):
        raise AssertionError("HiGHS was asked")

    monkeypatch.setattr(scipy.optimize, "linprog", never)
    found = fx.optimal_command(law(), plants(), MOVE, within=BAND, longest=0.7, progress=False)
    rest = dict.fromkeys(JOINTS, 0.0)
    for plant in plants().values():
        run = fx.simulate(plant, law(), found.references, duration=2.0)
        assert off(run, found.arrival, rest) <= BAND
        assert off(run, found.arrival - 0.1, rest) > 0.1 * BAND
        assert max(np.abs(run[torque]).max() for torque in TORQUES) <= 0.981 * LIMIT
    best = fx.bound(plants("250 g"), MOVE, drive=TORQUES, limits=dict.fromkeys(TORQUES, LIMIT), within=BAND,
                    longest=0.7, sample_time=5e-3, progress=False)
    assert best.arrival < found.arrival < 0.55


def test_a_long_horizon_and_a_narrow_band_of_three_joints_need_no_highs(monkeypatch) -> None:
    """Undamped and with its weight, bands of 0.1 %: rounding in the steps left it to HiGHS, which ran for minutes."""

    def never(*args, **options):
        raise AssertionError("HiGHS was asked")

    monkeypatch.setattr(scipy.optimize, "linprog", never)
    plant = fx.load_plant("spatial_3r").linearise()
    joints, torques = ([f"joint{i}_{what}" for i in (1, 2, 3)] for what in ("angle", "torque"))
    move = dict(zip(joints, (0.5, 0.5, -0.5), strict=True))
    found = fx.bound({"": plant}, move, drive=tuple(torques), limits=dict.fromkeys(torques, 1000.0), within=1e-3,
                     longest=6.0, sample_time=0.03, progress=False)
    assert found.arrival < 0.5
    run = fx.simulate(plant, inputs=found.inputs, duration=2.0)
    late = (run.t >= found.arrival - 1e-9) & (np.abs(run.t / 0.03 - np.round(run.t / 0.03)) < 1e-6)
    assert late.sum() > 40
    assert max(float(np.abs(run[name][late] - x).max()) for name, x in move.items()) <= 1.05e-3 * 0.5
    assert max(float(np.abs(run[name]).max()) for name in torques) <= 1000.0 * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("names", "options", "limits"),
    [
        ((), {"limits": {"joint2_torque": 1.0}}, {"joint2_torque": 1.0}),
        (("100 g",), {"limits": {"root_strain": 20e-6}}, {"root_strain": 20e-6}),
        (("100 g",), {"limits": {"root_strain": 20e-6, "elbow_strain": 100e-6}}, {"root_strain": 20e-6}),
    ],
)
def test_the_limit_that_is_in_the_way_is_named(names, options, limits) -> None:
    asked = {"within": BAND, "longest": 0.6, "progress": False}
    told = "in the way: the limit of " + next(iter(limits))
    with pytest.raises(fx.ConvergenceError, match=told) as refused:
        fx.optimal_command(law(), plants(*names), MOVE, **asked, **options)
    text = str(refused.value)
    assert text.count("in the way") == 1
    factor = float(text.rsplit("; ", 1)[1].split(" times as high would do")[0])
    assert factor > 1.0
    eased = options["limits"] | {name: factor * value for name, value in limits.items()}
    assert fx.optimal_command(law(), plants(*names), MOVE, **asked, limits=eased).arrival <= 0.6


@pytest.mark.parametrize(
    ("names", "options", "told"),
    [
        (("100 g",), {"longest": 0.14}, "brings the plant within 1 % by .* the limit of joint1_torque; .* would do"),
        ((), {"longest": 0.4}, "brings 3 plants .*: the limits of joint1_torque and joint2_torque together; "),
        ((), {"longest": 0.1, "within": 1e-4}, "each of them alone .* all of them by one command not even so"),
    ],
)
def test_of_too_little_time_is_told_what_would_do(names, options, told: str) -> None:
    with pytest.raises(fx.ConvergenceError, match=told):
        fx.optimal_command(law(), plants(*names), MOVE, **{"within": BAND, "progress": False} | options)


def programme(seed: int, rows: int = 200, n: int = 12):
    """Return rows about a point that is inside by a random share, some with one bound only."""
    rng = np.random.default_rng(seed)
    M, x = rng.standard_normal((rows, n)), rng.standard_normal(n)
    low, high = M @ x - rng.uniform(-0.5, 2.0, rows), M @ x + rng.uniform(-0.5, 2.0, rows)
    low[::7], high[3::11] = -np.inf, np.inf
    return M, low, high, rng.uniform(0.2, 1.0, rows)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [0.3, 1e3])
def test_the_least_slack_is_that_of_highs(seed: int, most: float) -> None:
    M, low, high, width = programme(seed)
    n, above, below = M.shape[1], np.isfinite(high), np.isfinite(low)
    wanted = scipy.optimize.linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.block([[M[above], -width[above, None]], [-M[below], -width[below, None]]]),
        b_ub=np.r_[high[above], -low[below]], bounds=[(-most, most)] * n + [(0.5, None)],
    ).fun
    found = least_slack(M, low, high, width, most, 0.5)
    assert found is not None
    assert found.bound <= wanted + 1e-9
    assert wanted - 1e-9 <= found.slack <= wanted * (1.0 + 2e-4)
    for enough, possible in ((1.02 * wanted, True), (0.98 * wanted, False)):
        early = least_slack(M, low, high, width, most, 0.5, enough)
        assert early is not None
        assert (early.slack <= enough) == possible
        assert early.bound <= wanted + 1e-9
        y, room = M @ early.x, width * early.slack
        assert np.all(y <= high + room)
        assert np.all(y >= low - room)
        assert np.abs(early.x).max() <= most
