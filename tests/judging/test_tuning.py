"""Tuning over several plants: the descent, the criteria against those of certificates, and the search as a whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.loops import examine
from flexctl.judging.tuning.criteria import Goals, judged, models
from flexctl.judging.tuning.descent import minimise, shortest_in_hull
from flexctl.judging.variations import changed
from flexctl.linear.discrete import zero_order_hold
from flexctl.linear.interconnect import closed_loop
from flexctl.model import names

SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}


@cache
def linear(mass: float = 0.01, change: float = 0.0):
    plain = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS)
    return plain.with_(overrides=changed(plain, mass, change)).linearise()


def nine():
    return {f"{1e3 * m:g} g, {100 * c:+g} %": linear(m, c) for m in (0.0, 0.01, 0.02) for c in (-0.05, 0.0, 0.05)}


def design(**weights):
    return fx.lqg(
        linear(), fx.LqgWeights(**weights), modes=3, sample_time=1e-3, measures=("joint1_angle", "chord1_angle"),
        drive="joint1_torque", follow="chord1_angle", limit=0.3,
    )


def pd(kp: float, kd: float):
    return fx.Delayed(fx.joint_pd(linear(), kp=kp, kd=kd, filter_time=1e-3, sample_time=1e-3))


@pytest.mark.parametrize(
    ("columns", "shortest"),
    [([[1, 1], [1, -1]], [1, 0]), ([[2, 1], [0, 1]], [1, 1]), ([[1, -1], [0, 0]], [0, 0]), ([[3], [4]], [3, 4])],
)
def test_the_shortest_vector_in_a_hull(columns, shortest) -> None:
    np.testing.assert_allclose(shortest_in_hull(np.array(columns, float)), shortest, atol=1e-7)


def test_descent_into_a_kink() -> None:
    def largest(x):  # a maximum of smooth functions, least at (1, 1, 0) where three of them meet
        return max(abs(x[0] - 1.0) * 8.0, abs(x[1] - x[0] ** 2), 0.1 * abs(x[2])) + 0.5 * (x[1] - 1.0) ** 2

    x, value, count = minimise(largest, np.array([-0.5, 0.3, 2.0]), 5000)
    assert value < 1e-3
    assert x[:2] == pytest.approx([1.0, 1.0], abs=0.02)
    assert count <= 5000
    assert minimise(largest, np.array([-0.5, 0.3, 2.0]), 40)[2] == 40


@pytest.mark.parametrize("name", ["tokhi_azad_disturbance", "tokhi_azad_robust"])
def test_the_quick_criteria_are_those_of_certificates(name: str) -> None:
    law = fx.load_controller(name).design(fx.load_plant("tokhi_azad_1994"))
    names_ = ("disk_margin", "load_response", "noise_gain", "decay_rate", "damping")
    goals = Goals(dict.fromkeys(names_, 1.0), {})
    _, values = judged(law, models({"0 g": linear(0.0)}, None), goals)
    loop = examine(linear(0.0), law.linear)
    assert values["disk_margin"]["0 g"] == pytest.approx(loop.smallest("disk_margin"), rel=5e-3)
    assert values["decay_rate"]["0 g"] == pytest.approx(loop.decay, rel=1e-6)
    assert values["damping"]["0 g"] == pytest.approx(loop.least_damped[0], rel=1e-6)
    closed = closed_loop(zero_order_hold(linear(0.0), 1e-3), law.linear.feedback())
    omega = np.geomspace(1e-2, 3e3, 20000)
    H = closed.transfer(np.exp(1j * omega * 1e-3))
    tip, torque = names(closed.outputs).index("chord1_angle"), names(closed.inputs).index("joint1_torque")
    weighted = np.abs(H[tip, torque]) * np.abs(1.0 + 1.0 / (1j * omega))
    assert values["load_response"]["0 g"] == pytest.approx(weighted.max(), rel=0.01)
    # the gain of noise is the root of the summed squares of the responses of the command to it
    total = 0.0
    for sensor in law.measures:
        feedback = law.linear.feedback()
        x, xk, h = np.zeros(len(closed.A) - len(feedback.A)), np.zeros(len(feedback.A)), []
        plant = zero_order_hold(linear(0.0), 1e-3)
        rows = [names(plant.outputs).index(m) for m in law.measures]
        for k in range(20000):
            y = plant.C[rows] @ x
            y[law.measures.index(sensor)] += float(k == 0)
            u = feedback.C @ xk + feedback.D @ y
            x, xk = plant.A @ x + plant.B @ u, feedback.A @ xk + feedback.B @ y
            h.append(u[0])
        total += np.sum(np.square(h))
    assert values["noise_gain"]["0 g"] == pytest.approx(np.sqrt(total), rel=1e-3)


def test_an_unstable_law_counts_more_than_any_stable_one_and_the_more_the_faster_it_grows() -> None:
    goals, on = Goals({"disk_margin": 0.3}, {}), models({"0 g": linear(0.0)}, 5)
    found = [judged(pd(5.0, kd), on, goals) for kd in (0.03, 0.4, 0.8)]
    assert found[0][0] < 20.0 < found[1][0] < found[2][0]
    assert found[0][1]
    assert not found[2][1]


def test_the_weights_of_the_tuned_law_are_at_the_end_of_the_search() -> None:
    """From beside them, a short descent over the nine models comes back to what they reach."""
    script = fx.load_controller("tokhi_azad_tuned")
    stated = script.WEIGHTS
    own = {"rate", "energy", "integral", "command", "disturbance", "noise"}
    begin = {key: 1.05 * np.array(getattr(stated, key)) for key in own}
    begin = {key: tuple(x) if x.ndim else float(x) for key, x in begin.items()}
    options = {"over": nine(), "minimise": script.MINIMISE, "require": script.REQUIRE, "restarts": 0, "workers": 1}
    found = fx.tune(design, begin, evaluations=120, **options)
    total, values = judged(design(**{key: getattr(stated, key) for key in own}), models(nine(), None),
                           Goals(script.MINIMISE, script.REQUIRE))
    assert min(values["disk_margin"].values()) > 0.5
    assert found.worst("disk_margin") > 0.5
    assert found.total < 1.01 * np.exp(total)
    assert np.exp(total) == pytest.approx(0.757, abs=0.005)
    assert max(values["load_response"].values()) < 0.039


def test_several_starts_a_file_and_its_resumption(tmp_path) -> None:
    path, told = tmp_path / "pd.json", []
    options = {
        "over": {"0 g": linear(0.0), "20 g": linear(0.02)}, "minimise": {"disk_margin": 0.5}, "starts": 3,
        "restarts": 1, "evaluations": 30, "path": path, "workers": 1, "require": {"decay_rate": 0.5},
    }
    found = fx.tune(pd, {"kp": 5.0, "kd": 0.03}, progress=lambda *x: told.append(x), **options)
    assert found.worst("decay_rate") >= 0.4995
    assert len(found.spread) <= 4
    assert list(found.spread) == sorted(found.spread)
    assert [x[0] for x in told][-1] == 4
    assert found.total == pytest.approx(found.spread[0], rel=0.01)
    content = json.loads(path.read_text())
    del content["done"]["2"], content["done"]["3"]
    path.write_text(json.dumps(content))
    again = fx.tune(pd, {"kp": 5.0, "kd": 0.03}, **options)
    assert again.parameters == pytest.approx(found.parameters, rel=1e-9)
    assert "of the bounds" in repr(again)
    assert "kp = " in str(again)
    with pytest.raises(fx.DefinitionError, match="another tuning"):
        fx.tune(pd, {"kp": 6.0, "kd": 0.03}, **options)
    path.write_text("{}")
    with pytest.raises(fx.DefinitionError, match="damaged"):
        fx.tune(pd, {"kp": 5.0, "kd": 0.03}, **options)


def test_scores_of_runs_may_be_goals() -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS)
    item = fx.Scenario("5 deg", fx.quintic(0.0, 0.0873, 0.4), 0.8, options={"method": "march"})
    found = fx.tune(
        pd, {"kp": fx.Knob(5.0, low=1.0, high=10.0), "kd": 0.03},
        over={"0 g": linear(0.0)}, minimise={"5 deg: chord1_angle.final_error": 1e-3}, require={"disk_margin": 0.1},
        scenarios=[item], plant=arm, evaluations=6, restarts=0, workers=1,
    )
    run = item.run(found.law, arm)
    wanted = pytest.approx(run.scores["chord1_angle.final_error"])
    assert found.values["5 deg: chord1_angle.final_error"]["5 deg"] == wanted
    assert 1.0 <= found.parameters["kp"] <= 10.0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"minimise": {"disk": 0.3}}, "unknown goal"), ({"minimise": {}}, "nothing to minimise"),
        ({"minimise": {"disk_margin": 0.0}}, "bound of disk_margin"), ({"over": {}}, "at least one plant"),
        ({"starts": 0}, "starts = 0"), ({"evaluations": 1.5}, "evaluations"),
        ({"minimise": {"chord1_angle.settle_1pct_s": 0.5}}, "give scenarios"),
    ],
)
def test_what_is_wrong_is_refused(change, told: str) -> None:
    options = {"over": {"0 g": linear(0.0)}, "minimise": {"disk_margin": 0.5}, "evaluations": 5, **change}
    with pytest.raises(fx.DefinitionError, match=told):
        fx.tune(pd, {"kp": 5.0, "kd": 0.03}, **options)


def test_no_law_is_an_error_and_not_a_bad_law() -> None:
    options = {"over": {"0 g": linear(0.0)}, "evaluations": 5, "restarts": 0, "workers": 1}
    with pytest.raises(fx.ConvergenceError, match="stable on every plant"):
        fx.tune(pd, {"kp": 5.0, "kd": 2.0}, minimise={"disk_margin": 0.5}, **options)
    with pytest.raises(fx.ConvergenceError, match="what is required"):
        fx.tune(pd, {"kp": 5.0, "kd": 0.03}, minimise={"disk_margin": 1.0}, require={"decay_rate": 5e4}, **options)


@pytest.mark.parametrize("wrong", [(1.0, 2.0, 3.0), (0.0,), (float("nan"),)])
def test_a_knob_that_cannot_be_turned(wrong) -> None:
    with pytest.raises(fx.DefinitionError):
        fx.Knob(*wrong)


def test_plants_with_fewer_modes_than_the_search_takes_are_taken_whole():
    springs = {f"k = {k:g}": fx.load_plant("two_mass_spring", overrides={"joint.1.stiffness": k}) for k in (0.5, 2.0)}
    assert [len(model.few.states) for model in models(springs, 5)] == [4, 4]
    assert [len(model.few.states) for model in models({"": linear()}, 6)] == [14], "one rigid mode and six"


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs dask.distributed: pip install flexctl[dask]")
def test_descents_on_a_dask_cluster_end_where_those_of_this_process_do() -> None:
    from distributed import LocalCluster

    options = {"over": {"0 g": linear(0.0)}, "minimise": {"disk_margin": 0.5}, "starts": 2, "evaluations": 15}
    here = fx.tune(pd, {"kp": 5.0, "kd": 0.03}, workers=1, **options)
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        there = fx.tune(pd, {"kp": 5.0, "kd": 0.03}, scheduler=cluster.scheduler_address, **options)
        seen = len(cluster.scheduler.task_prefixes)
    assert seen == 1, "the cluster did the work"
    assert (there.parameters, there.spread) == (here.parameters, here.spread)


def test_no_scheduler_is_an_error_before_anything_is_tried(monkeypatch) -> None:
    from flexctl.judging.sweep import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with pytest.raises(fx.NotAvailable, match="scheduler"):
        fx.tune(pd, {"kp": 5.0, "kd": 0.03}, over={"0 g": linear(0.0)}, minimise={"disk_margin": 0.5}, evaluations=5,
                scheduler="tcp://127.0.0.1:9")


def test_a_search_that_was_killed_goes_on_to_the_same_end(tmp_path) -> None:
    """kill -9 after the first descent of four: what is done is read, the rest is done."""
    path, script = tmp_path / "pd.json", tmp_path / "search.py"
    script.write_text(SEARCH)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}

    def search(**options) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, script, path], env=environment, stdout=subprocess.PIPE, **options)

    with search() as first:
        first.stdout.readline()
        first.kill()
    assert 1 <= len(json.loads(path.read_text())["done"]) < 4
    with search() as second:
        resumed = second.stdout.read().splitlines()
    path.unlink()
    with search() as third:
        whole = third.stdout.read().splitlines()
    assert resumed[-1] == whole[-1]
    assert len(whole) >= 5


SEARCH = """
import sys
import flexctl as fx

plant = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 10, "damping": {"kind": "modal", "ratio": 0.01}})
linear = plant.linearise()

def pd(kp, kd):
    return fx.joint_pd(linear, kp=kp, kd=kd, filter_time=1e-3, sample_time=1e-3)

found = fx.tune(
    pd, {"kp": 5.0, "kd": 0.03}, over={"": linear}, minimise={"disk_margin": 0.5, "load_response": 0.2}, starts=3,
    evaluations=30, path=sys.argv[1], workers=1, progress=lambda *told: print(*told, flush=True),
)
print(found.parameters, found.spread)
"""
