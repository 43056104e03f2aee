"""The soonest motion along a path: closed forms, another algorithm, the bending moments, and runs of closed loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import flexctl as fx
from flexctl.design.path_loads import path_loads
from flexctl.design.path_speed import Row, soonest
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.motion.kinematics import RigidArm

CIRCLE = fx.Circle((1.6, 0.0), 0.3)
SMALL = {"model": {"elements": 2}}
GAINS = fx.pd_gains((35.0, 20.5), 8.0)
TORQUES = {"joint1_torque": 90.0, "joint2_torque": 45.0}


def row(*terms: float, limit: float, points: int = 201) -> Row:
    return Row("x", np.tile(terms, (points, 1)), -limit, limit)


@pytest.mark.parametrize(
    ("rows", "time"),
    [
        ([row(0.0, 0.0, 0.0, 2.0, limit=3.0)], 2.0 * np.sqrt(2.0 / 1.5)),  # 2 s'' <= 3: bang-bang
        ([row(0.0, 0.0, 0.0, 1.0, limit=1.0), row(0.0, 1.0, 0.0, 0.0, limit=0.5)], 2.0 / 0.5 + 0.5),  # trapezoid
        ([row(0.0, 0.0, 0.0, 1.0, limit=1.0), row(0.0, 0.0, 4.0, 0.0, limit=1.0)], 2.0 / 0.5 + 0.5),  # centripetal
        ([Row("x", np.tile([1.0, 0.0, 0.0, 1.0], (201, 1)), -1.0, 3.0)], 2.0 * np.sqrt(2.0 / 2.0)),  # weight
    ],
)
def test_the_soonest_way_is_that_of_closed_forms(rows, time: float) -> None:
    found = soonest(np.linspace(0.0, 2.0, 201), rows)
    assert found.time == pytest.approx(time, rel=2e-3)
    assert 0.99 * time < found.bound <= found.time


def test_friction_that_grows_with_the_rate_is_counted_as_it_is() -> None:
    """s'' + s' <= 1 up to rate 0.5, coast there, and brake with -1 <= s'' + s': by integration."""
    rows = [row(0.0, 1.0, 0.0, 1.0, limit=1.0, points=801), row(0.0, 1.0, 0.0, 0.0, limit=0.5, points=801)]
    found = soonest(np.linspace(0.0, 2.0, 801), rows)
    up, down = np.log(2.0), np.log(1.5)
    way = (up - 0.5) + (0.5 - down)
    assert found.time == pytest.approx(up + down + (2.0 - way) / 0.5, rel=3e-3)
    assert np.isnan(found.bound)


def passes(s: np.ndarray, rows: list[Row]) -> float:
    """Time by a backward and a forward pass (Pham and Pham 2018), for limits at both ends of every interval."""
    ds = np.diff(s)

    def halfplanes(k: int) -> tuple[np.ndarray, np.ndarray]:
        A, b = [], []
        for one in rows:
            for c, left in ((one.c[k], True), (one.c[k + 1], False)):
                push = c[3] / (2.0 * ds[k])
                pair = np.array([c[2] - push, push] if left else [-push, c[2] + push])
                A += [pair, -pair]
                b += [one.high - c[0], c[0] - one.low]
        return np.array(A), np.array(b)

    planes = [halfplanes(k) for k in range(ds.size)]
    cap = np.zeros(s.size)
    for k in range(ds.size - 1, 0, -1):
        A, b = planes[k]
        size = np.abs(A).max(axis=1)
        answer = linprog([-1.0, 0.0], A / size[:, None], b / size, bounds=[(0.0, 1e3), (0.0, cap[k + 1])])
        cap[k] = answer.x[0]
    found = np.zeros(s.size)
    for k in range(ds.size - 1):
        A, b = planes[k]
        room, slope = b - A[:, 0] * found[k], A[:, 1]
        found[k + 1] = min([cap[k + 1], *(room[slope > 0] / slope[slope > 0])])
    rate = np.sqrt(found)
    return float((2.0 * ds / (rate[1:] + rate[:-1])).sum())


@pytest.mark.parametrize(
    ("curve", "limits"),
    [
        (CIRCLE, TORQUES), (fx.Circle((1.3, 0.6), 0.2, turns=-0.7), TORQUES),
        (fx.Spline([(1.2, -0.3), (1.5, 0.2), (1.7, 0.1)]), {**TORQUES, "tip.max_contour": 2e-3}),
    ],
)
def test_a_backward_and_a_forward_pass_find_the_same_time(curve, limits) -> None:
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    loads = path_loads(arm.model, curve, 1, 0, 120)
    names = {"tip.max_contour": loads.across, **loads.signals}
    rows = [Row(name, names[name], -limit, limit) for name, limit in limits.items()]
    for one in rows:
        one.c[:, :2] = 0.0  # rounding of a weight that there is not
    found = soonest(loads.s, rows)
    assert found.time == pytest.approx(passes(loads.s, rows), rel=1e-5)
    assert 0.98 * found.time < found.bound <= found.time


def test_torques_are_those_of_the_rigid_arm_and_strains_those_of_their_moments() -> None:
    arm = fx.load_plant("planar_2r_flexible", model={"elements": 4}, payload={"mass": 0.3})
    curve = fx.Circle((1.2, 0.1), 0.3, turns=0.6)
    loads = path_loads(arm.model, curve, -1, 0, 9)
    rigid = RigidArm(arm)
    rate, push = 0.7, -1.3
    joints = rigid.inverse_motion(*curve(loads.s, np.zeros(9, int)), -1)
    moved = (joints.angles, rate * joints.rates, rate**2 * joints.accelerations + push * joints.rates)
    torques, terms = rigid.torques(*moved), np.array([1.0, rate, rate**2, push])
    radius, stiffness = 10.56e-3, 70e9 * 1e-8
    for j, strain in enumerate(("root_strain", "elbow_strain")):
        assert loads.signals[f"joint{j + 1}_torque"] @ terms == pytest.approx(torques[:, j], rel=2e-5, abs=1e-6)
        moment = loads.signals[strain] @ terms * stiffness / radius
        assert np.abs(moment) == pytest.approx(np.abs(torques[:, j]), rel=0.03, abs=0.02)
        assert loads.signals[f"joint{j + 1}_rate"] @ terms == pytest.approx(moved[1][:, j], rel=1e-6)


def test_a_weight_is_carried_and_one_that_cannot_be_is_refused() -> None:
    arm = fx.load_plant("planar_2r_flexible", model={"elements": 2}, gravity={"y": -9.81})
    curve = fx.Circle((1.2, 0.0), 0.2)
    loads = path_loads(arm.model, curve, 1, 0, 5)
    rigid = RigidArm(arm)
    rest = rigid.torques(rigid.inverse(curve(loads.s, np.zeros(5, int))[0]), np.zeros((5, 2)), np.zeros((5, 2)))
    assert loads.signals["joint1_torque"][:, 0] == pytest.approx(rest[:, 0], rel=1e-6)
    with pytest.raises(DefinitionError, match=r"where the arm rests on the path.*no time is long enough"):
        fx.fastest_track(arm, curve, {"joint1_torque": 10.0})


@pytest.mark.parametrize(
    ("arm", "limits", "error", "told"),
    [
        ("tian_2r_beam", {}, DefinitionError, "give limits"),
        ("tian_2r_beam", {"joint1_torq": 1.0}, DefinitionError, "joint1_torque"),
        ("tokhi_azad_1994", {"joint1_torque": 1.0}, NotAvailable, "two turning links"),
        ("spatial_rp", {"joint1_torque": 1.0}, NotAvailable, "two turning links"),
        ("planar_2r_servo", {"joint1_rate": 1.0}, NotAvailable, "a torque at each joint"),
        ("tian_2r_beam", {"joint2_angle": (0.0, 0.1)}, DefinitionError, "no time is long enough"),
        ("tian_2r_beam", {"link1_deflection": 1e9}, DefinitionError, "without bound"),
    ],
)
def test_what_cannot_be_planned_is_refused(arm: str, limits, error, told: str) -> None:
    with pytest.raises(error, match=told):
        fx.fastest_track(arm, CIRCLE, limits, points=40)


def law(track: fx.Track) -> fx.LinearLaw:
    return fx.tip_tracking(track, GAINS, filter_time=20e-3)


def run(arm: fx.Plant, track: fx.Track) -> fx.Response:
    own = law(track)
    return fx.simulate(arm, own, track.references(arm, own), duration=track.path.duration + 0.2, initial=track.start)


def test_joints_that_lead_put_the_tip_on_the_path() -> None:
    """An arm that bends 5 mm, on 2.1 s of a circle: without the lead it is 6 mm off, with it a quarter of one."""
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    led, plain = (fx.fastest_track(arm, CIRCLE, TORQUES, bend=bend) for bend in (True, False))
    off = [run(arm, track).scores["tip.max_contour"] for track in (led, plain)]
    assert off[1] > 5e-3
    assert off[0] < 0.3e-3


def test_the_track_stops_in_corners_and_goes_through_blended_ones() -> None:
    corners = [(1.4, -0.2), (1.8, -0.2), (1.8, 0.2), (1.4, 0.2)]
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    sharp = fx.fastest_track(arm, fx.Polyline(corners, closed=True), TORQUES, points=60)
    blended = fx.fastest_track(arm, fx.Rounded(corners, 0.05, closed=True), TORQUES)
    assert len(sharp.path.corner_times) == 3
    assert np.abs(sharp.path.law(np.array(sharp.path.corner_times))[1]).max() < 1e-9
    assert blended.bound < sharp.bound < 1.2 * blended.bound
    t = np.linspace(0.0, sharp.path.duration, 4001)
    rates = sharp.joints(t).rates
    slopes = np.gradient(sharp.joints(t).angles, t, axis=0)
    assert slopes[2:-2] == pytest.approx(rates[2:-2], abs=2e-3 * np.abs(rates).max())


@pytest.mark.slow
def test_runs_keep_every_limit_and_use_it_up() -> None:
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    limits = {"joint1_torque": 40.0, "joint2_torque": 25.0, "tip.max_contour": 0.5e-3}
    told: list[float] = []
    found = fx.fastest_along(law, arm, CIRCLE, limits, progress=lambda time, part: told.append(part))
    peaks = found.peaks["arm"]
    assert all(peaks[name] <= limit for name, limit in limits.items())
    assert max(peaks[name] / limit for name, limit in limits.items()) > 0.985
    assert found.bound < found.duration < 1.08 * found.bound
    assert len(told) > 1
    again = fx.fastest_track(arm, CIRCLE, found.planned)
    assert again.path.duration == pytest.approx(found.duration, rel=1e-12)


@pytest.mark.slow
def test_a_contour_that_the_law_cannot_hold_costs_time() -> None:
    """Without the lead the error is what the links bend: a third of it takes longer by the root of three, about."""
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    loose, tight = (
        fx.fastest_along(law, arm, CIRCLE, {**TORQUES, "tip.max_contour": off}, bend=False, progress=False)
        for off in (3e-3, 1e-3)
    )
    assert tight.peaks["arm"]["tip.max_contour"] <= 1e-3
    assert tight.duration / loose.duration == pytest.approx(np.sqrt(3.0), rel=0.2)


def test_what_no_run_can_keep_is_said() -> None:
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    with pytest.raises(ConvergenceError, match=r"none of 1 plans keeps the limits.*tip.max_contour"):
        fx.fastest_along(law, arm, CIRCLE, {**TORQUES, "tip.max_contour": 1e-5}, rounds=1, progress=False)
    with pytest.raises(DefinitionError, match="limit a torque"):
        fx.fastest_along(law, arm, CIRCLE, {"tip.max_contour": 1e-3}, progress=False)
    with pytest.raises(DefinitionError, match=r"tip\.max_error"):
        fx.fastest_along(law, arm, CIRCLE, {"tip.max_eror": 1e-3}, progress=False)


def test_an_unstable_loop_is_refused_before_it_runs() -> None:
    arm = fx.load_plant("tian_2r_beam", **SMALL)
    stiff = fx.pd_gains((35.0, 20.5), 200.0)
    with pytest.raises(DefinitionError, match="the loop of arm is unstable on the path"):
        fx.fastest_along(
            lambda track: fx.tip_tracking(track, stiff, filter_time=2e-3), arm, CIRCLE, TORQUES, progress=False
        )
