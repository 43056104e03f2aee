"""Joints with motor, gear, friction, spring and play: numbers computed independently of flexctl, in all formulations.

"the page" is a set of reference numbers from an independent code (40 Euler-Bernoulli elements, or the equations of
one or two rigid bodies; scipy's Radau, rtol 1e-10).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

import flexctl as fx
from flexctl.kernels import drives as kernel
from flexctl.laws.controller import LinearLaw
from flexctl.linear.equilibrium import accelerations
from flexctl.linear.linear_model import LinearModel
from flexctl.machine.arm import Body
from flexctl.model import balance
from flexctl.testing.differences import check_tangent, some_motion

TABLE = {"gear_ratio": 70.0, "torque_constant": 7.68e-3, "resistance": 2.6, "rotor_inertia": 4.606e-7}
L = 0.18e-3
TANH = fx.Friction("tanh", coulomb=0.04, static=0.06, stribeck_rate=0.05, creep_rate=1e-3)
LUGRE = fx.Friction(
    "lugre", coulomb=0.04, static=0.06, stribeck_rate=0.05, bristle_stiffness=40.0, bristle_damping=0.05
)
DAHL = fx.Friction("dahl", coulomb=0.04, bristle_stiffness=40.0)


def load(inertia: float = 2e-3) -> Any:
    """A rigid load on a joint without anything else."""
    signals = {"inputs": [fx.Signal("joint1_torque", "N m")], "coordinates": [fx.Signal("joint1", "rad")]}
    outputs = [fx.Signal("joint1_angle", "rad"), fx.Signal("joint1_rate", "rad/s")]
    plant = fx.from_matrices(
        [[inertia]], None, [[0.0]], [[1.0]], Cq=[[1.0], [0.0]], Cv=[[0.0], [1.0]], outputs=outputs, **signals
    )
    return LinearModel(plant)


def rigid(drive: str = "voltage", inertia: float = 2e-3, motor: dict[str, float] | None = None, **joint: Any) -> Any:
    """Table 1 of the page: a rigid load, a geared motor."""
    own = {"friction": 0.004, "motor": fx.Motor(**TABLE | (motor or {}))} | joint
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DriveCaution)  # a LuGre joint of the page is not passive
        return fx.driven_joints(load(inertia), {"joint1_torque": fx.Joint(drive=drive, **own)})


def step(value: float, until: float = np.inf) -> fx.PiecewiseConstant:
    return fx.PiecewiseConstant((0.0, until)[: 1 + np.isfinite(until)], (0.0, value, 0.0)[: 2 + np.isfinite(until)])


def at(run: fx.Response, name: str, *times: float) -> np.ndarray:
    return run[name][[int(np.argmin(np.abs(run.t - t))) for t in times]]


def poles(model: Any) -> np.ndarray:
    found = fx.linearise(model).first_order().poles()
    return found[(np.abs(found) > 1e-3) & (found.imag >= 0)]


def assert_poles(model: Any, wanted: list[complex], rtol: float) -> None:
    found = poles(model)
    for pole in wanted:
        assert np.abs(found - pole).min() <= rtol * abs(pole), (pole, found)


class TestOneLoad:
    """Table 1 of the page."""

    def test_poles_and_gain(self) -> None:
        assert_poles(rigid(), [-27.05209340], 1e-8)
        gain = fx.linearise(rigid()).transfer(np.array([1e-9 + 0j]))
        assert gain[1, 0, 0].real == pytest.approx(1.79550866, rel=1e-8)
        assert_poles(rigid(motor={"inductance": L}), [-27.1011786, -14418.2829079], 1e-8)

    def test_poles_of_a_flexible_joint(self) -> None:
        spring = {"stiffness": 2.0, "damping": 0.003}
        assert_poles(rigid(**spring), [-37.6953998, -8.07914539 + 35.8932648j], 1e-8)
        wanted = [-14395.0127, -37.8367147, -8.0982724 + 35.8830371j]
        assert_poles(rigid(motor={"inductance": L}, **spring), wanted, 1e-8)

    def test_a_step_of_voltage_with_inductance(self) -> None:
        run = fx.simulate(rigid(motor={"inductance": L}), inputs={"joint1_voltage": step(5.0)}, duration=0.1)
        found = [run[name][-1] for name in ("joint1_angle", "joint1_rate", "joint1_current")]
        np.testing.assert_allclose(found, [0.58795133, 8.37915189, 0.19075871], rtol=1e-7)

    def test_the_limit_of_current_is_left(self) -> None:
        model = rigid(motor={"max_current": 3.0})
        run = fx.simulate(model, inputs={"joint1_voltage": step(15.0)}, duration=0.05, step=2e-5, method="trapezoidal")
        assert run["joint1_angle"][-1] == pytest.approx(0.462232167, rel=1e-6)
        assert run["joint1_rate"][-1] == pytest.approx(17.6739344, rel=1e-6)
        left = 1 + int(np.argmax(run["joint1_current"][1:] < 3.0 - 1e-9))
        assert run.t[left] == pytest.approx(0.0359505, abs=2.1e-5)
        adaptive = fx.simulate(model, inputs={"joint1_voltage": step(15.0)}, duration=0.05, rtol=1e-6)
        assert abs(adaptive["joint1_angle"][-1] - 0.462232167) < 2.5 * adaptive.error["joint1_angle"]

    def test_a_current_is_held_at_its_limit_with_inductance(self) -> None:
        model = rigid(motor={"max_current": 1.0, "inductance": L})
        run = fx.simulate(model, inputs={"joint1_voltage": step(15.0)}, duration=0.01, step=1e-5)
        assert run["joint1_current"].max() < 1.05  # it rings in steps as long as the amplifier is fast
        assert run["joint1_current"][-1] == pytest.approx(1.0, abs=1e-9)

    @pytest.mark.slow
    def test_a_hardening_spring_and_its_energy(self) -> None:
        model = rigid(motor={"inductance": L}, stiffness=2.0, damping=0.003, cubic_stiffness=40.0)
        run = fx.simulate(
            model, inputs={"joint1_voltage": step(5.0)}, duration=0.3, step=2e-5, method="sdirk", record_states=True
        )
        times = (0.05, 0.1, 0.3)
        for name, wanted in {
            "joint1_motor_angle": (0.24072073, 0.55197491, 2.3547942),
            "joint1_angle": (0.08310425, 0.55964992, 2.37023056),
            "joint1_current": (0.76847887, 0.30646343, 0.03793659),
        }.items():
            np.testing.assert_allclose(at(run, name, *times), wanted, rtol=1e-6)
        assert run.q is not None
        assert run.v is not None
        i, w, twist = run["joint1_current"], run["joint1_motor_rate"], run["joint1_motor_rate"] - run["joint1_rate"]
        taken = [simpson(x, x=run.t) for x in (5.0 * i, 2.6 * i**2, 0.004 * w**2 + 0.003 * twist**2)]
        stored = model.energy(run.q[-1], run.v[-1]).total
        np.testing.assert_allclose(
            [*taken, stored], [0.4501073254, 0.1887410267, 0.0826908184, 0.1786754803], rtol=1e-6
        )
        assert taken[0] == pytest.approx(sum(taken[1:]) + stored, rel=1e-6)

    def test_wind_up(self) -> None:
        model = rigid("torque", stiffness=2.0, damping=0.003, cubic_stiffness=40.0)
        q = np.array([0.0, 0.23625657])
        zero = np.zeros(2)
        y = model.output(q, zero, zero, np.zeros(1))
        assert y[fx.names(model.outputs).index("joint1_link_torque")] == pytest.approx(1.0, rel=1e-7)
        stiffness = model.tangent(q, zero, zero, np.zeros(1), zero[:0]).stiffness[1, 1]
        assert stiffness == pytest.approx(8.69805979, rel=1e-7)

    def test_play(self) -> None:
        found = [kernel.play.py_func(d, 0.01, 1e-4)[0] for d in (0.005, 0.01, 0.012, 0.02)]
        np.testing.assert_allclose(found, [3.3328520e-7, 4.9875001e-5, 2.00113559e-3, 0.0100001667], rtol=1e-7)

    @pytest.mark.parametrize(
        ("side", "wanted"), [("motor_", 0.15191623), pytest.param("", 0.15617075, marks=pytest.mark.slow)]
    )
    def test_play_in_a_loop(self, side: str, wanted: float) -> None:
        worn = {"stiffness": 200.0, "damping": 0.02, "backlash": 0.01, "backlash_rounding": 1e-4}
        measures = f"joint1_{side}angle", f"joint1_{side}rate"
        law = LinearLaw(
            0.0, measures, ("joint1_torque",), ("ref",), Dy=np.array([[-1.0, -0.03]]), Dr=np.array([[1.0, 0.0, 0.0]])
        )
        ref, long = {"ref": fx.Step(0.2, 0.2)}, 0.1 if side else 6.0
        run = fx.simulate(rigid("torque", **worn), law, ref, duration=long, step=2e-5, method="trapezoidal")
        assert at(run, "joint1_angle", 0.1)[0] == pytest.approx(wanted, rel=2e-6)
        if side:
            return
        end = run.t > 5.0
        y = run["joint1_angle"][end] - run["joint1_angle"][end].mean()
        up = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
        assert 0.5 * np.ptp(y) == pytest.approx(0.0087022, rel=5e-5)
        assert np.diff(run.t[end][up]).mean() == pytest.approx(0.0290433, rel=2e-4)

    def test_a_gear_that_loses_power_both_ways(self) -> None:
        model = rigid("torque", 4e-3, motor={"gear_efficiency": 0.9})
        run = fx.simulate(model, inputs={"joint1_torque": fx.Sine(0.5, 1.0)}, duration=1.0, rtol=1e-6)
        np.testing.assert_allclose(
            at(run, "joint1_rate", 0.25, 0.5, 1.0), [11.255173, 20.477326, -7.435069], rtol=2e-6
        )

    def test_accelerations_of_such_a_gear(self) -> None:
        model = rigid("torque", 4e-3, motor={"gear_efficiency": 0.9})
        for torque, eta in ((0.5, 0.9), (-0.5, 1.0 / 0.9)):
            a, _ = accelerations(model, np.zeros(1), np.array([2.0]), np.array([torque]))
            assert a[0] == pytest.approx(eta * (torque - 0.004 * 2.0) / (4e-3 + eta * 70.0**2 * 4.606e-7), rel=1e-12)


class TestFriction:
    """Which friction: the table of the page."""

    @pytest.mark.parametrize(
        ("law", "wanted"),
        [
            (TANH, (0.549238, 0.549278)), (LUGRE, (4.17006657, 3.46263723)), (DAHL, (7.86381134, 7.10855865)),
        ],
        ids=["tanh", "lugre", "dahl"],
    )
    def test_push_below_break_away(self, law: fx.Friction, wanted: tuple[float, float]) -> None:
        model, push = rigid("torque", friction_law=law), {"joint1_torque": step(0.03, until=1.0)}
        run = fx.simulate(model, inputs=push, duration=2.0, step=2e-5, method="trapezoidal")
        np.testing.assert_allclose(1e3 * at(run, "joint1_angle", 1.0, 2.0), wanted, rtol=1e-6)
        adaptive = fx.simulate(model, inputs=push, duration=2.0)
        error = np.abs(at(adaptive, "joint1_angle", 1.0, 2.0) - 1e-3 * np.array(wanted)).max()
        assert error <= adaptive.error["joint1_angle"] <= 0.011 * np.ptp(adaptive["joint1_angle"])

    @pytest.mark.parametrize(
        ("law", "torque", "angle"), [(TANH, 0.06170, 2.18909583), (LUGRE, 0.06007, 2.44409868)], ids=["tanh", "lugre"]
    )
    def test_ramp(self, law: fx.Friction, torque: float, angle: float) -> None:
        model = rigid("torque", friction_law=law)
        ramp = {"joint1_torque": fx.Sampled(np.array([0.0, 4.0]), np.array([0.0, 0.08]))}
        run = fx.simulate(model, inputs=ramp, duration=4.0, step=5e-5, method="trapezoidal")
        w, k = run["joint1_rate"], int(np.argmax(run["joint1_rate"] > 0.1))
        assert 0.02 * np.interp(0.1, w[k - 1 : k + 1], run.t[k - 1 : k + 1]) == pytest.approx(torque, abs=6e-6)
        assert run["joint1_angle"][-1] == pytest.approx(angle, rel=1e-7)
        adaptive = fx.simulate(model, inputs=ramp, duration=4.0, rtol=1e-4)
        error = abs(adaptive["joint1_angle"][-1] - angle)
        assert error <= adaptive.error["joint1_angle"] < 1e-4 * angle

    @pytest.mark.slow
    def test_hunting(self) -> None:
        law = fx.Friction(
            "lugre", coulomb=1.0, static=1.5, stribeck_rate=1e-3, bristle_stiffness=1e5, bristle_damping=1e5**0.5
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fx.DriveCaution)
            joint = fx.Joint(friction=0.4, friction_law=law)
            model = fx.driven_joints(load(1.0), {"joint1_torque": joint})
        pid = LinearLaw(
            0.0, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("ref",), A=np.zeros((1, 1)),
            By=np.array([[-1.0, 0.0]]), Br=np.array([[1.0, 0.0, 0.0]]), C=np.array([[4.0]]),
            Dy=np.array([[-3.0, -6.0]]), Dr=np.array([[3.0, 0.0, 0.0]]),
        )
        run = fx.simulate(model, pid, {"ref": fx.Step(1.0, 1.0)}, duration=90.0, step=2e-3, method="trapezoidal")
        wanted = [1.03625826, 1.47964032, 0.76663504]
        np.testing.assert_allclose(at(run, "joint1_angle", 2.0, 5.0, 10.0), wanted, rtol=3e-5)
        x, late = run["joint1_angle"] - 1.0, run.t > 45.0
        up = run.t[1:][(x[:-1] < 0) & (x[1:] >= 0) & late[1:]]
        assert np.diff(up).mean() == pytest.approx(24.4368, rel=1e-4)
        assert np.abs(x[late]).max() == pytest.approx(0.0639, abs=1e-4)


class TestLinearPlants:
    """What a linear plant takes of dry friction and play, and that it says so."""

    def test_at_rest_viscous_friction_alone(self) -> None:
        plant = fx.linearise(rigid("torque", friction_law=LUGRE))
        assert plant.D[0, 0] == pytest.approx(0.004)
        assert len(plant.coordinates) == 1
        assert plant.provenance["joints"] == "joint1: lugre friction left out, viscous only"

    def test_stick(self) -> None:
        plant = fx.linearise(rigid("torque", friction_law=TANH), friction="stick")
        assert plant.D[0, 0] == pytest.approx(0.004 + 0.06 / 1e-3)
        J = 2e-3 + 70.0**2 * 4.606e-7
        found = fx.linearise(rigid("torque", friction_law=LUGRE), friction="stick").first_order().poles()
        wanted = np.roots([J, 0.004 + 0.05, 40.0])  # a spring s0 and a damper s1 + s2
        assert np.abs(found[:, None] - wanted).min(axis=0).max() < 1e-6 * abs(wanted[0])

    def test_about_a_motion(self) -> None:
        model = rigid("torque", friction_law=LUGRE)
        w, g = 0.2, 0.04 + 0.02 * np.exp(-16.0)
        point = fx.OperatingPoint(np.zeros(2), np.array([w, g / 0.04]), np.zeros(2), np.array([g + 0.004 * w]))
        plant = fx.linearise(model, point)
        assert "friction about 0.2 rad/s" in plant.provenance["joints"]
        assert np.abs(plant.first_order().poles() + 40.0 * w / g).min() < 0.02 * 40.0 * w / g

    def test_play_is_closed_or_open(self) -> None:
        worn = rigid("torque", stiffness=200.0, backlash=0.01)
        closed, opened = (fx.linearise(worn, friction=how).K[0, 0] for how in ("viscous", "stick"))
        assert closed == pytest.approx(200.0)
        assert opened == pytest.approx(200.0 * 0.5e-4, rel=1e-2)
        assert "taken as closed" in fx.linearise(worn).provenance["joints"]

    def test_a_model_without_friction_says_so(self) -> None:
        with pytest.raises(fx.DefinitionError, match="no joint with dry friction"):
            fx.linearise(fx.load_plant("tokhi_azad_1994").model, friction="stick")
        with pytest.raises(fx.DefinitionError, match="sticky"):
            fx.linearise(rigid("torque", friction_law=TANH), friction="sticky")


FORMULATIONS: dict[str, dict[str, Any]] = {
    "finite_difference": {"sections": 160}, "timoshenko_planar": {"elements": 100},
    "timoshenko_spatial": {"elements": 60}, "finite_segment": {"segments": 100}, "assumed_modes": {"modes": 8},
    "ancf": {"elements": 60},
}
STRIP = fx.measured_link(0.419, mass_per_length=0.155131265, bending_stiffness=0.146736125)


@pytest.mark.parametrize("kind", FORMULATIONS)
class TestFormulations:
    """The same drive around a flexible link in every formulation."""

    def test_voltage_poles(self, kind: str) -> None:
        joint = fx.Joint(hub_inertia=1e-4, drive="voltage", motor=fx.Motor(**TABLE), friction=0.004)
        model = fx.build(fx.Arm("strip", (STRIP,), (joint,)), kind, **FORMULATIONS[kind])
        assert_poles(model, [-34.2247318, -6.2733063 + 21.9055629j, -0.8640746 + 124.2125929j], 1e-3)

    def test_the_plain_run_is_the_compiled_one(self, kind: str) -> None:
        """One mesh, one step size, everything nonlinear at once."""
        motor = fx.Motor(**TABLE, inductance=L, max_current=1.0, gear_efficiency=0.9)
        joint = fx.Joint(
            hub_inertia=1e-3, drive="voltage", motor=motor, friction=0.02, friction_law=LUGRE, stiffness=5.0,
            damping=0.01, cubic_stiffness=40.0, backlash=0.01,
        )
        coarse = {key: 3 if key != "modes" else 2 for key in FORMULATIONS[kind]}
        model = fx.build(fx.Arm("strip", (STRIP,), (joint,)), kind, **coarse)
        assert model.own_stepper
        name = fx.names(model.inputs)[0]
        fine = fx.trapezoidal(tolerance=1e-11)  # what Newton leaves at 1e-10 differs by 3e-7 of the range in rates
        run = [
            fx.simulate(one, inputs={name: step(3.0)}, duration=0.02, step=5e-4, scheme=fine)
            for one in (model, plain(model))
        ]
        scale = np.abs(run[1].y).max(axis=0)
        rough = [s.unit.endswith("/s^2") for s in model.outputs]
        assert np.all(np.abs(run[0].y - run[1].y).max(axis=0) <= np.where(rough, 1e-5, 1e-7) * scale + 1e-10)


@pytest.mark.parametrize("kind", ["timoshenko_planar", pytest.param("finite_segment", marks=pytest.mark.slow)])
def test_a_smooth_drive_takes_no_second_correction(kind: str) -> None:
    """These make their tangent anew in every step, and the drive is condensed into it."""
    joint = fx.Joint(hub_inertia=1e-3, drive="voltage", motor=fx.Motor(**TABLE, inductance=L), stiffness=5.0)
    model = fx.build(fx.Arm("strip", (STRIP,), (joint,)), kind, **dict.fromkeys(FORMULATIONS[kind], 3))
    inputs = {"joint1_voltage": fx.Sine(3.0, 2.0)}
    run = fx.simulate(model, inputs=inputs, duration=0.3, step=1e-3, method="generalised_alpha")
    assert run.provenance["iterations"] <= 1.2 * run.provenance["steps"]


def plain(model: Any) -> Any:
    public = {name: property(lambda self, name=name: getattr(model, name)) for name in dir(model) if name[0] != "_"}
    return type("Plain", (), {**public, "own_stepper": False, "compiled": lambda self: None})()


def test_the_long_arm_sticks_and_slides() -> None:
    """`tokhi_azad_1994` with LuGre friction and inductance at 3 V, against the page's own FEM."""
    arm = fx.load_plant("tokhi_azad_1994").arm
    law = fx.Friction(
        "lugre", coulomb=0.02, static=0.03, stribeck_rate=0.05, bristle_stiffness=40.0, bristle_damping=0.05
    )
    own = {"drive": "voltage", "motor": fx.Motor(**TABLE), "friction": 0.004}
    linear = replace(arm, joints=(replace(arm.joints[0], **own),))
    for kind in ("finite_difference", "assumed_modes"):
        assert_poles(
            fx.build(linear, kind, **FORMULATIONS[kind]), [-2.245, -9.98 + 58.96j, -7.43 + 137.46j], 2e-4
        )
    own |= {"motor": fx.Motor(**TABLE, inductance=L), "friction_law": law}
    with pytest.warns(fx.DriveCaution, match="passive"):
        model = fx.build(replace(arm, joints=(replace(arm.joints[0], **own),)), "finite_difference", sections=160)
    run = fx.simulate(model, inputs={"joint1_voltage": step(3.0)}, duration=0.2, rtol=1e-4)
    times = (0.05, 0.1, 0.2)
    np.testing.assert_allclose(at(run, "joint1_angle", *times), [0.05656714, 0.06719024, 0.21276221], rtol=1e-3)
    np.testing.assert_allclose(at(run, "joint1_current", *times), [0.95041375, 0.96315097, 0.80031649], rtol=1e-3)


