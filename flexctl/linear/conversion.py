"""From a continuous controller to a sampled one.

    tustin      s = (2/dt) (z - 1)/(z + 1)               a notch at omega lands at (2/dt) atan(omega dt/2): too low
    prewarped   s = (omega/tan(omega dt/2)) (z - 1)/(z + 1)        exact at one frequency
    matched     every pole and zero p becomes exp(p dt)            exact for all of them
    zoh         the input held constant: half a sample of delay, zeros move

At 1 kHz Tustin lowers a notch at 58 Hz by 1.1 %, more than the damping ratio of most flexible modes, and a hold turns
32 Hz into 30.5 Hz. Designs with lightly damped poles or zeros need "prewarped" or "matched", or better are made in
discrete time from the start. A hold is right for plants (`discrete.zero_order_hold`), not for controllers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..model import ComplexArray, FloatArray, Signal
from . import FirstOrder
from .discrete import zero_order_hold

METHODS = ("tustin", "prewarped", "matched", "zoh")


def discretise(controller: FirstOrder, dt: float, method: str = "tustin", omega: float | None = None) -> FirstOrder:
    """Return a continuous controller sampled every dt [s].

    Parameters
    ----------
    controller : FirstOrder
        Continuous system; its names are kept.
    dt : float
        Sample time [s].
    method : str
        "tustin" (a notch lands too low), "prewarped" (exact at omega), "matched" (every pole and zero exact; one
        input and output only) or "zoh" (input held constant: half a sample of delay).
    omega : float, optional
        "prewarped": the frequency that is kept exactly [rad/s], required. "matched": where the gain is kept; by default
        at zero frequency if the gain is finite and not zero there, else below all other poles and zeros.

    Examples
    --------
    >>> print(fx.discretise(fx.low_pass(100.0), 1e-3, "tustin").poles().round(4))
    [0.9301+0.0666j 0.9301-0.0666j]
    """
    if method not in METHODS:
        raise unknown("discretisation", method, METHODS)
    require(controller.dt == 0, f"the controller is already sampled, dt = {controller.dt:g} s")
    require(math.isfinite(dt) and dt > 0, f"sample time dt = {dt} s must be positive and finite")
    nyquist = math.pi / dt
    if omega is not None:
        require(0 <= omega < nyquist, f"omega = {omega} rad/s must be below half the sampling rate, {nyquist:.6g}")
    if method == "zoh":
        return zero_order_hold(controller, dt)
    if method == "matched":
        return _matched(controller, dt, omega)
    if method == "prewarped":
        if omega is None or omega == 0:
            raise DefinitionError('method "prewarped" needs omega, the frequency to keep [rad/s], e.g. the notch')
        return _bilinear(controller, dt, 2.0 * math.tan(0.5 * omega * dt) / omega, method)
    return _bilinear(controller, dt, dt, method)


def _bilinear(plant: FirstOrder, dt: float, h: float, method: str) -> FirstOrder:
    """Return the plant with s = (2/h) (z - 1)/(z + 1)."""
    I = np.eye(plant.A.shape[0])
    left = I - 0.5 * h * plant.A
    nearest = np.abs(1.0 - 0.5 * h * plant.poles()).min(initial=1.0)
    require(bool(nearest > 1e-12), f"a pole at {2 / h:.6g} rad/s has no bilinear image; change the sample time")
    solved: FloatArray = np.asarray(np.linalg.solve(left, np.hstack([I + 0.5 * h * plant.A, h * plant.B])), float)
    A, B = solved[:, : I.shape[0]], solved[:, I.shape[0] :]
    C, D = np.asarray(np.linalg.solve(left.T, plant.C.T), float).T, plant.D + 0.5 * plant.C @ B
    return replace(plant, A=A, B=B, C=C, D=D, dt=float(dt), provenance=_note(plant, method, dt))


def continued(plant: FirstOrder) -> FirstOrder:
    """Return the continuous system of which Tustin's rule makes this sampled one, exactly.

    The rule keeps stability and the H-infinity norm, so that a continuous synthesis on the result, put back by
    `discretise`, is one for the sampled plant: hold, delay and all.
    """
    require(plant.dt > 0, "the plant is continuous already")
    I = np.eye(plant.A.shape[0])
    nearest = np.abs(plant.poles() + 1.0).min(initial=1.0)
    require(bool(nearest > 1e-12), "a pole at z = -1 has no bilinear image; change the sample time")
    left: FloatArray = np.asarray(np.linalg.inv(plant.A + I), float)
    twice = 2.0 / plant.dt
    note = {**plant.provenance, "continued": "tustin", "sample_time": plant.dt}
    return replace(
        plant, A=twice * left @ (plant.A - I), B=twice * left @ plant.B, C=2.0 * plant.C @ left,
        D=plant.D - plant.C @ left @ plant.B, dt=0.0, provenance=note,
    )


def _note(plant: FirstOrder, method: str, dt: float) -> dict[str, object]:
    return {**plant.provenance, "discretisation": method, "sample_time": float(dt)}


def _matched(plant: FirstOrder, dt: float, omega: float | None) -> FirstOrder:
    shape = plant.D.shape
    require(shape == (1, 1), f'method "matched" is for one input and one output; there are {shape[1]} and {shape[0]}')
    poles, zeros = plant.poles(), np.asarray(plant.statespace().zeros(), complex)
    images = np.exp(zeros * dt)
    # zeros at infinity go to z = -1, all but one: the sampled system keeps one sample between input and output
    images = np.concatenate([images, -np.ones(max(poles.size - zeros.size - 1, 0))])
    sections = _sections(np.exp(poles * dt), images)
    where = _gain_frequency(poles, zeros, dt) if omega is None else omega
    target, value = (
        complex(_at(plant, 1j * where)),
        math.prod((complex(_section_at(s, np.exp(1j * where * dt))) for s in sections), start=1.0 + 0.0j),
    )
    ratio = target / value if value != 0 else math.inf
    require(
        bool(np.isfinite(ratio)) and ratio != 0,
        f"the gain at omega = {where:.6g} rad/s is zero or infinite; give another omega at which to keep it",
    )
    gain = math.copysign(abs(ratio), ratio.real)
    A, B, C, D = _cascade(sections)
    states = tuple(Signal(f"section{i + 1}") for i in range(A.shape[0]))
    note = _note(plant, "matched", dt)
    return replace(plant, A=A, B=B, C=gain * C, D=gain * D, states=states, dt=float(dt), provenance=note)


def _at(plant: FirstOrder, s: complex) -> complex:
    A = s * np.eye(plant.A.shape[0]) - plant.A
    try:
        return complex((plant.C @ np.linalg.solve(A, plant.B.astype(complex)) + plant.D)[0, 0])
    except np.linalg.LinAlgError:
        return complex(math.inf)


def _gain_frequency(poles: ComplexArray, zeros: ComplexArray, dt: float) -> float:
    """Return 0, or far below all other poles and zeros where the gain at 0 is zero or infinite."""
    corners = np.abs(np.concatenate([poles, zeros]))
    finite = corners[corners > 1e-9 * corners.max(initial=0.0)]
    return 0.0 if finite.size == corners.size else 1e-2 * float(finite.min(initial=1.0 / dt))


Section = tuple[FloatArray, FloatArray]


def _sections(poles: ComplexArray, zeros: ComplexArray) -> list[Section]:
    """Return (numerator, denominator) pairs of at most second order, monic, nearest roots together."""
    numerators = _real_factors(zeros)
    result: list[Section] = []
    for denominator in _real_factors(poles):
        fitting = [n for n in numerators if n.size <= denominator.size]
        # first place a full-order numerator, so that none is left over for a shorter denominator
        same = [n for n in fitting if n.size == denominator.size] or fitting
        best = min(same, key=lambda n: float(np.abs(n[::-1][:2] - denominator[::-1][:2]).sum()), default=np.ones(1))
        numerators = [n for n in numerators if n is not best]
        result.append((best, denominator))
    return result


def _real_factors(roots: ComplexArray) -> list[FloatArray]:
    """Return monic real polynomials, highest power first: quadratics, and one linear factor if the number is odd."""
    scale = np.abs(roots).max(initial=0.0)
    pairs = roots[roots.imag > 1e-9 * scale]
    real = np.sort(roots[np.abs(roots.imag) <= 1e-9 * scale].real)[::-1]
    factors = [np.array([1.0, -2.0 * z.real, abs(z) ** 2]) for z in sorted(pairs, key=abs, reverse=True)]
    factors += [np.array([1.0, -(a + b), a * b]) for a, b in zip(real[0::2], real[1::2], strict=False)]
    return factors + ([np.array([1.0, -real[-1]])] if real.size % 2 else [])


def _section_at(section: Section, z: complex) -> complex:
    numerator, denominator = section
    below = complex(np.polyval(denominator, z))
    return complex(np.polyval(numerator, z)) / below if below != 0 else complex(math.inf)


def _cascade(sections: list[Section]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the state-space matrices of the sections in series."""
    A, B, C, D = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1))
    for numerator, denominator in sections:
        order = denominator.size - 1
        b = np.concatenate([np.zeros(order + 1 - numerator.size), numerator])
        a, c = denominator[1:], b[1:] - b[0] * denominator[1:]
        As = np.vstack([-a, np.eye(order)[: order - 1]])
        Bs, Cs, Ds = np.eye(order)[:, :1], c[None, :], b[:1, None]
        A = np.block([[A, np.zeros((A.shape[0], order))], [Bs @ C, As]])
        B, C, D = np.vstack([B, Bs @ D]), np.hstack([Ds @ C, Cs]), Ds @ D
    return A, B, C, D
