"""Every number of the reference tables of real arms beside flexctl's: `pytest -m "" -s` prints them.

The numbers are those of an independent code: 40 Euler-Bernoulli elements, or the equations of one or two rigid bodies
(scipy's Radau, rtol 1e-10). The other tests hold how they are reached; here each stands once, with its difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import beams
import numpy as np
import pytest
from reference_rows import Row, assert_rows, numbers
from scipy.integrate import simpson
from scipy.optimize import brentq
from test_driven_joints import (
    DAHL,
    FORMULATIONS,
    LUGRE,
    STRIP,
    TABLE,
    TANH,
    L,
    at,
    load,
    poles,
    rigid,
    step,
)
from test_load_inputs import EI, SMALL, cantilever, moment_name, tip
from test_load_inputs import L as LENGTH

import flexctl as fx
from flexctl.kernels import drives as kernel
from flexctl.laws.controller import LinearLaw
from flexctl.machine.arm import Actuator, Body

pytestmark = pytest.mark.slow


def nearest(what: str, model: Any, wanted: list[complex], allowed: float) -> list[Row]:
    found = model if isinstance(model, np.ndarray) else poles(model)
    return [Row(f"{what}: pole", p, found[np.abs(found - p).argmin()], allowed) for p in wanted]


def one_load() -> Iterator[Row]:
    spring = {"stiffness": 2.0, "damping": 0.003}
    yield from nearest("table 1, L = 0", rigid(), [-27.05209340], 1e-6)
    gain = fx.linearise(rigid()).transfer(np.array([1e-9 + 0j]))[1, 0, 0].real
    yield Row("table 1, L = 0: gain [rad/s/V]", 1.79550866, gain, 1e-6)
    yield from nearest("table 1, L > 0", rigid(motor={"inductance": L}), [-27.1011786, -14418.2829079], 1e-6)
    run = fx.simulate(rigid(motor={"inductance": L}), inputs={"joint1_voltage": step(5.0)}, duration=0.1)
    ours = [run[name][-1] for name in ("joint1_angle", "joint1_rate", "joint1_current")]
    yield from numbers("5 V for 0.1 s: rad, rad/s, A", (0.58795133, 8.37915189, 0.19075871), ours, 1e-6)
    model = rigid(motor={"max_current": 3.0})
    run = fx.simulate(model, inputs={"joint1_voltage": step(15.0)}, duration=0.05, step=2e-5, method="trapezoidal")
    ours = [run["joint1_angle"][-1], run["joint1_rate"][-1]]
    yield from numbers("15 V, 3 A: at 0.05 s", (0.462232167, 17.6739344), ours, 1e-6)
    i, w = run["joint1_current"], run["joint1_rate"]
    k = 1 + int(np.argmax(i[1:] < 3.0 - 1e-9))  # the first sample after the limit; from there back along the current
    back = (3.0 - i[k]) / (i[k + 1] - i[k])
    yield Row("15 V, 3 A: limit left [s]", 0.0359505, run.t[k] + back * (run.t[k + 1] - run.t[k]), 2e-6)
    yield Row("15 V, 3 A: rate where it is left [rad/s]", 13.392857, w[k] + back * (w[k + 1] - w[k]), 2e-6)
    yield from nearest("flexible joint, L = 0", rigid(**spring), [-37.6953998, -8.07914539 + 35.8932648j], 1e-6)
    yield from nearest("flexible joint, L > 0", rigid(motor={"inductance": L}, **spring),
                       [-14395.0127, -37.8367147, -8.0982724 + 35.8830371j], 1e-6)
    model = rigid(motor={"inductance": L}, cubic_stiffness=40.0, **spring)
    run = fx.simulate(model, inputs={"joint1_voltage": step(5.0)}, duration=0.3, step=2e-5, method="sdirk",
                      record_states=True)
    for name, page in (("joint1_motor_angle", (0.24072073, 0.55197491, 2.3547942)),
                       ("joint1_angle", (0.08310425, 0.55964992, 2.37023056)),
                       ("joint1_current", (0.76847887, 0.30646343, 0.03793659))):
        yield from numbers(f"k3 40: {name} at .05, .1, .3 s", page, at(run, name, 0.05, 0.1, 0.3), 1e-6)
    i, w, twist = run["joint1_current"], run["joint1_motor_rate"], run["joint1_motor_rate"] - run["joint1_rate"]
    ours = [simpson(x, x=run.t) for x in (5.0 * i, 2.6 * i**2, 0.004 * w**2 + 0.003 * twist**2)]
    ours.append(model.energy(run.q[-1], run.v[-1]).total)
    yield from numbers("k3 40: energy in, copper, friction, stored",
                       (0.4501073254, 0.1887410267, 0.0826908184, 0.1786754803), ours, 1e-6)
    model, zero = rigid("torque", cubic_stiffness=40.0, **spring), np.zeros(2)
    tangent = model.tangent(np.array([0.0, 0.23625657]), zero, zero, np.zeros(1), zero[:0])
    yield Row("wind-up under 1 N m: stiffness", 8.69805979, tangent.stiffness[1, 1], 1e-6)
    reads = fx.names(model.outputs).index("joint1_link_torque")

    def missing(angle: float) -> float:
        return float(model.output(np.array([0.0, angle]), zero, zero, np.zeros(1))[reads]) - 1.0

    yield Row("wind-up under 1 N m [rad]", 0.23625657, brentq(missing, 0.1, 0.4, xtol=1e-14), 1e-6)
    ours = [kernel.play.py_func(d, 0.01, 1e-4)[0] for d in (0.005, 0.01, 0.012, 0.02)]
    yield from numbers("play, dz", (3.3328520e-7, 4.9875001e-5, 2.00113559e-3, 0.0100001667), ours, 1e-6)
    model = rigid("torque", 4e-3, motor={"gear_efficiency": 0.9})
    run = fx.simulate(model, inputs={"joint1_torque": fx.Sine(0.5, 1.0)}, duration=1.0, rtol=1e-6)
    yield from numbers("eta .9: w at .25, .5, 1 s", (11.255173, 20.477326, -7.435069),
                       at(run, "joint1_rate", 0.25, 0.5, 1.0), 2e-6)


def friction() -> Iterator[Row]:
    worn = {"stiffness": 200.0, "damping": 0.02, "backlash": 0.01, "backlash_rounding": 1e-4}
    for side, page in (("motor_", 0.15191623), ("", 0.15617075)):
        measures = f"joint1_{side}angle", f"joint1_{side}rate"
        law = LinearLaw(0.0, measures, ("joint1_torque",), ("ref",), Dy=[[-1.0, -0.03]], Dr=[[1.0, 0.0, 0.0]])
        run = fx.simulate(rigid("torque", **worn), law, {"ref": fx.Step(0.2, 0.2)}, duration=0.1 if side else 6.0,
                          step=2e-5, method="trapezoidal")
        yield Row(f"play, PD on the {side or 'link '}angle: link at .1 s", page, at(run, "joint1_angle", 0.1)[0], 2e-6)
    end = run.t > 5.0
    y = run["joint1_angle"][end] - run["joint1_angle"][end].mean()
    up = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    yield Row("play: cycle [rad]", 0.0087022, 0.5 * np.ptp(y), 5e-5)
    yield Row("play: period [s]", 0.0290433, np.diff(run.t[end][up]).mean(), 2e-4)
    pushed = (TANH, (0.549238, 0.549278)), (LUGRE, (4.17006657, 3.46263723)), (DAHL, (7.86381134, 7.10855865))
    for law, page in pushed:
        run = fx.simulate(rigid("torque", friction_law=law), inputs={"joint1_torque": step(0.03, until=1.0)},
                          duration=2.0, step=2e-5, method="trapezoidal")
        yield from numbers(f"0.03 N m, {law.kind}: mrad at 1, 2 s", page, 1e3 * at(run, "joint1_angle", 1.0, 2.0), 1e-6)
    ramp = {"joint1_torque": fx.Sampled(np.array([0.0, 4.0]), np.array([0.0, 0.08]))}
    for law, torque, angle in ((TANH, 0.06170, 2.18909583), (LUGRE, 0.06007, 2.44409868)):
        run = fx.simulate(rigid("torque", friction_law=law), inputs=ramp, duration=4.0, step=5e-5, method="trapezoidal")
        w, k = run["joint1_rate"], int(np.argmax(run["joint1_rate"] > 0.1))
        passes = 0.02 * np.interp(0.1, w[k - 1 : k + 1], run.t[k - 1 : k + 1])
        yield Row(f"ramp, {law.kind}: torque at 0.1 rad/s (4 digits)", torque, passes, 1e-4)
        yield Row(f"ramp, {law.kind}: angle at 4 s", angle, run["joint1_angle"][-1], 1e-6)
    for law, part, most in ((TANH, 2.0e-5, (2.7, 4)), (LUGRE, 1.3e-5, (2.6, 3))):
        angle = {"tanh": 2.18909583, "lugre": 2.44409868}[law.kind]
        run = fx.simulate(rigid("torque", friction_law=law), inputs=ramp, duration=4.0, step=1e-3,
                          scheme=replace(fx.trapezoidal(), iterations=most[1]))
        off = run["joint1_angle"][-1] / angle - 1.0
        yield Row(f"ramp, {law.kind}, steps of 1 ms: error at 4 s", part, off, 0.02)
        newton = run.provenance["iterations"] / run.provenance["steps"]
        yield Row(f"ramp, {law.kind}, steps of 1 ms: Newton, mean (never more than {most[1]})", most[0], newton, 0.0,
                  most=True)


def hunting(law: fx.Friction) -> tuple[Any, float, float]:
    """Run the unit mass of the page under its PID; return it, its period at the end, the largest |e| there."""
    model = fx.driven_joints(load(1.0), {"joint1_torque": fx.Joint(friction=0.4, friction_law=law)})
    pid = LinearLaw(0.0, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("ref",), A=np.zeros((1, 1)),
                    By=[[-1.0, 0.0]], Br=[[1.0, 0.0, 0.0]], C=[[4.0]], Dy=[[-3.0, -6.0]], Dr=[[3.0, 0.0, 0.0]])
    run = fx.simulate(model, pid, {"ref": fx.Step(1.0, 1.0)}, duration=160.0, step=5e-4, method="trapezoidal")
    x, t = run["joint1_angle"] - 1.0, run.t
    up = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    passes = t[up] - x[up] * (t[up + 1] - t[up]) / (x[up + 1] - x[up])
    return run, float(np.diff(passes[passes > 90.0]).mean() if (passes > 90.0).sum() > 1 else np.inf), float(
        np.abs(x[t > 110.0]).max())


def hunts() -> Iterator[Row]:
    worn = {"coulomb": 1.0, "static": 1.5, "stribeck_rate": 1e-3}
    law = fx.Friction("lugre", **worn, bristle_stiffness=1e5, bristle_damping=1e5**0.5)
    run, period, largest = hunting(law)
    yield from numbers("hunting, LuGre: x(2), x(5), x(10)", (1.03625826, 1.47964032, 0.76663504),
                       at(run, "joint1_angle", 2.0, 5.0, 10.0), 1e-5)
    yield Row("hunting, LuGre: period [s]", 24.4368, period, 1e-5)
    yield Row("hunting, LuGre: largest error (3 digits)", 0.0639, largest, 1e-4)
    _, period, largest = hunting(fx.Friction("tanh", **worn, creep_rate=1e-4))
    yield Row("hunting, tanh, ve = vs/10: period [s] (4 digits)", 25.33, period, 2e-4)
    yield Row("hunting, tanh, ve = vs/10: largest error (2 digits)", 0.061, largest, 8e-3)
    _, period, largest = hunting(fx.Friction("tanh", **worn, creep_rate=1e-3))
    yield Row("hunting, tanh, ve = vs: frequency of what is left [Hz], dies out", 0.0, 1.0 / period, 0.0, 1.0)
    yield Row("hunting, tanh, ve = vs: error left of 1 after 110 s", 0.02, largest, 0.0, most=True)


def arms() -> Iterator[Row]:
    clamped = fx.build(fx.Arm("strip", (STRIP,), (fx.Joint(hub_inertia=1e9),)), "timoshenko_planar", elements=160)
    yield from numbers("strip, clamped [Hz]", (3.1, 19.427371, 54.39725), fx.modes(clamped).frequencies_hz[:3], 1e-3)
    motor = fx.Motor(**TABLE)
    free = fx.Joint(hub_inertia=1e-4 + 70.0**2 * 4.606e-7)
    hub = fx.build(fx.Arm("strip", (STRIP,), (free,)), "timoshenko_planar", elements=160)
    yield from numbers("strip, hub and rotor free [Hz]", (4.893585, 19.823206, 54.536568),
                       fx.modes(hub).frequencies_hz[:3], 1e-3)
    joint = fx.Joint(hub_inertia=1e-4, drive="voltage", motor=motor, friction=0.004)
    for kind, mesh in FORMULATIONS.items():
        model = fx.build(fx.Arm("strip", (STRIP,), (joint,)), kind, **mesh)
        yield from nearest(f"strip, voltage, {kind}", model,
                           [-34.2247318, -6.2733063 + 21.9055629j, -0.8640746 + 124.2125929j], 1e-3)
    arm = fx.load_plant("tokhi_azad_1994").arm
    own = {"drive": "voltage", "motor": motor, "friction": 0.004}
    for kind, mesh in FORMULATIONS.items():
        model = fx.build(replace(arm, joints=(replace(arm.joints[0], **own),)), kind, **mesh)
        page = [-2.245, -9.98 + 58.96j, -7.43 + 137.46j]
        yield from nearest(f"tokhi_azad_1994, L = 0, {kind}", model, page, 1e-3)
    law = fx.Friction("lugre", coulomb=0.02, static=0.03, stribeck_rate=0.05, bristle_stiffness=40.0,
                      bristle_damping=0.05)
    own |= {"motor": fx.Motor(**TABLE, inductance=L), "friction_law": law}
    model = fx.build(replace(arm, joints=(replace(arm.joints[0], **own),)), "finite_difference", sections=160)
    run = fx.simulate(model, inputs={"joint1_voltage": step(3.0)}, duration=0.2, rtol=1e-4)
    for name, page in (("joint1_angle", (0.05656714, 0.06719024, 0.21276221)),
                       ("joint1_current", (0.95041375, 0.96315097, 0.80031649))):
        yield from numbers(f"tokhi_azad_1994, LuGre, 3 V: {name} at .05, .1, .2 s", page,
                           at(run, name, 0.05, 0.1, 0.2), 1e-3)


def rods() -> Iterator[Row]:
    def joint(k: float, c: float, J: float, viscous: float, dry: float) -> fx.Joint:
        law = fx.Friction("tanh", coulomb=dry, creep_rate=0.01)
        return fx.Joint(stiffness=k, damping=c, rotor_inertia=J, friction=viscous, friction_law=law)

    rod = fx.Link(0.5, kind="massless")
    arm = fx.Arm(
        "rods", (rod, rod), (joint(50.0, 0.1, 0.1, 0.2, 0.3), joint(30.0, 0.05, 0.05, 0.1, 0.1)),
        bodies=tuple(Body(i, 0.5, 1.0, 0.25 / 12.0) for i in (1, 2)),
    )
    push = {"joint1_torque": step(2.0, 0.3), "joint2_torque": step(-1.0, 0.3)}
    run = fx.simulate(fx.build(arm, "assumed_modes", modes=0), inputs=push, duration=0.6, step=2e-5,
                      method="trapezoidal")
    for name, page in (("joint1_motor_angle", (0.2803703442, 0.6366029069)),
                       ("joint2_motor_angle", (-0.6661587705, -1.4890457415)),
                       ("joint1_angle", (0.2667019569, 0.6333771586)),
                       ("joint2_angle", (-0.6565002893, -1.5002204352))):
        yield from numbers(f"two rods: {name} at .3, .6 s", page, at(run, name, 0.3, 0.6), 1e-6)


def loads() -> Iterator[Row]:
    for kind in ("timoshenko_planar", "finite_segment"):
        x, y, theta = tip(cantilever(kind, 24), tip_torque=2.0 * np.pi * EI / LENGTH)
        ours = x, y, theta / (2 * np.pi)
        yield from numbers(f"roll-up, {kind}: x/L, y/L, a/(2 pi)", (0.0, 0.0, 1.0), ours, 1e-6, 1.0)
    for p, m, page in ((10.0, 0.0, (0.44500440, 0.81060902, 1.43028554)),
                       (1.0, 1.0, (0.70934954, 0.60620547, 1.29037144)),
                       (4.0, -2.0, (0.95416351, 0.26412217, -0.08758294))):
        for kind in ("timoshenko_planar", "timoshenko_spatial", "finite_segment"):
            coarse, fine = (
                np.array(tip(model, tip_force_y=p * EI / LENGTH**2, **{moment_name(model): m * EI / LENGTH}))
                for model in (cantilever(kind, n) for n in (24, 48))
            )
            ours = fine + (fine - coarse) / 3.0
            yield from numbers(f"p {p:g}, m {m:g}, {kind}: x/L, y/L, angle", page, ours, 1e-6, 1.0)
    for span, force, slope in SMALL:
        model = cantilever("timoshenko_planar", 80, Actuator("push", *span))
        _, y, theta = tip(model, push=1e-5 * EI / LENGTH**2)
        yield Row(f"force over {span}: tip", force, y / 1e-5, 1e-3)
        yield Row(f"force over {span}: slope", slope, theta / 1e-5, 1e-3)


def links() -> Iterator[Row]:
    for mu, z in ((0.0, 1.8751040687), (0.5, 1.4199644298), (1.0, 1.2479174096), (2.0, 1.0761956641)):
        link = fx.measured_link(0.5, mass_per_length=0.2, clamped_frequency_hz=3.0, clamped_tip_mass=0.1 * mu)
        found = (0.2 * (2 * np.pi * 3.0) ** 2 * 0.5**4 / link.bending_stiffness) ** 0.25
        yield Row(f"E I from a clamped frequency, mu {mu:g}: z", z, found, 1e-9)
    for name in ("quanser_flexible_link", "quanser_flexible_joint"):
        for check in fx.verify(fx.load_plant(name)):
            entry = check.entry
            for page, ours in zip(entry.target, check.computed, strict=True):
                allowed = entry.rtol + entry.atol / abs(page) if page else entry.atol
                yield Row(f"{name}: {entry.quantity}", complex(page), complex(ours), allowed, 0.0 if page else 1.0)


def tapers() -> Iterator[Row]:
    """Clamped tapered links; the mesh is extrapolated."""
    metal, height = fx.Material(7e10, 2700.0), 1e-3
    for width, page in ((1.0, (3.82380143, 18.3172615, 47.264828)), (0.5, (4.62513965, 19.5475927, 48.578904))):
        section = fx.Section(height**2, height**4 / 12.0)
        link = fx.measured_link(1.0, material=metal, section=section, taper=0.5, taper_width=width)
        found = []
        for elements in (80, 160):
            arm = fx.Arm("taper", (link,), (fx.Joint(hub_inertia=1e3),))
            model = fx.build(arm, "timoshenko_planar", elements=elements)
            locked = fx.lock(model, ["joint1"])
            found.append(2 * np.pi * fx.modes(locked).frequencies_hz[:3])
        ours = (found[1] + (found[1] - found[0]) / 3.0) * np.sqrt(2700.0 * height**2 / (7e10 * height**4 / 12.0))
        yield from numbers(f"taper .5, width {width:g}: w L^2 sqrt(m/EI)", page, ours, 5e-5)


class Delay:
    """(20 + 0.6 s) exp(-0.003 s) from the error of the angle."""

    inputs, outputs = (fx.Signal("angle"),), (fx.Signal("voltage"),)

    def transfer(self, s: Any) -> Any:
        return ((20.0 + 0.6 * s) * np.exp(-0.003 * s))[None, None, :]

    def poles(self) -> Any:
        return np.zeros(0, complex)


def linear() -> Iterator[Row]:
    M, K = beams.hermite(40, length=0.419, stiffness=0.146736125, density=0.155131265, hub=2.28418e-3)
    b = np.eye(len(M))[:, :1]
    D = SERVO * b @ b.T + 2e-4 * K
    plant = fx.from_matrices(M, D, K, 0.12845334 * b, b.T, inputs=["voltage"], outputs=["angle"])
    loop, lines = fx.loop_gain(plant, Delay()), np.geomspace(1.0, 2000.0, 400)
    exact = fx.margins(loop)
    yield from numbers("loop: gain crossings [rad/s]", (15.01464, 24.16216, 43.29112), exact.gain_crossings, 1e-6)
    yield Row("loop: phase margin [deg]", 44.7710, exact.phase_margin_deg, 2e-6)
    yield Row("loop: gain margin [dB]", 23.7794, exact.gain_margin_db, 2e-6)
    yield Row("loop: at [rad/s]", 523.404, exact.gain_margin_frequency, 1e-6)
    yield Row("loop: Smax", 1.53649, exact.sensitivity_peak, 5e-6)
    data = fx.FrequencyResponse(lines, loop.transfer(1j * lines), loop.inputs, loop.outputs)
    found = fx.margins(data, unstable_poles=0)
    yield Row("400 lines: phase margin [deg]", 44.774, found.phase_margin_deg, 2e-5)
    yield Row("400 lines: gain margin [dB]", 23.779, found.gain_margin_db, 3e-5)
    yield Row("400 lines: Smax", 1.5363, found.sensitivity_peak, 6.5e-5)


SERVO = 0.004 + 0.12845334 * 7.67763e-3 * 70.0
"""Damping of the laboratory's servo at the joint: Beq + beta Ke Kg."""


