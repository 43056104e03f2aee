"""Joints: how they are driven, what turns with them, friction, spring and play. Frozen, checked, SI."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated

from ..errors import require
from .drives import DriveCaution, Friction, Motor
from .schema import Choice, Quantity, Reference, check

_ELECTRIC = ("resistance", "inductance", "max_current", "max_voltage")
"""Keys of a motor's winding and amplifier."""


@dataclass(frozen=True)
class Joint:
    """A joint at the root of the link of the same number: revolute about its axis z, or prismatic along it.

    The variable of a prismatic joint is the free length of what slides, the link's `kink` in the reference pose.

    Examples
    --------
    >>> fx.Joint(hub_inertia=0.01, drive="torque").drive
    'torque'
    """

    hub_inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e4, "Ih: inertia that turns with the link's root")] = 0.0
    drive: Annotated[
        str,
        Choice(
            ("torque", "voltage", "current", "motion", "servo", "hydraulic", "free"),
            "torque: the input is a torque; voltage, current: that of the motor; motion: the joint follows a commanded "
            "angle; servo: a spring and a damper pull it to a commanded angle; hydraulic: a cylinder of third order "
            "moves it, whatever the arm does; free: nothing drives it",
        ),
    ] = "torque"
    angle: Annotated[
        float, Quantity("rad", -7.0, 7.0, "reference angle, from the previous link's end; prismatic: a fixed turn")
    ] = 0.0
    mass: Annotated[float, Quantity("kg", 0.0, 1e4, "point mass at the joint")] = 0.0
    housing_inertia: Annotated[
        float, Quantity("kg m^2", 0.0, 1e4, "inertia at the joint that turns with the previous link's end")
    ] = 0.0
    rotor_inertia: Annotated[
        float, Quantity("kg m^2", 0.0, 1e4, "N^2 Jr: rotor inertia beyond the gear, for the joint's own rate")
    ] = 0.0
    servo_stiffness: Annotated[
        float, Quantity("N m/rad", 0.0, 1e9, "kp: torque per angle between command and joint (servo); prismatic N/m")
    ] = 0.0
    servo_damping: Annotated[
        float, Quantity("N m s/rad", 0.0, 1e8, "kv: torque per rate between command and joint (servo); prismatic N s/m")
    ] = 0.0
    stiffness: Annotated[
        float, Quantity("N m/rad", 0.0, 1e9, "K: flexible joint, spring between drive and link root; 0: rigid")
    ] = 0.0
    damping: Annotated[float, Quantity("N m s/rad", 0.0, 1e8, "damper beside the spring of a flexible joint")] = 0.0
    friction: Annotated[
        float, Quantity("N m s/rad", 0.0, 1e8, "s2: viscous friction, for the joint's own rate, of its motor side")
    ] = 0.0
    friction_law: Annotated[Friction, Reference("friction", "its law of dry friction, on its motor side")] | None = None
    motor: Annotated[Motor, Reference("motor", "the motor that drives it, with gear and amplifier")] | None = None
    cubic_stiffness: Annotated[
        float, Quantity("N m/rad^3", 0.0, 1e12, "k3: hardening of a flexible joint's spring, k3 d^3")
    ] = 0.0
    backlash: Annotated[
        float, Quantity("rad", 0.0, 1.0, "b: half the play of a flexible joint, before its spring; prismatic m")
    ] = 0.0
    backlash_rounding: Annotated[
        float, Quantity("rad", 0.0, 0.1, "e: width over which the spring takes hold; 0: a hundredth of the backlash")
    ] = 0.0
    kind: Annotated[
        str, Choice(("revolute", "prismatic"), "revolute: turns about its axis; prismatic: slides the kink along it")
    ] = "revolute"
    hydraulic_gain: Annotated[
        float,
        Quantity("1/s", 0.0, 1e4, "K: gain of the position loop (hydraulic); 0: none, the input then is the valve"),
    ] = 0.0
    hydraulic_frequency: Annotated[
        float, Quantity("Hz", 0.0, 1e4, "wh / 2 pi: natural frequency of oil and load (hydraulic)")
    ] = 0.0
    hydraulic_damping: Annotated[
        float, Quantity("1", 0.0, 10.0, "zeta: damping ratio of oil and load (hydraulic)")
    ] = 0.0

    def __post_init__(self) -> None:
        check(self)
        spring = f"damping = {self.damping:g} N m s/rad has no spring beside it; give stiffness [N m/rad] too"
        require(self.damping == 0 or self.stiffness > 0, f"{spring}, or say friction")
        self._check_drive()
        servo = self.drive == "servo"
        for key in ("servo_stiffness", "servo_damping"):
            value = getattr(self, key)
            remedy = f'set drive = "servo" or leave {key} out'
            require(value == 0 or servo, f'{key} = {value:g} has no effect with drive = "{self.drive}"; {remedy}')
        require(not servo or self.servo_stiffness > 0, 'drive = "servo" needs servo_stiffness [N m/rad] above zero')
        # a file may describe the cylinders of an arm that is driven otherwise for once
        for key, unit in (("hydraulic_frequency", "Hz"), ("hydraulic_damping", "1")):
            given = self.drive != "hydraulic" or getattr(self, key) > 0
            require(given, f'drive = "hydraulic" needs {key} [{unit}] above zero')
        bound = 4.0 * math.pi * self.hydraulic_damping * self.hydraulic_frequency
        require(
            self.drive != "hydraulic" or self.hydraulic_gain < bound,
            f"hydraulic_gain = {self.hydraulic_gain:g} 1/s makes the position loop unstable; it must be below "
            f"2 zeta wh = {bound:.6g} 1/s",
        )
        require(
            self.revolute or self.rotor_inertia == 0,
            f"rotor_inertia = {self.rotor_inertia:g} kg m^2 needs a revolute joint; leave it out of a prismatic one",
        )

    def _check_drive(self) -> None:
        """Refuse a motor, a spring or a play that lacks what it needs."""
        needed = {"cubic_stiffness": "stiffness", "backlash": "stiffness", "backlash_rounding": "backlash"}
        for key, needs in needed.items():
            value, there = getattr(self, key), getattr(self, needs) > 0
            require(value == 0 or there, f"{key} = {value:g} has no effect without {needs}; give it too")
        require(
            self.backlash_rounding <= self.backlash,
            f"backlash_rounding = {self.backlash_rounding:g} rad is above backlash = {self.backlash:g} rad: no play "
            "would be left; a hundredth of it is usual",
        )
        for drive, keys in (("voltage", ("torque_constant", "resistance")), ("current", ("torque_constant",))):
            for key in keys if self.drive == drive else ():
                given = self.motor is not None and getattr(self.motor, key) > 0
                require(given, f'drive = "{drive}" needs a motor with {key} above zero; name a [motor.NAME] table')
        self._say_what_of_the_motor_rests()
        require(self.revolute or self.motor is None, "a motor needs a revolute joint; leave it out of a prismatic one")
        new = [key for key in ("friction_law", "motor", "cubic_stiffness", "backlash") if getattr(self, key)]
        ignored = f"{', '.join(new)}: a cylinder moves the joint regardless of it; leave it out"
        require(self.drive != "hydraulic" or not new, ignored)

    def _say_what_of_the_motor_rests(self) -> None:
        """Warn of what is said of the motor's winding and amplifier where the drive has neither."""
        keys = {"current": ("max_voltage",), "voltage": ()}.get(self.drive, _ELECTRIC)
        unused = [] if self.motor is None else [key for key in keys if getattr(self.motor, key) > 0]
        if unused:
            warnings.warn(
                f'{", ".join(unused)} of the motor: no effect on a joint with drive = "{self.drive}": its input is '
                f"{'the current' if self.drive == 'current' else 'not electric'}; "
                'set drive = "voltage", or leave them out',
                DriveCaution, stacklevel=4,
            )

    @property
    def total_rotor_inertia(self) -> float:
        """Jm [kg m^2]: inertia of the motor's side for the joint's own rate, `rotor_inertia` and the motor's rotor."""
        return self.rotor_inertia + (0.0 if self.motor is None else self.motor.inertia)

    @property
    def revolute(self) -> bool:
        """Whether the joint turns."""
        return self.kind == "revolute"