def test_two_rods_with_flexible_joints() -> None:
    def joint(k: float, c: float, J: float, viscous: float, dry: float) -> fx.Joint:
        law = fx.Friction("tanh", coulomb=dry, creep_rate=0.01)
        return fx.Joint(stiffness=k, damping=c, rotor_inertia=J, friction=viscous, friction_law=law)

    rod = fx.Link(0.5, kind="massless")
    arm = fx.Arm(
        "rods", (rod, rod), (joint(50.0, 0.1, 0.1, 0.2, 0.3), joint(30.0, 0.05, 0.05, 0.1, 0.1)),
        bodies=tuple(Body(i, 0.5, 1.0, 0.25 / 12.0) for i in (1, 2)),
    )
    model = fx.build(arm, "assumed_modes", modes=0)
    push = {"joint1_torque": step(2.0, 0.3), "joint2_torque": step(-1.0, 0.3)}
    run = fx.simulate(model, inputs=push, duration=0.6, step=2e-5, method="trapezoidal")
    for name, wanted in {
        "joint1_motor_angle": (0.2803703442, 0.6366029069), "joint2_motor_angle": (-0.6661587705, -1.4890457415),
        "joint1_angle": (0.2667019569, 0.6333771586), "joint2_angle": (-0.6565002893, -1.5002204352),
    }.items():
        np.testing.assert_allclose(at(run, name, 0.3, 0.6), wanted, rtol=1e-6)


