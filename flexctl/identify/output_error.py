"""Output error with variable projection: the poles move, everything that enters linearly is eliminated.

    pair of poles   z^2 + a1 z + a2,   a2 = r^2 with 0 < r < bound or a2 < 0,   a1 = c (1 + a2) with |c| < 1

The box in (a2, c) is the stability triangle, with two real poles in it as well as complex ones. One output: its
numerators for every input, feed-through and free motion are linear. One input: those of every output. Several of both:
the input directions of each pair join the poles. Every output has a constant of its own: where an arm begins at rest,
the mean of its record is no steady state, and poles would have to make up for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.signal import lfilter

from ..model import ComplexArray, FloatArray

EDGE = 1e-6


class OutputErrorFit(NamedTuple):
    """A sampled model, its initial state, constants, squares; which modes rest on the bound, and their deviations."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    initial: FloatArray
    offset: FloatArray
    cost: float
    on_bound: npt.NDArray[np.bool_]
    sigma_frequency: FloatArray
    sigma_damping: FloatArray


def simulated(A: FloatArray, B: FloatArray, u: FloatArray, initial: FloatArray | None = None) -> FloatArray:
    """Return the states of x[k+1] = A x[k] + B u[k], a row for each sample."""
    n = len(A)
    x = np.zeros(n) if initial is None else initial.astype(float)
    out = np.empty((len(u), n))
    drive = u @ B.T
    for k in range(len(u)):
        out[k] = x
        x = A @ x + drive[k]
    return out


class _Parts(NamedTuple):
    """The data of the search: sections of the denominator (2 for a pair, 1 for a real pole) and the data."""

    sections: tuple[int, ...]
    u: FloatArray
    y: FloatArray
    directions: bool
    direct: bool


def output_error(A: FloatArray, u: FloatArray, y: FloatArray, bound: float, direct: bool) -> OutputErrorFit:
    """Return the model of least output error near given poles, all of them inside the circle of radius `bound`."""
    several = u.shape[1] > 1 and y.shape[1] > 1
    sections, x = _start(np.asarray(np.linalg.eigvals(A), complex), bound)
    parts = _Parts(sections, u, y, several, direct)
    low, high = _limits(sections, bound)
    if several:
        extra = sum(sections) * (u.shape[1] - 1)
        guess = np.random.default_rng(0).standard_normal(extra) * 0.3
        x, low, high = (
            np.concatenate(pair)
            for pair in ((x, guess), (low, np.full(extra, -np.inf)), (high, np.full(extra, np.inf)))
        )
    x = np.clip(x, low + EDGE, high - EDGE)
    found = least_squares(
        lambda z: _residual(z, parts),
        x,
        lambda z, *_: _slopes(z, parts),
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-10,
        ftol=1e-10,
        gtol=1e-12,
        max_nfev=80,
    )
    return _realised(found.x, parts, bound, found.jac)


def _start(poles: ComplexArray, bound: float) -> tuple[tuple[int, ...], FloatArray]:
    """Return sections and their parameters: complex poles first, real ones two by two."""
    z = np.where(np.abs(poles) > bound - 1e-5, (bound - 1e-5) * poles / np.maximum(np.abs(poles), 1e-300), poles)
    pairs = [(-2.0 * p.real, abs(p) ** 2) for p in z[z.imag > 1e-12]]
    real = sorted(float(p.real) for p in z[np.abs(z.imag) <= 1e-12])
    while len(real) > 1:
        one, other = real.pop(), real.pop(0)
        pairs.append((-(one + other), one * other))
    x: list[float] = []
    for a1, a2 in pairs:
        x += [a2, a1 / (1.0 + a2)]
    return (2,) * len(pairs) + (1,) * len(real), np.array([*x, *real])


def _limits(sections: tuple[int, ...], bound: float) -> tuple[FloatArray, FloatArray]:
    low: list[float] = []
    high: list[float] = []
    for size in sections:
        low += [-(bound**2), -0.999999] if size == 2 else [-bound]
        high += [bound**2, 0.999999] if size == 2 else [bound]
    return np.array(low), np.array(high)


