"""Commands of nonlinear loops, found by runs: against the linear programme, kept limits, files, who may use them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl.design import optimal_lp
from flexctl.motion.planned import Shape

DT = 0.1
TARGET = {"x2": 1.0}


def masses(second: float = 1.0):
    """Two masses with a spring and a little damping, a force on the first one."""
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return fx.from_matrices(
        np.diag([1.0, second]), D=0.02 * K, K=K, B=[[1.0], [0.0]], C=np.eye(2), inputs=["force"], outputs=["x1", "x2"]
    )


@cache
def law():
    weights = fx.LqgWeights(rate=1.0, energy=0.1, integral=0.0, command=1.0, disturbance=1.0, noise=(1e-6, 1e-6),
                            load=1e-4)
    return fx.lqg(masses(), weights, modes=1, sample_time=DT, measures=("x1", "x2"), drive="force", follow="x2",
                  limit=1.0)


@cache
def scheduled(limit: float = 1.0):
    """The same law at two points, so that nobody can tell that it is linear."""
    return fx.blended([law(), law()], (0.0, 2.0), "x2")


@cache
def plan() -> fx.PlannedCommand:
    return fx.optimal_command(
        scheduled(), {"even": masses(), "heavy": masses(1.15)}, TARGET, within=0.01, longest=6.0, fine=(8, 16),
        workers=1,
    )


def test_runs_find_what_the_programme_of_the_linear_loop_finds() -> None:
    found = plan()
    exact = fx.optimal_command(law(), {"even": masses(), "heavy": masses(1.15)}, TARGET, within=0.01, longest=6.0)
    assert found.arrival < 1.06 * exact.arrival  # 16 intervals here, 92 there
    for plant, label in ((masses(), "even"), (masses(1.15), "heavy")):
        run = fx.simulate(plant, scheduled(), found.references, duration=found.examined)
        assert run.scores["x2.settle_1pct_s"] <= found.arrivals[label] + 1e-9 <= found.arrival + 2e-9
        assert run.scores["force.peak"] <= 0.98


def test_the_command_is_refused_with_another_law_and_comes_back_from_its_file(tmp_path: Path) -> None:
    found = plan()
    path = found.save(tmp_path / "plan.json")
    again = fx.load_command(path, scheduled())
    t = np.linspace(0.0, 12.0, 400)
    np.testing.assert_allclose(again.motions["x2"](t), found.motions["x2"](t), rtol=0, atol=1e-12)
    assert (again.plants, again.bands, again.examined) == (found.plants, found.bands, found.examined)
    for wrong in (law(), fx.blended([law(), law()], (0.0, 3.0), "x2")):
        with pytest.raises(fx.DefinitionError, match="another law"):
            fx.load_command(path, wrong)
        with pytest.raises(fx.DefinitionError, match="another law"):
            fx.simulate(masses(), wrong, found.references, duration=1.0)
    content = json.loads(path.read_text())
    content["motions"]["x2"]["times"][1] = -1.0
    path.write_text(json.dumps(content))
    with pytest.raises(fx.DefinitionError):
        fx.load_command(path, scheduled())


def test_a_plan_goes_on_from_another_with_further_limits() -> None:
    free = plan()
    told = []
    found = fx.optimal_command(
        scheduled(), {"even": masses()}, TARGET, within=0.01, longest=6.0, limits={"x1": (-0.1, 1.04)}, fine=(16,),
        start=free, workers=1, rest={"x1": 0.02}, progress=lambda missing, arrival: told.append((missing, arrival)),
    )
    run = fx.simulate(masses(), scheduled(), found.references, duration=found.examined)
    assert run["x1"].max() <= 1.04 + 1e-9
    assert np.abs(run["x1"] - run["x1"][-1])[run.t >= found.arrival].max() <= 0.02 + 1e-9
    assert told[-1] == (0.0, pytest.approx(found.arrival))


@pytest.mark.parametrize(
    ("change", "told", "kind"),
    [
        ({"longest": 2.4}, "no command was found", fx.ConvergenceError),
        ({"target": {"x3": 1.0}}, "followed output", fx.DefinitionError),
        ({"limits": {"x3": 1.0}}, "x3", fx.DefinitionError), ({"rest": {"x3": 1.0}}, "x3", fx.DefinitionError),
        ({"rest": {"x1": 0.0}}, "above zero", fx.DefinitionError), ({"fine": (2,)}, "4 or more", fx.DefinitionError),
        ({"within": 0.0}, "band", fx.DefinitionError), ({"plants": {}}, "at least one", fx.DefinitionError),
        ({"law": law()}, "these loops are linear", fx.DefinitionError),
    ],
)
def test_what_is_wrong_is_refused(change, told: str, kind) -> None:
    options = {"law": scheduled(), "plants": {"even": masses()}, "target": TARGET, "longest": 6.0, "within": 0.01,
               "fine": (4,), "workers": 1} | change
    with pytest.raises(kind, match=told):
        fx.optimal_command(options.pop("law"), options.pop("plants"), options.pop("target"), **options)


def test_a_solver_that_fails_later_leaves_what_was_verified(monkeypatch) -> None:
    import scipy.optimize

    class Nothing:
        status, message, x = 4, "numerical trouble", None

    monkeypatch.setattr(optimal_lp, "least_slack", lambda *args: None)
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *args, **options: Nothing())
    with pytest.warns(fx.Caution, match="the best before is returned"):
        found = fx.optimal_command(
            scheduled(), {"even": masses()}, TARGET, within=0.01, longest=6.0, fine=(16,), start=plan(), workers=1
        )
    assert found.arrival <= plan().arrival


def test_shapes_begin_and_end_at_rest_and_the_finer_holds_the_coarser() -> None:
    t = np.linspace(0.0, 4.0, 801)
    coarse, fine = Shape(2.0, 8), Shape(2.0, 16)
    numbers = np.random.default_rng(1).normal(0.5, 0.3, coarse.count)
    move = coarse.motion(numbers, 0.3, -2.0, 1.9)
    x, v, a = move(t)
    assert x[0] == 0.3
    assert v[0] == 0.0
    np.testing.assert_allclose(x[t >= 3.5], -1.7, atol=1e-12)
    np.testing.assert_allclose(np.gradient(x, t)[5:-5], v[5:-5], atol=2e-3 * np.abs(v).max())
    fixed, spread = coarse.values(t)
    np.testing.assert_allclose(x, 0.3 - 2.0 * (fixed + spread @ numbers), atol=1e-9)
    again = fine.motion(fine.fitted(t, (x - 0.3) / -2.0, a / -2.0), 0.3, -2.0, 1.9)
    np.testing.assert_allclose(again(t)[0], x, atol=1e-9)
