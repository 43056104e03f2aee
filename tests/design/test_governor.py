"""The command governor: limits are kept, nothing changes far from them, and what was possible stays possible."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.governor import governor
from flexctl.design.lqg import LqgWeights
from flexctl.design.lqg import lqg as make_lqg
from flexctl.design.pd import joint_pd
from flexctl.judging.scenario import run_scenarios
from flexctl.laws.controller import bare, initial_at
from flexctl.laws.governed import Governed
from flexctl.laws.governed_kernel import SLACK, moves
from flexctl.laws.scheduled import ScheduledLaw
from flexctl.motion.moves import quintic

script = fx.load_controller("tokhi_azad_governor")
LIMIT, MARGIN, MOVE, TS = 0.3, script.MARGIN, script.MOVE, 1e-3
BANG_BANG = {0: 0.834, 10: 0.908, 20: 0.976}  # s, rigid arm, 60 deg: 2 sqrt(angle J / torque)


@cache
def plant() -> fx.Plant:
    return fx.load_plant(script.PLANT)


@cache
def linear(grams: float = 10.0) -> fx.SecondOrder:
    return plant().with_(overrides=script.SETTINGS, payload={"mass": 1e-3 * grams}).linearise()


@cache
def truncated() -> fx.FirstOrder:
    return linear().discrete(TS, 2)


@cache
def lqg() -> fx.Design:
    return script.LQG.design(plant())


@cache
def governed(**options) -> fx.Design:
    return governor(lqg(), linear(), **{"modes": 2, "margin": MARGIN, **options})


def loop(design, moves, model: fx.FirstOrder, duration: float, push=lambda t: 0.0, start=None):
    """Run law and sampled plant, plain; returns law, times, torques, measurements, the law's states after each call."""
    law = bare(design)
    if isinstance(law, Governed):
        law = law.with_references(dict(zip(law.follows, moves, strict=True)))
    rows = [[s.name for s in model.outputs].index(name) for name in law.measures]
    columns = [[s.name for s in model.inputs].index(name) for name in law.drives]
    x = np.zeros(len(model.states)) if start is None else start
    state = initial_at(law, model.C[rows] @ x)
    t = TS * np.arange(round(duration / TS))
    torques, measured, states = [], [], []
    references = np.vstack([part for move in moves for part in move(t)]).T
    for now, r in zip(t, references, strict=True):
        measured.append(model.C[rows] @ x)
        states.append(state)
        u, state = law.step(state, float(now), measured[-1], r)
        x = model.A @ x + model.B[:, columns] @ (u + push(now))
        torques.append(u)
    return law, t, np.array(torques), np.array(measured), [*states[1:], state]


