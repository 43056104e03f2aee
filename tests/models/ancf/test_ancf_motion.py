"""ANCF arms in motion: tip trajectories, integrators, energy, commanded joints, closures.

Numbers without another source are from an independent code of the same element (trapezoidal rule, 0.25 ms).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from tip_paths import PATHS, motions, paper_arm

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError
from flexctl.kernels.schemes import SCHEMES, Scheme, broyden, generalised_alpha, newmark, settled, trapezoidal
from flexctl.laws.controller import LinearLaw
from flexctl.linear import linearise
from flexctl.machine.arm import Arm, Damping, Joint, Payload
from flexctl.model import names
from flexctl.models import build
from flexctl.models.ancf import Ancf
from flexctl.motion.moves import Cycloid
from flexctl.motion.signals import bang_bang
from flexctl.simulation.compare_methods import compare_methods
from flexctl.simulation.response import Response
from flexctl.testing.differences import order

Array = np.ndarray[Any, Any]


@cache
def tracked(path: str, step: float = 2.5e-4, law: str = "omar", end: float | None = None, rule: str = "") -> Response:
    """The arm pulled along its path by the PD on its joint angles, from rest."""
    model = Ancf(paper_arm(path, servo=True), elements=(2, 4), law=law)
    return fx.simulate(
        model, motions=motions(path), duration=end or motions(path)["joint1"].duration, step=step,
        method=rule or "trapezoidal", initial=(model.reference(), 0 * model.reference()),
    )


# time [s]: tip [m], tolerance
TIP = {
    "circle": {
        0.5: (1.897845, 0.035552, 3e-6), 2.0: (1.8628383, 0.1449055, 1e-7), 5.5: (1.65610682, 0.29504459, 1e-8),
        12.5: (1.29994407, 0.00028114, 1e-8), 17.3: (1.49305938, -0.28086708, 1e-8),
        25.0: (1.89999184, 0.00023796, 1e-8),
    },
    "square": {
        0.5: (1.439954, -0.200080, 2e-6), 2.0: (1.5600078, -0.2002030, 1e-7), 5.5: (1.800058, -0.161343, 2e-6),
        12.5: (1.60004885, 0.19982666, 1e-8), 17.3: (1.39999648, 0.01600183, 1e-8),
        20.0: (1.39999673, -0.19998654, 1e-7),
    },
}
# rms and largest error in x and y [mm], over the whole run and after 5 s
ERRORS = {
    "circle": (0.0843, 0.7953, 0.566, 6.556, 0.0536, 0.3825, 0.109, 0.671),
    "square": (0.300, 1.275, 2.00, 7.89, 0.345, 1.465, 2.00, 7.89),
}


@pytest.mark.parametrize("path", TIP)
def test_tip_along_the_path(path: str) -> None:
    run = tracked(path)
    for time, (x, y, tolerance) in TIP[path].items():
        k = round(time / 2.5e-4)
        # the last digit that is given, and the corner of the square, where the codes step over a jump
        assert run["tip_x"][k] == pytest.approx(x, abs=tolerance + 6e-9)
        assert run["tip_y"][k] == pytest.approx(y, abs=tolerance + 6e-9)
    error = 1e3 * np.array([PATHS[path](run.t)[0][i] - run[f"tip_{'xy'[i]}"] for i in (0, 1)])
    late = error[:, run.t > 5]
    found = [[np.sqrt((e**2).mean(axis=1)), np.abs(e).max(axis=1)] for e in (error, late)]
    np.testing.assert_allclose(np.ravel(found), ERRORS[path], rtol=0.02)


def test_law_and_mesh_hardly_matter_to_the_tracking() -> None:
    for law, wanted in (("omar", 0.7953), ("pstress", 0.8000), ("split", 0.8029)):
        run = tracked("circle", law=law)
        error = 1e3 * (PATHS["circle"](run.t)[0][1] - run["tip_y"])
        assert np.sqrt((error**2).mean()) == pytest.approx(wanted, rel=2e-3)
        late = np.abs(run["link2_deflection"][run.t > 5]).max()
        assert 1e3 * late == pytest.approx({"omar": 0.0114, "pstress": 0.0128, "split": 0.0137}[law], rel=0.01)


def test_torque_of_the_start_does_not_ring_whatever_the_rule() -> None:
    """At 0.5 s: -1.017 N m. Where jumps are not filtered the trapezoidal rule says 10.8 at 1 ms and 0.74 at 0.5 ms."""
    for step in (1e-3, 5e-4):
        for rule in ("trapezoidal", "settled"):
            assert tracked("circle", step, end=0.5, rule=rule)["joint1_torque"][-1] == pytest.approx(-1.017, abs=0.02)
    # at the very start it is Kd times the rate that is asked for; the first reading is that before the jump
    rate = motions("circle")["joint1"](0.0)[1]
    assert 560.0 * rate == pytest.approx(22.22, abs=0.01)
    for rule in ("trapezoidal", "settled"):
        assert np.abs(tracked("circle", 1e-3, end=0.5, rule=rule)["joint1_torque"][1:]).max() < 22.3


def test_largest_deflection_of_the_start_is_that_of_every_integrator() -> None:
    """0.044 and 0.416 mm in the first second, whatever the rule and the step (it lasts for a few milliseconds only)."""
    for step, rule in ((2.5e-4, "trapezoidal"), (2.5e-4, "settled"), (2.5e-4, "generalised_alpha")):
        run = tracked("circle", step, end=1.0, rule=rule)
        found = [1e3 * np.abs(run[f"link{i}_deflection"]).max() for i in (1, 2)]
        assert found == pytest.approx([0.04397, 0.4163], rel=5e-3)


def test_trapezoidal_rule_keeps_the_energy_at_second_order() -> None:
    """Free swing from straight under gravity: largest change over largest kinetic energy; no drift."""
    model = Ancf(paper_arm("circle", angles=(0.0, 0.0), gravity=(0.0, -9.81)), elements=(2, 4), law="omar")
    found = []
    for step, wanted in ((2e-3, 2.0e-3), (1e-3, 5.0e-4), (5e-4, 1.24e-4)):
        run = fx.simulate(model, duration=3.0, step=step, method="trapezoidal", record_states=True)
        assert run.q is not None
        assert run.v is not None
        pairs = zip(run.q[:: round(4e-3 / step)], run.v[:: round(4e-3 / step)], strict=True)
        energy = [model.energy(q, v) for q, v in pairs]
        total, most = np.array([e.total for e in energy]), max(e.kinetic for e in energy)
        found.append(np.abs(total - total[0]).max() / most)
        assert found[-1] == pytest.approx(wanted, rel=0.1)
        assert abs(total[-1] - total[0]) < 5e-6 * most
    assert order(found).min() > 1.9
    assert (run["tip_x"][-1], run["tip_y"][-1]) == pytest.approx((0.4996, -1.47676), abs=1e-4)
    split = fx.simulate(replace_law(model, "split"), duration=3.0, step=5e-4, method="trapezoidal")
    assert (split["tip_x"][-1], split["tip_y"][-1]) == pytest.approx((0.5002, -1.47691), abs=1e-4)


def replace_law(model: Ancf, law: str) -> Ancf:
    return Ancf(model.arm, elements=model.elements, law=law)


def test_slender_arm_moves_as_that_of_timoshenko_beams() -> None:
    """Two formulations of one commanded motion and one free swing; the same drive torques."""
    moves = {"joint1": Cycloid(0.0, 0.8, 0.5), "joint2": Cycloid(0.0, -0.6, 0.5)}
    arm = paper_arm("circle", angles=(0.0, 0.0), gravity=(0.0, -9.81))
    models = [build(arm, kind, elements=(6, 24)) for kind in ("ancf", "timoshenko_planar")]
    runs = [fx.simulate(m, motions=moves, duration=0.8, step=5e-4, method="generalised_alpha") for m in models]
    for name in ("tip_error_x", "tip_error_y", "joint1_torque", "joint2_torque"):
        one, other = (run[name][1:] for run in runs)
        assert np.abs(one - other).max() < 1e-2 * np.abs(other).max()
    free = [fx.simulate(m, duration=0.6, step=5e-4, method="generalised_alpha") for m in models]
    for name in ("tip_x", "tip_y", "joint2_angle"):
        assert np.abs(free[0][name] - free[1][name]).max() < 2e-3


def test_commanded_joints_follow_exactly_and_show_their_torque() -> None:
    """The compiled stepper against the wrapped model (accelerations as inputs) and against inverse dynamics."""
    arm = paper_arm("circle", angles=(0.0, 0.5), gravity=(0.0, -9.81))
    model, moves = Ancf(arm, elements=2), {"joint1": Cycloid(0.0, 0.8, 3.0), "joint2": Cycloid(0.5, 1.5, 2.5)}
    run = fx.simulate(model, motions=moves, duration=3.2, step=1e-3)
    for name, move in moves.items():
        np.testing.assert_allclose(run[f"{name}_angle"], move(run.t)[0], atol=1e-15)
    rigid = model.rigid_torques(*[np.column_stack([m(run.t)[k] for m in moves.values()]) for k in range(3)])
    for i in (0, 1):
        torque = run[f"joint{i + 1}_torque"]
        assert np.abs(torque - rigid[:, i]).mean() < 0.01 * np.abs(rigid[:, i]).max()
    at = model.rest([0.0, 0.5])
    np.testing.assert_allclose(run["joint1_torque"][0], model.rigid_torques([0.0, 0.5], [0, 0], [0, 0])[0], rtol=5e-3)
    assert np.abs(at - model.pose([0.0, 0.5])).max() > 1e-4
    wrapped = fx.simulate(Wrapped(model), motions=moves, duration=0.05, step=1e-3)
    for name in ("tip_x", "tip_y", "joint1_torque", "joint2_torque"):
        one, other = run[name][:51], wrapped[name]
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-4 * np.abs(other).max())


class Wrapped:
    """A model without its own stepper and compiled functions."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name in ("own_stepper", "any_scheme"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def compiled(self) -> None:
        return None


