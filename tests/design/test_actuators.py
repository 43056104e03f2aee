"""Hydraulic actuators alone, as part of an arm, and their position servos.

Reference numbers are those of an independent code of RALF (Lee, Huggins and Book 1988) with the same cylinders; margins
and responses of single loops are checked against python-control, paths against matrix exponentials.
"""

from __future__ import annotations

from functools import cache

import control as ct
import numpy as np
import pytest
import toys
from scipy.optimize import fsolve
from servo_paths import POLES, ServoSine

from flexctl.catalogue import load_plant
from flexctl.design.hydraulics import HydraulicActuator
from flexctl.design.valve import ValveServo, lead_servo, proportional_servo, valve_law
from flexctl.errors import DefinitionError
from flexctl.linear import FirstOrder, SecondOrder, linearise
from flexctl.linear.cascade import actuators
from flexctl.linear.equilibrium import accelerations, equilibrium
from flexctl.machine.arm import Joint
from flexctl.machine.given import as_model
from flexctl.model import MechanicalModel, Signal, names
from flexctl.models.wrappers.hydraulic import HydraulicDriven
from flexctl.motion.moves import Sine, quintic
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import (
    Array,
    assert_near,
    check_closures,
    check_compiled,
    check_tangent,
    order,
    some_motion,
)

HZ = 2 * np.pi
HERTZ = {name: poles / HZ for name, poles in POLES.items()}
BOTH = ("joint1", "joint2")
PAPER = {"joint1": (79.6, 17.8, 10.6, 31.3), "joint2": (51.7, 17.2, 14.6, 64.9)}  # Table 4.1, attached


@cache
def actuator(name: str) -> HydraulicActuator:
    return HydraulicActuator.from_poles(HERTZ[name], name)


@cache
def ralf(**changes):
    return load_plant("ralf", overrides={key.replace("__", "."): value for key, value in changes.items()})


def open_valves():
    return ralf(joint__1__hydraulic_gain=0.0, joint__2__hydraulic_gain=0.0)


def commands(lower: float, upper: float) -> dict[str, Sine]:
    """One cycle of 0.5 Hz."""
    pair = zip(BOTH, (lower, upper), strict=True)
    return {f"{name}_command": Sine(size, 0.5, 0.0, 2.0) for name, size in pair}


# --- one actuator


@pytest.mark.parametrize(
    ("name", "gain", "frequency", "damping", "gm", "pm", "bandwidth", "quarter", "peak"),
    [
        ("joint1", 74.9045, 29.9985, 0.80621, 12.165, 54.596, 21.660, 14.893, 0.77),
        ("joint2", 86.1371, 48.8177, 0.77400, 14.827, 65.189, 24.941, 20.793, 0.0),
    ],
)
def test_the_fits_of_the_paper_read_in_hertz(
    name: str, gain: float, frequency: float, damping: float, gm: float, pm: float, bandwidth: float, quarter: float,
    peak: float,
) -> None:
    a = actuator(name)
    assert [a.gain, a.frequency, a.damping] == pytest.approx([gain, frequency, damping], rel=1e-5)
    found = a.margins()
    assert [found.gain_margin_db, found.phase_margin_deg] == pytest.approx([gm, pm], abs=6e-4)
    assert [a.bandwidth, a.quarter_turn] == pytest.approx([bandwidth, quarter], abs=6e-4)
    assert 20 * np.log10(a.peak) == pytest.approx(peak, abs=5e-3)
    assert found.gain_margin == pytest.approx(a.largest_gain / a.gain, rel=1e-9)
    theirs = ct.margin(a.loop_gain().statespace())
    assert [found.gain_margin, found.phase_margin_deg] == pytest.approx(theirs[:2], rel=1e-6)
    omega = HZ * np.geomspace(0.01, 200.0, 4000)
    T = a.system().transfer(1j * omega)[0, 0]
    assert np.interp(-0.5**0.5, -abs(T), omega) / HZ == pytest.approx(a.bandwidth, rel=1e-3)
    assert np.interp(90.0, -np.degrees(np.unwrap(np.angle(T))), omega) / HZ == pytest.approx(a.quarter_turn, rel=1e-3)
    assert abs(T).max() == pytest.approx(a.peak, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "cubic", "printed"),
    [
        ("joint1", (303.918, 35527.0, 2661130.0), 3.7578e-7), ("joint2", (474.820, 94083.6, 8104090.0), 1.23395e-7)
    ],
)
def test_poles_and_gain_at_rest(name: str, cubic: tuple[float, ...], printed: float) -> None:
    system = actuator(name).system()
    np.testing.assert_allclose(np.sort_complex(system.poles()), np.sort_complex(POLES[name]), rtol=1e-9)
    np.testing.assert_allclose(np.poly(system.A)[1:].real, cubic, rtol=2e-6)
    np.testing.assert_allclose(system.transfer(np.zeros(1, complex))[:, 0, 0], [1.0, 0.0, 0.0], atol=1e-12)
    assert 1.0 / np.poly(POLES[name])[-1].real == pytest.approx(printed, rel=2e-5), "(4.1) with the numerator 1"
    s = np.array([3.0 + 40.0j])
    np.testing.assert_allclose(system.transfer(s)[:, 0, 0], system.transfer(s)[0, 0, 0] * s ** np.arange(3), rtol=1e-12)


