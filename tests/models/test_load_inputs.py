"""Loads in every formulation: moments at the tip, forces and moments along links, dead and follower.

Closed forms: the cantilever that a moment rolls up, the elastica under a tip force and a moment (integrated here), the
slender beam under spread loads. Besides, that compiled runs feel the loads as the plain methods do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import flexctl as fx
from flexctl.kernels.schemes import generalised_alpha
from flexctl.machine.arm import Actuator
from flexctl.testing.checks import plain
from flexctl.testing.differences import check_tangent, some_motion

STRIP = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 4e-12))
EI, L = STRIP.bending_stiffness, STRIP.length
EXACT = ("timoshenko_planar", "timoshenko_spatial", "finite_segment")
"""Formulations with exact rotations; their elements bend evenly, so that a moment alone needs no refinement."""
MESH = {"timoshenko_planar": "elements", "timoshenko_spatial": "elements", "finite_segment": "segments",
        "ancf": "elements", "assumed_modes": "modes"}


def cantilever(kind: str, mesh: int, *loads: Actuator, **options: Any) -> Any:
    arm = fx.Arm("cantilever", (STRIP,), (fx.Joint(),), actuators=loads)
    return fx.build(arm, kind, **{MESH[kind]: mesh}, **options)


def tip(model: Any, **loads: float) -> tuple[float, float, float]:
    """Return x / L, y / L and the turn of the tip with the root clamped."""
    at = fx.equilibrium(model, hold={"joint1": 0.0}, load=loads)
    y = dict(zip(fx.names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
    return y["tip_x"] / L, y["tip_y"] / L, turn(model, at)


def turn(model: Any, at: fx.OperatingPoint) -> float:
    """Return the turn of the tip's section: what the work of its moment goes with."""
    kind = model.kind
    if kind == "timoshenko_planar":
        return float(at.q[-1])
    if kind == "timoshenko_spatial":
        return float(at.q[-1])
    if kind == "finite_segment":
        return float(model.angles(at.q)[-1])
    if kind == "ancf":
        return float(np.arctan2(-at.q[-2], at.q[-1]))
    return float(model.tree.slope(0, 1.0) @ at.q)


def moment_name(model: Any) -> str:
    return "tip_torque_z" if model.kind == "timoshenko_spatial" else "tip_torque"


def elastica(p: float, m: float) -> tuple[float, float, float]:
    """Integrate theta'' = -p cos(theta), theta(0) = 0, theta'(1) = m for the inextensible cantilever."""
    def path(bend: float) -> Any:
        return solve_ivp(
            lambda s, z: [z[1], -p * np.cos(z[0]), np.cos(z[0]), np.sin(z[0])], (0.0, 1.0), [0.0, bend, 0.0, 0.0],
            rtol=1e-11, atol=1e-12,
        ).y[:, -1]

    root = fsolve(lambda bend: path(float(bend[0]))[1] - m, [m + 0.5 * p], xtol=1e-13)[0]
    theta, _, x, y = path(float(root))
    return float(x), float(y), float(theta)


