"""Rotations in space: against the matrix exponential, and their derivatives against complex steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla

from flexctl.models.timoshenko_spatial.rotation import (
    apply,
    back,
    cross,
    exp,
    exp_and_spin,
    log,
    skew,
    spin,
    spin_bias,
    spin_inverse,
)

Array = npt.NDArray[Any]
STEP = 1e-30
SIZES = (1e-9, 1e-3, 0.3, 0.99, 1.01, 1.9, 3.0)  # both sides of every switch between series and closed form


def pair(size: float) -> tuple[Array, Array]:
    a, rate = np.random.default_rng(int(1e3 * size)).standard_normal((2, 3))
    return size * a / np.linalg.norm(a), rate


def vector(S: Array) -> Array:
    return np.array([S[2, 1], S[0, 2], S[1, 0]])


@pytest.mark.parametrize("size", SIZES)
def test_exponential_spin_and_logarithm(size: float) -> None:
    a, rate = pair(size)
    R = exp(a)
    np.testing.assert_allclose(R, sla.expm(skew(a)), rtol=0, atol=3e-15)
    np.testing.assert_allclose(log(R), a, rtol=0, atol=3e-15)
    omega = vector(np.imag(exp(a + 1j * STEP * rate)) / STEP @ R.T)
    np.testing.assert_allclose(spin(a) @ rate, omega, rtol=0, atol=2e-15)
    np.testing.assert_allclose(spin_inverse(a) @ omega, rate, rtol=0, atol=1e-14)
    np.testing.assert_allclose(spin_bias(a, rate), np.imag(spin(a + 1j * STEP * rate) @ rate) / STEP, atol=2e-15)


@pytest.mark.parametrize("size", SIZES)
def test_complex_steps_pass_through(size: float) -> None:
    """log(exp(a)) has the identity as derivative; the other functions against central differences."""
    a, rate = pair(size)
    through = np.imag(log(exp(a + 1j * STEP * rate))) / STEP
    np.testing.assert_allclose(through, rate, rtol=0, atol=3e-14)
    for function in (exp, spin, spin_inverse):
        exact, h = np.imag(function(a + 1j * STEP * rate)) / STEP, 1e-5
        np.testing.assert_allclose((function(a + h * rate) - function(a - h * rate)) / (2 * h), exact, atol=1e-8)


def test_arrays_are_rotated_one_by_one() -> None:
    a, x = np.random.default_rng(1).standard_normal((2, 4, 5, 3))
    R, T = exp_and_spin(a)
    turned, returned = apply(R, x), back(R, x)
    for i, j in np.ndindex(4, 5):
        np.testing.assert_allclose(turned[i, j], sla.expm(skew(a[i, j])) @ x[i, j], atol=1e-14)
        np.testing.assert_allclose(returned[i, j], exp(-a[i, j]) @ x[i, j], atol=1e-14)
        np.testing.assert_allclose(T[i, j], spin(a[i, j]), atol=0)
    np.testing.assert_allclose(cross(a, x), np.cross(a, x), atol=1e-15)