def test_read_in_radians_the_margins_are_the_same_and_the_rest_is_far_from_the_table() -> None:
    slow = [HydraulicActuator.from_poles(HERTZ[name] / HZ, name) for name in BOTH]
    assert [a.gain for a in slow] == pytest.approx([11.9214, 13.7091], rel=1e-5)
    assert [a.bandwidth for a in slow] == pytest.approx([3.4472, 3.9694], abs=6e-5)
    for a in slow:
        fast, (gain, bandwidth, *_) = actuator(a.name), PAPER[a.name]
        assert a.margins().phase_margin_deg == pytest.approx(fast.margins().phase_margin_deg, rel=1e-9)
        for ours, wrong, paper in ((fast.gain, a.gain, gain), (fast.bandwidth, a.bandwidth, bandwidth)):
            assert abs(np.log(ours / paper)) < np.log(1.7) < np.log(3.5) < abs(np.log(wrong / paper))


def test_table_4_1_and_the_fits_contradict_each_other() -> None:
    """The gains of the table on the cylinders of (4.1), and the cylinders that the rows of the table ask for."""
    found = []
    for name in BOTH:
        a = actuator(name).with_gain(PAPER[name][0])
        found.append((a.bandwidth, a.margins().gain_margin_db))
    np.testing.assert_allclose(found, [[22.72, 11.64], [11.59, 19.26]], atol=6e-3)

    def asked(name: str) -> Array:
        _, bandwidth, gm, pm = PAPER[name]

        def miss(x: Array) -> list[float]:
            a = HydraulicActuator(4 * np.pi * x[0] * x[1] / 10 ** (gm / 20), *x)  # gain margin met
            return [a.bandwidth / bandwidth - 1, a.margins().phase_margin_deg / pm - 1]

        x = fsolve(miss, [25.0, 0.9])
        return np.array([*x, 4 * np.pi * x[0] * x[1] / 10 ** (gm / 20)])

    # margins and bandwidth of a row make a cylinder: not that of (4.1), 30.0 and 48.8 Hz, nor with the gain of the row
    assert asked("joint1") == pytest.approx([21.28, 1.225, 96.65], rel=5e-3)
    assert asked("joint2") == pytest.approx([32.77, 0.7675, 58.85], rel=5e-3)


def test_signals_are_named_for_python_control() -> None:
    a = actuator("joint2")
    closed, valve = a.system().statespace(), a.open_loop().statespace()
    assert (closed.input_labels, valve.input_labels) == (["joint2_command"], ["joint2_valve"])
    assert closed.output_labels == ["joint2_angle", "joint2_rate", "joint2_acceleration"]
    poles = np.sort_complex(valve.poles())
    w, z = HZ * a.frequency, a.damping
    np.testing.assert_allclose(poles[2], 0.0, atol=1e-9)
    np.testing.assert_allclose(poles[:2], w * (-z + np.sqrt(1 - z * z) * np.array([-1j, 1j])), rtol=1e-9)
    assert HydraulicActuator.of(ralf().arm.joints[1], "joint2").gain == pytest.approx(a.gain, rel=1e-12)


