"""Motors in the exact model: a voltage or a current is a torque, with what the motor adds to the joint.

    tau = c V - c N Ke theta',   c = N Kt / (R + L s)  (voltage);      tau = N Kt i  (current)

so that the arm has the rotor's inertia, the damping c N Ke, and inputs that count c-fold. Without inductance both are
numbers; with it they depend on s (`Winding`). Limits do not matter to small signals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import NotAvailable
from ...machine.arm import Arm
from ...model import ComplexArray, FloatArray, Signal


class Winding(NamedTuple):
    """A winding with inductance: torque per current N Kt, back EMF per rate of the joint N Ke, R and L, all SI."""

    gain: float
    emf: float
    resistance: float
    inductance: float


def without_motors(arm: Arm) -> tuple[Arm, dict[str, tuple[Signal, float]], dict[int, Winding]]:
    """Return the arm driven by torque alone, and what stands for its motors.

    By torque the input in its place and what one of it is as torque, of a winding with inductance the current; and such
    windings by joint, from 0.
    """
    joints, inputs, windings = list(arm.joints), {}, {}
    for i, joint in enumerate(arm.joints, 1):
        motor = joint.motor
        if motor is None:
            continue
        remedy = "leave it out, or use a model of fx.build"
        if motor.directed_efficiency < 1.0:
            raise NotAvailable(f'joint {i}: gear_loss = "directed" is not linear; {remedy}')
        damping, drive = 0.0, joint.drive
        if joint.drive in ("voltage", "current"):
            lever, unit, drive = motor.torque_per_current, "A", "torque"
            emf = motor.gear_ratio * motor.back_emf
            if joint.drive == "voltage" and motor.inductance > 0:
                unit, windings[i - 1] = "V", Winding(lever, emf, motor.resistance, motor.inductance)
            elif joint.drive == "voltage":
                lever, unit = lever / motor.resistance, "V"
                damping = lever * emf
            inputs[f"joint{i}_torque"] = Signal(f"joint{i}_{joint.drive}", unit), lever
        joints[i - 1] = replace(
            joint, motor=None, drive=drive, rotor_inertia=joint.total_rotor_inertia, friction=joint.friction + damping
        )
    return replace(arm, joints=tuple(joints)), inputs, windings


def renamed(
    inputs: tuple[Signal, ...], taken: dict[str, tuple[Signal, float]]
) -> tuple[tuple[Signal, ...], FloatArray]:
    """Return the inputs with those of motors in place of torques, and what multiplies the columns."""
    pairs = [taken.get(signal.name, (signal, 1.0)) for signal in inputs]
    return tuple(signal for signal, _ in pairs), np.array([lever for _, lever in pairs])


def per_input(
    inputs: tuple[Signal, ...], levers: FloatArray, windings: Mapping[int, Winding], s: ComplexArray
) -> ComplexArray:
    """Return one of every input as torque at s; the current of a winding follows its voltage as 1 / (R + L s)."""
    rows = np.repeat(levers[:, None].astype(complex), s.size, axis=1)
    place = {signal.name: k for k, signal in enumerate(inputs)}
    for i, winding in windings.items():
        if f"joint{i + 1}_voltage" in place:
            rows[place[f"joint{i + 1}_voltage"]] /= winding.resistance + winding.inductance * s
    return rows
