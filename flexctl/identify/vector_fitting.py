"""Relaxed vector fitting with poles common to all channels (Gustavsen and Semlyen 1999; Gustavsen 2006; Deschrijver
2008).

    H_k(s) ~ N_k(s) / sigma(s),   N_k = Phi c_k + extra terms,   sigma = Phi c + d,   Phi partial fractions of the poles

Rows [Phi F, -(H Phi, H)] / sigma_k(line) of each channel are reduced by QR to what concerns c and d; these are stacked,
and Re sum(sigma) = number of lines keeps them from vanishing. The zeros of sigma are the next poles, flipped into the
left half plane. Extra terms: 1/s and 1/s^2 (free rigid motion), d, e s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import ConvergenceError
from ..model import ComplexArray, FloatArray

ROUNDS = 15


class Terms(NamedTuple):
    """Terms that are fitted beside the poles: of 1/s as many powers as `rigid` says, 1, s.

    Where there is a `zero`, all columns have their values there taken off, so that the model vanishes there.
    """

    rigid: int
    direct: bool
    slope: bool
    zero: float = 0.0

    def columns(self, s: ComplexArray) -> ComplexArray:
        """Return a column for each: 1/s^2 and 1/s, 1, s."""
        found = []
        found += [1.0 / s**power for power in range(self.rigid, 0, -1)]
        if self.direct:
            found.append(np.ones_like(s))
        if self.slope:
            found.append(s)
        return np.array(found, complex).reshape(len(found), s.size).T


def numerator_of(s: ComplexArray, poles: ComplexArray, terms: Terms) -> ComplexArray:
    """Return the columns of which a model is the sum."""
    rows = np.concatenate([basis(s, poles), terms.columns(s)], axis=1)
    if not terms.zero:
        return rows
    there = np.array([terms.zero], complex)
    return np.asarray(rows - np.concatenate([basis(there, poles), terms.columns(there)], axis=1))


class Fit(NamedTuple):
    """Poles with Im >= 0, coefficients of basis and extra terms for each channel, and which have no feed-through."""

    poles: ComplexArray
    coefficients: FloatArray
    chi2: float
    residual: ComplexArray
    proper: npt.NDArray[np.bool_] = np.zeros(0, bool)


def start_poles(low: float, high: float, pairs: int) -> ComplexArray:
    """Return pairs spread logarithmically, with 1 % damping."""
    w = np.geomspace(low, high, pairs) if pairs > 1 else np.array([np.sqrt(low * high)])
    return np.asarray(-0.01 * w + 1j * w)


def basis(s: ComplexArray, poles: ComplexArray) -> ComplexArray:
    """Return partial fractions with real coefficients: two columns for a pair, one for a real pole."""
    found = []
    for p in poles:
        if p.imag > 0.0:
            one, other = 1.0 / (s - p), 1.0 / (s - p.conjugate())
            found += [one + other, 1j * (one - other)]
        else:
            found.append(1.0 / (s - p.real))
    return np.array(found, complex).reshape(-1, s.size).T


def as_real(rows: Any) -> FloatArray:
    """Return real parts above imaginary parts."""
    return np.asarray(np.concatenate([rows.real, rows.imag]), float)


def relocated(s: ComplexArray, H: ComplexArray, weight: FloatArray, poles: ComplexArray, terms: Terms) -> ComplexArray:
    """Return the next poles."""
    phi, numerator = basis(s, poles), numerator_of(s, poles, terms)
    lines = s.size
    stacked = []
    for k in range(H.shape[0]):
        rows = np.concatenate([numerator, -H[k, :, None] * phi, -H[k, :, None]], axis=1) * weight[k, :, None]
        triangle = np.asarray(np.linalg.qr(as_real(rows), mode="r"))
        m = numerator.shape[1]
        stacked.append(triangle[m:, m:])
    size = float(np.linalg.norm(weight * np.abs(H))) / lines
    stacked.append(size * np.concatenate([phi.sum(axis=0).real, [float(lines)]])[None, :])
    A = np.concatenate(stacked)
    right = np.zeros(A.shape[0])
    right[-1] = size * lines
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    c = _least_squares(A / scale, right) / scale
    d = c[-1] if abs(c[-1]) > 1e-8 else 1e-8
    return _zeros(poles, c[:-1] / d)


def _zeros(poles: ComplexArray, c: FloatArray) -> ComplexArray:
    """Return the zeros of 1 + sum of the partial fractions, Im >= 0, in the left half plane."""
    n = c.size
    A, b = np.zeros((n, n)), np.zeros(n)
    at = 0
    for p in poles:
        if p.imag > 0.0:
            A[at : at + 2, at : at + 2] = [[p.real, p.imag], [-p.imag, p.real]]
            b[at] = 2.0
            at += 2
        else:
            A[at, at], b[at] = p.real, 1.0
            at += 1
    found = sla.eigvals(A - np.outer(b, c)).astype(complex)
    found = np.where(found.real > 0.0, -found.conj(), found)
    real = found[np.abs(found.imag) <= 1e-9 * np.abs(found)]
    pairs = found[found.imag > 1e-9 * np.abs(found)]
    return np.concatenate([pairs[np.argsort(np.abs(pairs))], np.sort(real.real)])


def residues(s: ComplexArray, H: ComplexArray, weight: FloatArray, poles: ComplexArray, terms: Terms) -> Fit:
    """Return the coefficients of all channels for given poles, with the mean of |residual * weight|^2."""
    rows = numerator_of(s, poles, terms)
    coefficients = np.empty((H.shape[0], rows.shape[1]))
    residual = np.empty_like(H)
    for k in range(H.shape[0]):
        A = as_real(rows * weight[k, :, None])
        scale = np.linalg.norm(A, axis=0)
        scale[scale == 0.0] = 1.0
        c = _least_squares(A / scale, as_real((H[k] * weight[k])[:, None])[:, 0]) / scale
        coefficients[k] = c
        residual[k] = (H[k] - rows @ c) * weight[k]
    return Fit(poles, coefficients, float(np.mean(np.abs(residual) ** 2)), residual)


def _least_squares(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the least squares solution by QR; the columns of A have norm one."""
    n = A.shape[1]
    R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
    diagonal = np.abs(np.diag(R)[:n])
    if R.shape[0] >= n and n and diagonal.min() > 1e-13 * diagonal.max():
        return np.asarray(sla.solve_triangular(R[:n, :n], R[:n, n]))
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


