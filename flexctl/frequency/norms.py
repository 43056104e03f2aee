"""H2 and H-infinity norms of linear plants, each found in two ways that share little.

    H2          from the Gramian of the states (a Lyapunov equation), and as integral of |H|^2 over frequency
    H-infinity  the largest singular value over frequency, searched at the poles; and a Hamiltonian matrix that has
                eigenvalues on the imaginary axis where a larger one is attained (Boyd, Balakrishnan, Kabamba 1989)

They are infinite where a pole that the channels see does not decay: rigid modes, undamped modes, unstable ones; the H2
norm also with feed-through of a continuous plant. Poles that no channel sees are left out. A sampled plant is taken at
z = exp(j omega dt): its H2 norm is the root mean square of its outputs under white noise of unit variance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..abilities import sample_time_of
from ..errors import AccuracyWarning, Caution, ConvergenceError, DefinitionError, caution
from ..linear import LinearPlant
from ..linear.balance import balanced
from ..linear.modes import modes
from ..machine.given import LinearGiven, as_first_order, as_linear
from ..model import ComplexArray, FloatArray
from .evaluate import Transfer, axis, on_axis
from .grids import known_poles, refine, start_grid

AGREE = 1e-6
"""Both ways agree to this part, or it is said."""
APART = 1e-2
"""Where they differ by more neither is believed."""
STILL = 1e-11
"""A pole whose decay is below this part of its size does not decay."""
LARGEST = 600
"""States up to which the Hamiltonian matrix is taken."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


class InfiniteNorm(Caution):
    """A norm is infinite, and why.

    Examples
    --------
    >>> issubclass(fx.InfiniteNorm, fx.Caution)
    True
    """