BLUNT = fx.Friction("tanh", coulomb=0.04, static=0.06, stribeck_rate=0.5, creep_rate=0.5)
MOTOR = fx.Motor(**TABLE, inductance=L, max_current=0.4, max_voltage=2.0)
GEARED = replace(MOTOR, resistance=0.0, inductance=0.0, max_current=0.0, max_voltage=0.0, gear_efficiency=0.8)
DRIVES = {
    "torque": fx.Joint(friction=0.1),
    "current": fx.Joint(drive="current", motor=replace(MOTOR, max_current=0.0, max_voltage=0.0)),
    "voltage": fx.Joint(drive="voltage", motor=replace(MOTOR, inductance=0.0), friction_law=BLUNT),
    "winding": fx.Joint(drive="voltage", motor=MOTOR, friction=0.1, friction_law=LUGRE, stiffness=3.0, damping=0.1),
    "servo": fx.Joint(drive="servo", servo_stiffness=3.0, servo_damping=0.2, friction_law=DAHL),
    "gear": fx.Joint(motor=GEARED, stiffness=3.0, cubic_stiffness=20.0),
    "stiff gear": fx.Joint(motor=GEARED),
    "play": fx.Joint(rotor_inertia=0.01, stiffness=30.0, cubic_stiffness=9.0, backlash=0.2, backlash_rounding=0.1),
}