@pytest.mark.parametrize("mesh", [4, 24])
@pytest.mark.parametrize("kind", ["timoshenko_planar", "finite_segment"])
def test_an_end_moment_closes_the_circle_on_any_mesh(kind: str, mesh: int) -> None:
    model = cantilever(kind, mesh)
    if mesh == 4:  # a coarse mesh says that its elements turn far, which does not matter to an even bend
        with pytest.warns(fx.BeyondModel):
            x, y, theta = tip(model, tip_torque=2.0 * np.pi * EI / L)
    else:
        x, y, theta = tip(model, tip_torque=2.0 * np.pi * EI / L)
    np.testing.assert_allclose([x, y, theta / (2.0 * np.pi)], [0.0, 0.0, 1.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", EXACT)
def test_on_the_way_the_chords_lie_round_the_arc(kind: str) -> None:
    """Sections turn exactly; n chords of one length have their corners a little outside of the arc."""
    mesh = 24
    model = cantilever(kind, mesh)
    for a in (1.0, -3.0):
        x, y, theta = tip(model, **{moment_name(model): a * EI / L})
        polygon = np.sin(a / (2.0 * mesh)) / (a / (2.0 * mesh))
        assert theta == pytest.approx(a, abs=1e-9)
        assert x * polygon == pytest.approx(np.sin(a) / a, abs=1e-9)
        assert y * polygon == pytest.approx((1.0 - np.cos(a)) / a, abs=1e-9)


@pytest.mark.parametrize(("p", "m", "known"), [
    (10.0, 0.0, (0.44500440, 0.81060902, 1.43028554)),
    (1.0, 1.0, (0.70934954, 0.60620547, 1.29037144)),
    (4.0, -2.0, (0.95416351, 0.26412217, -0.08758294)),
])
@pytest.mark.parametrize("kind", EXACT)
def test_force_and_moment_at_the_tip_bend_the_elastica(
    kind: str, p: float, m: float, known: tuple[float, float, float]
) -> None:
    np.testing.assert_allclose(elastica(p, m), known, rtol=0, atol=2e-8)
    found = []
    for mesh in (24, 48):
        model = cantilever(kind, mesh)
        found.append(tip(model, tip_force_y=p * EI / L**2, **{moment_name(model): m * EI / L}))
    coarse, fine = np.array(found)
    errors = np.abs(np.array(found) - known)
    assert np.log2(errors[0] / errors[1]).min() > 1.9
    np.testing.assert_allclose(fine + (fine - coarse) / 3.0, known, rtol=0, atol=1e-6)


def test_nodal_coordinates_turn_as_far_as_a_thin_bar() -> None:
    """Green's strains make a bent bar softer by a part of (thickness / radius)^2, which no mesh takes away."""
    errors = []
    for radius in (0.01, 0.005):
        bar = fx.Link(0.8, fx.Material(7e10, 2700.0, 0.0), fx.Section(4e-3, 4e-3 * radius**2))
        model = fx.build(fx.Arm("bar", (bar,), (fx.Joint(),)), "ancf", elements=64)
        at = fx.equilibrium(model, hold={"joint1": 0.0}, load={"tip_torque": bar.bending_stiffness / bar.length})
        errors.append(abs(turn(model, at) - 1.0))
    assert errors[1] < 3e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


SMALL = (((0.0, 1.0), 1 / 8, 1 / 6), ((0.3, 0.6), 0.088125, 0.105))


@pytest.mark.parametrize(("kind", "mesh", "options"), [
    ("timoshenko_planar", 40, {}), ("timoshenko_spatial", 40, {}), ("finite_segment", 40, {}), ("ancf", 80, {}),
    ("assumed_modes", 8, {"attachment": True}),
])
@pytest.mark.parametrize(("span", "force", "moment"), SMALL)
def test_small_spread_loads_bend_the_slender_beam(
    kind: str, mesh: int, options: dict[str, Any], span: tuple[float, float], force: float, moment: float
) -> None:
    """w = Q L^3 / EI mean of x^2 (3 - x) / 6 over the span; under a moment M L^2 / EI mean of x - x^2 / 2."""
    middle = np.linspace(*span, 4001)
    assert force == pytest.approx(np.trapezoid(middle**2 * (3 - middle) / 6, middle) / np.ptp(span), abs=1e-7)
    loads = (
        Actuator("push", *span), Actuator("follow", *span, follower=True), Actuator("bend", *span, kind="moment")
    )
    small, L = 1e-4, 0.8
    link = STRIP if kind != "ancf" else fx.Link(L, STRIP.material, fx.Section(4e-4, 4e-4 * 0.005**2))
    arm = fx.Arm("cantilever", (link,), (fx.Joint(),), actuators=loads)
    model, stiffness = fx.build(arm, kind, **{MESH[kind]: mesh}, **options), link.bending_stiffness
    want = {"push": force, "follow": force, "bend": float(np.trapezoid(middle - middle**2 / 2, middle) / np.ptp(span))}
    for name, value in want.items():
        unit = stiffness / (L if name == "bend" else L**2)
        at = fx.equilibrium(model, hold={"joint1": 0.0}, load={name: small * unit})
        y = dict(zip(fx.names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
        assert y["tip_y"] / (small * L) == pytest.approx(value, rel=2e-3), name


@pytest.mark.parametrize(("kind", "options"), [
    ("timoshenko_planar", {}), ("timoshenko_spatial", {}), ("ancf", {}), ("finite_segment", {}),
    ("finite_segment", {"closure": "half"}),
])
@pytest.mark.parametrize(("start", "end"), [(1 / 3, 1 / 3), (0.5, 0.5), (0.2, 0.7)])
def test_moments_within_a_link_converge_with_the_square_of_the_mesh(
    start: float, end: float, kind: str, options: dict[str, Any]
) -> None:
    """A segment that took all of a moment made finite segments first order: 3 % off with 20 of them."""
    load, a = Actuator("m", start, end, kind="moment"), 1e-3
    mean = 0.5 * (start + end) - ((start**2 + start * end + end**2) / 6.0)
    errors = []
    for mesh in (10, 20, 40):
        off = tip(cantilever(kind, mesh, load, **options), m=a * EI / L)[1] / (a * mean) - 1.0
        errors.append(abs(off))
        assert errors[-1] <= 0.6 / mesh**2, (mesh, off)
    assert errors[-1] <= 3e-4


def test_finite_differences_take_forces_and_moments() -> None:
    """Held by its hub: the same formulas, at second order."""
    for span, force, _ in SMALL:
        middle = np.linspace(*span, 4001)
        moment = float(np.trapezoid(middle - middle**2 / 2, middle) / np.ptp(span))
        loads = (
            Actuator("push", *span), Actuator("bend", *span, kind="moment"), Actuator("end", 1.0, 1.0, kind="moment"),
        )
        errors = []
        for sections in (20, 40):
            arm = fx.Arm("strip", (STRIP,), (fx.Joint(hub_inertia=1e-3),), actuators=loads)
            model = fx.build(arm, "finite_difference", sections=sections)
            tips = []
            for name, unit in (("push", EI / L**2), ("bend", EI / L), ("end", EI / L)):
                at = fx.equilibrium(model, hold={"theta": 0.0}, load={name: 1e-4 * unit})
                tips.append(model.output(at.q, at.v, at.a, at.u)[2] / (1e-4 * L))
            errors.append(np.abs(np.array(tips) / [force, moment, 0.5] - 1.0))
        assert errors[1].max() < 2e-3


@pytest.mark.parametrize("force", [3.0, -8.0])
def test_a_follower_force_keeps_its_direction_on_the_tip(force: float) -> None:
    """theta'' = -p cos(theta - theta(1)), theta(0) = 0, theta'(1) = 0: integrated back from the tip."""
    def back(end: float) -> Any:
        return solve_ivp(
            lambda s, z: [-z[1], force * np.cos(z[0] - end), np.cos(z[0]), np.sin(z[0])], (0.0, 1.0), [end, 0.0, 0, 0],
            rtol=1e-11, atol=1e-12,
        ).y[:, -1]

    end = float(fsolve(lambda e: back(float(e[0]))[0], [0.4 * force], xtol=1e-13)[0])
    _, _, x, y = back(end)
    found = []
    for mesh in (30, 60):
        model = cantilever("timoshenko_planar", mesh, Actuator("follow", 1.0, 1.0, follower=True))
        found.append(tip(model, follow=force * EI / L**2))
    coarse, fine = np.array(found)
    np.testing.assert_allclose(fine + (fine - coarse) / 3.0, [x, y, end], rtol=0, atol=2e-6)
    others = {"finite_segment": 60, "timoshenko_spatial": 60}
    for kind, mesh in others.items():
        model = cantilever(kind, mesh, Actuator("follow", 1.0, 1.0, follower=True))
        np.testing.assert_allclose(tip(model, follow=force * EI / L**2), [x, y, end], rtol=0, atol=2e-3)


def two_links(**tables: Any) -> fx.Arm:
    """Two links of rubber that hang, soft enough for every formulation, with one of every kind of load on each."""
    link = fx.Link(0.8, fx.Material(1e5, 100.0), fx.Section(0.01, 1e-5, outer_distance=0.05))
    joints = (fx.Joint(0.05, angle=-1.2), fx.Joint(0.03, mass=0.1, housing_inertia=1e-2, rotor_inertia=2e-2))
    loads = [
        Actuator(f"{kind}_{axis}_{way}_{link}", *span, link, kind, axis, way == "follower")
        for kind, axis, way, span in (
            ("force", "x", "dead", (0.2, 0.7)), ("force", "y", "follower", (1.0, 1.0)),
            ("force", "y", "dead", (0.0, 1.0)), ("force", "x", "follower", (0.35, 0.6)),
            ("moment", "z", "dead", (0.0, 0.63)), ("moment", "z", "follower", (0.0, 0.0)),
        )
        for link in (1, 2)
    ]
    body, weight = fx.Payload(0.2, 1e-2), (0.0, -2.0)
    return fx.Arm("two", (link, link), joints, body, gravity=weight, actuators=tuple(loads), **tables)


OPTIONS: dict[str, dict[str, Any]] = {
    "timoshenko_planar": {"elements": 3}, "finite_segment": {"segments": 5}, "ancf": {"elements": 3},
    "timoshenko_spatial": {"elements": 2}, "assumed_modes": {"modes": 2, "axial": 1, "foreshortening": True},
}


def pushed(model: Any, scale: float) -> dict[str, Any]:
    """Every load of a model, each with a sine of its own."""
    loads = [s for s in model.inputs if not s.name.startswith("joint")]
    return {s.name: fx.Sine(scale * (0.3 if s.unit == "N m" else 1.0), 1.0 + 0.3 * i) for i, s in enumerate(loads)}


@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=[pytest.mark.slow] * (kind == "timoshenko_spatial")) for kind in OPTIONS
])
def test_compiled_runs_feel_loads_as_the_plain_methods_do(kind: str) -> None:
    model = fx.build(two_links(), kind, **OPTIONS[kind])
    run = partial(
        fx.simulate, inputs=pushed(model, 0.15), duration=0.06, step=2e-3,
        scheme=generalised_alpha(tolerance=1e-14, iterations=60),
    )
    fast, slow, alone = run(model), run(plain(model)), fx.simulate(model, duration=0.06, step=2e-3)
    size = np.abs(slow.y).max(axis=0)
    assert (np.abs(fast.y - slow.y) / size).max() < 1e-10
    assert (np.abs(fast.y - alone.y) / size).max() > 0.02


@pytest.mark.parametrize("kind", OPTIONS)
def test_loads_do_work_on_what_moves_and_turns_in_the_tangent(kind: str) -> None:
    """B is the transpose of how places and angles move; the tangent of -B u is its derivative, asymmetry included."""
    model = fx.build(two_links(), kind, **OPTIONS[kind])
    check_tangent(model, some_motion(model, 0.1))


def test_formulations_agree_under_all_loads() -> None:
    """At rest under one of every load; finer meshes come together."""
    arm = two_links()
    found = {}
    for kind, options in (
        ("timoshenko_planar", {"elements": 40}), ("timoshenko_spatial", {"elements": 40}),
        ("finite_segment", {"segments": 40}), ("ancf", {"elements": 40}),
    ):
        stiff = replace(arm, links=tuple(replace(x, material=fx.Material(3e6, 100.0)) for x in arm.links))
        model = fx.build(stiff, kind, **options)
        known = {a.name for a in arm.actuators}
        pushes = [s for s in model.inputs if s.name in known]
        u = {s.name: 0.4 * (-1) ** i * (0.2 if s.unit == "N m" else 1.0) for i, s in enumerate(pushes)}
        at = fx.rest_point(model, pose=[-1.2, 0.5], load=u)
        y = dict(zip(fx.names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
        found[kind] = np.array([y["tip_x"], y["tip_y"], at.u[0], at.u[1]])
    reference = found.pop("timoshenko_planar")
    for kind, other in found.items():
        np.testing.assert_allclose(other, reference, rtol=0, atol=1e-3 * np.abs(reference).max(), err_msg=kind)


@pytest.mark.parametrize(("load", "kind", "words"), [
    (Actuator("f", 0.0, 0.0), "timoshenko_planar", "does nothing"),
    (Actuator("tip_torque", 0.1, 0.2), "finite_segment", 'name "tip_torque" is taken'),
    (Actuator("f", 0.1, 0.2, direction="z"), "ancf", r"no load out of plane \(actuator f\).*timoshenko_spatial"),
    (Actuator("f", 0.1, 0.2, kind="moment", direction="x"), "assumed_modes", "no load out of plane"),
    (Actuator("f", 0.1, 0.2, direction="x"), "finite_difference", "no load along x"),
])
def test_what_cannot_act_is_refused(load: Actuator, kind: str, words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        fx.build(fx.Arm("strip", (STRIP,), (fx.Joint(hub_inertia=1e-3),), actuators=(load,)), kind)


@pytest.mark.parametrize(("table", "words"), [
    ({"kind": "torque"}, "unknown kind"), ({"direction": "w"}, "unknown direction"),
    ({"follower": "yes"}, "not true or false"), ({"follower": 1}, "not true or false"),
    ({"end": 1.2}, "outside|above"), ({"start": 0.8, "end": 0.2}, "swap them"),
])
def test_wrong_tables_are_refused_before_anything_is_built(table: dict[str, Any], words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        fx.load_plant("planar_2r_flexible", actuator=[{"name": "f", "start": 0.2, "end": 0.5, **table}])


def test_a_plant_file_takes_moments_and_followers() -> None:
    loads = [
        {"name": "bend", "kind": "moment", "start": 0.2, "end": 0.5, "link": 2},
        {"name": "jet", "start": 1.0, "end": 1.0, "link": 2, "follower": True},
    ]
    plant = fx.load_plant("planar_2r_flexible", actuator=loads)
    units = {s.name: s.unit for s in plant.model.inputs}
    assert (units["bend"], units["jet"], units["tip_torque"]) == ("N m", "N", "N m")


def test_loads_at_the_tip_of_finite_differences_are_actuators() -> None:
    plant = fx.load_plant("tokhi_azad_1994")
    with pytest.raises(fx.DefinitionError, match=r'an \[\[actuator\]\] with start = end = 1, name = "tip_force_y"'):
        fx.linearise(plant.model, load={"tip_force_y": 0.1})
    force = {"name": "tip_force_y", "start": 1.0, "end": 1.0}
    assert "tip_force_y" in fx.names(plant.with_({"actuator": [force]}).model.inputs)