def test_wrong_actuators_are_refused() -> None:
    with pytest.raises(DefinitionError, match="conjugate pairs"):
        HydraulicActuator.from_poles([-1.0, -2.0 + 1.0j, -3.0 - 1.0j])
    with pytest.raises(DefinitionError, match="left half plane"):
        HydraulicActuator.from_poles([1.0, -2.0, -3.0])
    with pytest.raises(DefinitionError, match="2 poles given"):
        HydraulicActuator.from_poles([-1.0, -2.0])
    with pytest.raises(DefinitionError, match=r"frequency = 0\.0 Hz of a hydraulic actuator must be finite and above"):
        HydraulicActuator(1.0, 0.0, 0.5)
    valve = actuator("joint1").with_gain(0.0)
    with pytest.raises(DefinitionError, match="no margins; give it a gain"):
        valve.margins()
    with pytest.raises(DefinitionError, match="no bandwidth; give it a gain"):
        _ = valve.bandwidth


# --- servos on the open valve


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("margin", [30.0, 54.6, 75.0])
def test_proportional_gain_has_its_phase_margin(name: str, margin: float) -> None:
    servo = proportional_servo(actuator(name), margin)
    theirs = ct.margin(servo.loop(actuator(name)).statespace())
    assert theirs[1] == pytest.approx(margin, rel=1e-6)
    assert servo.margins(actuator(name)).phase_margin_deg == pytest.approx(margin, rel=1e-9)
    assert servo.bandwidth(actuator(name)) == pytest.approx(actuator(name).with_gain(servo.gain).bandwidth, rel=1e-9)


@pytest.mark.parametrize(("name", "wanted"), [("joint1", (10.33, 37.47, 0.72)), ("joint2", (11.51, 39.83, 0.81))])
def test_lead_is_faster_at_more_phase_margin(name: str, wanted: tuple[float, ...]) -> None:
    """Against python-control; beside the paper's gain of joint 1: 54.6 degrees, 21.7 Hz."""
    a = actuator(name)
    servo = lead_servo(a, 20.0, 60.0)
    gm, pm, _, crossover = ct.margin(servo.loop(a).statespace())
    assert [pm, crossover / HZ] == pytest.approx([60.0, 20.0], rel=1e-6)
    found = servo.margins(a)
    assert [20 * np.log10(gm), found.gain_margin_db] == pytest.approx([wanted[0]] * 2, abs=6e-3)
    assert found.disk_margin == pytest.approx(wanted[2], abs=6e-3)
    follow = servo.follow(a)
    assert follow.poles().real.max() < 0
    assert follow.transfer(np.zeros(1, complex))[0, 0, 0] == pytest.approx(1.0, rel=1e-12)
    omega = HZ * np.geomspace(1.0, 100.0, 4000)
    edge = np.interp(-0.5**0.5, -abs(follow.transfer(1j * omega)[0, 0]), omega) / HZ
    assert [edge, servo.bandwidth(a)] == pytest.approx([wanted[1]] * 2, rel=1e-3)
    assert servo.bandwidth(a) > 1.25 * proportional_servo(a, 60.0).bandwidth(a)
    closed = ct.feedback(servo.loop(a).statespace())
    assert follow.transfer(np.array([60j]))[0, 0, 0] == pytest.approx(complex(closed(60j)), rel=1e-9)


def test_wrong_servos_are_refused() -> None:
    a = actuator("joint1")
    with pytest.raises(DefinitionError, match=r"asks for -.* deg of lead.*use proportional"):
        lead_servo(a, 2.0, 40.0)
    with pytest.raises(DefinitionError, match="lower the crossover or the margin"):
        lead_servo(a, 60.0, 80.0)
    with pytest.raises(DefinitionError, match="between 0 and 90"):
        proportional_servo(a, 95.0)
    with pytest.raises(DefinitionError, match="give both or none"):
        ValveServo(1.0, zero=3.0)
    with pytest.raises(DefinitionError, match="unstable; lower the gain"):
        ValveServo(1.01 * a.largest_gain).bandwidth(a)
    with pytest.raises(DefinitionError, match="no joint"):
        valve_law({})


