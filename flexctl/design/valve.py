"""Position servos for hydraulic cylinders: valve = C(s) (command - angle), C proportional or with lead.

    G(s) = wh^2 / (s (s^2 + 2 zeta wh s + wh^2)),        C(s) = K (1 + s / wz) / (1 + s / wp)

`proportional` gives K for a phase margin: G lags by 90 deg + atan(2 zeta wh w / (wh^2 - w^2)). `lead` gives K, wz and
wp for a phase margin at a chosen crossover wc: with phi = phase margin - (180 deg + arg G(j wc)) to be gained there,

    a = (1 + sin phi) / (1 - sin phi),   wz = wc / sqrt a,   wp = wc sqrt a,   |C G| = 1

The same crossover by gain alone has a smaller phase margin, the same phase margin by gain alone a lower crossover. The
price is the gain of the noise, a times higher at high frequency. Joints are named as in
`flexctl.models.wrappers.hydraulic`, whose drives must have no loop of their own (hydraulic_gain = 0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..frequency.margins import Margins, margins
from ..laws.controller import LinearLaw
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..linear.interconnect import closed_loop
from ..model import Signal
from ..support.checks import table
from .hydraulics import HydraulicActuator

MOST_LEAD = 65.0  # degrees that one lead can give at a reasonable gain


@dataclass(frozen=True)
class ValveServo:
    """C(s) = gain (1 + s / zero) / (1 + s / pole); without zero and pole it is proportional.

    Attributes
    ----------
    gain : float
        K [1/s].
    zero, pole : float
        wz, wp [rad/s]; infinite for a proportional servo.

    Examples
    --------
    >>> fx.ValveServo(16.0).gain
    16.0
    """

    gain: float
    zero: float = math.inf
    pole: float = math.inf

    def __post_init__(self) -> None:
        for key in ("gain", "zero", "pole"):
            value = getattr(self, key)
            require(value > 0, f"{key} = {value} of a valve servo must be above zero")
        require(math.isfinite(self.gain), f"gain = {self.gain} 1/s of a valve servo must be finite")
        both = math.isfinite(self.zero) == math.isfinite(self.pole)
        require(both, f"zero = {self.zero} and pole = {self.pole} rad/s: give both or none")

    def system(self) -> FirstOrder:
        """Return C, from error to valve."""
        u, y = (Signal("error", "rad"),), (Signal("valve", "rad/s"),)
        if math.isinf(self.pole):
            none = np.zeros((0, 0))
            return FirstOrder(none, np.zeros((0, 1)), np.zeros((1, 0)), np.array([[self.gain]]), (), u, y)
        high = self.gain * self.pole / self.zero
        A, B = np.array([[-self.pole]]), np.array([[self.pole]])
        return FirstOrder(A, B, np.array([[self.gain - high]]), np.array([[high]]), (Signal("lead"),), u, y)

    def loop(self, actuator: HydraulicActuator) -> FirstOrder:
        """Return the loop gain C G, from error to position."""
        C, G = self.system(), actuator.open_loop()
        n, m = len(G.A), len(C.A)
        A = np.block([[G.A, G.B @ C.C], [np.zeros((m, n)), C.A]])
        row = np.hstack([G.C[:1], np.zeros((1, m))])
        return FirstOrder(
            A, np.vstack([G.B @ C.D, C.B]), row, np.zeros((1, 1)), (*G.states, *C.states), C.inputs, G.outputs[:1]
        )

    def margins(self, actuator: HydraulicActuator) -> Margins:
        """Return the stability margins of the position loop."""
        return margins(self.loop(actuator))

    def follow(self, actuator: HydraulicActuator) -> FirstOrder:
        """Return the closed loop from command to angle, rate and acceleration."""
        C, G = self.system(), actuator.open_loop()
        command = Signal(f"{actuator.name}_command", actuator.unit)
        law = FirstOrder(
            C.A, np.hstack([C.B, -C.B]), C.C, np.hstack([C.D, -C.D]), C.states, (command, G.outputs[0]), G.inputs
        )
        loop = closed_loop(G, law)
        rows = range(len(G.outputs))
        return FirstOrder(loop.A, loop.B[:, :1], loop.C[rows], loop.D[rows, :1], loop.states, (command,), G.outputs)

    def bandwidth(self, actuator: HydraulicActuator) -> float:
        """Return the frequency above which the position follows by less than 1 / sqrt 2 [Hz]."""
        T = self.follow(actuator)
        require(bool(T.poles().real.max() < 0), "the position loop is unstable; lower the gain")
        # |T(j w)|^2 = 1/2 where the Hamiltonian of T / (1 / sqrt 2) has an eigenvalue j w
        c = T.C[:1] * math.sqrt(2.0)
        H = np.block([[T.A, T.B @ T.B.T], [-c.T @ c, -T.A.T]])
        values = sla.eigvals(H)
        crossings = np.sort(values.imag[(np.abs(values.real) < 1e-6 * np.abs(values)) & (values.imag > 0)])
        return float(crossings[0] / (2.0 * math.pi))


def _phase(actuator: HydraulicActuator, omega: float) -> tuple[float, float]:
    """Return |G| and the angle by which G lags [deg]."""
    _, c1, c2, _ = actuator.with_gain(0.0).cubic
    bend = complex(c1 - omega**2, c2 * omega)
    return c1 / (omega * abs(bend)), 90.0 + math.degrees(math.atan2(bend.imag, bend.real))


def proportional_servo(actuator: HydraulicActuator, phase_margin_deg: float) -> ValveServo:
    """Return the gain with this phase margin [deg].

    Examples
    --------
    >>> cylinder = fx.HydraulicActuator.of(fx.load_plant("ralf").arm.joints[0])
    >>> print(f"{fx.proportional_servo(cylinder, 60.0).gain:.2f} 1/s")
    62.69 1/s
    """
    require(0 < phase_margin_deg < 90, f"phase margin = {phase_margin_deg} deg must lie between 0 and 90")
    _, c1, c2, _ = actuator.with_gain(0.0).cubic
    slope = math.tan(math.radians(90.0 - phase_margin_deg))
    # c2 w = slope (c1 - w^2)
    omega = (math.sqrt(c2 * c2 + 4.0 * slope * slope * c1) - c2) / (2.0 * slope)
    return ValveServo(1.0 / _phase(actuator, omega)[0])


def lead_servo(actuator: HydraulicActuator, crossover: float, phase_margin_deg: float) -> ValveServo:
    """Return the servo with this phase margin [deg] at this crossover [Hz].

    Raises
    ------
    DefinitionError
        When gain alone gives more, or one lead cannot give as much.

    Examples
    --------
    >>> cylinder = fx.HydraulicActuator.of(fx.load_plant("ralf").arm.joints[0])
    >>> print(f"{fx.lead_servo(cylinder, 20.0, 60.0).gain:.1f} 1/s")
    83.1 1/s
    """
    omega = 2.0 * math.pi * crossover
    require(math.isfinite(omega) and omega > 0, f"crossover = {crossover} Hz must be positive and finite")
    size, lag = _phase(actuator, omega)
    gained = phase_margin_deg - (180.0 - lag)
    if not 0 < gained <= MOST_LEAD:
        remedy = "use proportional" if gained <= 0 else "lower the crossover or the margin"
        raise DefinitionError(
            f"a phase margin of {phase_margin_deg:g} deg at {crossover:g} Hz asks for {gained:.3g} deg of lead, which "
            f"must lie between 0 and {MOST_LEAD:g}; {remedy}"
        )
    a = (1.0 + math.sin(math.radians(gained))) / (1.0 - math.sin(math.radians(gained)))
    return ValveServo(1.0 / (size * math.sqrt(a)), omega / math.sqrt(a), omega * math.sqrt(a))


def valve_law(servos: Mapping[str, ValveServo], sample_time: float = 0.0) -> LinearLaw:
    """Return the law for joints by name ("joint1", ..); sample_time 0 [s]: continuous, else by Tustin's rule.

    The law reads `<joint>_angle`, sets `<joint>_valve`, and follows the channel `<joint>_angle`.

    Examples
    --------
    >>> fx.valve_law({"joint1": fx.ValveServo(16.0)}, sample_time=2e-4).drives
    ('joint1_valve',)
    """
    servos = table("servos", servos, '{"joint1": fx.ValveServo(16.0)}')
    require(bool(servos), "no joint is given a servo")
    wrong = [joint for joint, servo in servos.items() if not isinstance(servo, ValveServo)]
    require(not wrong, f"servos of {wrong}: give each joint an fx.ValveServo")
    parts = [servo.system() for servo in servos.values()]
    if sample_time > 0:
        parts = [discretise(part, sample_time) if len(part.A) else part for part in parts]
    A, B, C, D = (sla.block_diag(*(getattr(part, key) for part in parts)) for key in "ABCD")
    k = len(parts)
    value = np.eye(3 * k)[::3]  # of (value, rate, acceleration) of each channel
    angles, valves = (tuple(f"{joint}_{word}" for joint in servos) for word in ("angle", "valve"))
    return LinearLaw(
        sample_time, angles, valves, angles, A=A, By=-B, Br=B @ value, C=C, Dy=-D, Dr=D @ value
    )