@pytest.mark.parametrize("law", ["omar", "pstress", "diag", "split"])
@pytest.mark.parametrize("method", ["generalised_alpha", "settled", "broyden"])
def test_modal_damping_in_compiled_steps_is_that_of_the_model(law: str, method: str) -> None:
    """A bent arm that swings under gravity with a payload; without the damping the rates are others."""
    plain = paper_arm("circle", gravity=(0.0, -9.81), payload=Payload(mass=2.0, inertia=0.1))
    arm = replace(plain, damping=Damping("modal", ratio=0.05))
    push = {"joint2_torque": bang_bang(20.0, 0.02)}
    settings = {"inputs": push, "duration": 0.04, "step": 1e-3, "method": method}
    model = Ancf(arm, elements=(1, 2), law=law)
    assert model.own_stepper
    run, wanted = fx.simulate(model, **settings), fx.simulate(Wrapped(model), **settings)
    free = fx.simulate(Ancf(plain, elements=(1, 2), law=law), **settings)
    for name in ("joint1_rate", "joint2_rate", "tip_y"):
        size = np.abs(wanted[name] - wanted[name][0]).max()
        np.testing.assert_allclose(run[name], wanted[name], rtol=0, atol=1e-7 * size)
        assert np.abs(free[name] - wanted[name]).max() > 1e-4 * size