def test_sampled_servo_on_the_valve_becomes_the_loop_of_the_cylinder() -> None:
    """The paper's proportional law in `simulate` against T1, with an error of first order in the sample time."""
    plant, path = open_valves(), ServoSine(np.pi / 2, 0.02, "joint1")
    law = {name: ValveServo(actuator(name).gain) for name in BOTH}
    still = {f"{name}_angle": quintic(a, a, 1.0) for name, a in zip(BOTH, (np.pi / 2, np.pi / 6), strict=True)}

    def miss(period: float) -> float:
        references = still | {"joint1_angle": _Sine(np.pi / 2, 0.02)}
        run = simulate(plant, valve_law(law, period), references, duration=0.25, step=min(period, 5e-4))
        return float(np.abs(run["joint1_angle"] - path(run.t)[0]).max())

    errors = [miss(period) for period in (2e-3, 1e-3, 5e-4)]
    assert order(errors)[-1] == pytest.approx(1.0, abs=0.1)
    assert errors[-1] < 2e-2 * 0.02


class _Sine(ServoSine):
    """The command itself."""

    def __init__(self, begin: float, amplitude: float) -> None:
        super().__init__(begin, amplitude, "joint1")

    def __call__(self, t):
        t = np.asarray(t, float)
        x, w = self.amplitude * (t < self.stop), self.omega
        return self.begin + x * np.sin(w * t), x * w * np.cos(w * t), -x * w**2 * np.sin(w * t)


# --- actuators in series with an arm

CYLINDER = Joint(drive="hydraulic", hydraulic_gain=6.0, hydraulic_frequency=2.0, hydraulic_damping=0.7)
VALVE = Joint(drive="hydraulic", hydraulic_frequency=2.0, hydraulic_damping=0.7)
MOVED = {
    "crane": lambda: HydraulicDriven(toys.Crane(), {"force": "x"}, [CYLINDER]),
    "crane, valve": lambda: HydraulicDriven(toys.Crane(), {"force": "x"}, [VALVE]),
    "ralf": lambda: ralf().model,
    "ralf, valves": lambda: open_valves().model,
    "ralf, one cylinder": lambda: ralf(joint__1__drive="torque").model,
}


@pytest.mark.parametrize("make", MOVED.values(), ids=MOVED)
def test_derivatives_and_compiled_form(make) -> None:
    model = make()
    assert isinstance(model, MechanicalModel)
    x = some_motion(model, 0.02 if model.closures else 0.3)
    check_closures(model, x)
    check_tangent(model, x)
    compiled = model.compiled()
    if compiled is not None:
        check_compiled(model, x, without="torque")
        a, lam = accelerations(model, x.q, x.v, x.u)
        y = np.empty(len(model.outputs))
        compiled.output(x.q, x.v, a, np.concatenate([x.u, lam]), compiled.reals, compiled.ints, y)
        assert_near(y, model.output(x.q, x.v, a, x.u), 1e-12)


def test_names_of_the_inputs() -> None:
    assert names(ralf().model.inputs) == [
        "joint1_command", "joint2_command", "tip_force_x", "tip_force_y", "tip_torque",
    ]
    assert names(open_valves().model.inputs)[:2] == ["joint1_valve", "joint2_valve"]
    mixed = ralf(joint__1__drive="torque").model
    assert names(mixed.inputs)[:2] == ["joint2_command", "joint1_torque"]
    assert mixed.joints == {"joint1_torque": "joint1"}
    assert names(ralf().model.outputs)[-2:] == ["joint1_acceleration", "joint2_acceleration"]


