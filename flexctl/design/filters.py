"""Filters for laws and commands: notch, lead, low-pass.

    notch      (s^2 + 2 depth zeta w s + w^2) / (s^2 + 2 zeta w s + w^2)
    lead       (s sqrt(a)/w + 1) / (s / (w sqrt(a)) + 1),   sin(phase) = (a - 1)/(a + 1): the phase is largest at w
    low_pass   w^2 / (s^2 + 2 zeta w s + w^2)

All have gain 1 at zero frequency. `filtered` puts one behind a law, `smoothed` sends a commanded motion through one.
A notch on a lightly damped mode must not move when it is sampled, so it is prewarped at its own frequency.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as sla

from ..errors import require
from ..laws.controller import Delayed, LinearLaw, bare
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..linear.discrete import exact_pair
from ..model import FloatArray, Signal
from ..motion.moves import Motion, Tabulated
from ..support.checks import positive
from .design import Design


def _filter(A: FloatArray, B: FloatArray, C: FloatArray, D: float, omega: float) -> FirstOrder:
    states = tuple(Signal(f"filter{i + 1}") for i in range(len(A)))
    return FirstOrder(A, B, C, np.array([[D]]), states, (Signal("in"),), (Signal("out"),), 0.0, {"frequency": omega})


def notch(omega: float, damping: float, depth: float = 0.1) -> FirstOrder:
    """Return a notch at omega [rad/s], about 2 damping omega wide, that lets `depth` of the signal through.

    Examples
    --------
    >>> found = fx.notch(100.0, 0.5, depth=0.1)
    >>> print(abs(found.transfer(np.array([100j]))).round(4).item())
    0.1
    """
    require(omega > 0 and damping > 0, f"omega = {omega} rad/s and damping = {damping} must be positive")
    require(depth >= 0, f"depth = {depth} must not be negative")
    A = np.array([[0.0, omega], [-omega, -2.0 * damping * omega]])
    return _filter(A, np.array([[0.0], [omega]]), np.array([[0.0, 2.0 * damping * (depth - 1.0)]]), 1.0, omega)


def lead(omega: float, phase_deg: float) -> FirstOrder:
    """Return a lead (negative phase: lag) with its largest phase at omega [rad/s] and gain 1 at zero frequency.

    Examples
    --------
    >>> found = fx.lead(100.0, 40.0)
    >>> print(np.degrees(np.angle(found.transfer(np.array([100j])))).round(4).item())
    40.0
    """
    require(omega > 0, f"omega = {omega} rad/s must be positive")
    require(-90 < phase_deg < 90, f"phase = {phase_deg} deg must lie between -90 and 90")
    a = (1.0 + np.sin(np.radians(phase_deg))) / (1.0 - np.sin(np.radians(phase_deg)))
    pole = omega * np.sqrt(a)
    # (a s + p)/(s + p) with p = w sqrt(a)
    return _filter(np.array([[-pole]]), np.array([[pole]]), np.array([[1.0 - a]]), float(a), omega)


def low_pass(omega: float, damping: float = 0.7) -> FirstOrder:
    """Return a second-order low-pass with corner omega [rad/s].

    Examples
    --------
    >>> print(abs(fx.low_pass(100.0).transfer(np.array([100j]))).round(4).item())
    0.7143
    """
    omega, damping = positive("omega", omega, "rad/s"), positive("damping", damping)
    A = np.array([[0.0, omega], [-omega, -2.0 * damping * omega]])
    return _filter(A, np.array([[0.0], [omega]]), np.array([[1.0, 0.0]]), 0.0, omega)


def filtered(law: LinearLaw | Delayed | Design, by: FirstOrder) -> LinearLaw | Delayed:
    """Return the law with its commands sent through a filter, sampled like the law; limits apply behind the filter.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.filtered(law, fx.low_pass(500.0)).A.shape
    (2, 2)
    """
    inner: LinearLaw | Delayed = bare(law)
    if isinstance(inner, Delayed):
        return replace(inner, law=filtered(inner.law, by))
    return _filtered(inner, by)


def _filtered(law: LinearLaw, by: FirstOrder) -> LinearLaw:
    require(law.sample_time > 0, "a continuous law cannot take a sampled filter; discretise it first")
    nu = len(law.drives)
    one = discretise(by, law.sample_time, "prewarped", float(by.provenance["frequency"]))
    F = {name: np.kron(np.eye(nu), getattr(one, name)) for name in "ABCD"}
    free_A, free_By, free_Br = law.A + law.Bu @ law.C, law.By + law.Bu @ law.Dy, law.Br + law.Bu @ law.Dr
    A = sla.block_diag(free_A, F["A"]) if len(law.A) else F["A"].copy()
    A[len(law.A) :, : len(law.A)] = F["B"] @ law.C
    bounded = LinearLaw(
        law.sample_time, law.measures, law.drives, law.follows, A=A, By=np.vstack([free_By, F["B"] @ law.Dy]),
        Br=np.vstack([free_Br, F["B"] @ law.Dr]), C=np.hstack([F["D"] @ law.C, F["C"]]), Dy=F["D"] @ law.Dy,
        Dr=F["D"] @ law.Dr, start=np.vstack([law.start, np.zeros((len(F["A"]), len(law.measures)))]),
    )
    return bounded.limited(law.lower, law.upper)


def smoothed(motion: Motion, by: FirstOrder, step: float = 1e-3, settle: float = 1e-4) -> Tabulated:
    """Return a commanded motion after a filter, as samples every `step` [s].

    It ends when the filter has settled to `settle` of the motion. The filter acts on the acceleration, which is then
    integrated twice, so that value, rate and acceleration belong together.

    Examples
    --------
    >>> fx.smoothed(fx.Step(0.0, 1.0), fx.low_pass(20.0)).duration > 0.2
    True
    """
    require(step > 0 and 0 < settle < 1, f"step = {step} s and settle = {settle} must be positive, settle below 1")
    slowest = float(np.min(-by.poles().real))
    t = np.arange(0.0, motion.duration + np.log(1.0 / settle) / slowest + step, step)
    n = len(by.A)
    # states: filter, rate, value; the input is linear within a step
    A = np.zeros((n + 3, n + 3))
    A[:n, :n], A[n, :n], A[n + 1, n], A[:n, n + 2], A[n, n + 2] = by.A, by.C[0], 1.0, by.B[:, 0], by.D[0, 0]
    Phi, integral = exact_pair(A, step)
    ramp = integral[:, n + 2] / step
    a = motion(t)[2]
    x, rows = np.zeros(n + 3), np.zeros((t.size, 2))
    x[n + 1] = motion(0.0)[0]
    x[n] = motion(0.0)[1]
    acceleration = np.zeros(t.size)
    for k in range(t.size):
        rows[k] = x[n], x[n + 1]
        acceleration[k] = by.C[0] @ x[:n] + by.D[0, 0] * a[k]
        if k + 1 < t.size:
            x[n + 2] = a[k]
            x = Phi @ x + (a[k + 1] - a[k]) * (ramp - np.eye(n + 3)[n + 2])
    return Tabulated(t, rows[:, 1], rows[:, 0], acceleration)
