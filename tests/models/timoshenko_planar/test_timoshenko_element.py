"""The closed-form Timoshenko element: Table I of the thesis, quadrature, the identity of the turning frame."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla

from flexctl.errors import DefinitionError
from flexctl.models.timoshenko_planar import element

Array = npt.NDArray[Any]
SHEAR = 0.8864 / 2.6  # kt G / E with nu = 0.3
RATIOS = (0.02, 0.04, 0.06, 0.08, 0.10)

# First frequency of a beam pinned at both ends, omega L^2 sqrt(rho A / E I). The thesis counts 1 element where there
# are 2, and prints 9.844 and 9.839 for 9.824 (20 elements) and 9.794 (exact) at r/L = 0.02; its other values agree.
TABLE_1 = {
    ("exact", 2): (51.51816, 27.05507, 19.24536, 15.44599, 13.16410),
    ("exact", 5): (19.83071, 12.93634, 10.95678, 9.91875, 9.17329),
    ("exact", 10): (12.91346, 10.47948, 9.69213, 9.13074, 8.62298),
    ("exact", 20): (10.64985, 9.80982, 9.36724, 8.93283, 8.48608),
    ("reduced", 2): (13.68601, 13.21793, 12.55238, 11.79330, 11.01714),
    ("reduced", 5): (10.29143, 10.05157, 9.69370, 9.26201, 8.79551),
    ("reduced", 10): (9.91483, 9.69450, 9.36415, 8.96327, 8.52739),
    ("reduced", 20): (9.82405, 9.60827, 9.28436, 8.89074, 8.46211),
}
CLOSED = (9.79408, 9.57979, 9.25799, 8.86675, 8.44051)


@pytest.mark.parametrize(("rule", "elements"), TABLE_1)
def test_table_1_by_both_integration_rules(rule: str, elements: int) -> None:
    found = [element.pinned_beam(elements, r, SHEAR, rule) for r in RATIOS]
    np.testing.assert_allclose(found, TABLE_1[rule, elements], rtol=0, atol=1e-5)


def test_table_1_closed_form() -> None:
    np.testing.assert_allclose([element.exact_pinned_beam(r, SHEAR) for r in RATIOS], CLOSED, rtol=0, atol=1e-5)
    for r in RATIOS:  # the frequency equation itself
        X = element.exact_pinned_beam(r, SHEAR) ** 2
        terms = r**4 / SHEAR * X**2, -(1 + (1 + 1 / SHEAR) * (np.pi * r) ** 2) * X, np.pi**4
        assert abs(sum(terms)) < 1e-12 * np.pi**4


@pytest.mark.parametrize("rule", element.RULES)
def test_both_rules_converge_at_second_order_and_only_the_reduced_one_does_not_lock(rule: str) -> None:
    exact = element.exact_pinned_beam(0.02, SHEAR)
    errors = [element.pinned_beam(n, 0.02, SHEAR, rule) / exact - 1 for n in (40, 80, 160)]
    assert all(abs(a / b - 4.0) < 0.4 for a, b in pairwise(errors))
    slender = element.pinned_beam(10, 1e-3, SHEAR, rule) / np.pi**2 - 1
    assert slender < 0.02 if rule == "reduced" else slender > 10


def quadrature(
    s1: float, s2: float, rhoA: float, rhoI: float, w: float, alpha: float, a: Array, f: Array
) -> list[Array]:
    """J, C, K_b and F from the accelerations of the thesis's (2.14), integrated with 4 Gauss points."""
    l = s2 - s1
    points, weights = np.polynomial.legendre.leggauss(4)
    J, C, K, F = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
    for x, g in zip(points, weights * l / 2, strict=True):
        z = 0.5 * (1 + x)
        s = s1 + z * l
        N = np.kron([1 - z, z], np.eye(3))  # u_z, u_x, theta
        turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        flat = np.diag([1.0, 1.0, 0.0])
        J += g * N.T @ np.diag([rhoA, rhoA, rhoI]) @ N
        C += g * 2 * w * rhoA * N.T @ turn @ N
        K += g * rhoA * N.T @ (-(w**2) * flat + alpha * turn) @ N
        rigid = np.array([a[0] - w**2 * s, a[1] + alpha * s, 0.0])
        F += g * N.T @ (np.array([*f, 0.0]) - rhoA * rigid - np.array([0.0, 0.0, rhoI * alpha]))
    return [J, C, K, F]


def test_closed_forms_are_the_integrals() -> None:
    s1, s2, rhoA, rhoI, w, alpha = 0.3, 0.75, 0.945, 2.7e-5, 1.7, -2.3
    a, f = np.array([0.4, -1.1]), np.array([0.2, 3.0])
    found = [
        element.mass(s2 - s1, rhoA, rhoI), element.gyroscopic(s2 - s1, rhoA, w),
        element.base_motion(s2 - s1, rhoA, w, alpha), element.load(s1, s2, rhoA, rhoI, w, alpha, tuple(a), tuple(f)),
    ]
    for one, other in zip(found, quadrature(s1, s2, rhoA, rhoI, w, alpha, a, f), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-15 * np.abs(other).max() * 8)


