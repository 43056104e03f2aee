"""Drives of joints: the motor with its gear and amplifier, and a law of dry friction. Frozen, checked, SI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..errors import Caution, caution, require
from .schema import Choice, Quantity, check

HIDDEN = 0.5
"""Part of the static friction above Coulomb friction that tanh friction has to reach, or else it is told."""


class DriveCaution(Caution):
    """The numbers of a joint's drive contradict each other: they would create energy, or have no effect.

    Examples
    --------
    >>> issubclass(fx.DriveCaution, fx.Caution)
    True
    """


@dataclass(frozen=True)
class Motor:
    """A motor with brushes, its gear and its amplifier, seen from the joint through the gear ratio.

    Examples
    --------
    >>> motor = fx.Motor(gear_ratio=70.0, torque_constant=7.68e-3, resistance=2.6)
    >>> print(f"{motor.torque_per_current:.4f} N m/A at the joint")
    0.5376 N m/A at the joint
    """

    gear_ratio: Annotated[float, Quantity("1", 1e-3, 1e5, "N: motor angle divided by joint angle")] = 1.0
    torque_constant: Annotated[
        float, Quantity("N m/A", 0.0, 100.0, "Kt: torque of the motor per current; 0: the motor's is not known")
    ] = 0.0
    back_emf_constant: (
        Annotated[float, Quantity("V s/rad", 0.0, 100.0, "Ke: voltage per rate of the motor; by default Kt")] | None
    ) = None
    resistance: Annotated[float, Quantity("ohm", 0.0, 1e4, "R: resistance of winding and leads")] = 0.0
    inductance: Annotated[float, Quantity("H", 0.0, 10.0, "L: inductance of the winding; 0: current at once")] = 0.0
    rotor_inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e3, "Jr: inertia before the gear, at motor speed")] = 0.0
    max_voltage: Annotated[float, Quantity("V", 0.0, 1e4, "largest voltage of the amplifier; 0: no limit")] = 0.0
    max_current: Annotated[float, Quantity("A", 0.0, 1e4, "largest current of the amplifier; 0: no limit")] = 0.0
    motor_efficiency: Annotated[float, Quantity("1", 1e-2, 1.0, "constant factor on the torque of the motor")] = 1.0
    gear_efficiency: Annotated[float, Quantity("1", 1e-2, 1.0, "efficiency of the gear")] = 1.0
    gear_loss: Annotated[
        str,
        Choice(
            ("directed", "constant"),
            "directed: torque times efficiency while power flows to the link, divided by it on the way back; constant: "
            "a factor on motor torque and rotor inertia, as laboratory sheets have it, wrong when braking",
        ),
    ] = "directed"

    def __post_init__(self) -> None:
        check(self)
        kt, ke = self.torque_constant, self.back_emf
        require(
            self.inductance == 0 or self.resistance > 0,
            f"inductance = {self.inductance:g} H needs resistance [ohm] above zero",
        )
        if kt > 0 and abs(ke / kt - 1.0) > 0.05:
            caution(
                f"back_emf_constant = {ke:g} V s/rad and torque_constant = {kt:g} N m/A differ by more than 5 %: in "
                "SI units they are one constant, and a motor with more torque than back EMF creates energy; check "
                "the units",
                DriveCaution,
            )

    @property
    def back_emf(self) -> float:
        """Ke [V s/rad]."""
        return self.torque_constant if self.back_emf_constant is None else self.back_emf_constant

    @property
    def factor(self) -> float:
        """Factor on the torque of the motor, whichever way the power flows."""
        return self.motor_efficiency * (self.gear_efficiency if self.gear_loss == "constant" else 1.0)

    @property
    def torque_per_current(self) -> float:
        """Torque at the joint per current [N m/A]: N Kt and the constant efficiencies."""
        return self.gear_ratio * self.torque_constant * self.factor

    @property
    def inertia(self) -> float:
        """Rotor inertia at the joint [kg m^2]: N^2 Jr, times the gear's efficiency where that is a constant factor."""
        return self.gear_ratio**2 * self.rotor_inertia * (self.gear_efficiency if self.gear_loss == "constant" else 1.0)

    @property
    def directed_efficiency(self) -> float:
        """Efficiency of the gear that depends on where the power flows; 1: none."""
        return self.gear_efficiency if self.gear_loss == "directed" else 1.0