def _denominators(x: FloatArray, sections: tuple[int, ...]) -> list[FloatArray]:
    found, at = [], 0
    for size in sections:
        if size == 2:
            a2, c = x[at], x[at + 1]
            found.append(np.array([1.0, c * (1.0 + a2), a2]))
        else:
            found.append(np.array([1.0, -x[at]]))
        at += size
    return found


def _states(x: FloatArray, parts: _Parts) -> FloatArray:
    """Return the linear columns: forced states, free motion, a constant, feed-through."""
    columns: list[FloatArray] = []
    impulse = np.zeros(len(parts.u))
    impulse[0] = 1.0
    free: list[FloatArray] = []
    n = sum(parts.sections)
    directions = x[n:].reshape(n, -1) if parts.directions else None
    at = 0
    for den, size in zip(_denominators(x, parts.sections), parts.sections, strict=True):
        if directions is None:
            columns += [lfilter(b, den, parts.u[:, j]) for j in range(parts.u.shape[1]) for b in _numerators(size)]
        else:
            columns += _directed(den, size, parts.u, directions[at : at + size])
        one = lfilter([1.0], den, impulse)
        free += [one, np.concatenate([[0.0], one[:-1]])][:size]
        at += size
    feed = [parts.u[:, j] for j in range(parts.u.shape[1])] if parts.direct else []
    return np.column_stack([*columns, *free, np.ones(len(parts.u)), *feed])


def _numerators(size: int) -> list[list[float]]:
    return [[0.0, 1.0], [0.0, 0.0, 1.0]][:size]


def _directed(den: FloatArray, size: int, u: FloatArray, directions: FloatArray) -> list[FloatArray]:
    """Return the states of a section in controllable form, the first input driving its first state alone."""
    if size == 1:
        return [lfilter([0.0, 1.0], den, u[:, 0] + u[:, 1:] @ directions[0])]
    first = np.zeros(len(u))
    second = np.zeros(len(u))
    for j in range(u.shape[1]):
        b1, b2 = (1.0, 0.0) if j == 0 else (directions[0, j - 1], directions[1, j - 1])
        first = first + lfilter([0.0, b1, -den[2] * b2], den, u[:, j])
        second = second + lfilter([0.0, b2, b1 + den[1] * b2], den, u[:, j])
    return [first, second]