class Norm(float):
    """A norm: a number, with how well it is known.

    Attributes
    ----------
    error : float
        Relative difference of the second way; nan where there is none.
    frequency : float
        Where an H-infinity norm is attained [rad/s], inf at the end of the axis; nan for an H2 norm.
    why : str
        Why it is infinite, or known in one way only; else empty.

    Examples
    --------
    >>> plant = fx.from_matrices(A=[[-2.0]], B=[[1.0]], C=[[1.0]])
    >>> found = plant.norm(2)
    >>> print(f"{found:.6f}", found.error < 1e-9)
    0.500000 True
    """

    error: float
    frequency: float
    why: str

    def __new__(cls, value: float, error: float = math.nan, frequency: float = math.nan, why: str = "") -> Norm:
        """Return a number with what is known of it."""
        found = super().__new__(cls, value)
        found.error, found.frequency, found.why = error, frequency, why
        return found

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return what a copy is made from."""
        return float(self), self.error, self.frequency, self.why


def norm(plant: LinearGiven, kind: float | str = 2) -> Norm:
    """Return the H2 (kind 2) or H-infinity (kind inf) norm of a linear plant, all inputs to all outputs.

    Parameters
    ----------
    plant : SecondOrder, FirstOrder or what becomes one
        The plant.
    kind : 2 or inf
        Also "2" and "inf".

    Returns
    -------
    Norm
        A float with `error`, `frequency` and `why`.

    Warns
    -----
    InfiniteNorm
        Where it is infinite, and why.
    AccuracyWarning
        Where the two ways differ by more than 1e-6.

    Raises
    ------
    ConvergenceError
        Where they differ by more than a hundredth.

    Examples
    --------
    >>> plant = fx.from_matrices([[1.0]], [[0.02]], [[1.0]], [[1.0]], [[1.0]])
    >>> print(f"{plant.norm(2):.4f} {plant.norm(np.inf):.4f}")
    5.0000 50.0025
    """
    linear = as_linear(plant)
    text = str(kind).lower()
    if text not in ("2", "2.0", "inf"):
        raise DefinitionError(f"norm {kind!r} is not available; it is 2 or inf")
    if not (linear.inputs and linear.outputs):
        return Norm(0.0, 0.0)
    H = on_axis(linear)
    why = _growing(linear, H)
    if not why and text != "inf" and sample_time_of(linear) == 0 and np.any(as_first_order(linear).D):
        why = "inputs are fed through to outputs at every frequency, which the H2 norm of a continuous plant sums"
    if why:
        caution(f"the norm is infinite: {why}", InfiniteNorm)
        return Norm(math.inf, math.nan, math.nan, why)
    found = _largest(linear, H) if text == "inf" else _energy(linear, H)
    if found.error > APART:
        raise ConvergenceError(
            f"the norm is {float(found):.6g} in one way and differs by {found.error:.2g} of it in another: the plant "
            "is too ill-conditioned; scale its states, or leave modes out"
        )
    if found.error > AGREE or found.why:
        text = found.why or f"the norm is known to {found.error:.2g} of its size"
        caution(text, AccuracyWarning)
    return found


def _poles(plant: LinearPlant) -> tuple[ComplexArray, int]:
    """Return the poles with Im >= 0 as s [rad/s] and the number of rigid modes (integrators)."""
    found = modes(plant)
    return np.concatenate([found.poles, np.asarray(found.real_poles, complex)]), found.rigid_modes


def _growing(plant: LinearPlant, H: Transfer) -> str:
    """Return which pole that the channels see does not decay, empty if all do."""
    (poles, rigid), dt = _poles(plant), sample_time_of(plant)
    own = np.abs(poles)
    # a rigid mode shows below all others; a thousand times above them it may look like anything
    size = min(own[own > 0.0].tolist(), default=1.0)
    if rigid and _sees(H, 0j, size):
        return f"rigid modes or integrators: {rigid}"
    for p in sorted(poles[poles.real >= -STILL * np.abs(poles)], key=abs):
        if abs(p.imag) * dt > math.pi * (1 + 1e-9) or not _sees(H, complex(p), abs(p) or size):
            continue
        where = f"at {abs(p) / (2 * math.pi):.6g} Hz" if p.imag else f"{p.real:+.4g} 1/s"
        if p.real > STILL * abs(p):
            return f"the plant is unstable, {p.real:+.4g} 1/s {where if p.imag else ''}".rstrip()
        return f"a mode {where} is not damped"
    return ""


def _sees(H: Transfer, pole: complex, size: float) -> bool:
    """Whether a channel grows as a pole is approached."""
    turn = np.exp(0.9j)
    at = pole + size * np.array([1e-3, 1e-4, 1e-5]) * turn
    with np.errstate(all="ignore"):
        gain = np.abs(H(np.asarray(at, complex))).max(axis=(0, 1))
    if not np.isfinite(gain).all():
        return True
    return bool(gain[1] > 3.0 * gain[0] and gain[2] > 3.0 * gain[1])


def _stable_part(plant: LinearPlant) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, B, C, D of the plant, balanced, without poles that do not decay (which no channel sees)."""
    first = as_first_order(plant)
    found = balanced(first.A)
    A, B, C = found.A, first.B / found.scale[:, None], first.C * found.scale
    dt = first.dt
    size = 1.0 if dt else float(np.abs(A).max(initial=1.0))
    slack = 1e-13 * size * max(1, len(A)) ** 0.5

    def decays(real: float, imag: float) -> bool:
        return math.hypot(real, imag) < 1.0 - 1e-9 * STILL if dt else real < -slack * 1e-2

    poles = sla.eigvals(A)
    if all(decays(p.real, p.imag) for p in poles):
        return A, B, C, first.D
    T, Z, count = sla.schur(A, output="real", sort=decays)
    # the decaying part by itself: the coupling to the rest solved away
    top, rest, across = T[:count, :count], T[count:, count:], T[:count, count:]
    X = sla.solve_sylvester(top, -rest, -across) if count and len(rest) else np.zeros((count, len(rest)))
    left = Z.T @ B
    return top, left[:count] - X @ left[count:], (C @ Z)[:, :count], first.D


