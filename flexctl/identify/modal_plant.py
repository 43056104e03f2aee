"""The plant of a modal fit: a block of states for each residue, of continuous time.

A fit of held samples is one of w (`flexctl.identify.warped`). Its blocks become those of z by the bilinear transform,
and then those of the arm between the samples, since a hold is inverted block by block:

    x+ = exp(A T) x + A^-1 (exp(A T) - 1) B u
"""

from __future__ import annotations

import numpy as np

from ..linear import FirstOrder
from ..model import ComplexArray, FloatArray, Signal
from .response import MeasuredResponse
from .sampled import holds
from .vector_fitting import Fit, Terms
from .warped import from_w, warped_by

RANK = 1e-2
"""Singular values of a residue below this part of the largest are noise."""


def realised(fit: Fit, terms: Terms, data: MeasuredResponse, shape: tuple[int, int]) -> FirstOrder:
    """Return the fit as a plant; residues of several inputs get as many states as their rank asks for."""
    ny, p = shape
    blocks: list[tuple[FloatArray, FloatArray, FloatArray, str]] = []  # A, B, C and the name of their states
    at = 0
    for mode, pole in enumerate(fit.poles, 1):
        if pole.imag > 0.0:
            R = (fit.coefficients[:, at] + 1j * fit.coefficients[:, at + 1]).reshape(ny, p)
            at += 2
        else:
            R = fit.coefficients[:, at].reshape(ny, p).astype(complex)
            at += 1
        blocks += [(*block, f"mode{mode}") for block in _residue_blocks(pole, R)]
    coefficients = fit.coefficients[:, at:].reshape(ny, p, -1)
    if terms.rigid == 2:
        blocks += [(*block, "rigid") for block in _rigid_blocks(coefficients[:, :, 0], coefficients[:, :, 1])]
    elif terms.rigid:
        blocks += [(*block, "rigid") for block in _residue_blocks(0j, coefficients[:, :, 0].astype(complex))]
    D = coefficients[:, :, terms.rigid] if terms.direct else np.zeros((ny, p))
    if warped_by(data):
        blocks, D = _unwarped(blocks, D, data.dt)
        D = D if terms.direct else np.zeros((ny, p))  # what there is of w cancels what its blocks have
    if fit.proper.size:
        D = np.where(fit.proper.reshape(ny, p), 0.0, D)
    n = sum(len(a) for a, *_ in blocks)
    A, B, C = np.zeros((n, n)), np.zeros((n, p)), np.zeros((ny, n))
    states: list[Signal] = []
    k = 0
    for a, b, c, name in blocks:
        m = len(a)
        A[k : k + m, k : k + m], B[k : k + m], C[:, k : k + m] = a, b, c
        used = sum(s.name.startswith(f"{name}_") for s in states)
        states += [Signal(f"{name}_{used + i + 1}") for i in range(m)]
        k += m
    note = {**data.provenance, "plant": "identified", "method": "vector fitting", "chi2": fit.chi2}
    return FirstOrder(A, B, C, D, tuple(states), data.inputs, data.outputs, 0.0, note)


def _unwarped(
    blocks: list[tuple[FloatArray, FloatArray, FloatArray, str]], D: FloatArray, dt: float
) -> tuple[list[tuple[FloatArray, FloatArray, FloatArray, str]], FloatArray]:
    """Return blocks and feed-through of continuous time from those of w, exactly as a hold makes them."""
    found: list[tuple[FloatArray, FloatArray, FloatArray, str]] = []
    a = 2.0 / dt
    for A, B, C, name in blocks:
        one = np.eye(len(A))
        resolvent = np.asarray(np.linalg.inv(a * one - A), float)
        D = D + C @ resolvent @ B
        inside = _between(A, dt)
        _, begin, end = holds(inside, one, dt)
        drive = np.linalg.solve(begin + end, 2.0 * a * resolvent @ resolvent @ B)
        found.append((inside, np.asarray(drive, float), C, name))
    return found, D


def _between(A: FloatArray, dt: float) -> FloatArray:
    """Return the block of continuous time of one of w: a pair, a real pole, or integrators, which stay as they are."""
    if len(A) == 1:
        return np.array([[from_w(complex(A[0, 0]), dt).real]])
    if A[0, 0] == 0.0 and A[1, 0] == 0.0:
        return A
    pole = from_w(complex(A[0, 0], A[1, 0]), dt)
    return np.array([[pole.real, -pole.imag], [pole.imag, pole.real]])


def _residue_blocks(pole: complex, R: ComplexArray) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return (A, B, C) of R / (s - p) and its conjugate, or of a real pole, for each rank of R."""
    U, size, V = np.linalg.svd(R, full_matrices=False)
    found = []
    for i in range(size.size):
        if size[i] <= RANK * size[0] and i > 0:
            break
        c, b = U[:, i] * np.sqrt(size[i]), V[i] * np.sqrt(size[i])
        if pole.imag > 0.0:
            A = np.array([[pole.real, -pole.imag], [pole.imag, pole.real]])
            found.append((A, np.array([b.real, b.imag]), 2.0 * np.column_stack([c.real, -c.imag])))
        else:
            found.append((np.array([[pole.real]]), b.real[None, :], c.real[:, None]))
    return found


def _rigid_blocks(R2: FloatArray, R1: FloatArray) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return R2 / s^2 + R1 / s: a double integrator for each input."""
    found = []
    for k in range(R2.shape[1]):
        b = np.zeros((2, R2.shape[1]))
        b[1, k] = 1.0
        found.append((np.array([[0.0, 1.0], [0.0, 0.0]]), b, np.column_stack([R2[:, k], R1[:, k]])))
    return found
