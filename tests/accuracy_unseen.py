"""Runs on which nothing was fitted: every formulation, drives, inputs, motions and laws, with how references are made.

`accuracy_factors` measures with them what the factors of the error estimate have to be; `simulation/test_exam` looks at
some of them in every full run of the tests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_cases import Case

import flexctl as fx
from flexctl.laws.controller import Delayed, LinearLaw
from flexctl.motion.signals import PiecewiseConstant, Sampled, Sine, bang_bang


@dataclass(frozen=True, eq=False)
class More:
    """What is run by default, and the options of its reference."""

    make: Callable[[], fx.Plant]
    duration: float
    given: Mapping[str, Any] = field(default_factory=dict)
    exact: Mapping[str, Any] = field(default_factory=lambda: {"step": 2e-5, "method": "sdirk"})
    law: Callable[[], tuple[Any, dict[str, Any]]] = lambda: (None, {})

    @classmethod
    def of(cls, case: Case, exact: Mapping[str, Any]) -> More:
        """Return one of the cases of the tests."""
        given = {"inputs": case.inputs, "motions": case.motions or None, **case.options}
        return cls(case.arm, case.duration, given, exact, case.law or (lambda: (None, {})))

    def run(self, **options: Any) -> fx.Response:
        """Run it, by default or as the reference."""
        law, reference = self.law()
        given = {key: value for key, value in {**self.given, **options}.items() if value is not None}
        return fx.simulate(self.make(), law, reference or None, duration=self.duration, **given)


def plant(name: str, beta: float | None = None, **overrides: Any) -> Callable[[], fx.Plant]:
    """Return a plant of the catalogue, with Rayleigh's damping if that is given; `__` stands for the dot of a key."""
    damping = {} if beta is None else {"damping.kind": "rayleigh", "damping.beta": beta}
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    return lambda: fx.load_plant(name, overrides={**damping, **given})


DRIVEN = """
title = "two links with motors, gears, dry friction and flexible joints"
reference = "made up"
material.alu = { youngs_modulus = 6.9e10, density = 2700.0 }
section.a = { area = 6e-4, second_moment = 3e-8, outer_distance = 0.015 }
section.b = { area = 3e-4, second_moment = 8e-9, outer_distance = 0.009 }
link = [{ length = 0.6, material = "alu", section = "a" }, { length = 0.5, material = "alu", section = "b" }]
joint = [{ hub_inertia = 0.01, friction = 0.3, %s }, { hub_inertia = 0.004, friction = 0.1, %s }]
payload = { mass = 0.4, inertia = 5e-4 }
damping = { kind = "rayleigh", beta = 2e-4 }
sensor = [{ name = "root", kind = "strain", position = 0.0 }]
model = { %s }
[motor.big]
gear_ratio = 60.0
torque_constant = 0.08
resistance = 1.2
inductance = 8e-4
rotor_inertia = 4e-5
gear_efficiency = 0.85
[motor.small]
gear_ratio = 40.0
torque_constant = 0.06
resistance = 1.5
rotor_inertia = 2e-5
[friction.bristles]
kind = "lugre"
coulomb = 1.5
static = 2.0
stribeck_rate = 0.05
bristle_stiffness = 3000.0
bristle_damping = 5.0
[friction.smooth]
kind = "tanh"
coulomb = 0.6
creep_rate = 0.02
"""
PLANAR = 'kind = "timoshenko_planar", elements = 5'
VOLTS, AMPERES, TORQUE = 'drive = "voltage", motor = "big"', 'drive = "current", motor = "small"', 'drive = "torque"'
LED, SOFT = 'drive = "motion"', "rotor_inertia = 0.05, damping = 0.4"


def driven(first: str, second: str = TORQUE, model: str = PLANAR) -> Callable[[], fx.Plant]:
    """Return an arm with these joints."""

    def make() -> fx.Plant:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "arm.toml"
            path.write_text(DRIVEN % (first, second, model))
            return fx.load_plant(path)

    return make


def pd(
    kp: tuple[float, ...], kv: tuple[float, ...], ends: tuple[float, ...], time: float, period: float, late: int = 0,
    rate: str = "chord{}_rate", drive: str = "joint{}_torque",
) -> Callable[[], tuple[Any, dict[str, Any]]]:
    """Return feedback of angles and rates, sampled or continuous (period 0), `late` samples late, and its moves."""
    numbers = range(1, len(kp) + 1)
    angles = tuple(f"joint{i}_angle" for i in numbers)
    rates, drives = (tuple(name.format(i) for i in numbers) for name in (rate, drive))
    Dr = np.hstack([np.column_stack([k, v, 0.0 * k]) for k, v in zip(np.diag(kp), np.diag(kv), strict=True)])
    law: Any = LinearLaw(period, angles + rates, drives, angles, Dy=-np.hstack([np.diag(kp), np.diag(kv)]), Dr=Dr)
    moves = {name: fx.quintic(0.0, end, time) for name, end in zip(angles, ends, strict=True)}
    return lambda: (Delayed(law, late) if late else law, moves)