def fitted(
    s: ComplexArray, H: ComplexArray, weight: FloatArray, poles: ComplexArray, terms: Terms, rounds: int = ROUNDS
) -> Fit:
    """Return the best fit of some rounds from given poles; H and weight have a row for each channel."""
    best = residues(s, H, weight, poles, terms)
    for _ in range(rounds):
        try:
            poles = relocated(s, H, weight, poles, terms)
            found = residues(s, H, weight, poles, terms)
        except np.linalg.LinAlgError as error:
            raise ConvergenceError(f"vector fitting failed: {error}") from error
        done = abs(found.chi2 - best.chi2) <= 1e-4 * best.chi2
        if found.chi2 < best.chi2:
            best = found
        if done:
            break
    return best


def refined(
    s: ComplexArray, H: ComplexArray, weight: FloatArray, fit: Fit, terms: Terms, rounds: int = 10
) -> tuple[Fit, FloatArray]:
    """Return the weighted least squares fit near another one, and the covariance of its poles.

    The coefficients are eliminated (variable projection); the poles move by Levenberg-Marquardt in (log distance from
    the axis, log frequency), or log distance for a real one. The covariance is of these logarithms, for |residual|^2 of
    mean 1.
    """
    x = _logs(fit.poles)
    kinds = fit.poles.imag > 0.0
    best, damping = fit, 1e-3
    J = _jacobian(s, H, weight, x, kinds, terms, best)
    for _ in range(rounds):
        r = _flat(best.residual)
        normal, slope = J.T @ J, J.T @ r
        moved = False
        for _ in range(6):
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-300), -slope)
            step = np.clip(step, -0.5, 0.5)
            trial = residues(s, H, weight, _poles(x + step, kinds), terms)
            if trial.chi2 < best.chi2:
                moved = best.chi2 - trial.chi2 > 1e-9 * best.chi2
                x, best, damping = x + step, trial, max(damping / 10.0, 1e-9)
                break
            damping *= 10.0
        if not moved:
            break
        J = _jacobian(s, H, weight, x, kinds, terms, best)
    # |residual|^2 of mean 1 is a variance of 1/2 for the real and for the imaginary part
    covariance = 0.5 * np.linalg.pinv(J.T @ J)
    return best, np.asarray(covariance, float)


def _flat(residual: ComplexArray) -> FloatArray:
    return np.concatenate([residual.real.ravel(), residual.imag.ravel()])


def _logs(poles: ComplexArray) -> FloatArray:
    found: list[float] = []
    for p in poles:
        found += [np.log(max(-p.real, 1e-12 * abs(p)))]
        if p.imag > 0.0:
            found += [np.log(p.imag)]
    return np.array(found)


def _poles(x: FloatArray, kinds: Any) -> ComplexArray:
    found, at = [], 0
    for pair in kinds:
        found.append(complex(-np.exp(x[at]), np.exp(x[at + 1])) if pair else complex(-np.exp(x[at]), 0.0))
        at += 2 if pair else 1
    return np.array(found, complex)


def _jacobian(
    s: ComplexArray, H: ComplexArray, weight: FloatArray, x: FloatArray, kinds: Any, terms: Terms, at: Fit
) -> FloatArray:
    """Return the derivative of the projected residual (Kaufman 1975): what the columns cannot take up."""
    poles = _poles(x, kinds)
    rows = numerator_of(s, poles, terms)
    slopes = _slopes(s, poles)
    if terms.zero:
        there = _slopes(np.array([terms.zero], complex), poles)
        slopes = [(i, d - other) for (i, d), (_, other) in zip(slopes, there, strict=True)]
    blocks = []
    for k in range(H.shape[0]):
        A = as_real(rows * weight[k, :, None])
        Q = np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))[0]
        columns = np.stack(
            [as_real(((d @ at.coefficients[k, i]) * weight[k])[:, None])[:, 0] for i, d in slopes], axis=1
        )
        blocks.append(-(columns - Q @ (Q.T @ columns)))
    half = s.size
    return np.concatenate([b[:half] for b in blocks] + [b[half:] for b in blocks])


def _slopes(s: ComplexArray, poles: ComplexArray) -> list[tuple[list[int], ComplexArray]]:
    """Return, for each parameter of `_logs`, which basis columns it moves and their derivatives."""
    found = []
    at = 0
    for p in poles:
        if p.imag > 0.0:
            one, other = 1.0 / (s - p) ** 2, 1.0 / (s - p.conjugate()) ** 2
            by_p = np.stack([one + other, 1j * (one - other)], axis=1)  # by the real part
            by_w = np.stack([1j * (one - other), -(one + other)], axis=1)  # by the imaginary part
            found += [([at, at + 1], p.real * by_p), ([at, at + 1], p.imag * by_w)]
            at += 2
        else:
            found.append(([at], (p.real / (s - p.real) ** 2)[:, None]))
            at += 1
    return found