def test_a_continuous_law_acts_on_a_modally_damped_arm() -> None:
    arm = replace(paper_arm("circle"), damping=Damping("modal", ratio=0.02))
    drives, angles = tuple(f"joint{i}_torque" for i in (1, 2)), tuple(f"joint{i}_angle" for i in (1, 2))
    law = LinearLaw(
        0.0, (*angles, "joint1_rate", "joint2_rate"), drives, angles,
        Dy=-np.hstack([2000.0 * np.eye(2), 500.0 * np.eye(2)]), Dr=2000.0 * np.kron(np.eye(2), [[1.0, 0.0, 0.0]]),
    )
    model = Ancf(arm, elements=(1, 2))
    starts = [joint.angle for joint in arm.joints]
    moves = {name: Cycloid(start, start + 0.1, 0.05) for name, start in zip(angles, starts, strict=True)}
    runs = [fx.simulate(one, law, moves, duration=0.06, step=1e-3) for one in (model, Wrapped(model))]
    for name in ("joint1_angle", "joint2_angle", "tip_y"):
        size = np.abs(runs[1][name] - runs[1][name][0]).max()
        assert size > 1e-3
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-6 * size)


def test_strong_modal_damping_has_no_compiled_steps() -> None:
    arm = replace(paper_arm("circle"), damping=Damping("modal", ratio=0.5))
    assert not Ancf(arm, elements=(1, 1)).own_stepper


@pytest.mark.parametrize("method", ["trapezoidal", "broyden", "generalised_alpha"])
def test_multipliers_give_the_run_of_shared_positions(method: str) -> None:
    """To 1e-8; with Broyden's method the closures are Baumgarte's, as in the paper."""
    arm = paper_arm("circle", gravity=(0.0, -9.81))
    push = {"joint2_torque": bang_bang(20.0, 0.02)}
    runs = [
        fx.simulate(
            Ancf(arm, elements=(2, 2), law="omar", revolute=r), inputs=push, duration=0.03, step=5e-4, method=method
        )
        for r in ("shared", "multipliers")
    ]
    for name in ("tip_x", "tip_y", "joint1_angle", "joint2_angle"):
        assert np.abs(runs[0][name] - runs[0][name][0]).max() > 1e-4
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=0, atol=1e-8)