@pytest.mark.filterwarnings("ignore::flexctl.DriveCaution")
@pytest.mark.parametrize("name", DRIVES)
def test_derivatives(name: str) -> None:
    """Of a two-link arm with this drive in the elbow; two states, in which limits are and are not reached."""
    link = fx.Link(0.8, fx.Material(1e5, 100.0), fx.Section(0.01, 1e-5))
    arm = fx.Arm("rubber", (link, link), (fx.Joint(hub_inertia=0.05), replace(DRIVES[name], hub_inertia=0.03)))
    model = fx.build(arm, "timoshenko_planar", elements=2)
    for seed in (1, 2, 4):
        check_tangent(model, some_motion(model, seed=seed))


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.filterwarnings("ignore::flexctl.DriveCaution")
def test_power_is_balanced(name: str) -> None:
    """What inputs give is stored, or lost in copper, friction and gear: never made."""
    model = fx.driven_joints(load(), {"joint1_torque": replace(DRIVES[name], friction=0.1)})
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, v, a = (0.3 * rng.standard_normal(len(model.coordinates)) for _ in range(3))
        zero = np.zeros(len(model.inputs))
        h = 1e-5
        rate = (model.energy(q + h * v, v + h * a).total - model.energy(q - h * v, v - h * a).total) / (2.0 * h)
        left = float(v @ balance(model, q, v, a, zero))
        assert left - rate > -1e-6 * (1.0 + abs(rate))


