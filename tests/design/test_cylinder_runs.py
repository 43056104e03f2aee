"""Arms moved by cylinders: their runs, vibration, weight, payload."""

from __future__ import annotations

import numpy as np
import pytest
from servo_paths import ServoSine
from test_actuators import BOTH, commands, ralf

from flexctl.errors import DefinitionError, NotAvailable
from flexctl.machine.arm import Arm, Joint, Link, Material, Section
from flexctl.machine.given import as_model
from flexctl.model import names
from flexctl.models import build
from flexctl.motion.moves import Sine, quintic
from flexctl.motion.profiles import Swing
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import (
    Array,
)


@pytest.mark.parametrize(
    ("sizes", "peaks", "at", "wanted"),
    [
        ((2.0, 2.0), [[173.491, 42.220], [-158.475, -35.641]], 0.5, (164.295, -17.286)),
        ((0.0, 2.0), [[12.042, 33.431], [-11.249, -31.584]], 0.5, (11.091, -39.046)),
    ],
)
def test_strains_of_the_whole_run(
    sizes: tuple[float, float], peaks: list[list[float]], at: float, wanted: tuple[float, float]
) -> None:
    """Commands, cylinders, closed loop of the arm in one compiled run; joints against the exact path."""
    run = simulate(ralf(), inputs=commands(*np.radians(sizes)), duration=1.0, step=1e-4, method="trapezoidal")
    strain = 1e6 * np.array([run["strain_lower"], run["strain_upper"]])
    np.testing.assert_allclose(strain[:, run.t == at][:, 0], wanted, atol=0.05)
    change = strain - strain[:, :1]
    np.testing.assert_allclose([change.max(axis=1), change.min(axis=1)], peaks, rtol=5e-3)
    for name, size, begin in zip(BOTH, np.radians(sizes), (np.pi / 2, np.pi / 6), strict=True):
        value, rate, acceleration = ServoSine(begin, size, name)(run.t)
        assert np.abs(run[f"{name}_angle"] - value).max() < 1e-7
        assert np.abs(run[f"{name}_rate"] - rate).max() < 1e-5
        assert np.abs(run[f"{name}_acceleration"] - acceleration).max() < 2e-3


@pytest.mark.parametrize(("damping", "wanted"), [({}, (276.9, 57.6)), ({"ratio": 0.01}, (173.9, 32.6))])
def test_vibration_that_is_left(damping: dict[str, float], wanted: tuple[float, float]) -> None:
    """After 2.2 s, both links; with 1 % of the modes of the arm with its joints held."""
    plant = ralf(damping__kind="modal", damping__ratio=0.01) if damping else ralf()
    if damping:
        np.testing.assert_allclose([z for z in plant.modes().damping if z < 0.1], 0.01, rtol=1e-3)
    run = simulate(plant, inputs=commands(*np.radians([2.0, 2.0])), duration=3.3, step=1e-4, method="trapezoidal")
    late = run.t > 2.2
    left = [1e6 * np.abs(run[f"strain_{w}"] - run[f"strain_{w}"][0])[late].max() for w in ("lower", "upper")]
    np.testing.assert_allclose(left, wanted, rtol=3e-3)


def swings(size: float) -> Array:
    """Changes of the readings in the full run at +size and -size [deg]: 2 x readings x times."""
    runs = [
        simulate(ralf(), inputs=commands(x, x), duration=0.6, step=2.5e-5, method="trapezoidal")
        for x in np.radians([size, -size])
    ]
    return np.array([[run[name] - run[name][0] for name in READ] for run in runs])


READ = ("strain_lower", "tip_x", "joint1_angle", "strain_upper")


def test_linear_plant_is_the_full_run_of_small_commands() -> None:
    """1e-4 at 0.01 deg, but for what terms of second order add to the upper strain: 6e-4, falling with the amplitude.

    The sign of the command tells them apart.
    """
    wanted = simulate(ralf().linearise(), inputs=commands(*np.radians([0.01] * 2)), duration=0.6, step=2.5e-5)
    assert wanted.provenance["method"] == "exact"
    linear = np.array([wanted[name] for name in READ])
    peak = np.abs(linear).max(axis=1)
    up, down = swings(0.01)
    assert (np.abs(up - linear).max(axis=1) / peak)[:3].max() < 1e-4
    assert (np.abs(0.5 * (up - down) - linear).max(axis=1) / peak).max() < 1e-4
    even, half = np.abs(up + down).max(axis=1), np.abs(swings(0.005).sum(axis=0)).max(axis=1)
    assert 0.5 * even[3] / peak[3] == pytest.approx(6e-4, rel=0.1)
    assert even[[0, 1, 3]] / half[[0, 1, 3]] == pytest.approx([4.0] * 3, rel=1e-2)