def _energy(plant: LinearPlant, H: Transfer) -> Norm:
    A, B, C, D = _stable_part(plant)
    if sample_time_of(plant):
        P = sla.solve_discrete_lyapunov(A, B @ B.T) if len(A) else np.zeros((0, 0))
        squared = float(np.trace(C @ P @ C.T) + np.sum(D * D))
    else:
        P = sla.solve_continuous_lyapunov(A, -B @ B.T) if len(A) else np.zeros((0, 0))
        squared = float(np.trace(C @ P @ C.T))
    other = _integral(plant, H)
    value, check = math.sqrt(max(squared, 0.0)), math.sqrt(other)
    # the integral does not suffer from light damping, the Gramian does
    best = check if value == 0.0 or abs(check / value - 1.0) > 1e-9 else value
    error = abs(value - check) / best if best > 0.0 else 0.0
    return Norm(best, error)


def _integral(plant: LinearPlant, H: Transfer) -> float:
    """Return (1/pi) int_0^inf tr H* H d omega, of a sampled plant dt/pi times that to the Nyquist frequency."""
    (poles, _), dt = _poles(plant), sample_time_of(plant)
    poles = poles[poles != 0.0]
    size = np.abs(poles) if poles.size else np.array([1.0 / dt if dt else 1.0])
    end = math.pi / dt if dt else 30.0 * float(size.max())
    start = min(1e-2 * float(size.min()), 1e-3 * end)
    knots = np.concatenate([[0.0], np.geomspace(start, end, 120), *(_across(p) for p in poles)])
    knots = np.unique(knots[(knots >= 0.0) & (knots <= end)])
    knots = knots[np.concatenate([[True], np.diff(knots) > 1e-14 * end])]
    a, b = knots[:-1, None], knots[1:, None]
    omega = 0.5 * (a + b) + 0.5 * (b - a) * _NODES
    total = float(np.sum(_power(H, omega) * 0.5 * (b - a) * _WEIGHTS))
    if dt:
        return total * dt / math.pi
    # beyond, H falls: omega = end / x, x from 1 to 0
    edges = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 12)])
    a, b = edges[:-1, None], edges[1:, None]
    x = 0.5 * (a + b) + 0.5 * (b - a) * _NODES
    total += float(np.sum(_power(H, end / x) * end / x**2 * 0.5 * (b - a) * _WEIGHTS))
    return total / math.pi


def _across(pole: complex) -> FloatArray:
    """Return frequencies close together across a peak."""
    half, centre = max(abs(pole.real), 1e-13 * abs(pole)), float(pole.imag)
    count = max(1, math.ceil(math.log2(max(2.0, abs(pole) / half))))
    offsets = half * np.concatenate([[0.4, 0.8, 1.2, 1.6, 2.2, 3.0], 4.5 * 1.8 ** np.arange(count + 1)])
    return np.concatenate([centre - offsets, [centre], centre + offsets])


def _power(H: Transfer, omega: FloatArray) -> FloatArray:
    values = H(axis(omega.ravel()))
    return np.asarray(np.sum(np.abs(values) ** 2, axis=(0, 1)).reshape(omega.shape))


def _gain(H: Transfer, omega: FloatArray) -> FloatArray:
    values = np.moveaxis(H(axis(omega)), 2, 0)
    if min(values.shape[1:]) > 1:
        return np.asarray(np.linalg.norm(values, 2, axis=(1, 2)))
    return np.asarray(np.sqrt(np.sum(np.abs(values) ** 2, axis=(1, 2))))


