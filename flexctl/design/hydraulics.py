"""Hydraulic cylinders that position a joint.

    G(s) = wh^2 / (s (s^2 + 2 zeta wh s + wh^2))                      valve [rad/s] to angle [rad]
    T(s) = K wh^2 / (s^3 + 2 zeta wh s^2 + wh^2 s + K wh^2)           command to angle, with the position loop K

A valve that is open lets the joint turn at a rate, after the oil between valve and load has been compressed: wh and
zeta. Proportional feedback K is stable below 2 zeta wh; the gain margin is 2 zeta wh / K.

Source: Lee, Huggins and Book 1988, "Experimental verification of a large flexible manipulator", after Merritt 1967.
Its fits (4.1) give poles without a unit and the numerator 1. With the poles in Hz and unity gain at rest, beside its
Table 4.1 (attached to the arm):

    joint                K [1/s]   gain margin   phase margin   -3 dB
    1  (4.1), Hz         74.90     12.17 dB      54.6 deg       21.66 Hz
       Table 4.1         79.6      10.6 dB       31.3 deg       17.8 Hz
       (4.1), rad/s      11.92     12.17 dB      54.6 deg        3.45 Hz
    2  (4.1), Hz         86.14     14.83 dB      65.2 deg       24.94 Hz
       Table 4.1         51.7      14.6 dB       64.9 deg       17.2 Hz
       (4.1), rad/s      13.71     14.83 dB      65.2 deg        3.97 Hz

Margins do not depend on the unit. Gains and bandwidths are in Hz then, to within factors 0.9 to 1.7; no third-order
cylinder has all numbers of a row and the poles too. As printed, (4.1) follows a command of 1 rad by less than 1e-6 rad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import require
from ..frequency.margins import Margins, margins
from ..linear import FirstOrder
from ..machine.arm import Joint
from ..model import FloatArray, Signal
from ..models.wrappers.hydraulic import Cubic


@dataclass(frozen=True)
class HydraulicActuator:
    """A cylinder with its valve and, if K is above zero, its position loop.

    Attributes
    ----------
    gain : float
        K [1/s]; 0 without the loop.
    frequency : float
        wh / (2 pi) [Hz].
    damping : float
        zeta [1].
    name, unit : str
        What it moves, for the names of signals, and the unit of position.

    Examples
    --------
    >>> cylinder = fx.HydraulicActuator.of(fx.load_plant("ralf").arm.joints[0])
    >>> print(f"{cylinder.bandwidth:.2f} Hz")
    21.66 Hz
    """

    gain: float
    frequency: float
    damping: float
    name: str = "joint1"
    unit: str = "rad"

    def __post_init__(self) -> None:
        for key, unit in (("gain", "1/s"), ("frequency", "Hz"), ("damping", "1")):
            value, least = getattr(self, key), "zero or more" if key == "gain" else "above zero"
            proper = math.isfinite(value) and (value > 0 or (key == "gain" and value == 0))
            require(proper, f"{key} = {value} {unit} of a hydraulic actuator must be finite and {least}")

    @classmethod
    def from_poles(cls, poles: Sequence[complex], name: str = "joint1") -> HydraulicActuator:
        """Return the actuator whose position loop has these three poles [Hz], e.g. (-30.37, -9 + 16.5j, -9 - 16.5j)."""
        given = np.asarray(poles, complex)
        require(given.shape == (3,), f"{given.size} poles given; the position loop has three")
        require(bool(np.all(given.real < 0)), f"poles {list(poles)} Hz must lie in the left half plane")
        c = np.poly(2.0 * np.pi * given)
        require(bool(np.abs(c.imag).max() <= 1e-9 * np.abs(c).max()), "complex poles come in conjugate pairs")
        c2, c1, c0 = c.real[1:].tolist()
        w = math.sqrt(c1)
        return cls(c0 / c1, w / (2.0 * math.pi), c2 / (2.0 * w), name)

    @classmethod
    def of(cls, joint: Joint, name: str = "joint1") -> HydraulicActuator:
        """Return the actuator of a joint of an arm."""
        return cls(joint.hydraulic_gain, joint.hydraulic_frequency, joint.hydraulic_damping, name)

    def with_gain(self, gain: float) -> HydraulicActuator:
        """Return the same cylinder with another loop gain [1/s]."""
        return replace(self, gain=gain)

    @property
    def cubic(self) -> Cubic:
        """Constants of p''' + c2 p'' + c1 p' + c0 p = b u."""
        return Cubic.of(Joint(
            hydraulic_gain=self.gain, hydraulic_frequency=self.frequency, hydraulic_damping=self.damping
        ))

    @property
    def largest_gain(self) -> float:
        """Gain above which the position loop is unstable, 2 zeta wh [1/s]."""
        return self.cubic.c2

    def system(self) -> FirstOrder:
        """Return the actuator from command (or valve, if K is zero) to position, rate and acceleration."""
        c0, c1, c2, b = self.cubic
        A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-c0, -c1, -c2]])
        B = np.array([[0.0], [0.0], [b]])
        parts = (("angle", ""), ("rate", "/s"), ("acceleration", "/s^2"))
        y = tuple(Signal(f"{self.name}_{word}", self.unit + per) for word, per in parts)
        closed = self.gain > 0
        u = Signal(f"{self.name}_command", self.unit) if closed else Signal(f"{self.name}_valve", f"{self.unit}/s")
        told = {"plant": f"hydraulic {self.name}", "gain": self.gain}
        return FirstOrder(A, B, np.eye(3), np.zeros((3, 1)), y, (u,), y, 0.0, told)

    def open_loop(self) -> FirstOrder:
        """Return G, from valve to position, rate and acceleration."""
        return self.with_gain(0.0).system()

    def loop_gain(self) -> FirstOrder:
        """Return K G, from position error to position."""
        plant = self.open_loop()
        error = Signal(f"{self.name}_error", self.unit)
        return replace(plant, B=self.gain * plant.B, C=plant.C[:1], D=plant.D[:1], inputs=(error,),
                       outputs=plant.outputs[:1])

    def margins(self) -> Margins:
        """Return the stability margins of the position loop."""
        require(self.gain > 0, "an actuator without position loop has no margins; give it a gain")
        return margins(self.loop_gain())

    @property
    def bandwidth(self) -> float:
        """Frequency above which the position follows the command by less than -3 dB, 1 / sqrt 2 [Hz]."""
        require(self.gain > 0, "an actuator without position loop has no bandwidth; give it a gain")
        c0, c1, c2, _ = self.cubic
        # |T|^2 = 1/2: (c0 - c2 x)^2 + x (c1 - x)^2 = 2 c0^2 with x = omega^2
        return math.sqrt(_smallest_root([1.0, c2 * c2 - 2.0 * c1, c1 * c1 - 2.0 * c0 * c2, -c0 * c0])) / (2.0 * math.pi)

    @property
    def quarter_turn(self) -> float:
        """Frequency at which the position lags the command by 90 degrees [Hz]."""
        c0, _, c2, _ = self.cubic
        return math.sqrt(c0 / c2) / (2.0 * math.pi)

    @property
    def peak(self) -> float:
        """Largest gain of the position loop over all frequencies [1]; 1 where it has no peak."""
        c0, c1, c2, _ = self.cubic
        slope = np.roots([3.0, 2.0 * (c2 * c2 - 2.0 * c1), c1 * c1 - 2.0 * c0 * c2])
        places = [0.0, *(x.real for x in slope if abs(x.imag) < 1e-9 * abs(x) and x.real > 0)]
        return max(c0 / math.sqrt((c0 - c2 * x) ** 2 + x * (c1 - x) ** 2) for x in places)


def _smallest_root(coefficients: Sequence[float] | FloatArray) -> float:
    """Return the smallest positive real root of a polynomial."""
    roots = np.roots(coefficients)
    return float(min(x.real for x in roots if abs(x.imag) < 1e-9 * abs(x) and x.real > 0))
