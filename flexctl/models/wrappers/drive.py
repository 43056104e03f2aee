"""One driven joint: its equations, and the constants that the kernels read.

q is the angle of the link's side, theta that of the motor's side *at the joint side of the gear* (rad of the joint),
w = theta', N the gear ratio, Jm = N^2 Jr + rotor_inertia:

    L i' + R i = V - N Ke w          |i| <= max_current, |V| <= max_voltage      (current: i = u; torque: tau_m = u)
    Jm w' + F + s2 w + tau_g = tau_m                                             tau_m = N Kt i
    tau_g = tau_j eta^-s,  s = sign(tau_j w)                                     what the gear asks of the motor
    tau_j = k dz(d) + k3 dz(d)^3 + c dz'(d) d',      d = theta - q               what reaches the link
    dz(d) = d + (sqrt((d - b)^2 + e^2) - sqrt((d + b)^2 + e^2)) / 2
    rigid joint: theta = q, and tau_j follows from the second and third line
    flexible joint that follows a motion: theta'' = u, and tau_m follows from the second line

L = 0: i = (V - N Ke w) / R at once. An amplifier at its limit of current holds it: with L > 0 it takes back the voltage
as a current loop of 100 R would, at once with L = 0. eta is the gear's efficiency where it is "directed"; s passes
through zero as tanh(w / 1e-5 rad/s). Constant efficiencies multiply Kt.

    tanh      F = g(w) tanh(w / ve)
    lugre     z' = w - s0 |w| z / g(w),   F = s0 z + s1 z'            dahl: g = Fc, s1 = 0
    g(w) = Fc + (Fs - Fc) exp(-(w / vs)^2)

Tanh friction creeps for ever under any load, at ve atanh(load / g); where sticking, hunting or presliding matter take
LuGre. LuGre friction is passive for s2 > s1 (Fs - Fc) / Fc.

Left out: Jr N (rate of the carrier) q', of size 1/N; Jr itself belongs in the carrier's `housing_inertia`.

Sources: Canudas de Wit, Olsson, Astrom and Lischinsky 1995 (LuGre); Dahl 1968; Barabanov and Ortega 2000 (passivity);
Spong 1987 (flexible joints).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ...errors import DefinitionError, caution, require
from ...kernels import drive_places as kernel
from ...machine.arm import Arm, Joint
from ...machine.drives import DriveCaution
from ...model import FloatArray

_INPUT = {
    "torque": kernel.TORQUE, "motion": kernel.TORQUE, "current": kernel.CURRENT, "voltage": kernel.VOLTAGE,
    "servo": kernel.SERVO, "free": kernel.NONE,
}
_OWN = ("friction_law", "motor", "cubic_stiffness", "backlash")
_SHARED = {"stiffness": "joint_stiffness", "friction": "joint_friction", "rotor_inertia": "rotor_inertia"}
"""Keys that this layer knows as well as some models do, and the feature by which these name them."""
_DRIVES = {"servo": "servo_drive", "free": "free_drive"}


def is_led(joint: Joint) -> bool:
    """Whether this layer leads the motor's side of a joint: a rigid one follows a motion with its link."""
    return joint.drive == "motion" and joint.stiffness > 0


def constants(joint: Joint) -> FloatArray:
    """Return the constants of a joint, as `kernels.drives` reads them."""
    c, motor, law = np.zeros(kernel.CONSTANTS), joint.motor, joint.friction_law
    c[kernel.INPUT], c[kernel.GEAR] = kernel.LED if is_led(joint) else _INPUT[joint.drive], 1.0
    c[kernel.FLEXIBLE], c[kernel.INERTIA] = float(joint.stiffness > 0), joint.total_rotor_inertia
    c[kernel.VISCOUS], c[kernel.KP], c[kernel.KV] = joint.friction, joint.servo_stiffness, joint.servo_damping
    c[kernel.SPRING], c[kernel.CUBIC], c[kernel.DAMPER] = joint.stiffness, joint.cubic_stiffness, joint.damping
    c[kernel.PLAY], c[kernel.ROUND] = joint.backlash, joint.backlash_rounding or 0.01 * joint.backlash
    c[kernel.CURRENTS] = c[kernel.VOLTS] = np.inf
    if law is not None:
        c[kernel.FRICTION] = kernel.TANH if law.kind == "tanh" else kernel.BRISTLES
        c[kernel.COULOMB], c[kernel.STATIC], c[kernel.STRIBECK] = law.coulomb, law.breakaway, law.stribeck_rate
        c[kernel.CREEP], c[kernel.STIFF], c[kernel.SOFT] = law.creep_rate, law.bristle_stiffness, law.bristle_damping
    if motor is not None:
        c[kernel.GEAR] = motor.directed_efficiency
        c[kernel.PUSH], c[kernel.BACK] = motor.torque_per_current, motor.gear_ratio * motor.back_emf
        c[kernel.RESISTANCE], c[kernel.INDUCTANCE] = motor.resistance, motor.inductance
        c[kernel.CURRENTS], c[kernel.VOLTS] = motor.max_current or np.inf, motor.max_voltage or np.inf
        if joint.drive == "voltage" and motor.inductance > 0:
            c[kernel.INPUT] = kernel.WINDING
    return c