def _largest(plant: LinearPlant, H: Transfer) -> Norm:
    poles, dt = known_poles(plant), sample_time_of(plant)
    size = np.abs(poles) if poles is not None and poles.size else np.array([1.0 / dt if dt else 1.0])
    end = math.pi / dt if dt else 100.0 * float(size.max())
    low, first = min(1e-3 * float(size.min()), 1e-3 * end), as_first_order(plant)
    D, n = first.D, len(first.A)
    if n > LARGEST:  # there is no second way: every channel is resolved
        omega, _ = refine(H, start_grid(low, end, 300, poles), poles)
    else:
        known = np.zeros(0, complex) if poles is None else poles
        near = [p.imag + abs(p.real) * np.array([-2.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.0]) for p in known]
        peaks = np.sqrt(np.maximum(known.imag**2 - known.real**2, 0.0))
        omega = np.unique(np.concatenate([np.geomspace(low, end, 200), peaks, *near]))
        omega = omega[(omega >= low) & (omega <= end)]
    best, at = _polished(H, np.concatenate([[0.0], omega]))
    through = float(np.linalg.norm(D, 2)) if dt == 0 and D.any() else 0.0
    if through > best:
        best, at = through, math.inf
    if best == 0.0:
        return Norm(0.0, 0.0, 0.0)
    if n > LARGEST:
        return Norm(best, math.nan, at, f"{n} states are too many for the second way: searched over frequency alone")
    tolerance = 0.25 * AGREE
    for _ in range(12):
        close = _crossing(plant, best * (1.0 + 2.0 * tolerance))
        higher = close[_gain(H, close) > best * (1.0 + tolerance)] if close.size else close
        if not higher.size:
            return Norm(best, 2.0 * tolerance, at)
        around = np.unique(np.concatenate([higher, 0.5 * (higher[1:] + higher[:-1]), 0.999 * higher, 1.001 * higher]))
        best, at = max((best, at), _polished(H, around))
    return Norm(best, APART, at, "the two ways did not meet")


def _polished(H: Transfer, omega: FloatArray) -> tuple[float, float]:
    """Return the largest gain near some frequencies and where it is."""
    gain = _gain(H, omega)
    k = int(np.argmax(gain))
    best, at = float(gain[k]), float(omega[k])
    top = np.argsort(-gain)[:8]
    low, high = omega[np.maximum(top - 1, 0)], omega[np.minimum(top + 1, omega.size - 1)]
    rows, part = np.arange(top.size), np.linspace(0.0, 1.0, 9)
    for _ in range(12):
        fine = low[:, None] + (high - low)[:, None] * part
        values = _gain(H, fine.ravel()).reshape(fine.shape)
        j = values.argmax(axis=1)
        i = int(values[rows, j].argmax())
        if values[i, j[i]] > best:
            best, at = float(values[i, j[i]]), float(fine[i, j[i]])
        low, high = fine[rows, np.maximum(j - 1, 0)], fine[rows, np.minimum(j + 1, 8)]
    return best, at


def _crossing(plant: LinearPlant, gamma: float) -> FloatArray:
    """Return the frequencies [rad/s] at which a singular value of H may be gamma, those nearly on the axis included."""
    A, B, C, D = _stable_part(plant)
    dt = sample_time_of(plant)
    if dt:  # z = (1 + s)/(1 - s)
        n = len(A)
        back = np.linalg.inv(A + np.eye(n))
        A, B, C, D = back @ (A - np.eye(n)), math.sqrt(2.0) * back @ B, math.sqrt(2.0) * C @ back, D - C @ back @ B
    # gains of one size: the Hamiltonian is then about as well conditioned as A
    C, D = C / gamma, D / gamma  # a channel may be as small as rounding: its square would be lost
    b, c = float(np.linalg.norm(B)) or 1.0, float(np.linalg.norm(C)) or 1.0
    unit = math.sqrt(c / b)
    B, C = B * unit, C / unit
    R = np.eye(D.shape[1]) - D.T @ D
    Ri = np.linalg.inv(R)
    E = A + B @ Ri @ D.T @ C
    S = np.eye(D.shape[0]) + D @ Ri @ D.T
    found = np.linalg.eigvals(np.block([[E, B @ Ri @ B.T], [-C.T @ S @ C, -E.T]]))
    close = np.abs(found.real) <= 1e-6 * np.abs(found) + 1e-12 * np.abs(found).max(initial=0.0)
    omega = np.unique(np.abs(found.imag[close]))
    return np.asarray(2.0 * np.arctan(omega) / dt if dt else omega)