def test_elastic_stiffness_has_three_rigid_motions_and_three_strains() -> None:
    l, EA, GA, EI = 0.4, 3.0, 1.1, 0.2
    for rule in element.RULES:
        K = element.elastic(l, EA, GA, EI, rule)
        rigid = np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, l, 1]])
        np.testing.assert_allclose(K @ rigid.T, 0.0, atol=1e-15)
        assert np.linalg.matrix_rank(K) == 3
    stretch, bend, shear = [0, 0, 0, l, 0, 0], [0, 0, -l / 2, 0, 0, l / 2], [0, 0, 0, 0, l, 0]
    for q, energy in ((stretch, EA * l / 2), (bend, EI * l / 2), (shear, GA * l / 2)):
        assert q @ element.elastic(l, EA, GA, EI) @ np.array(q) / 2 == pytest.approx(energy, rel=1e-14)
    # exact integration adds the shear that linear rotations leave in pure bending: locking
    locked = np.array(bend) @ element.elastic(l, EA, GA, EI, "exact") @ bend / 2
    assert locked == pytest.approx(EI * l / 2 + GA * l**3 / 24, rel=1e-14)


def test_terms_of_the_turning_frame_vanish_in_global_coordinates() -> None:
    """2 J Phi' + C Phi = 0 and J Phi'' + C Phi' + K_b Phi = 0 for Phi turning at the same rate: the thesis's (2.24)."""
    w, alpha, angle = 1.3, -0.8, 0.6
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])  # global (Z, X, theta) to the link's frame
    dR = np.array([[-s, c, 0.0], [-c, -s, 0.0], [0.0, 0.0, 0.0]])
    ddR = np.array([[-c, -s, 0.0], [s, -c, 0.0], [0.0, 0.0, 0.0]])
    Phi, Phi1, Phi2 = (np.kron(np.eye(2), m) for m in (R, w * dR, alpha * dR + w**2 * ddR))
    J, C, K = element.mass(0.5, 0.9, 0.1), element.gyroscopic(0.5, 0.9, w), element.base_motion(0.5, 0.9, w, alpha)
    np.testing.assert_allclose(2 * J @ Phi1 + C @ Phi, 0.0, atol=1e-15)
    np.testing.assert_allclose(J @ Phi2 + C @ Phi1 + K @ Phi, 0.0, atol=1e-15)


@pytest.mark.parametrize(("spin", "expected"), [(1.0, 3.8231), (3.0, 4.0106), (6.0, 4.5116)])
def test_geometric_stiffness_makes_a_spinning_beam_stiffer(spin: float, expected: float) -> None:
    """Lowest frequency [rad/s] of the beam of Simo and Vu-Quoc, clamped and spinning; without K_g it falls instead."""
    n, L, EA, GA, EI, rhoA, rhoI = 40, 10.0, 2.8e7, 1e7, 1.4e4, 1.2, 6e-4
    M, C, K, Kg = (np.zeros((3 * n + 3, 3 * n + 3)) for _ in range(4))
    for e in range(n):
        s1, s2, at = e * L / n, (e + 1) * L / n, slice(3 * e, 3 * e + 6)
        pull = rhoA * spin**2 / 2 * (L**2 - (s1**2 + s1 * s2 + s2**2) / 3)
        M[at, at] += element.mass(L / n, rhoA, rhoI)
        C[at, at] += element.gyroscopic(L / n, rhoA, spin)
        K[at, at] += element.elastic(L / n, EA, GA, EI) + element.base_motion(L / n, rhoA, spin, 0.0)
        Kg[at, at] += element.geometric(L / n, pull)
    f = slice(3, None)

    def lowest(stiffness: Array) -> complex:
        zero, one = np.zeros((3 * n, 3 * n)), np.eye(3 * n)
        A = np.block([[zero, one], [-stiffness[f, f], -C[f, f]]])
        poles = sla.eigvals(A, sla.block_diag(one, M[f, f]))
        return complex(min(poles, key=abs))

    assert abs(lowest(K + Kg).imag) == pytest.approx(expected, abs=6e-5)
    soft = lowest(K)
    assert abs(soft.imag) < 3.7979 or abs(soft.real) > 4.0  # unstable at 6 rad/s


def test_unknown_rule_and_no_elements_are_refused() -> None:
    with pytest.raises(DefinitionError, match='did you mean "reduced"'):
        element.elastic(1.0, 1.0, 1.0, 1.0, "reduce")
    with pytest.raises(DefinitionError, match="elements = 0"):
        element.pinned_beam(0, 0.02, SHEAR)