def test_statics_under_weight() -> None:
    """A voltage holds an arm against its weight; the current flows from the beginning, and nothing moves."""
    link = fx.Link(0.5, fx.Material(7e10, 2700.0), fx.Section(1e-4, 8e-10))
    motor = fx.Motor(gear_ratio=100.0, torque_constant=0.02, resistance=1.0, inductance=1e-3, rotor_inertia=1e-5)
    joint = fx.Joint(drive="voltage", motor=motor, stiffness=500.0, damping=0.5, friction=0.1)
    arm = fx.Arm("held", (link,), (joint,), gravity=(0.0, -9.81, 0.0))
    model = fx.build(arm, "timoshenko_planar", elements=6)
    point = fx.rest_point(model, {"joint1": 0.3})
    moment = 2700.0 * 1e-4 * 0.5**2 / 2.0 * 9.81 * np.cos(0.3)
    assert point.u[0] == pytest.approx(moment / (100.0 * 0.02), rel=1e-2)
    run = fx.simulate(
        model, inputs={"joint1_voltage": fx.PiecewiseConstant((), (float(point.u[0]),))}, duration=0.2,
        initial=(point.q, point.v),
    )
    assert np.ptp(run["joint1_angle"]) < 1e-7
    assert run["joint1_current"] == pytest.approx(point.u[0] / 1.0, rel=1e-6)
    weak = fx.build(
        replace(arm, joints=(replace(joint, motor=replace(motor, max_current=0.1)),)), "timoshenko_planar", elements=6
    )
    with pytest.raises(fx.ConvergenceError, match="beyond the limits"):
        fx.rest_point(weak, {"joint1": 0.3})


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: fx.Joint(drive="voltage"), "needs a motor with torque_constant"),
            (lambda: fx.Joint(drive="voltage", motor=fx.Motor(torque_constant=0.1)), "needs a motor with resistance"),
            (lambda: fx.Joint(backlash=0.01), "has no effect without stiffness"),
            (lambda: fx.Joint(cubic_stiffness=1.0), "has no effect without stiffness"),
            (lambda: fx.Joint(stiffness=1.0, backlash=0.01, backlash_rounding=0.02), "no play would be left"),
            (lambda: fx.Friction("lugre", coulomb=0.1), "needs bristle_stiffness"),
            (lambda: fx.Friction("tanh", coulomb=0.1, static=0.05), "is below coulomb"),
            (lambda: fx.Friction("tanh"), "coulomb"),
            (lambda: fx.Motor(inductance=0.1), "needs resistance"),
            (lambda: fx.driven_joints(load(), {"joint1_torque": fx.Joint(stiffness=2.0)}), "motor side"),
            (lambda: fx.driven_joints(load(), {"joint1_torque": fx.Joint(hub_inertia=1.0)}), "belongs to the arm"),
            (lambda: fx.driven_joints(load(), {}), "no joint"),
        ],
    )
    def test_what_is_incomplete(self, make: Any, words: str) -> None:
        with pytest.raises(fx.DefinitionError, match=words):
            make()

    def test_constants_in_different_units(self) -> None:
        with pytest.warns(fx.DriveCaution, match="5 %"):
            fx.Motor(torque_constant=7.68e-3, back_emf_constant=0.804e-3)