def _solved(x: FloatArray, parts: _Parts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return an orthonormal basis of the columns, the coefficients and the residual."""
    rows = _states(x, parts)
    scale = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    U, size, V = np.linalg.svd(rows / scale, full_matrices=False)
    kept = size > 1e-11 * size[0]
    Q = U[:, kept]
    c = (V[kept].T / size[kept]) @ (Q.T @ parts.y) / scale[:, None]
    return Q, c, parts.y - rows @ c


def _residual(x: FloatArray, parts: _Parts) -> FloatArray:
    return np.asarray(_solved(x, parts)[2].ravel())


def _slopes(x: FloatArray, parts: _Parts) -> FloatArray:
    """Return the derivative of the projected residual (Kaufman)."""
    Q, c, _ = _solved(x, parts)
    columns = []
    for k in range(x.size):
        step = 1e-7
        ahead, behind = x.copy(), x.copy()
        ahead[k] += step
        behind[k] -= step
        moved = (_states(ahead, parts) - _states(behind, parts)) @ c / (2.0 * step)
        columns.append(-(moved - Q @ (Q.T @ moved)).ravel())
    return np.column_stack(columns)


def _realised(x: FloatArray, parts: _Parts, bound: float, J: Any) -> OutputErrorFit:
    p, ny, n = parts.u.shape[1], parts.y.shape[1], sum(parts.sections)
    _, c, rest = _solved(x, parts)
    A, dens = np.zeros((n, n)), _denominators(x, parts.sections)
    at = 0
    for den, size in zip(dens, parts.sections, strict=True):
        A[at : at + size, at : at + size] = [[-den[1], -den[2]], [1.0, 0.0]] if size == 2 else [[-den[1]]]
        at += size
    D = c[-p:].T if parts.direct else np.zeros((ny, p))
    if parts.directions or p == 1:
        B, C = _primal(x, parts, c)
        forced = n
    else:  # one output: observable form, the numerators are the rows of B
        A, C = A.T.copy(), np.zeros((1, n))
        B = np.zeros((n, p))
        at = 0
        for size in parts.sections:
            block = c[p * at : p * (at + size), 0].reshape(p, size)
            B[at : at + size] = block.T
            C[0, at] = 1.0
            at += size
        # in observable form x1[k+1] = -a1 x1 + x2 + b1 u, x2[k+1] = -a2 x1 + b2 u
        forced = n * p
    initial = _initial(A, C, _states(x, parts)[:, forced : forced + n] @ c[forced : forced + n])
    cost = float(np.sum(rest**2))
    sf, sd, edge = _deviations(x, parts, J, cost, bound)
    return OutputErrorFit(A, B, C, D, initial, c[forced + n], cost, edge, sf, sd)


def _primal(x: FloatArray, parts: _Parts, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, p = sum(parts.sections), parts.u.shape[1]
    B = np.zeros((n, p))
    directions = x[n:].reshape(n, -1) if parts.directions else np.zeros((n, 0))
    at = 0
    for size in parts.sections:
        B[at, 0] = 1.0
        B[at : at + size, 1:] = directions[at : at + size]
        at += size
    return B, c[:n].T


def _initial(A: FloatArray, C: FloatArray, free: FloatArray) -> FloatArray:
    """Return the state whose free motion is nearest to a given one."""
    n, count = len(A), min(len(free), 50 * len(A))
    rows = np.empty((count, len(C), n))
    power = np.eye(n)
    for k in range(count):
        rows[k] = C @ power
        power = power @ A
    return np.asarray(np.linalg.lstsq(rows.reshape(-1, n), free[:count].ravel(), rcond=None)[0])


def _deviations(
    x: FloatArray, parts: _Parts, J: Any, cost: float, bound: float
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return relative deviations of frequency and damping of each pole with Im >= 0, and which are on the edge."""
    n = sum(parts.sections)
    freedom = max(parts.y.size - J.shape[1] - n * parts.y.shape[1], 1)
    covariance = np.linalg.pinv(J.T @ J) * cost / freedom
    told: list[tuple[float, float, float, bool]] = []
    at = 0
    for size in parts.sections:
        block = covariance[at : at + size, at : at + size]
        own = x[at : at + size]
        here = _polar(own, size)
        G = np.array([_slope(own, row, here) for row in np.eye(size)]).T
        known = np.isfinite(G).all()
        spread = np.sqrt(np.maximum(np.diag(G @ block @ G.T), 0.0)) if known else np.full(here.size, np.inf)
        edge = bool(np.abs(np.roots(_denominators(x[at : at + size], (size,))[0])).max() > bound - 1e-5)
        for i in range(0, here.size, 2):
            told.append(
                (here[i], spread[i] / max(abs(here[i]), 1e-300), spread[i + 1] / max(abs(here[i + 1]), 1e-300), edge)
            )
        at += size
    told.sort()
    return np.array([t[1] for t in told]), np.array([t[2] for t in told]), np.array([t[3] for t in told], bool)


def _slope(x: FloatArray, direction: FloatArray, here: FloatArray) -> FloatArray:
    """Return how `_polar` changes along a direction; not finite at a double pole, where it has no slope.

    Beside one a pair of real poles becomes complex within the step: then the side tells where it is a pair as before.
    """
    for step in (1e-7, 1e-9, 1e-11):
        ahead, behind = (_polar(x + way * step * direction, x.size) for way in (1.0, -1.0))
        same = ahead.size == here.size, behind.size == here.size
        if any(same):
            first, last, width = (behind if same[1] else here), (ahead if same[0] else here), step * sum(same)
            slope: FloatArray = (last - first) / width
            return slope
    return np.full(here.size, np.inf)


def _polar(x: FloatArray, size: int) -> FloatArray:
    """Return |s| and damping of the poles of a section with Im >= 0, in samples."""
    z = np.roots(_denominators(x, (size,))[0]).astype(complex)
    s = np.log(np.where(z == 0.0, 1e-300, z))
    s = s[s.imag >= -1e-12]
    s = s[np.argsort(np.abs(s))]
    return np.array([v for p in s for v in (abs(p), -p.real / max(abs(p), 1e-300))])