def test_baumgarte_closes_an_open_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    """g'' + 2 alpha g' + beta^2 g = 0: an opening falls as (1 + alpha t) exp(-alpha t); g = 0 shuts it at once."""
    model = Ancf(paper_arm("circle"), elements=(1, 1), law="omar", revolute="multipliers")
    q = model.reference()
    q[model.mesh.place[model.mesh.roots[1]][0]] += 1e-6
    monkeypatch.setattr("flexctl.simulation.run.OPEN", 1e-5)  # a run that begins open is refused
    run = partial(fx.simulate, model, duration=0.02, step=1e-4, initial=(q, 0 * q), record_states=True)
    for scheme, wanted in ((broyden(baumgarte=(50.0, 50.0)), 1e-6 * 2.0 * np.exp(-1.0)), (trapezoidal(), 0.0)):
        found = run(scheme=scheme)
        assert found.q is not None
        assert model.closure(found.q[-1])[2] == pytest.approx(wanted, rel=2e-3, abs=1e-15)


def test_every_integrator_in_one_table() -> None:
    model = Ancf(paper_arm("circle", servo=True), elements=(2, 4), law="omar")
    run = {"motions": motions("circle"), "initial": (model.reference(), 0 * model.reference())}
    table = compare_methods(model, duration=0.3, steps=(1e-3, 5e-4), **run)
    assert {row.method for row in table.rows} == set(SCHEMES)
    wanted = {  # largest error of the tip against Radau IIA of order 5
        ("trapezoidal", 1e-3): 3.5e-6, ("trapezoidal", 5e-4): 1.3e-6, ("sdirk", 1e-3): 2.9e-7, ("sdirk", 5e-4): 5.5e-8,
        ("generalised_alpha", 1e-3): 3.6e-6, ("generalised_alpha", 5e-4): 1.3e-6,
    }
    for key, error in wanted.items():
        assert table[key].error == pytest.approx(error, rel=0.2)
    for row in table.rows:
        assert row.error < 4e-6
        assert row.iterations >= row.steps > 0
        assert row.steps == round(0.3 / row.step)
        assert row.factorisations < row.steps / 4  # tangents are kept
    for step in (1e-3, 5e-4):
        assert table["broyden", step].error == pytest.approx(table["trapezoidal", step].error, rel=1e-3)
    text = str(table)
    assert "it/step" in text
    listed = text.splitlines()[1 : 1 + len(table.rows)]
    assert [line.split()[0] for line in listed] == [row.method for row in table.rows]
    full = replace(trapezoidal(), newton="full")
    few = compare_methods(model, duration=0.05, steps=(1e-3,), methods={"full": full, "kept": trapezoidal()}, **run)
    # one more for each pass of the jump of the start
    assert 0 <= few["full", 1e-3].factorisations - few["full", 1e-3].iterations < 10
    assert few["full", 1e-3].iterations < few["kept", 1e-3].iterations
    assert few["full", 1e-3].error == pytest.approx(few["kept", 1e-3].error, rel=1e-6)


def test_divided_steps_keep_the_error_that_is_asked_for() -> None:
    """The error of the run falls with the local error of a step, and steps are divided where it is needed."""
    model = Ancf(paper_arm("circle", servo=True), elements=(2, 4), law="omar")
    run = partial(
        fx.simulate, model, motions=motions("circle"), duration=0.2, initial=(model.reference(), 0 * model.reference())
    )
    exact = run(step=4e-6)
    errors, steps = [], []
    for rtol in (1e-2, 1e-3, 1e-4):
        found = run(rtol=rtol, method="sdirk")
        errors.append(np.abs(found["tip_y"] - np.interp(found.t, exact.t, exact["tip_y"])).max())
        steps.append(found.provenance["steps"])
        assert errors[-1] < rtol * np.ptp(exact["tip_y"])
    assert np.all(np.diff(steps) > 0)
    assert np.all(np.diff(errors) < 0)


@pytest.mark.parametrize("scheme", [settled(), broyden(), replace(newmark(), newton="modified")])
def test_plain_integrator_takes_the_same_schemes(scheme: Scheme) -> None:
    """The compiled stepper against the plain form of each scheme."""
    model = Ancf(paper_arm("circle", servo=True), elements=(1, 2), law="omar")
    still = model.reference(), 0 * model.reference()
    run = partial(
        fx.simulate, motions=motions("circle"), duration=0.012, step=1e-3, scheme=scheme, initial=still
    )
    fast, plain = run(model), run(Wrapped(model))
    for name in ("tip_x", "tip_y", "joint1_angle", "joint2_angle", "joint1_rate"):
        np.testing.assert_allclose(fast[name], plain[name], rtol=0, atol=1e-9)
    assert plain.provenance["steps"] >= 12


