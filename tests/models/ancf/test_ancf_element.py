"""The ANCF element by itself: mass, strains, three forms of the elastic force, tangent, rigid motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexctl.models.ancf import element
from flexctl.models.ancf.element import FORMS, LAWS, Stuff
from flexctl.models.ancf.kernel import solve, state

Array = np.ndarray[Any, Any]
NU = 0.25
STUFF = Stuff(*(np.array([x, 1.3 * x]) for x in (0.4, 3e10, NU / 1.3, 0.85, 0.0025, 0.05**4 / 12)))
all_laws = pytest.mark.parametrize("law", LAWS)


def bent(seed: int = 0, size: float = 0.1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = np.array([element.straight(L) for L in STUFF.length])
    return X + size * rng.standard_normal(X.shape), rng.standard_normal(X.shape)


def turned(X: Array, angle: float, shift: tuple[float, float]) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    out: Array = X @ np.array([[c, s], [-s, c]])
    out[:, [0, 3]] += shift
    return out


def test_mass_is_the_integral_of_the_shape_functions() -> None:
    L, h, m = 0.4, 0.05, 6.0
    x, w = np.polynomial.legendre.leggauss(6)
    total = np.zeros((6, 6))
    for s, a in zip(x, w, strict=True):
        for t, b in zip(x, w, strict=True):
            row = element.shape((1 + s) / 2, L, t * h / 2)
            total += m * a * b / 4 * np.outer(row, row)
    M = element.mass6(np.array([L]), np.array([m]), np.array([h**2 / 12]))[0]
    np.testing.assert_allclose(M, total, rtol=0, atol=1e-15 * m)


def test_shape_functions_and_their_derivatives() -> None:
    L, y, d = 0.7, 0.02, 1e-6
    for xi in (0.0, 0.3, 1.0):
        slope = (element.shape(xi + d / L, L, y) - element.shape(xi - d / L, L, y)) / (2 * d)
        np.testing.assert_allclose(element.shape_x(xi, L, y), slope, atol=1e-8)
        across = (element.shape(xi, L, y + d) - element.shape(xi, L, y - d)) / (2 * d)
        np.testing.assert_allclose(element.shape_y(xi), across, atol=1e-9)
        place = element.shape(xi, L, y) @ element.straight(L)
        np.testing.assert_allclose(place, [xi * L, y], atol=1e-15)


@all_laws
@pytest.mark.parametrize("eta", [0.0, 1e-3])
def test_quadrature_invariants_and_legendre_coefficients_give_the_same(law: str, eta: float) -> None:
    X, V = bent()
    found = []
    for kind in FORMS:
        forms = element.make_forms(STUFF, law, kind)
        F = element.force(forms, X, V, eta)
        found.append([F, *element.stiffness(forms, X, V, eta), np.array(element.energy(forms, X))])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(one).max(initial=1e-300))


@all_laws
def test_one_constant_matrix_of_21_invariants_has_rank_14(law: str) -> None:
    C = element.make_forms(STUFF, law, "invariants").C[0]
    assert C.shape == (21, 21)
    scale = np.sqrt(np.diag(C))
    values = np.linalg.eigvalsh(C / np.outer(scale, scale))
    assert np.sum(values > 1e-9 * values[-1]) == 14


@all_laws
def test_force_is_the_gradient_of_the_energy_and_the_tangent_that_of_the_force(law: str) -> None:
    """Complex steps: no difference is taken, so that rounding is all that is left."""
    forms = element.make_forms(STUFF, law, "invariants")
    X, V = bent(1)
    K, D = element.stiffness(forms, X, V, 1e-3)
    d = 1e-30
    for j in range(12):
        for moved, wanted, target in ((1, 0, K), (0, 1, D)):
            Xc, Vc = X.astype(complex), V.astype(complex)
            Xc.reshape(2, 12)[:, j] += 1j * d * moved
            Vc.reshape(2, 12)[:, j] += 1j * d * wanted
            column = element.force(forms, Xc, Vc, 1e-3).imag.reshape(2, 12) / d
            np.testing.assert_allclose(target[:, :, j], column, rtol=0, atol=1e-12 * np.abs(target).max())
    F = element.force(forms, X, V)
    step = 1e-6
    for e, i, k in np.ndindex(2, 6, 2):
        moved_up, moved_down = X.copy(), X.copy()
        moved_up[e, i, k] += step
        moved_down[e, i, k] -= step
        slope = (element.energy(forms, moved_up) - element.energy(forms, moved_down)) / (2 * step)
        assert slope == pytest.approx(F[e, i, k], abs=2e-8 * np.abs(F).max())


@all_laws
@pytest.mark.parametrize("kind", FORMS)
def test_rigid_motion_strains_nothing(law: str, kind: str) -> None:
    forms = element.make_forms(STUFF, law, kind)
    X = turned(np.array([element.straight(L) for L in STUFF.length]), 2.2, (3.0, -7.0))
    EA = float(STUFF.E[0] * STUFF.area[0])
    assert element.energy(forms, X) < 1e-26 * EA
    assert np.abs(element.force(forms, X, 0 * X)).max() < 1e-13 * EA
    w = 3.0
    V = w * np.stack([-X[..., 1], X[..., 0]], axis=-1)
    assert np.abs(element.force(forms, X, V, 1e-3)).max() < 1e-13 * EA  # damping: no force under rigid rotation
    V[:, 4] += 0.1
    assert np.abs(element.force(forms, X, V, 1e-3)).max() > 1e-6 * EA


@all_laws
def test_exactly_three_rigid_modes(law: str) -> None:
    forms = element.make_forms(STUFF, law, "legendre")
    X = turned(np.array([element.straight(L) for L in STUFF.length]), 0.7, (1.0, 1.0))
    K, _ = element.stiffness(forms, X, 0 * X)
    values = np.linalg.eigvalsh(K[0])
    assert np.abs(values[:3]).max() < 1e-12 * values[-1]
    assert values[3] > 1e-7 * values[-1]


@all_laws
def test_force_turns_with_the_element(law: str) -> None:
    forms = element.make_forms(STUFF, law, "invariants")
    X, V = bent(2)
    one = turned(element.force(forms, X, V), 1.1, (0.0, 0.0))
    other = element.force(forms, turned(X, 1.1, (5.0, 2.0)), V)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * np.abs(one).max())


@pytest.mark.parametrize("n", [3, 16, 41, 42, 43, 44])
def test_factors_of_the_band_solve_it(n: int) -> None:
    """Four pivots at a time, and what is left of the last four, with zeros in the band."""
    rng = np.random.default_rng(n)
    full = np.zeros((n, n))
    for k in range(1, min(16, n)):
        full += np.diag(rng.standard_normal(n - k) * (rng.random(n - k) < 0.7), k)
    full += full.T + np.diag(40.0 + rng.random(n))
    scratch = state.work(n, 8, 2, 4)
    scratch.band[n : n + 3, 0] = 1.0
    for i in range(n):
        width = min(16, n - i)
        scratch.band[i, :width] = full[i, i : i + width]
    b = rng.standard_normal(n)
    assert not solve.factorise.py_func(scratch.band, scratch.columns, scratch.pivots, n)
    for _ in range(2):  # what is around the entries stays zero
        scratch.right[16 : 16 + n] = b
        solve.substitute.py_func(scratch.band, scratch.columns, n, scratch.right)
        np.testing.assert_allclose(full @ scratch.right[16 : 16 + n], b, rtol=0, atol=1e-12)
        scratch.right[16 : 16 + n] = 0.0
        assert not scratch.right.any()


def test_a_band_without_a_pivot_is_singular() -> None:
    scratch = state.work(6, 8, 2, 4)
    scratch.band[:9, 0] = 1.0
    for lost in (0.0, np.nan):
        scratch.band[4, 0] = lost
        with np.errstate(all="ignore"):
            assert solve.factorise.py_func(scratch.band, scratch.columns, scratch.pivots, 6)
