"""Optimal commands: open-loop bounds against bang-bang torque, plans against runs, and who may use them.

The quick cases are two masses with a spring; those of the 0.96 m arm are in slow.txt.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl.design import optimal_lp
from flexctl.laws.fingerprint import fingerprint

DT = 0.02


def masses(second: float = 1.0, stiffness: float = 1.0):
    """Two masses with a spring and a little damping, a force on the first one."""
    K = stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return fx.from_matrices(
        np.diag([1.0, second]), D=0.02 * K, K=K, B=[[1.0], [0.0]], C=np.eye(2), inputs=["force"], outputs=["x1", "x2"]
    )


@cache
def law(integral: float = 0.0, period: float = DT):
    load = 0.0 if integral else 1e-4
    weights = fx.LqgWeights(rate=1.0, energy=0.1, integral=integral, command=1.0, disturbance=1.0, noise=(1e-6, 1e-6),
                            load=load)
    return fx.lqg(masses(), weights, modes=1, sample_time=period, measures=("x1", "x2"), drive="force", follow="x2",
                  limit=1.0)


@cache
def command(integral: float = 0.0):
    plants = {"even": masses(), "heavy": masses(1.15), "soft": masses(1.0, 0.85)}
    return fx.optimal_command(law(integral), plants, {"x2": 1.0}, within=0.01, longest=6.0)


def test_the_bound_of_a_rigid_mass_is_bang_bang_to_the_far_edge_of_the_band() -> None:
    """Within 1 % first, when the deceleration ends at 1.01 of the way: 1.81 sqrt(x m/F), 0.905 of rest to rest."""
    plant = fx.from_matrices([[2.0]], K=[[0.0]], B=[[1.0]], C=[[1.0]], inputs=["force"], outputs=["x"])
    found = fx.bound({"": plant}, {"x": 1.0}, drive="force", limits={"force": 0.5}, within=0.01, longest=4.5,
                     sample_time=0.01)
    exact = (2.0 * np.sqrt(1.01) - 0.2) * np.sqrt(1.0 * 2.0 / 0.5)
    assert exact <= found.arrival < 1.03 * exact
    run = fx.simulate(plant, inputs=found.inputs, duration=8.0)
    late = run.t > found.arrival + 0.01
    assert np.abs(run["x"][late] - 1.0).max() < 0.0105
    assert np.abs(run["force"]).max() <= 0.5


def test_the_bound_of_a_mass_on_a_spring_ends_with_the_force_that_holds_it() -> None:
    """Ended at zero it was refused, "not even without any limit".

    Exact to the target itself: two arcs about +-F/K, twice as far as the target, from rest to rest.
    """
    plant = fx.from_matrices([[1.0]], K=[[25.0]], B=[[1.0]], C=[[1.0]], inputs=["force"], outputs=["x"])
    found = fx.bound({"": plant}, {"x": 0.1}, drive="force", limits={"force": 5.0}, within=0.002, longest=0.6,
                     sample_time=2e-3)
    exact = (np.arccos(1.375 / 2.0) + np.arcsin(np.sqrt(2.109375) / 3.0)) / 5.0
    assert 0.95 * exact < found.arrival <= 1.02 * exact
    assert found.inputs["force"].values[-1] == pytest.approx(2.5, rel=1e-9)
    run = fx.simulate(plant, inputs=found.inputs, duration=5.0)
    assert np.abs(run["x"][run.t >= found.arrival] - 0.1).max() <= 0.002 * 0.1 * 1.05
    assert np.abs(run["force"]).max() <= 5.0
    with pytest.raises(fx.ConvergenceError, match=r"in the way: the limit of force; 1\.1 times as high would do"):
        fx.bound({"": plant}, {"x": 0.1}, drive="force", limits={"force": 2.4}, within=0.002, longest=2.0,
                 sample_time=2e-3)


@pytest.mark.parametrize("integral", [0.0, 0.3])
def test_a_plan_through_the_loop_holds_on_every_plant_and_is_faster_than_a_polynomial(integral: float) -> None:
    found = command(integral)
    for plant in (masses(), masses(1.15), masses(1.0, 0.85)):
        run = fx.simulate(plant, law(integral), found.references, duration=16.0)
        assert run.scores["x2.settle_1pct_s"] <= found.arrival + 1e-9
        assert run.scores["force.peak"] <= 0.981
    plain = fx.simulate(masses(1.15), law(integral), fx.quintic(0.0, 1.0, 4.0), duration=16.0)
    assert found.arrival < 0.8 * plain.scores["x2.settle_1pct_s"]


def test_no_loop_beats_the_bound_of_the_plant_alone() -> None:
    best = fx.bound({"heavy": masses(1.15)}, {"x2": 1.0}, drive="force", limits={"force": 1.0}, within=0.01,
                    longest=6.0, sample_time=DT)
    assert best.arrival <= command().arrival


def test_limits_of_outputs_are_kept_and_cost_time() -> None:
    limits = {"x1": (-0.1, 1.05)}
    found = fx.optimal_command(law(), {"even": masses()}, {"x2": 1.0}, within=0.01, longest=6.0, limits=limits)
    free = fx.optimal_command(law(), {"even": masses()}, {"x2": 1.0}, within=0.01, longest=6.0)
    runs = [fx.simulate(masses(), law(), x.references, duration=12.0) for x in (found, free)]
    assert runs[0]["x1"].max() <= 1.05 + 1e-6 < runs[1]["x1"].max()
    assert found.arrival > free.arrival


def test_two_bands_at_once() -> None:
    narrow = fx.optimal_command(law(), {"even": masses()}, {"x2": 1.0}, within=0.001, longest=6.0)
    both = fx.optimal_command(
        law(), {"even": masses()}, {"x2": 1.0}, within=0.01, also={0.001: 1.1 * narrow.arrival}, longest=6.0
    )
    scores = fx.simulate(masses(), law(), both.references, duration=16.0).scores
    assert scores["x2.settle_1pct_s"] <= both.arrival + 1e-9
    assert scores["x2.settle_0p1pct_s"] <= 1.1 * narrow.arrival + DT
    assert list(both.bands) == [0.01, 0.001]


def test_a_command_is_refused_with_any_other_loop(tmp_path: Path) -> None:
    found = command()
    other = fx.Delayed(law().law.law, 2)
    limited = fx.Delayed(law().law.law.limited(-2.0, 2.0), 1)
    for wrong in (law(0.3), law(0.0, 0.01), other, limited):
        with pytest.raises(fx.DefinitionError, match="another law"):
            fx.simulate(masses(), wrong, found.references, duration=1.0)
    for same in (law(), law().law, fx.Quantised(law(), {"x1": 1e-6})):
        fx.simulate(masses(), same, found.references, duration=1.0)
    path = found.save(tmp_path / "command.json")
    again = fx.load_command(path, law())
    np.testing.assert_allclose(again.references["x2"].sequence, found.references["x2"].sequence, rtol=0, atol=1e-9)
    assert (again.plants, again.bands, again.arrival) == (found.plants, found.bands, found.arrival)
    with pytest.raises(fx.DefinitionError, match="another law"):
        fx.load_command(path, law(0.3))
    content = json.loads(path.read_text())
    content["values"] = content["values"][0][:-1]
    path.write_text(json.dumps(content))
    with pytest.raises(fx.DefinitionError):
        fx.load_command(path, law())
    with pytest.raises(fx.DefinitionError, match="no such file"):
        fx.load_command(tmp_path / "none.json", law())


def test_the_fingerprint_does_not_depend_on_the_coordinates_of_the_law() -> None:
    core = law().law.law
    T = np.eye(len(core.A)) + 0.1 * np.random.default_rng(0).standard_normal(core.A.shape)
    S = np.linalg.inv(T)
    turned = replace(core, A=T @ core.A @ S, By=T @ core.By, Br=T @ core.Br, Bu=T @ core.Bu, C=core.C @ S,
                     start=T @ core.start)
    assert not fingerprint(core).difference(fingerprint(turned))
    assert fingerprint(core).difference(fingerprint(replace(core, C=1.001 * core.C)))


@pytest.mark.parametrize(
    ("change", "told", "kind"),
    [
        ({"longest": 2.0}, "no command brings", fx.ConvergenceError), ({"longest": 0.1}, "too few", fx.DefinitionError),
        ({"within": 1.5}, "band", fx.DefinitionError), ({"plants": {}}, "at least one", fx.DefinitionError),
        ({"target": {"x1": 1.0}}, "followed output", fx.DefinitionError),
        ({"target": {"x2": 0.0}}, "nothing moves", fx.DefinitionError),
        ({"limits": {"x3": 1.0}}, "x3", fx.DefinitionError),
        ({"limits": {"x1": (0.5, 1.0)}}, "hold 0", fx.DefinitionError),
        ({"plants": {"far": masses(0.1)}}, "unstable on far", fx.DefinitionError),
        ({"law": fx.LinearLaw(DT, ("x2",), ("force",), ("x2",), Dy=[[-0.1]], Dr=[[0.1, 0.0, 0.0]])}, "forward",
         fx.NotAvailable),
    ],
)
def test_what_is_wrong_is_refused(change, told: str, kind) -> None:
    options = {"law": law(), "plants": {"even": masses()}, "target": {"x2": 1.0}, "longest": 8.0, "within": 0.01}
    options |= change
    with pytest.raises(kind, match=told):
        fx.optimal_command(options.pop("law"), options.pop("plants"), options.pop("target"), **options)


def test_a_solver_without_an_answer_is_an_error_and_not_infeasibility(monkeypatch) -> None:
    import scipy.optimize

    class Nothing:
        status, message, x = 4, "numerical trouble", None

    monkeypatch.setattr(optimal_lp, "least_slack", lambda *args: None)
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *args, **options: Nothing())
    with pytest.raises(fx.ConvergenceError, match="no answer for the optimal command"):
        fx.optimal_command(law(), {"even": masses()}, {"x2": 1.0}, within=0.01, longest=6.0)


def test_plants_that_one_torque_takes_to_different_places_have_no_bound_together() -> None:
    pair = {"even": masses(), "heavy": masses(1.3)}
    with pytest.raises(fx.ConvergenceError, match=r"x2 of these plants to different places .*even 1, heavy 0\.8"):
        fx.bound(pair, {"x2": 1.0}, drive="force", limits={"force": 1.0}, within=0.01, longest=6.0, sample_time=0.05)
    soft = {"even": masses(), "soft": masses(1.0, 0.85)}
    with pytest.raises(fx.ConvergenceError, match=r"no command brings 2 plants"):
        fx.bound(soft, {"x2": 1.0}, drive="force", limits={"force": 1.0}, within=0.01, longest=1.1, sample_time=0.05)


def test_the_bound_of_an_arm_that_is_not_linear_says_that_it_is_not_the_arms() -> None:
    arm = fx.load_plant("planar_2r_flexible", model={"elements": 1}, damping={"kind": "rayleigh", "beta": 1e-4})
    asked = {"drive": ("joint1_torque", "joint2_torque"), "limits": {"joint1_torque": 30.0, "joint2_torque": 11.0}}
    with pytest.warns(fx.Caution, match="2r: not linear; the bound is that of the linear plant about rest"):
        fx.bound({"2r": arm}, dict.fromkeys(("joint1_angle", "joint2_angle"), 0.3), within=0.01, longest=0.5,
                 sample_time=0.01, progress=False, **asked)