def lumped() -> Iterator[Row]:
    """Two inertias and a spring, given as matrices."""
    cases = (
        ("link .381 m", 2.28418e-3, 3.145155e-3, 1.117492, (-18.997531, -6.488432 + 23.577719j), 4.625189),
        ("link .419 m", 2.28418e-3, 3.803822e-3, 1.443123, (-16.054545, -7.959925 + 26.310298j), 5.060972),
        ("joint", 2.58418e-3, 3.893756e-3, 1.014231, (-16.103422, -6.079516 + 20.498550j), None),
        ("joint without short arm", 2.58418e-3, 1.900211e-3, 1.014231, (-19.864336, -4.199059 + 27.235419j), None),
    )
    for name, hub, load_, spring, page, hertz in cases:
        plant, free = two_inertias(hub, load_, spring)
        yield from nearest(f"lumped {name}", plant.first_order().poles(), list(page), 2e-6)
        if hertz:
            yield Row(f"lumped {name}: free [Hz]", hertz, free.modes().frequencies_hz[0], 1e-6)


def two_inertias(hub: float, load_: float, spring: float) -> tuple[Any, Any]:
    """Return the servo with a load on a spring, driven by voltage, and the same without the servo's damping."""
    K, B = spring * np.array([[1.0, -1.0], [-1.0, 1.0]]), [[0.12845334], [0.0]]
    masses = np.diag([hub, load_])
    return fx.from_matrices(masses, np.diag([SERVO, 0.0]), K, B), fx.from_matrices(masses, None, K, B)


