"""The exact Euler-Bernoulli beam of a one-link arm, as a `FrequencyModel` to compare with.

    theta/tau and y(x)/tau solve   rho s^2 y + EI y'''' = 0,
    y(0) = 0,  Ih s^2 y'(0) - EI y''(0) = tau,  Mp s^2 y(L) - EI y'''(L) = 0,  Ip s^2 y'(L) + EI y''(L) = 0

in closed form, at any complex s. Rayleigh damping is exact too: s^2 becomes s^2 + alpha s, EI becomes EI (1 + beta s).
A constant ratio in every mode has no closed form; `modal_plant` takes it. The only input is the torque at the hub.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, NotAvailable, require, unknown
from ..machine.given import ArmGiven, as_arm
from ..model import ComplexArray, FloatArray, Signal
from ..models.features import check_exact, takers
from ..models.finite_difference.sensors import OUTPUTS, added_sensors, strain_scale
from ..models.sensors import sensor_signal
from .beam_functions import Ends, Solution, count_below, oscillating_tip_zero, roots, tip_zeros

if TYPE_CHECKING:
    from ..linear import SecondOrder


class ExactBeam:
    """Transfer functions, natural frequencies, zeros and modes of one flexible link without approximation.

    Parameters
    ----------
    arm : Arm
        An arm with exactly one uniform link, driven by a torque at its hub, without gravity. Sensors along the link are
        outputs.

    Examples
    --------
    >>> beam = fx.ExactBeam(fx.load_plant("tokhi_azad_1994").arm)
    >>> print(f"{abs(beam.transfer(np.array([1j]))).max():.3g}")
    20.1
    """

    kind = "exact_beam"
    features: frozenset[str] = frozenset()

    def __init__(self, arm: ArmGiven) -> None:
        arm = as_arm(arm)
        count = len(arm.links)
        require(count == 1, f"the exact beam has one link, the arm has {count}; use {takers('links')}")
        check_exact(arm, self.kind, self.features)
        link = arm.links[0]
        self.arm, self.length = arm, link.length
        self.rho, self.EI = link.mass_per_length, link.bending_stiffness
        unit = self.rho * self.length**3
        payload = arm.payload
        self.ends = Ends(arm.joints[0].hub_inertia / unit, payload.mass / link.mass, payload.inertia / unit)
        self.inertia = unit * (1.0 / 3.0 + self.ends.hub + self.ends.mass + self.ends.inertia)
        self.inputs = (Signal("joint1_torque", "N m"),)
        self.outputs = (
            *(Signal(name, unit) for name, unit in OUTPUTS.items()),
            *(sensor_signal(sensor, []) for sensor in added_sensors(arm)),
        )
        # station, order of derivative, scale, time derivatives: one row per output
        self._rows = [(0.0, 1, 1.0, 0), (0.0, 1, 1.0, 1), (1.0, 0, 1.0, 0), (1.0, 0, 1.0 / link.length, 0)]
        for s in added_sensors(arm):
            bends = s.kind in ("curvature", "strain")
            scale = strain_scale(arm, s) if bends else 1.0
            self._rows.append((s.position, 2 if bends else 0, scale, 2 if s.kind == "acceleration" else 0))

    def transfer(self, s: ComplexArray | npt.ArrayLike) -> ComplexArray:
        """Return the transfer matrix, (outputs, 1, len(s)), at Laplace variables s [rad/s]; s = 0 is refused."""
        s = np.atleast_1d(np.asarray(s, complex))
        solution, per_torque = self._solve(s)
        H = [scale * s**rate * solution(x, order) * per_torque[order] for x, order, scale, rate in self._rows]
        return np.asarray(H, np.complex128)[:, None, :]

    def station(self, s: ComplexArray | npt.ArrayLike, position: float, derivative: int = 0) -> ComplexArray:
        """Return the derivative of y with respect to x, order 0 to 3, at position x/L per unit of torque."""
        require(0 <= position <= 1, f"position = {position} lies outside the link, 0 to 1")
        require(derivative in (0, 1, 2, 3), f"derivative = {derivative} is not 0, 1, 2 or 3")
        solution, per_torque = self._solve(np.atleast_1d(np.asarray(s, complex)))
        y: ComplexArray = solution(position, derivative) * per_torque[derivative]
        return y

    def count_below(self, omega: float) -> int:
        """Return the exact number of flexible natural frequencies below omega [rad/s]."""
        z = self._z(omega)
        return count_below(z, self.ends, clamped=False) - 1 if z > 1e-3 else 0

    def natural_frequencies(self, count: int | None = None, below: float | None = None) -> FloatArray:
        """Return the flexible natural frequencies [rad/s], ascending: the lowest `count`, or all below a bound."""
        return self._frequencies(False, count, below)

    def zeros(self, output: str, count: int | None = None, below: float | None = None) -> ComplexArray:
        """Return the zeros to "joint1_angle" (+-j w) or "tip_displacement" (+-s), one of each pair, by size.

        Those of the joint angle are the natural frequencies with the hub held. Those of the tip are real, but for one
        pair +-j w if the payload has inertia: the arm is non-minimum phase; hub inertia and payload mass do not move
        them.
        """
        if output == "joint1_angle":
            return self._frequencies(True, count, below).astype(complex) * 1j
        if output != "tip_displacement":
            raise unknown("output with known zeros", output, ("joint1_angle", "tip_displacement"))
        _one_of(count, below)
        unit = 2.0 * math.sqrt(self.EI / self.rho) / self.length**2
        enough = count if count is not None else math.ceil(math.sqrt((below or 0.0) / unit) / math.pi) + 1
        s: ComplexArray = unit * tip_zeros(self.ends.inertia, enough).astype(np.complex128) ** 2
        if self.ends.inertia > 0:
            s = np.append(s, 0.5j * unit * oscillating_tip_zero(self.ends.inertia) ** 2)
        s = s[np.argsort(np.abs(s))]
        return s[:count] if below is None else s[np.abs(s) < below]

    def modal_plant(self, count: int) -> SecondOrder:
        """Return the plant of the rigid and the lowest `count` flexible modes, exact but for the modes left out."""
        from ..linear import SecondOrder  # a higher layer, needed here only

        omega, gain, C = self._modes(count)
        n = omega.size
        Cq, Cv, Ca = (np.where(self._rates() == rate, C.T, 0.0).T for rate in range(3))
        coordinates = (Signal("rigid", "kg^0.5 m"), *(Signal(f"mode{i}", "kg^0.5 m") for i in range(1, n)))
        return SecondOrder(
            np.eye(n), np.diag(self._damping(omega)), np.diag(omega**2), gain[:, None], Cq, Cv, Ca,
            np.zeros((len(C), 1)), coordinates, self.inputs, self.outputs, provenance={"model": "exact_beam"},
        )

    def time_response(
        self, t: npt.ArrayLike, times: npt.ArrayLike, torque: npt.ArrayLike, modes: int = 100
    ) -> FloatArray:
        """Return the outputs, (outputs, len(t)), to a piecewise constant torque, from rest.

        Parameters
        ----------
        t : array
            Times [s].
        times, torque : array
            The torque is torque[i] [N m] from times[i] [s] on, and zero before the first.
        modes : int
            Flexible modes in the sum.
        """
        require(bool(np.all(self._rates() < 2)), "the modal series of an acceleration diverges; leave that sensor out")
        t, times = np.asarray(t, float), np.asarray(times, float)
        jumps = np.diff(np.asarray(torque, float), prepend=0.0)
        omega, gain, C = self._modes(modes)
        c = self._damping(omega)
        y = np.zeros((len(C), t.size))
        for start, jump in zip(times, jumps, strict=True):
            y += jump * _step_response(omega, c, gain, C, self._rates(), np.maximum(t - start, 0.0))
        return y

    def _solve(self, s: ComplexArray) -> tuple[Solution, list[ComplexArray]]:
        """Return the solution for tau L/EI = 1, and what turns its derivatives into those of y per torque."""
        damping = self.arm.damping
        if damping.kind == "modal" and damping.ratio > 0:
            raise NotAvailable("a constant modal ratio has no closed form; use modal_plant(count) or Rayleigh damping")
        require(bool(np.all(s != 0)), "s = 0 is the pole of the rigid-body motion; leave it out")
        alpha, beta = (damping.alpha, damping.beta) if damping.kind == "rayleigh" else (0.0, 0.0)
        EI = self.EI * (1.0 + beta * s)
        Lambda = -self.rho * self.length**4 * s * (s + alpha) / EI
        solution = Solution(Lambda**0.25, -self.ends.hub * Lambda, -np.ones_like(s), self.ends)
        return solution, [self.length ** (2 - order) / EI for order in range(4)]

    def _z(self, omega: float) -> float:
        return math.sqrt(omega * self.length**2 * math.sqrt(self.rho / self.EI))

    def _frequencies(self, clamped: bool, count: int | None, below: float | None) -> FloatArray:
        _one_of(count, below)
        z = roots(self.ends, clamped, None if below is None else self._z(below), count)
        omega: FloatArray = z**2 * math.sqrt(self.EI / self.rho) / self.length**2
        return omega

    def _rates(self) -> npt.NDArray[np.int64]:
        return np.array([row[3] for row in self._rows])

    def _damping(self, omega: FloatArray) -> FloatArray:
        """Return c of q'' + c q' + omega^2 q."""
        damping = self.arm.damping
        if damping.kind == "rayleigh":
            return damping.alpha + damping.beta * omega**2
        return 2.0 * damping.ratio * omega if damping.kind == "modal" else np.zeros_like(omega)

    def _modes(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return frequencies, hub slopes and output rows of the modes of unit mass, the rigid one first."""
        require(count >= 0, f"count = {count} modes is negative")
        omega = np.append(0.0, self.natural_frequencies(count) if count else [])
        z = np.array([self._z(w) for w in omega[1:]], complex)
        shape = Solution(z, np.ones_like(z), np.zeros_like(z), self.ends)  # unit slope at the hub
        mass = self.rho * self.length**3 * _mass(shape, z.real, self.ends)
        gain = 1.0 / np.sqrt(np.append(self.inertia, mass))
        C = np.array([scale * np.append(*self._row(shape, x, order)) for x, order, scale, _ in self._rows]) * gain
        return omega, gain, C

    def _row(self, shape: Solution, x: float, order: int) -> tuple[float, FloatArray]:
        rigid = (self.length * x, 1.0, 0.0)[order]
        return rigid, shape(x, order).real * self.length ** (1 - order)


def _mass(shape: Solution, z: FloatArray, ends: Ends) -> FloatArray:
    """Return the modal mass / (rho L^3) of shapes that satisfy y'''' = z^4 y.

    4 z^4 times the integral of y^2 is [3 y y''' + x (z^4 y^2 - 2 y' y''' + y''^2) - y' y''] from 0 to 1.
    """
    y, y1, y2, y3 = (shape(1.0, order).real for order in range(4))
    tip = 3.0 * y * y3 + z**4 * y**2 - 2.0 * y1 * y3 + y2**2 - y1 * y2
    hub = -shape(0.0, 1).real * shape(0.0, 2).real
    mass: FloatArray = (tip - hub) / (4.0 * z**4) + ends.hub + ends.mass * y**2 + ends.inertia * y1**2
    return mass


def _step_response(
    omega: FloatArray, c: FloatArray, gain: FloatArray, C: FloatArray, rates: npt.NDArray[np.int64], t: FloatArray
) -> FloatArray:
    """Return the outputs due to a unit torque from t = 0 on."""
    if c[0] > 0:
        rigid = np.array([(t + np.expm1(-c[0] * t) / c[0]) / c[0], -np.expm1(-c[0] * t) / c[0]])
    else:
        rigid = np.array([0.5 * t**2, t])
    root = np.sqrt(0.25 * c[1:] ** 2 - omega[1:] ** 2 + 0j)
    p, q = -0.5 * c[1:] + root, -0.5 * c[1:] - root
    ep, eq = np.exp(np.outer(t, p)), np.exp(np.outer(t, q))
    flexible = [(1.0 + (q * ep - p * eq) / (p - q)).real / omega[1:] ** 2, ((ep - eq) / (p - q)).real]
    modal = np.array([np.column_stack([rigid[i], flexible[i]]) for i in range(2)]) * gain
    return np.array([modal[rate] @ row for rate, row in zip(rates, C, strict=True)])


def _one_of(count: int | None, below: float | None) -> None:
    if (count is None) == (below is None):
        raise DefinitionError("give count or below, one of them")
    positive = (count or 0) > 0 if below is None else below > 0
    require(positive, f"count = {count}, below = {below} rad/s: must be positive")