def is_linear(c: FloatArray) -> bool:
    """Whether the drive with these constants is linear."""
    limited = c[kernel.INPUT] in (kernel.VOLTAGE, kernel.WINDING, kernel.CURRENT) and bool(
        c[kernel.CURRENTS] < np.inf or c[kernel.VOLTS] < np.inf
    )
    plain = c[kernel.FRICTION] == kernel.RIGID and c[kernel.GEAR] == 1.0
    return bool(plain and c[kernel.CUBIC] == c[kernel.PLAY] == 0.0 and not limited)


def breaks_away(c: FloatArray) -> bool:
    """Whether a joint with these constants may stick and break away, or leave its play."""
    return bool(c[kernel.FRICTION] != kernel.RIGID or c[kernel.PLAY] > 0.0 or c[kernel.GEAR] < 1.0)


def has_kinks(c: FloatArray) -> bool:
    """Whether the forces of the drive with these constants have kinks, or all but kinks."""
    limited = c[kernel.CURRENTS] < np.inf or c[kernel.VOLTS] < np.inf
    electric = c[kernel.INPUT] in (kernel.VOLTAGE, kernel.WINDING, kernel.CURRENT)
    return bool(limited and electric) or breaks_away(c)


def check_joint(joint: Joint, name: str) -> None:
    """Refuse a drive that has no equations, and warn of one that makes energy."""
    flexible = joint.stiffness > 0
    require(
        not flexible or is_led(joint) or joint.total_rotor_inertia > 0,
        f"{name}: a flexible joint needs an inertia on its motor side; give rotor_inertia [kg m^2] or a motor with one",
    )
    law = joint.friction_law
    if law is not None and law.kind == "lugre" and law.bristle_damping > 0:
        least = law.bristle_damping * (law.breakaway - law.coulomb) / law.coulomb
        if joint.friction <= least and least > 0:
            caution(
                f"{name}: LuGre friction with friction = {joint.friction:g} N m s/rad may create energy; it is passive "
                f"above bristle_damping (static - coulomb) / coulomb = {least:.3g} N m s/rad",
                DriveCaution,
            )


def layered(joint: Joint, known: Collection[str]) -> bool:
    """Whether a joint needs this layer around a model that knows these features."""
    own = any(getattr(joint, key) for key in _OWN) or joint.drive in ("voltage", "current")
    shared = any(getattr(joint, key) and feature not in known for key, feature in _SHARED.items())
    return own or shared or _DRIVES.get(joint.drive, "") not in {"", *known}


def bare(joint: Joint, known: Collection[str]) -> tuple[Joint, Joint]:
    """Return a joint as the model inside has it, driven by torque alone, and its drive around that.

    The rotor of a rigid joint turns with the link: a model that knows rotors, or a hub for want of that, has it inside.
    """
    keys = (*_OWN, "stiffness", "damping", "friction", "rotor_inertia", "servo_stiffness", "servo_damping")
    nothing = {key: None if key in ("friction_law", "motor") else 0.0 for key in (*keys, "backlash_rounding")}
    directed = joint.motor is not None and joint.motor.directed_efficiency < 1.0
    inside, around = replace(joint, **nothing, drive="torque"), joint  # type: ignore[arg-type]
    if joint.stiffness == 0 and not directed and "rotor_inertia" in known:
        inside = replace(inside, rotor_inertia=joint.total_rotor_inertia)
        motor = None if joint.motor is None else replace(joint.motor, rotor_inertia=0.0)
        around = replace(joint, rotor_inertia=0.0, motor=motor)
    here = {"hub_inertia": 0.0, "mass": 0.0, "housing_inertia": 0.0, "angle": 0.0}
    return inside, replace(around, **here)  # type: ignore[arg-type]