def servo() -> Iterator[Row]:
    """The laboratory's servo alone, and how far one spring stands for its link."""
    plant = fx.load_plant("quanser_flexible_link")
    motor = plant.arm.joints[0].motor
    assert motor is not None
    yield Row("servo: torque per volt", 0.12845334, motor.torque_per_current / motor.resistance, 1e-7)
    gears = 5.282215e-5
    yield Row("servo: Jeq with gears", 2.08418e-3, motor.inertia + gears, 1e-6)
    joint = fx.Joint(drive="voltage", motor=motor, friction=plant.arm.joints[0].friction)
    alone = fx.driven_joints(load(gears), {"joint1_torque": joint})
    yield from nearest("servo", alone, [-1.0 / 0.0285366], 3e-6)
    gain = fx.linearise(alone).transfer(np.array([1e-9 + 0j]))[1, 0, 0].real
    yield Row("servo: rad/s per V", 1.758786, gain, 1e-6)
    longer = {"link.1.length": 0.419, "link.1.mass_per_length": 0.065 / 0.419, "link.1.clamped_frequency_hz": 3.1}
    cases = ((0.381, 3.0, {}, (0.103321, 0.170604), (3.145155e-3, 1.117492), (4.531974, 19.126538)),
             (0.419, 3.1, longer, (0.146736, 0.155131), (3.803822e-3, 1.443123), (4.937679, 19.836074)))
    fine = {"model.elements": 160}
    for length, hertz, keys, beam, spring, free in cases:
        plant = fx.load_plant("quanser_flexible_link", overrides=fine | keys)
        link, what = plant.arm.links[0], f"link {length:g} m"
        assert link.section is not None
        assert link.material is not None
        mass = link.material.density * link.section.area
        yield from numbers(f"{what}: E I, kg/m", beam, [link.bending_stiffness, mass], 5e-6)
        inertia = mass * length**3 / 3.0
        stiffness = inertia * (2.0 * np.pi * hertz) ** 2
        yield from numbers(f"{what}: Jl, Ks", spring, [inertia, stiffness], 1e-6)
        yield Row(f"{what}: 3 E I / L by Ks (2 digits)", 0.73, 3.0 * link.bending_stiffness / length / stiffness, 5e-3)
        undriven = fine | keys | {"joint.1.drive": "torque", "joint.1.friction": 0.0}
        with_hub = fx.load_plant("quanser_flexible_link", overrides=undriven).modes(2).frequencies_hz
        yield from numbers(f"{what}: free [Hz]", free, with_hub, 2e-4)
    lump, lump_free = two_inertias(2.28418e-3, *spring)
    high = lump_free.modes().frequencies_hz[0] / with_hub[0] - 1.0
    yield Row(f"lumped {what}: free mode too high by (2 digits)", 0.025, high, 0.02)
    exact, lines = plant.linearise(), np.linspace(0.05, 2.0, 40)
    hub = [system.transfer(2j * np.pi * lines)[0, 0] for system in (exact, lump)]
    yield Row(f"lumped {what}: hub angle to 2 Hz, off by at most", 0.01, np.abs(hub[1] / hub[0] - 1.0).max(), 0.0,
              most=True)
    lines = 2j * np.pi * np.array([3.0, 10.0])
    ends = lump.transfer(lines)[1, 0], exact.transfer(lines)[fx.names(exact.outputs).index("chord1_angle"), 0]
    yield from numbers(f"lumped {what}: tip angle at 3, 10 Hz, low by (2 digits)", (0.14, 0.65),
                       1.0 - np.abs(ends[0]) / np.abs(ends[1]), 0.02)


EVERY = one_load, friction, hunts, arms, rods, loads, links, tapers, lumped, servo, linear


@pytest.mark.parametrize("rows", EVERY, ids=lambda f: f.__name__)
def test_the_numbers(rows: Any) -> None:
    assert_rows(rows)