def random_paths(seed: int, count: int):
    """One or two moves with or without a pause, up to ten times too fast and some slow enough."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        there, back = rng.uniform(-1.5, 1.5, 2)
        times, pause = rng.uniform(0.3, 1.5, 2), rng.choice([0.0, 0.2])
        first = quintic(0.0, there, times[0], start=rng.choice([0.0, 0.1]))
        yield fx.Moves((first, quintic(there, back, times[1], start=first.duration + pause)))


# --- the loop that it predicts ---------------------------------------------------------------------------------------


def test_the_prediction_is_what_happens_without_governor_on_a_slower_path():
    """From rest at a held pace: the torques of the bare law, run plainly on the quintic that takes 1 / pace longer."""
    law, _, _, _, states = loop(governed(), [MOVE], truncated(), 0.01)
    s = states[0].pace.s
    assert 0.3 < s < 0.6
    predicted = law.prediction(np.zeros(len(law.predictor.loop[0])), 0.0, s, 0.0)[:, 0]
    _, _, wanted, _, _ = loop(lqg(), [quintic(0.0, np.radians(60.0), MOVE.duration / s)], truncated(), 1.2)
    size = int(MOVE.duration / s / (law.interval * TS))  # but for the interval in which the path ends
    assert size > 100
    assert predicted[:size] == pytest.approx(wanted[:: law.interval, 0][:size], abs=2e-4 * LIMIT)
    assert np.abs(predicted).max() == pytest.approx((1 - MARGIN) * LIMIT, rel=5e-3)


def test_torques_are_kept_within_the_bounds_on_random_paths():
    """On the design plant: within the margin, but for what happens between two times of the prediction."""
    for move in random_paths(1, 5):
        _, _, torques, measured, states = loop(governed(), [move], truncated(), 6.0)
        assert np.abs(torques).max() <= (1 - MARGIN) * LIMIT * 1.03
        assert min(state.pace.s for state in states) > 0.05
        assert measured[-1, 1] == pytest.approx(move.target, abs=1e-3), "the path is followed to its end"


def test_recursive_feasibility_what_was_admitted_stays_admitted():
    """On the design plant, at every decision: going on as predicted the last time meets the bounds again."""
    p, decisions = bare(governed()).predictor, 0
    for move in random_paths(2, 4):
        law, t, _, measured, states = loop(governed(), [move], truncated(), 4.0)
        for k in range(law.interval, len(t), law.interval):
            state = states[k - 1]
            sigma, s = state.pace.at(t[k])
            around = ((sigma - 0.02, sigma), (sigma, sigma + 0.01))
            if sigma >= move.duration or not all(moves(law.path, TS, *ends) for ends in around):
                continue
            x = state.estimate + p.correct @ (measured[k] - p.measure @ state.estimate)
            going_on = law.prediction(np.concatenate([x, law._known(state.law)]), sigma, s, law.keep * state.pace.w)
            assert p.excess(going_on) <= SLACK
            decisions += 1
    assert decisions > 200


def test_without_it_most_of_these_paths_run_into_the_limit():
    largest = [np.abs(loop(lqg(), [move], truncated(), 4.0)[2]).max() for move in random_paths(1, 5)]
    assert sum(u == LIMIT for u in largest) >= 3


# --- on the whole plant ----------------------------------------------------------------------------------------------


def test_far_from_the_limits_nothing_changes_to_the_last_bit():
    arm = plant().with_(overrides=script.SETTINGS, payload={"mass": 0.01})
    move = quintic(0.0, np.radians(40.0), 1.25)
    alone, run = (fx.simulate(arm, law, move, duration=1.6, method="march") for law in (lqg(), governed()))
    assert 0.4 * LIMIT < run.scores["joint1_torque.peak"] < (1 - MARGIN) * LIMIT
    np.testing.assert_allclose(run.y, alone.y, rtol=0, atol=1e-8)  # the compiled law sums in another order
    _, _, torques, measured, states = loop(governed(), [move], truncated(), 1.6)
    assert {state.pace[1:] for state in states} == {(0.0, 1.0, 0.0)}
    _, _, wanted, angles, _ = loop(lqg(), [move], truncated(), 1.6)
    assert np.array_equal(torques, wanted)
    assert np.array_equal(measured, angles)


@cache
def whole(grams: float) -> fx.FirstOrder:
    return linear(grams).discrete(TS, 12)


def test_limits_are_kept_with_payloads_that_it_does_not_know():
    """The limit itself is never reached: 20 g take 15 % more torque, modes that are not predicted the rest of 20 %."""
    for mass, move in zip((20.0, 20.0, 20.0, 0.0, 20.0, 10.0), random_paths(3, 6), strict=True):
        _, _, torques, measured, _ = loop(governed(margin=0.2), [move], whole(mass), 6.0)
        assert np.abs(torques).max() < LIMIT
        assert measured[-1, 1] == pytest.approx(move.target, abs=1e-3)


def test_a_pace_so_slow_that_the_motion_outlasts_the_horizon_is_seen_to_its_end():
    """A move of 3 s at a sixtieth of the limit: the braking, up to 9 s later, bounds the pace at its begin."""
    weak = governor(weaker(0.005), linear(), modes=2)
    law = bare(weak).with_references({"chord1_angle": quintic(0.0, 1.0, 3.0)})
    x = np.zeros(len(law.predictor.loop[0]))
    s = law._decide(law.initial(), 0.0, x).s
    assert 3.0 / s > 2 * law.horizon
    z = law.prediction(x, 0.0, s, 0.0)
    assert len(z) * law.interval * TS > 3.0 / s
    assert law.predictor.excess(z) <= 0.0
    assert z.min() < -0.9 * z.max() < 0.0


def weaker(limit: float) -> fx.Delayed:
    law = bare(lqg())
    return fx.Delayed(law.law.limited(-limit, limit), 1)


def test_after_a_pause_the_pace_is_free_again():
    """A slow move, a pause, one that is too fast: the first is not slowed for the sake of the second."""
    first = quintic(0.0, 0.2, 0.8)
    path = fx.Moves((first, quintic(0.2, 1.2, 0.5, start=0.9)))
    _, t, _, measured, states = loop(governed(), [path], truncated(), 3.0)
    paces = np.array([state.pace.s for state in states])
    assert set(paces[t < 0.89]) == {1.0}
    assert 0.3 < paces[950] < 0.6
    assert measured[-1, 1] == pytest.approx(1.2, abs=1e-3)


def test_a_move_may_begin_anywhere():
    """From 30 to 90 deg, at rest: the same torques and the same pace as from 0 to 60 deg."""
    move = quintic(np.radians(30.0), np.radians(90.0), MOVE.duration)
    start = bare(governed()).predictor.rigid @ np.radians([30.0, 30.0])
    _, _, torques, measured, states = loop(governed(), [move], truncated(), 2.0, start=start)
    _, _, wanted, _, other = loop(governed(), [MOVE], truncated(), 2.0)
    assert measured[0] == pytest.approx(np.radians([30.0, 30.0]))
    assert measured[-1] == pytest.approx(np.radians([90.0, 90.0]), abs=1e-3)
    assert torques == pytest.approx(wanted, abs=2e-3 * LIMIT)
    assert states[0].pace.s == pytest.approx(other[0].pace.s, abs=2e-3)


def test_a_push_in_mid_move_slows_the_pace_and_does_not_break_the_limit():
    def push(t: float) -> float:
        return -0.04 if 0.25 < t < 0.35 else 0.0

    _, _, _, _, calm = loop(governed(), [MOVE], whole(10.0), 0.45)
    _, _, torques, measured, states = loop(governed(), [MOVE], whole(10.0), 2.5, push)
    assert np.abs(torques).max() < LIMIT
    assert states[349].pace.s < calm[349].pace.s - 0.004
    assert measured[-1, 1] == pytest.approx(MOVE.target, abs=1e-3)


@cache
def runs():
    return {item.name: run for item, run in run_scenarios(script, plant())}


@pytest.mark.parametrize("grams", BANG_BANG)
def test_an_impossible_move_ends_near_the_bound_of_the_rigid_arm(grams):
    """1 % of 60 deg on the march: not before bang-bang torque on a rigid arm, and at most 30 % after it."""
    run = runs()[f"60 deg, {grams} g"]
    inertia = LIMIT * (BANG_BANG[grams] / 2) ** 2 / np.radians(60.0)
    assert 0.04 < inertia < 0.08
    assert 1.0 < run.scores["chord1_angle.settle_1pct_s"] / BANG_BANG[grams] < 1.3
    assert run.scores["joint1_torque.peak"] < LIMIT
    assert run.scores["chord1_angle.overshoot_pct"] < 0.5


def test_without_the_governor_the_same_law_is_lost():
    run = runs()["LQG alone, 10 g"]
    assert run.scores["joint1_torque.peak"] == LIMIT
    assert run.scores["chord1_angle.settle_1pct_s"] == np.inf
    assert abs(run.scores["chord1_angle.final_error"]) > np.radians(5.0)


def test_on_nonlinear_timoshenko_beams_it_is_the_same():
    """Another formulation, another name for every signal, 20 g that nothing knows."""
    (found,) = fx.compare(["tokhi_azad_governor"], models=["timoshenko_planar"], only=["60 deg, 20 g"], workers=1).runs
    mine, march = found.response.scores, runs()["60 deg, 20 g"].scores
    assert mine["joint1_torque.peak"] < LIMIT
    for band in ("1pct", "0p1pct"):
        assert mine[f"chord1_angle.settle_{band}_s"] == pytest.approx(march[f"chord1_angle.settle_{band}_s"], rel=0.01)


# --- other laws, other bounds ----------------------------------------------------------------------------------------


def test_a_joint_pd_is_governed_too():
    law = joint_pd(linear(), kp=6.8, kd=0.034, filter_time=1.6e-4, sample_time=TS, limit=LIMIT)
    design = governor(law, linear(), modes=2)
    _, _, torques, measured, _ = loop(design, [MOVE], truncated(), 2.5)
    assert np.abs(torques).max() < LIMIT
    assert measured[-1, 0] == pytest.approx(MOVE.target, abs=np.radians(0.6))


def test_an_output_is_bounded():
    """The strain at the root, by its curvature: a bound at which the torque is not the limit any more."""
    gauge = {"sensor": [{"name": "root_curvature", "kind": "curvature", "position": 0.0}]}
    gauged = plant().with_(overrides={**script.SETTINGS, **gauge}, payload={"mass": 0.01}).linearise()
    model = gauged.discrete(TS, 2)
    row = [s.name for s in model.outputs].index("root_curvature")
    free = governor(lqg(), gauged, modes=2)
    loose = largest(free, model, row)
    bounded = governor(lqg(), gauged, modes=2, bounds={"root_curvature": 0.5 * loose})
    tight = largest(bounded, model, row)
    assert 0.7 * 0.5 * loose < tight <= 0.5 * loose
    assert loose > 0


def largest(design: fx.Design, model: fx.FirstOrder, row: int) -> float:
    """Return the largest absolute value of an output along the move."""
    _, _, torques, _, _ = loop(design, [MOVE], model, 2.5)
    x, found, column = np.zeros(len(model.states)), 0.0, [s.name for s in model.inputs].index("joint1_torque")
    for u in torques:
        found = max(found, abs(float(model.C[row] @ x)))
        x = model.A @ x + model.B[:, column] * u[0]
    return found


def test_two_joints_stay_on_their_path():
    """Both at one path parameter: the references are on the line in joint space, whatever the pace."""
    arm = fx.load_plant("planar_2r_flexible", overrides={"damping": {"kind": "rayleigh", "beta": 6.4e-5}})
    joints, torques = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")
    bent = arm.linearise(fx.OperatingPoint.at_rest(arm.model, arm.model.pose([0.0, np.pi / 2])))
    weights = LqgWeights(rate=1e-3, energy=1e-4, integral=25.0, command=3e-3, disturbance=0.1, noise=(1e-8, 1e-8))
    law = make_lqg(
        bent, weights, modes=2, sample_time=TS, measures=joints, drive=torques, follow=joints, limit=10.0
    )
    moves = [quintic(0.0, 1.0, 0.5), quintic(0.0, -0.6, 0.5)]
    model = bent.discrete(TS, 2)
    _, _, alone, _, _ = loop(law, moves, model, 2.5)
    assert np.abs(alone).max() == pytest.approx(10.0)
    found, t, torque, measured, states = loop(governor(law, bent, modes=2), moves, model, 2.5)
    assert np.abs(torque).max() < 10.0
    assert measured[-1] == pytest.approx([1.0, -0.6], abs=5e-3)
    for now, state in zip(t, states, strict=True):
        r = found._slowed(state.pace, now, np.zeros(6))
        assert r[3:] == pytest.approx(-0.6 * r[:3], abs=1e-12)


def test_slowed_references_are_those_of_one_motion():
    """Rate and acceleration are derivatives of the value, through changes of the pace."""
    law, t, _, _, states = loop(governed(), [MOVE], whole(20.0), 1.2)
    r = np.array([law._slowed(state.pace, now, None) for now, state in zip(t, states, strict=True)])
    assert np.ptp([state.pace.s for state in states[:1000]]) > 0.005
    assert np.abs(np.gradient(r[:, 0], TS) - r[:, 1])[1:-1].max() < 2e-3 * np.abs(r[:, 1]).max()
    smooth = np.abs(np.gradient(r[:, 1], TS) - r[:, 2])[1:-1]
    assert np.median(smooth) < 2e-3 * np.abs(r[:, 2]).max()


def test_a_long_path_is_governed_by_what_a_stop_takes():
    """Ten moves to and fro in 5 s, every one too fast, without a pause; the horizon is 4 s."""
    path = fx.Moves(tuple(quintic(0.5 * (k % 2), 0.5 * ((k + 1) % 2), 0.5, start=0.5 * k) for k in range(10)))
    with pytest.raises(fx.DefinitionError, match=r"horizon = 4 s ends before.*brake"):
        bare(governed()).with_references({"chord1_angle": path})
    _, t, torques, measured, states = loop(governed(brake=1.0), [path], truncated(), 11.0)
    assert np.abs(torques).max() < LIMIT
    assert states[-1].pace.at(t[-1])[0] > path.duration
    assert measured[-1, 1] == pytest.approx(path.target, abs=1e-3)


# --- the object ------------------------------------------------------------------------------------------------------


def test_it_is_a_design_with_the_loop_of_the_law():
    found = governed()
    wanted = lqg().margins["joint1_torque"].disk_margin
    assert found.margins["joint1_torque"].disk_margin == pytest.approx(wanted, rel=1e-12)
    assert found.assumptions["margin"] == MARGIN
    assert found.assumptions["design"] == "LQG"


def test_encoders_around_it_do_not_hide_the_path():
    arm = plant().with_(overrides=script.SETTINGS)
    law = fx.Quantised(governed(), {"joint1_angle": 2 * np.pi / 2**16, "chord1_angle": 2 * np.pi / 2**16})
    run = fx.simulate(arm, law, MOVE, duration=1.5, method="march")
    assert run.scores["joint1_torque.peak"] < LIMIT
    assert run.scores["chord1_angle.settle_1pct_s"] < 1.2


def test_bad_input_is_named():
    free = joint_pd(linear(), kp=6.8, kd=0.034, filter_time=1.6e-4, sample_time=TS)
    one = ("joint1_angle",), ("joint1_torque",)
    wrong = {
        "no limits on both sides": (free, {}),
        "ScheduledLaw cannot be governed": (scheduled(free), {}),
        "follows nothing": (fx.LinearLaw(TS, *one, Dy=[[-1.0]]).limited(-1.0, 1.0), {}),
        "continuous law": (fx.LinearLaw(0.0, *one, ("chord1_angle",)).limited(-1, 1), {}),
        "margin = 1.0 must lie": (lqg(), {"margin": 1.0}),
        "interval = 0": (lqg(), {"interval": 0}),
        "slope = -1.0": (lqg(), {"slope": -1.0}),
        "brake = 0.001 s must be longer": (lqg(), {"brake": 1e-3}),
        'did you mean "chord1_angle"': (lqg(), {"bounds": {"chord1_angel": 1.0}}),
        "must be positive": (lqg(), {"bounds": {"chord1_angle": -1.0}}),
    }
    for message, (law, options) in wrong.items():
        with pytest.raises(fx.DefinitionError, match=message):
            governor(law, linear(), modes=2, **options)
    law = bare(governed())
    with pytest.raises(fx.DefinitionError, match=r'"chord1_angle" jumps.*quintic'):
        law.with_references({"chord1_angle": fx.Step(0.0, 1.0)})
    with pytest.raises(fx.DefinitionError, match="must end at rest"):
        law.with_references({"chord1_angle": fx.SpinUp(1.0, 0.5)})
    with pytest.raises(fx.DefinitionError, match="must know its path"):
        law.step(law.initial(), 0.0, np.zeros(2), np.zeros(3))


def scheduled(law: fx.LinearLaw) -> ScheduledLaw:
    return ScheduledLaw((1.0,), (law, law))