def test_chord_angles_are_fed_back_unstably_and_those_of_the_root_sections_stably() -> None:
    """Worst pole of PD on the undamped arm, 13 poses of the circle; torque on the root sections."""
    wn, worst = 1.0, {"chord": -np.inf, "joint": -np.inf}
    times = np.linspace(0.0, 25.0, 14)[:-1]
    from tip_paths import inverse

    for angles in inverse(*PATHS["circle"](times))[0].T:
        plant = linearise(Ancf(paper_arm("circle", angles=angles), elements=(2, 4), law="omar"))
        B, n = plant.B[:, :2], len(plant.M)
        for kind in worst:
            rows = [names(plant.outputs).index(f"{kind}{i}_angle") for i in (1, 2)]
            C, Md = plant.Cq[rows], np.array([35.0, 20.5])
            K = plant.K + B @ np.diag(Md * wn**2) @ C
            D = plant.D + B @ np.diag(2 * Md * wn) @ C
            A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(plant.M, K), -np.linalg.solve(plant.M, D)]])
            worst[kind] = max(worst[kind], float(np.linalg.eigvals(A).real.max()))
    assert worst["chord"] == pytest.approx(1859.0, rel=0.02)
    assert worst["joint"] < 1e-2  # of modes up to 1.7e5 rad/s


def test_payload_changes_and_a_sampled_law() -> None:
    """A law at 1 kHz on the joint angles holds the arm; the payload that is gripped on the way makes it sag."""
    from flexctl.laws.controller import LinearLaw

    arm = replace(paper_arm("circle", gravity=(0.0, -9.81), damping=Damping("rayleigh", beta=1e-3)))
    joints = tuple(replace(joint, hub_inertia=0.5, housing_inertia=0.5) for joint in arm.joints)
    model = Ancf(replace(arm, joints=joints), elements=(2, 4))
    kp, kd = np.diag([2240.0, 1312.0]), np.diag([500.0, 300.0])
    follows = ("joint1_angle", "joint2_angle")
    law = LinearLaw(
        1e-3, (*follows, "joint1_rate", "joint2_rate"), ("joint1_torque", "joint2_torque"), follows,
        Dy=np.hstack([-kp, -kd]), Dr=np.kron(kp, [1.0, 0, 0]),
    )
    angles = [joint.angle for joint in arm.joints]
    hold = {name: Cycloid(a, a, 1.0) for name, a in zip(follows, angles, strict=True)}
    run = fx.simulate(model, law, hold, duration=5.0, payload=[(2.5, 3.0, 0.01)])
    sag = {}
    for when, m in ((2.49, 0.0), (5.0, 3.0)):
        k = int(np.argmin(np.abs(run.t - when)))
        loaded = model.with_payload(m, 0.01 * (m > 0))
        q = np.array([run["joint1_angle"][k], run["joint2_angle"][k]])
        torque = np.array([run["joint1_torque"][k - 1], run["joint2_torque"][k - 1]])
        np.testing.assert_allclose(torque, loaded.rigid_torques(q, [0, 0], [0, 0]), rtol=0.02)
        sag[m] = run["tip_y"][k]
    assert sag[3.0] < sag[0.0] - 1e-3


def test_a_run_that_diverges_says_so() -> None:
    model = Ancf(paper_arm("circle"), elements=(2, 4))
    with pytest.raises(ConvergenceError, match="t = "):
        fx.simulate(model, inputs={"joint1_torque": bang_bang(1e9, 0.1)}, duration=0.1, step=1e-2)


def test_schemes_refuse_what_makes_no_sense() -> None:
    for change, text in (
        ({"newton": "newton"}, "unknown newton"), ({"settle": -1}, "settle"),
        ({"baumgarte": (1.0,)}, "alpha and beta"),
    ):
        with pytest.raises(DefinitionError, match=text):
            replace(trapezoidal(), **change)
    planar = build(Arm("p", paper_arm("circle").links, (Joint(), Joint())), "timoshenko_planar", elements=2)
    moves = {"joint1": Cycloid(0.0, 0.1, 0.1), "joint2": Cycloid(0.0, 0.1, 0.1)}
    runs = [fx.simulate(planar, motions=moves, duration=0.1, method=method) for method in ("broyden", "auto")]
    assert np.ptp(runs[0]["tip_y"] - runs[1]["tip_y"]) < 1e-2 * np.ptp(runs[1]["tip_y"])
    assert generalised_alpha().newton == "auto"