def multisine(size: float, frequencies: tuple[float, ...], seed: int) -> Sampled:
    """Return sines [Hz] of random phase, in samples of 0.2 ms."""
    phases, t = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, len(frequencies)), np.arange(10_000) * 2e-4
    total = sum(np.sin(2.0 * np.pi * f * t + phase) for f, phase in zip(frequencies, phases, strict=True))
    return Sampled(t, size * total / np.abs(total).max())


def logged(size: float, period: float, seed: int) -> Sampled:
    """Return a random walk, as a logger writes a signal down."""
    walk = np.cumsum(np.random.default_rng(seed).normal(size=400))
    walk -= np.linspace(walk[0], walk[-1], walk.size)
    return Sampled(np.arange(walk.size) * period, size * walk / np.abs(walk).max())


def pushed(**inputs: Any) -> dict[str, Any]:
    """Return inputs that act, by name."""
    return {"inputs": inputs}


def led(**motions: Any) -> dict[str, Any]:
    """Return what joints are commanded to do."""
    return {"motions": motions}


ALPHA, EXACT = {"step": 2e-5, "method": "generalised_alpha"}, {"step": 1e-3, "method": "exact"}
SETTLED, FINEST = {"step": 1e-5, "method": "settled"}, {"step": 5e-6, "method": "settled"}
COARSE = {"step": 5e-5, "method": "sdirk"}
BY_ALPHA = {"method": "generalised_alpha"}
TWO_MODES = {"model__kind": "assumed_modes", "damping__kind": "modal"}
MORE: dict[str, More] = {
    "fd, jump, payload": More(
        plant("tokhi_azad_1994", 3e-5, payload__mass=0.03, payload__inertia=2e-4), 0.6,
        pushed(joint1_torque=bang_bang(0.2, 0.2)), ALPHA,
    ),
    "fd, jumps, alpha": More(
        plant("tokhi_azad_1994", 2e-4), 0.5,
        {**pushed(joint1_torque=PiecewiseConstant((0.05, 0.11, 0.3), (0.0, 0.3, -0.2, 0.0))), **BY_ALPHA}, EXACT,
    ),
    "fd, law 2 ms": More(
        plant("tokhi_azad_1994", model__sections=14), 0.8, exact=ALPHA, law=pd((0.2,), (0.04,), (0.6,), 0.5, 2e-3, 1),
    ),
    "fd, continuous": More(
        plant("tokhi_azad_1994", model__sections=14, payload__mass=0.02), 0.5,
        pushed(joint1_torque=logged(0.05, 3e-3, 4)), law=pd((0.6,), (0.25,), (0.6,), 0.3, 0.0),
    ),
    "fd, logged": More(
        plant("tokhi_azad_1994", model__sections=25), 0.6, pushed(joint1_torque=logged(0.2, 2e-3, 3)),
        {**ALPHA, "step": 1e-5},  # the run is exact: at 20 us the reference is off by 3e-4
    ),
    "fd, multisine, alpha": More(
        plant("tokhi_azad_1994", 1e-4), 0.4,
        {**pushed(joint1_torque=multisine(0.2, (3, 7.3, 17, 41, 90), 1)), **BY_ALPHA}, EXACT,
    ),
    "planar, sines": More(
        plant("planar_2r_rigid", payload__mass=3.0, link__1__length=1.2, joint__2__angle=-0.7, model__elements=5), 0.6,
        pushed(joint1_torque=Sine(150.0, 2.3), joint2_torque=Sine(40.0, 5.1, 0.4)),
    ),
    "planar, logged": More(
        plant("planar_2r_flexible", 3e-4, model__elements=5, payload__mass=0.05), 0.5,
        pushed(joint1_torque=logged(0.2, 4e-3, 8), joint2_torque=multisine(0.03, (4, 11, 23), 2)),
    ),
    "planar, led": More(
        plant("planar_2r_flexible", 2e-4, model__elements=5, gravity__y=-9.81), 0.6,
        led(joint1=fx.Cycloid(0.0, 0.5, 0.35), joint2=fx.quintic(0.0, -0.6, 0.3)),
    ),
    "planar, led and pushed": More(
        plant("planar_2r_rigid", model__elements=5, payload__mass=0.5), 0.5,
        {**led(joint1=fx.Trapezoid(0.0, 0.4, 0.3, 0.08)), **pushed(joint2_torque=bang_bang(30.0, 0.1))},
    ),
    "planar, law 1 ms": More(
        plant("planar_2r_flexible", 5e-4, model__elements=5), 0.6, exact={"step": 2.5e-5, "method": "sdirk"},
        law=pd((12.0, 1.5), (5.0, 0.6), (0.4, -0.3), 0.4, 1e-3),
    ),
    "planar, law 2 ms": More(
        plant("planar_2r_rigid", model__elements=4, payload__mass=1.0), 0.6, exact={"step": 2.5e-5, "method": "sdirk"},
        law=pd((900.0, 300.0), (250.0, 70.0), (0.5, 0.4), 0.4, 2e-3, 1),
    ),
    "planar, law 5 ms": More(
        plant("planar_2r_flexible", 1e-3, model__elements=5, payload__mass=0.1), 0.6,
        exact={"step": 2.5e-5, "method": "sdirk"}, law=pd((8.0, 1.0), (4.0, 0.5), (0.5, 0.4), 0.4, 5e-3, 1),
    ),
    "planar, continuous": More(
        plant("planar_2r_rigid", model__elements=4, payload__mass=1.0), 0.5, pushed(joint2_torque=bang_bang(20.0, 0.1)),
        {"step": 2.5e-5, "method": "settled"}, pd((900.0, 300.0), (250.0, 70.0), (0.5, 0.4), 0.3, 0.0),
    ),
    "planar, servo": More(
        plant("planar_2r_servo", model__elements=5, payload__mass=0.6, joint__2__angle=0.5), 0.5,
        led(joint1=fx.Trapezoid(0.0, 0.5, 0.25, 0.06), joint2=fx.Cycloid(0.5, 1.0, 0.3)),
    ),
    "planar, undamped": More(
        plant("planar_2r_flexible", model__elements=5, payload__mass=0.08), 0.4,
        pushed(joint1_torque=bang_bang(0.1, 0.1)), SETTLED,
    ),
    "bristles, motors": More(
        driven(f'{VOLTS}, friction_law = "bristles"', f'{AMPERES}, friction_law = "smooth"'), 0.6,
        pushed(joint1_voltage=bang_bang(12.0, 0.2), joint2_current=Sine(2.0, 4.0)), SETTLED,
    ),
    "flexible joints": More(
        driven(f"{VOLTS}, stiffness = 600.0, {SOFT}", f"{TORQUE}, stiffness = 200.0, rotor_inertia = 0.02"), 0.6,
        pushed(joint1_voltage=Sine(15.0, 3.0), joint2_torque=bang_bang(4.0, 0.15)), SETTLED,
    ),
    "play": More(
        driven(f"{TORQUE}, stiffness = 900.0, backlash = 2e-3, {SOFT}", f'{TORQUE}, friction_law = "smooth"'), 0.4,
        pushed(joint1_torque=Sine(15.0, 3.0), joint2_torque=bang_bang(4.0, 0.15)), FINEST,
    ),
    "led joint with friction": More(
        driven(f'{LED}, friction_law = "bristles"', f'{TORQUE}, friction_law = "smooth"'), 0.5,
        {**led(joint1=fx.Cycloid(0.0, 0.5, 0.3)), **pushed(joint2_torque=Sine(5.0, 4.0))}, SETTLED,
    ),
    "segments, motor": More(
        driven(VOLTS, model='kind = "finite_segment", segments = 6'), 0.5,
        pushed(joint1_voltage=bang_bang(10.0, 0.2), joint2_torque=multisine(3.0, (2.0, 9.0, 20.0), 5)),
    ),
    "modes, bristles": More(
        driven(f'{VOLTS}, friction_law = "bristles"', AMPERES, 'kind = "assumed_modes", modes = 2'), 0.5,
        pushed(joint1_voltage=logged(14.0, 5e-3, 9), joint2_current=Sine(2.0, 4.0)), SETTLED,
    ),
    "ancf, cubic spring": More(
        driven(f"{TORQUE}, stiffness = 500.0, cubic_stiffness = 1e5, {SOFT}", model='kind = "ancf", elements = 2'), 0.3,
        pushed(joint1_torque=Sine(12.0, 3.0), joint2_torque=bang_bang(4.0, 0.1)), {"step": 2e-5, "method": "settled"},
    ),
    "law on bristles": More(
        driven(f'{TORQUE}, friction_law = "bristles"'), 0.5, exact=SETTLED,
        law=pd((80.0, 25.0), (12.0, 4.0), (0.3, -0.3), 0.3, 2e-3, 1, "joint{}_rate"),
    ),
    "Quanser link": More(
        plant("quanser_flexible_link", model__elements=5, payload__mass=0.02), 0.4,
        pushed(joint1_voltage=multisine(5.0, (1.1, 3.3, 7.7, 15.0), 3)),
    ),
    "Quanser joint, law": More(
        plant("quanser_flexible_joint"), 0.6,
        law=pd((20.0,), (0.6,), (0.5,), 0.3, 2e-3, 1, "joint{}_rate", "joint{}_voltage"),
    ),
    "spatial, jumps": More(
        plant("spatial_3r", 2e-4, model__elements=3, payload__mass=1.0), 0.25,
        pushed(joint1_torque=bang_bang(40.0, 0.1), joint3_torque=Sine(10.0, 6.0)),
    ),
    "spatial, led": More(
        plant("spatial_rp", 3e-4, model__elements=3), 0.3,
        led(joint1=fx.quintic(0.0, 0.4, 0.2), joint2=fx.Cycloid(0.5, 0.6, 0.25)),
    ),
    "spatial, law 2 ms": More(
        plant("spatial_3r", 3e-4, model__elements=3), 0.3, exact={"step": 2.5e-5, "method": "sdirk"},
        law=pd((2000.0, 1500.0, 400.0), (400.0, 300.0, 60.0), (0.2, -0.2, 0.3), 0.25, 2e-3, 0, "joint{}_rate"),
    ),
    "segments, jump": More(
        plant("li_zhang_single_link", 2e-4, model__segments=10, payload__mass=0.05), 0.5,
        pushed(joint1_torque=bang_bang(0.2, 0.15)),
    ),
    "segments, led": More(
        plant("li_zhang_three_link_flexible_joints", model__segments=6, payload__mass=0.2, gravity__y=-9.81), 0.5,
        led(**{f"joint{i}": fx.Cycloid(0.0, 0.3 * i, 0.3) for i in (1, 2, 3)}), COARSE,
    ),
    "segments, continuous": More(
        plant("li_zhang_single_link", 5e-4, model__segments=8), 0.5, exact={"step": 2e-5, "method": "settled"},
        law=pd((3.0,), (0.8,), (0.5,), 0.3, 0.0, 0, "joint{}_rate"),
    ),
    "modes, logged": More(
        plant("planar_2r_flexible", model__modes=[3, 2], damping__ratio=0.01, payload__mass=0.1, **TWO_MODES), 0.4,
        pushed(joint1_torque=logged(0.3, 6e-3, 11), joint2_torque=bang_bang(0.05, 0.12)), SETTLED,
    ),
    "modes, law 2 ms": More(
        plant("planar_2r_flexible", model__modes=[2, 2], damping__ratio=0.02, **TWO_MODES), 0.6,
        exact={"step": 2.5e-5, "method": "settled"}, law=pd((12.0, 1.5), (5.0, 0.6), (0.4, -0.3), 0.4, 2e-3, 1),
    ),
    "RALF, sines": More(
        plant("ralf", payload__mass=5.0), 1.0,
        pushed(joint1_command=Sine(0.02, 1.7), joint2_command=Sine(0.015, 2.9, 0.3)), COARSE,
    ),
    "RALF, jumps": More(
        plant("ralf", payload__mass=8.0), 1.0, pushed(joint1_command=bang_bang(0.03, 0.3)),
        {"step": 2.5e-5, "method": "sdirk"},
    ),
    "RALF, law 5 ms": More(
        plant("ralf"), 1.0, exact=COARSE,
        law=pd((0.5, 0.5), (0.02, 0.02), (0.05, -0.04), 0.6, 5e-3, 1, "joint{}_rate", "joint{}_command"),
    ),
    "ancf, sines": More(
        plant("tian_ancf_circle", 4e-4, model__elements=3, payload__mass=0.2), 0.3,
        pushed(joint1_torque=Sine(30.0, 4.0), joint2_torque=Sine(8.0, 7.0)),
    ),
    "ancf, law 1 ms": More(
        plant("tian_ancf_square", 4e-4, model__elements=3), 0.3, exact={"step": 2.5e-5, "method": "settled"},
        law=pd((300.0, 80.0), (60.0, 15.0), (0.2, -0.2), 0.25, 1e-3, 1, "joint{}_rate"),
    ),
    "ancf, led and pushed": More(
        plant("tian_ancf_square", 4e-4, model__elements=3), 0.3,
        {**led(joint1=fx.quintic(-2.0740605, -1.9, 0.2)), **pushed(joint2_torque=bang_bang(5.0, 0.1))},
        {"step": 2e-5, "method": "settled"},
    ),
}