def test_cart_follows_its_cylinder_and_the_load_swings_along() -> None:
    """The cart as the actuator alone (exact for this input), at second order; the swing is that of the driven cart."""
    alone = HydraulicActuator(6.0, 2.0, 0.7).system().statespace()
    model = MOVED["crane"]()

    def miss(step: float) -> float:
        run = simulate(model, inputs={"x_command": Sine(0.3, 0.8)}, duration=1.5, step=step, method="trapezoidal")
        fine = np.linspace(0.0, 1.5, 30001)
        path = ct.forced_response(alone, fine, 0.3 * np.sin(0.8 * HZ * fine)).outputs
        found = np.array([run["cart"], run["cart_rate"], run["x_acceleration"]])
        scale = np.abs(path).max(axis=1)[:, None]
        return float(np.abs((found - [np.interp(run.t, fine, row) for row in path]) / scale).max())

    errors = [miss(h) for h in (0.02, 0.01, 0.005)]
    assert order(errors)[-1] == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 1e-3


def test_linear_plant_of_ralf() -> None:
    """18 states: cylinders with their own names, six modes of the arm with its joints held."""
    plant = ralf().linearise()
    first = plant.first_order()
    assert isinstance(first, FirstOrder)
    own = ["joint1", "joint2", "joint1_rate", "joint2_rate", "joint1_acceleration", "joint2_acceleration"]
    modal = [f"mode{i}{word}" for i in range(1, 7) for word in ("", "_rate")]
    assert names(first.states) == own + modal
    poles = first.poles()
    wanted = [-190.820, -56.5487 + 103.673j, -210.927, -131.947 + 144.953j]
    wanted += [1j * w for w in (49.2226, 106.445, 193.633, 656.133, 753.864, 798.552)]
    for pole in wanted:
        assert np.abs(poles - pole).min() < 1e-5 * abs(pole)
    assert first.statespace().state_labels == own + modal
    modes = plant.modes()
    assert modes.rigid_modes == 0
    assert np.sum(modes.damping == 0.0) == 6
    np.testing.assert_allclose(np.sort(modes.real_poles), [-210.927, -190.820], rtol=5e-6)
    assert open_valves().modes().rigid_modes == 2


ROWS = ("joint1_angle", "joint2_angle", "tip_x", "tip_y", "strain_lower", "strain_upper")


def gains(plant, hertz: float) -> Array:
    rows = [names(plant.outputs).index(name) for name in ROWS]
    return plant.transfer(np.array([2j * np.pi * hertz]))[rows][:, :2, 0]