@dataclass(frozen=True)
class Friction:
    """A law of dry friction: Coulomb friction Fc, static friction Fs, and between them the Stribeck curve.

    g(w) = Fc + (Fs - Fc) exp(-(w / vs)^2). Viscous friction is a key of the joint.

    Examples
    --------
    >>> fx.Friction("lugre", coulomb=0.04, static=0.06, bristle_stiffness=40.0, bristle_damping=0.05).static
    0.06
    """

    kind: Annotated[
        str,
        Choice(
            ("tanh", "lugre", "dahl"),
            "tanh: g tanh(w / ve), for fast sweeps; lugre: bristles that stick, hunt and slide; dahl: bristles without "
            "static friction and damping",
        ),
    ] = "tanh"
    coulomb: Annotated[float, Quantity("N m", 0.0, 1e6, "Fc: friction of fast sliding; prismatic N")] = 0.0
    static: (
        Annotated[float, Quantity("N m", 0.0, 1e6, "Fs: friction from which it begins to slide; by default Fc")] | None
    ) = None
    stribeck_rate: Annotated[
        float, Quantity("rad/s", 1e-6, 1e3, "vs: rate at which friction falls from Fs to Fc; prismatic m/s")
    ] = 0.05
    creep_rate: Annotated[
        float, Quantity("rad/s", 1e-9, 1e3, "ve: rate at which tanh friction is full; it creeps below (tanh)")
    ] = 5e-3
    bristle_stiffness: Annotated[
        float, Quantity("N m/rad", 0.0, 1e9, "s0: stiffness before it slides (lugre, dahl); prismatic N/m")
    ] = 0.0
    bristle_damping: Annotated[
        float, Quantity("N m s/rad", 0.0, 1e8, "s1: damping before it slides (lugre); prismatic N s/m")
    ] = 0.0

    def __post_init__(self) -> None:
        check(self)
        bristles = self.kind != "tanh"
        require(self.coulomb > 0, "a law of friction needs coulomb [N m] above zero; leave the law out without it")
        require(
            self.breakaway >= self.coulomb,
            f"static = {self.breakaway:g} N m is below coulomb = {self.coulomb:g} N m; friction falls once it slides",
        )
        for key in ("bristle_stiffness", "bristle_damping"):
            value = getattr(self, key)
            require(value == 0 or bristles, f'{key} = {value:g} has no effect with kind = "tanh"; leave it out')
        require(
            not bristles or self.bristle_stiffness > 0,
            f'kind = "{self.kind}" needs bristle_stiffness [N m/rad] above zero',
        )
        if self.kind == "dahl":
            plain = {"static": self.breakaway == self.coulomb, "bristle_damping": not self.bristle_damping}
            for key, left_out in plain.items():
                require(left_out, f'{key} has no effect with kind = "dahl"; leave it out, or say kind = "lugre"')
        self._say_what_creep_hides()

    def _say_what_creep_hides(self) -> None:
        """Warn of tanh friction that is full only where it has fallen already: its static friction is not reached."""
        excess = self.breakaway - self.coulomb
        if self.kind != "tanh" or excess == 0.0:
            return
        w = np.linspace(0.0, 4.0, 401) * self.stribeck_rate
        g = self.coulomb + excess * np.exp(-((w / self.stribeck_rate) ** 2))
        largest = max(self.coulomb, float((g * np.tanh(w / self.creep_rate)).max()))
        if largest < self.coulomb + HIDDEN * excess:
            caution(
                f"static = {self.breakaway:g} N m is not reached: with creep_rate = {self.creep_rate:g} rad/s the "
                f"friction is at most {largest:.3g} N m, for it is full only where it has fallen to coulomb; take "
                f"creep_rate <= stribeck_rate / 10 = {self.stribeck_rate / 10.0:.3g} rad/s",
                DriveCaution,
            )

    @property
    def breakaway(self) -> float:
        """Fs [N m]."""
        return self.coulomb if self.static is None else self.static