def split(arm: Arm, known: Collection[str], kind: str) -> tuple[Arm, dict[int, Joint]]:
    """Return the arm that a model knowing these features is built of, and the drives around its joints, by index."""
    from .. import REGISTRY

    inner, drives = list(arm.joints), {}
    for i, joint in enumerate(arm.joints):
        # a flexible joint in every formulation, so that its angle is that of the link and the motor's is read beside it
        # in all of them; not in models from outside that know it, nor where the model leads the motor's side by itself:
        # there the joint's angle, and the rigid arm of its tip's error, is that of the motor
        own = is_led(joint) and {"motion_drive", "joint_stiffness"} <= set(known)
        both_sides = joint.stiffness > 0 and kind in REGISTRY and not own
        if not both_sides and not layered(joint, known):
            continue
        if joint.drive == "hydraulic":
            raise DefinitionError(f"joint {i + 1}: a cylinder moves the joint despite friction; leave its drive out")
        if arm.closures and "closure" not in known:
            continue  # the arm is refused for its loops
        if joint.drive == "motion" and not is_led(joint) and "motion_drive" not in known:
            inner[i] = replace(bare(joint, known)[0], drive="motion")  # refused for that, not for what is put around
            continue
        loop = bool(arm.closures) and joint.drive == "free"
        require(
            not loop,
            f"joint {i + 1} is free and in a loop of {kind}, where it has no friction and no spring; leave them out",
        )
        inner[i], around = bare(joint, known)
        # D = alpha M of the whole arm: of rotors that stand in this layer too
        alpha = arm.damping.alpha if arm.damping.kind == "rayleigh" else 0.0
        drives[i] = replace(around, friction=around.friction + alpha * around.total_rotor_inertia)
    _say_what_is_not_damped(arm, drives)
    return (replace(arm, joints=tuple(inner)), drives) if inner != list(arm.joints) else (arm, {})


def _say_what_is_not_damped(arm: Arm, drives: Mapping[int, Joint]) -> None:
    """Warn of joint springs that a modal ratio leaves out and that have no damper."""
    bare_springs = [i + 1 for i, joint in drives.items() if joint.stiffness > 0 and joint.damping == 0]
    if bare_springs and arm.damping.kind == "modal" and arm.damping.ratio > 0:
        caution(
            f"[damping] ratio = {arm.damping.ratio:g} is that of the arm's modes without the springs of its joints, "
            f"which have dampers of their own; modes that bend joint {', '.join(map(str, bare_springs))} are damped "
            "less: give its damping [N m s/rad], about 2 ratio stiffness / (2 pi frequency in Hz)"
        )


_UNLOADED = 1e-9
"""Torque of a joint that is rounding [N m]."""


def _losses(rate: float, load: float, stays: bool) -> str:
    """Return how a linear plant takes the losses of a gear whose direction they depend on."""
    if abs(load) <= _UNLOADED:  # nothing tells which way power would flow
        return "under no load left out"
    if rate == 0.0:  # friction that has no direction yet, of 1e5 N m s/rad per N m
        return f"under {load:.4g} N m " + ("stick" if stays else "left out")
    return f"as it {'drives' if load * rate > 0.0 else 'is driven by'} the link"


def smooth(joint: Joint, rate: float, load: float, open_: bool, stays: bool) -> tuple[Joint, list[str]]:
    """Return the joint that is linearised, and in words what was made of its dry friction, gear losses and play.

    Parameters
    ----------
    joint : Joint
        The drive.
    rate, load : float
        Of its motor side [rad/s], and the torque that reaches its link [N m], where it is linearised.
    open_ : bool
        Whether it is within its play.
    stays : bool
        Whether everything is taken as it is at rest: "stick" of `linearise`.
    """
    found, told, law = joint, [], joint.friction_law
    if law is not None and rate != 0.0:
        told.append(f"{law.kind} friction about {rate:.4g} rad/s")
    elif law is not None:
        told.append(f"{law.kind} friction sticks" if stays else f"{law.kind} friction left out, viscous only")
        found = found if stays else replace(found, friction_law=None)
    motor = found.motor
    if motor is not None and motor.directed_efficiency < 1.0:
        told.append("losses of the gear " + _losses(rate, load, stays))
        if told[-1].endswith("left out"):
            found = replace(found, motor=replace(motor, gear_efficiency=1.0))
    if joint.backlash and open_:
        told.append(f"within its play, which is {'open' if stays else 'taken as closed'}")
        found = found if stays else replace(found, backlash=0.0, backlash_rounding=0.0)
    return found, told