def test_motions_of_hydraulic_joints_are_commands() -> None:
    move = {"joint1": quintic(np.pi / 2, np.pi / 2 + 0.05, 0.2)}
    run = simulate(ralf(), motions=move, duration=0.3, step=5e-4)
    same = simulate(ralf(), inputs={"joint1_command": _Less(move["joint1"])}, duration=0.3, step=5e-4)
    np.testing.assert_allclose(run["strain_lower"], same["strain_lower"], atol=1e-15)
    away = simulate(ralf(), motions={"joint2": quintic(0.3, 0.3, 0.2)}, duration=0.1, step=5e-4)
    np.testing.assert_allclose(away["joint2_angle"], 0.3, atol=1e-9)
    np.testing.assert_allclose(away["strain_upper"], away["strain_upper"][0], atol=1e-12)


class _Less:
    """A motion less its first value, as an input."""

    def __init__(self, motion) -> None:
        self.motion, self.breakpoints = motion, motion.breakpoints

    def __call__(self, t, before: bool = False):
        return self.motion(t)[0] - np.pi / 2


def test_a_joint_without_servo_does_not_follow_a_jump() -> None:
    torques = ralf(joint__1__drive="torque", joint__2__drive="torque")
    swing = Swing(np.pi / 2, 0.02, 0.5, start=0.1)
    with pytest.raises(DefinitionError, match=r"jumps in value or rate at t = 0\.1 s, which no joint can follow"):
        simulate(torques, motions={"joint1": swing}, duration=0.3)
    run = simulate(ralf(), motions={"joint1": swing}, duration=0.3, step=1e-3)
    assert np.abs(run["joint1_angle"] - np.pi / 2).max() > 5e-3


def test_torque_of_the_cylinders_holds_the_weight_and_tip_forces_do_not_move_the_joints() -> None:
    run = simulate(ralf(), inputs={"tip_force_y": Sine(20.0, 1.0)}, duration=0.4, step=5e-4)
    np.testing.assert_allclose([run["joint1_torque"][0], run["joint2_torque"][0]], [0.0, 48.5302], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(run["joint2_angle"], np.pi / 6, atol=1e-12)
    assert np.ptp(run["tip_y"]) > 1e-4


def test_payload_changes_on_the_way() -> None:
    heavy = ralf(payload__mass=5.0).model
    light = ralf().model.with_payload(5.0, 0.0)
    np.testing.assert_allclose(light.reference(), heavy.reference(), atol=1e-14)
    run = simulate(ralf(), payload=[(0.1, 5.0, 0.0)], duration=0.2, step=5e-4)
    assert np.ptp(run["strain_upper"][run.t < 0.1]) < 1e-12 < 1e-6 < np.ptp(run["strain_upper"])


def test_a_linear_plant_with_states_of_first_order_runs() -> None:
    model = as_model(ralf().linearise())
    assert names(model.coordinates)[-2:] == ["joint1_acceleration_integral", "joint2_acceleration_integral"]
    assert np.linalg.cond(model.M) < 1e6


def test_what_the_drive_needs_and_who_has_it() -> None:
    link = Link(1.0, Material(7e10, 2700.0), Section(1e-4, 1e-9))
    joint = Joint(0.1, drive="hydraulic", hydraulic_frequency=10.0, hydraulic_damping=0.5)
    for kind in ("timoshenko_planar", "finite_difference"):
        with pytest.raises(DefinitionError, match=f"{kind} has no hydraulic drive \\(joint 1\\)"):
            build(Arm("arm", (link,), (joint,)), kind)
    both = Arm("arm", (link, link), (joint, Joint(0.1, drive="motion")))
    with pytest.raises(NotAvailable, match='joint 2: drive = "motion" beside a hydraulic joint'):
        build(both, "assumed_modes")
    with pytest.raises(DefinitionError, match="needs hydraulic_frequency"):
        Joint(drive="hydraulic", hydraulic_damping=0.5)
    with pytest.raises(DefinitionError, match=r"unstable; it must be below 2 zeta wh = 303\.918 1/s"):
        ralf(joint__1__hydraulic_gain=304.0)
    with pytest.raises(DefinitionError, match='unknown commanded joint of assumed_modes "joint1"'):
        simulate(ralf(joint__1__hydraulic_gain=0.0), motions={"joint1": quintic(0.0, 1.0, 1.0)}, duration=1.0)