def test_gains_of_ralf() -> None:
    plant = ralf().linearise()
    wanted = [[1, 0], [0, 1], [-3.052351, -1.523302], [0, 2.640854], [8.91691e-5, 0], [0, 5.76037e-6]]
    for form in (plant, plant.first_order()):
        still = gains(form, 0.0)
        np.testing.assert_allclose(still[:4], wanted[:4], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(still[4:], wanted[4:], rtol=2e-6, atol=1e-15)
        one = [[1.141642e-3, 4.878047e-5], [7.232077e-5, 1.256084e-4]]
        np.testing.assert_allclose(abs(gains(form, 1.0)[4:]), one, rtol=1e-6)
        five = [[4.4834e-2, 2.180e-3], [3.427e-3, 3.343e-3]]
        np.testing.assert_allclose(abs(gains(form, 5.0)[4:]), five, rtol=2e-4)
    weightless = ralf(gravity__y=0.0).linearise()
    still = gains(weightless, 0.0)
    np.testing.assert_allclose(still[2:4], [[-3.048, -1.524], [0, 2.639645]], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(still[4:], 0.0, atol=1e-15)
    one = [[1.051748e-3, 4.884352e-5], [7.221864e-5, 1.198244e-4]]
    np.testing.assert_allclose(abs(gains(weightless, 1.0)[4:]), one, rtol=1e-6)


@pytest.mark.parametrize("name", ["crane", "crane, valve", "ralf, valves", "ralf, one cylinder"])
def test_first_order_form_is_the_second_order_plant(name: str) -> None:
    plant = linearise(MOVED[name]())
    assert actuators(plant) is not None
    s = np.array([2.0 + 9.0j, -1.0 + 80.0j])
    P = s[:, None, None] ** 2 * plant.M + s[:, None, None] * plant.D + plant.K
    q = np.linalg.solve(P, plant.B[None])
    Cs = plant.Cq + s[:, None, None] * plant.Cv + s[:, None, None] ** 2 * plant.Ca
    H = np.moveaxis(Cs @ q + plant.Du, 0, 2)
    for found in (plant.first_order().transfer(s), plant.transfer(s)):
        assert np.all(abs(found - H) <= 1e-8 * abs(H) + 1e-10 * abs(H).max(axis=(1, 2), keepdims=True))


@pytest.mark.parametrize("seed", range(3))
def test_any_actuators_that_the_rest_does_not_load(seed: int) -> None:
    """Two coordinates with mass, two of first order and what they drive, coupled in every way that is allowed."""
    draw = np.random.default_rng(seed).standard_normal
    n, p, w, arm = 7, [1, 4], [0, 5], [2, 3, 6]
    M, D, K = np.eye(n) + 0.1 * draw((n, n)), np.eye(n) + 0.3 * draw((n, n)), 4 * np.eye(n) + draw((n, n))
    M[w], M[:, w] = 0.0, 0.0
    for matrix in (M, D, K):
        matrix[np.ix_([*p, *w], arm)] = 0.0
    Cq, Cv, Ca, Du = draw((2, n)), draw((2, n)), draw((2, n)), draw((2, 2))
    Ca[:, w] = 0.0
    signals = [tuple(Signal(f"{word}{i}") for i in range(size)) for word, size in (("q", n), ("u", 2), ("y", 2))]
    plant = SecondOrder(M, D, K, draw((n, 2)), Cq, Cv, Ca, Du, *signals)
    found = actuators(plant)
    assert found is not None
    assert (found.p.tolist(), found.w.tolist()) == (p, w)
    first = plant.first_order()
    assert names(first.states)[:6] == ["q1", "q4", "q1_rate", "q4_rate", "q0", "q5"]
    assert len(first.states) == 6 + 6
    for s in (0.3 + 2.0j, -1.0 + 0.4j):
        q = np.linalg.solve(s**2 * M + s * D + K, plant.B)
        H = (Cq + s * Cv + s**2 * Ca) @ q + Du
        np.testing.assert_allclose(first.transfer(np.array([s]))[:, :, 0], H, rtol=1e-9)
    run, path = (as_model(plant), first.statespace())
    t = np.linspace(0.0, 2.0, 401)
    u = np.array([np.sin(3 * t), 0 * t])
    ours = simulate(run, inputs={"u0": Sine(1.0, 3 / HZ)}, duration=2.0, step=5e-3, method="trapezoidal")
    theirs = ct.forced_response(path, t, u).outputs
    np.testing.assert_allclose(ours.y.T, theirs, atol=3e-4 * np.abs(theirs).max())


def test_plant_at_another_pose() -> None:
    """The command that holds a pose is its distance from that of the file; the arm there has other modes."""
    model = ralf().model
    at = equilibrium(model, hold={"joint1": 1.3, "joint2": 0.2})
    np.testing.assert_allclose(at.u[:2], [1.3 - np.pi / 2, 0.2 - np.pi / 6], rtol=1e-9)
    there = load_plant("ralf", overrides={"joint.1.angle": 1.3, "joint.2.angle": 0.2})
    one, other = linearise(model, at), there.linearise()
    np.testing.assert_allclose(one.modes().frequencies_hz, other.modes().frequencies_hz, rtol=1e-9)
    assert abs(one.modes().frequencies_hz[0] - ralf().modes().frequencies_hz[0]) > 1e-3


def test_truncated_plant_keeps_the_cylinders() -> None:
    plant = ralf().linearise().first_order(modes=2)
    assert len(plant.states) == 6 + 4
    np.testing.assert_allclose(gains(plant, 1.0)[:4], gains(ralf().linearise(), 1.0)[:4], rtol=1e-3, atol=1e-5)
