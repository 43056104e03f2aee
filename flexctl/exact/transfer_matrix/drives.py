"""Motors in the exact model: a voltage or a current is a torque, with what the motor adds to the joint.

    tau = c V - c N Ke theta',   c = N Kt / R  (voltage, L = 0);      tau = N Kt i  (current)

so that the arm has the rotor's inertia, the damping c N Ke, and inputs that count c-fold. Limits do not matter to small
signals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import NotAvailable
from ...machine.arm import Arm
from ...model import FloatArray, Signal


def without_motors(arm: Arm) -> tuple[Arm, dict[str, tuple[Signal, float]]]:
    """Return the arm driven by torque alone, and by torque the input in its place and what one of it is as torque."""
    joints, inputs = list(arm.joints), {}
    for i, joint in enumerate(arm.joints, 1):
        motor = joint.motor
        if motor is None:
            continue
        remedy = "leave it out, or use a model of fx.build"
        if motor.directed_efficiency < 1.0:
            raise NotAvailable(f'joint {i}: gear_loss = "directed" is not linear; {remedy}')
        if joint.drive == "voltage" and motor.inductance > 0:
            raise NotAvailable(f"joint {i}: transfer_matrix has motors without inductance; {remedy}")
        damping, drive = 0.0, joint.drive
        if joint.drive in ("voltage", "current"):
            lever, unit, drive = motor.torque_per_current, "A", "torque"
            if joint.drive == "voltage":
                lever, unit = lever / motor.resistance, "V"
                damping = lever * motor.gear_ratio * motor.back_emf
            inputs[f"joint{i}_torque"] = Signal(f"joint{i}_{joint.drive}", unit), lever
        joints[i - 1] = replace(
            joint, motor=None, drive=drive, rotor_inertia=joint.total_rotor_inertia, friction=joint.friction + damping
        )
    return replace(arm, joints=tuple(joints)), inputs


def renamed(
    inputs: tuple[Signal, ...], taken: dict[str, tuple[Signal, float]]
) -> tuple[tuple[Signal, ...], FloatArray]:
    """Return the inputs with those of motors in place of torques, and what multiplies the columns."""
    pairs = [taken.get(signal.name, (signal, 1.0)) for signal in inputs]
    return tuple(signal for signal, _ in pairs), np.array([lever for _, lever in pairs])
