"""Plants about equilibria under loads: `linearise(load=.., pose=..)`, `--load`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.linear.steady import lock
from flexctl.machine.arm import Actuator

BAR = fx.Link(1.0, fx.Material(7e10, 2700.0), fx.Section(4e-4, 1e-10))
FINE: dict[str, dict[str, Any]] = {
    "timoshenko_planar": {"elements": 30}, "finite_segment": {"segments": 40},
    "assumed_modes": {"modes": 8, "foreshortening": True},
}


def column(kind: str, load: float, follower: bool, joint: str = "joint1") -> Any:
    """Return the plant of a cantilever pressed at its tip, p = P L^2 / EI; its root held."""
    load_of = Actuator("press", 1.0, 1.0, direction="x", follower=follower)
    model = fx.build(fx.Arm("column", (BAR,), (fx.Joint(),), actuators=(load_of,)), kind, **FINE[kind])
    plant = fx.linearise(model, load={"press": -load * BAR.bending_stiffness})
    assert plant.provenance["load"] == {"press": -load * BAR.bending_stiffness}
    return lock(plant, [joint])


@pytest.mark.parametrize("kind", FINE)
def test_a_dead_load_makes_a_column_soft_and_a_follower_makes_it_flutter(kind: str) -> None:
    """Euler: omega_1 = 0 at pi^2 / 4; Beck 1952: two frequencies meet at p = 20.05, flutter beyond."""
    unit = np.sqrt(BAR.bending_stiffness / BAR.mass_per_length)
    free, pressed = (column(kind, p, follower=False) for p in (0.0, 0.9 * np.pi**2 / 4.0))
    first = [plant.modes(1).frequencies_hz[0] * 2.0 * np.pi / unit for plant in (free, pressed)]
    assert first[0] == pytest.approx(3.516, rel=2e-3)
    assert (first[1] / first[0]) ** 2 == pytest.approx(0.1, abs=0.01)
    steady, flutter = (np.linalg.eigvals(np.linalg.solve(x.M, -x.K)) for x in (
        column(kind, 19.7, follower=True), column(kind, 20.5, follower=True)
    ))
    assert np.abs(steady.imag).max() < 1e-6 * np.abs(steady).max()
    pair = flutter[np.argsort(np.abs(flutter))][:2]
    assert np.abs(pair.imag).min() > 0.05 * np.abs(pair.real).max()
    assert np.sqrt(np.abs(pair[0])) / unit == pytest.approx(11.016, rel=0.01)


def test_every_way_to_a_plant_takes_loads() -> None:
    plant, load = fx.load_plant("planar_2r_flexible"), {"tip_force_x": 200.0, "tip_torque": 0.3}
    one = plant.linearise(load=load, pose={"joint2": 0.4})
    at = fx.rest_point(plant, pose={"joint2": 0.4}, load=load)
    np.testing.assert_array_equal(one.K, fx.linearise(plant.model, at).K)
    assert one.provenance["load"] == load
    assert one.provenance["pose"] == {"joint2": 0.4}
    # pulled at its end the arm, free in its joints, is a pendulum of two links: its rigid modes are none any more
    found = [plant.modes(2), plant.modes(2, load={"tip_force_x": 2000.0})]
    assert [modes.rigid_modes for modes in found] == [2, 0]
    omega = np.array([30.0])
    gains = [plant.frequency_response(omega, load=x).response for x in (None, {"tip_force_x": 2000.0})]
    assert np.abs(gains[0] - gains[1]).max() > 0.01 * np.abs(gains[0]).max()


@pytest.mark.parametrize(("given", "words"), [
    ({"load": {"tip_forc": 1.0}}, 'did you mean "tip_force'), ({"load": {"tip_torque": float("nan")}}, "finite"),
    ({"load": {"joint1_torque": 1.0}}, "holds a joint"), ({"load": {"tip_torque": "2"}}, "tip_torque"),
])
def test_wrong_loads_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        fx.load_plant("planar_2r_flexible").linearise(**given)


def test_a_point_and_a_load_contradict_each_other() -> None:
    plant = fx.load_plant("planar_2r_flexible")
    with pytest.raises(fx.DefinitionError, match="leave one of them out"):
        plant.linearise(at=fx.rest_point(plant), load={"tip_torque": 1.0})


def test_the_command_line_takes_moments_with_units() -> None:
    words = ["modes", "planar_2r_flexible", "--load", "tip_torque=300mN m,tip_force_x=200", "--count", "1", "--json"]
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["load"] == {"tip_torque": 0.3, "tip_force_x": 200.0}
    wrong = CliRunner().invoke(cli, ["bode", "planar_2r_flexible", "--load", "tip_torque=3mm"])
    assert wrong.exit_code != 0
    assert '"3mm" is not in N m' in wrong.output


MOTOR = fx.Motor(gear_ratio=50.0, torque_constant=0.02, resistance=1.5, inductance=1e-3, rotor_inertia=8e-7)
HUBS = {
    "torque": fx.Joint(hub_inertia=1e-3), "winding": fx.Joint(hub_inertia=1e-3, drive="voltage", motor=MOTOR),
    "flexible": fx.Joint(hub_inertia=1e-3, rotor_inertia=1e-3, stiffness=20.0),
    "servo": fx.Joint(hub_inertia=1e-3, drive="servo", servo_stiffness=30.0),
}


@pytest.mark.parametrize("name", HUBS)
def test_finite_differences_hold_their_hub_under_loads(name: str) -> None:
    """They name no joint, and an arm that nothing held was refused as one that buckles."""
    link = fx.Link(0.6, fx.Material(6.9e10, 2700.0), fx.Section(6e-5, 2e-11))
    arm = fx.Arm("one", (link,), (HUBS[name],), actuators=(Actuator("push", 0.3, 0.7),))
    found = []
    for kind, mesh in (("finite_difference", {"sections": 60}), ("timoshenko_planar", {"elements": 40})):
        model = fx.build(arm, kind, **mesh)
        plant = fx.linearise(model, load={"push": 0.15}, pose={"joint1": 0.02})
        at = plant.operating_point
        assert at is not None
        y = dict(zip(fx.names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
        found.append((at.u[0], y["joint1_angle"], y["tip_y"]))
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3)
    assert found[0][0] == pytest.approx({"winding": -0.0675, "servo": 0.0185}.get(name, -0.045), rel=1e-3)


def test_a_free_joint_is_told_to_begin_where_it_hangs() -> None:
    link = fx.Link(0.6, fx.Material(6.9e10, 2700.0), fx.Section(6e-5, 2e-11))
    for angle, rests in ((0.0, False), (-1.5, True)):
        joints = fx.Joint(hub_inertia=1e-3), fx.Joint(drive="free", angle=angle)
        model = fx.build(fx.Arm("crane", (link, link), joints, gravity=(0.0, -9.81, 0.0)), "finite_segment")
        if rests:
            point = fx.rest_point(model)
            y = dict(zip(fx.names(model.outputs), model.output(point.q, point.v, point.a, point.u), strict=True))
            assert y["tip_x"] == pytest.approx(0.6, abs=0.02)
            continue
        with pytest.raises(fx.ConvergenceError, match=r"joint2 of the arm turns freely: begin near where it hangs"):
            fx.rest_point(model)
