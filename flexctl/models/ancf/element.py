"""The planar shear-deformable ANCF element of Omar and Shabana (2001): 12 coordinates, no angles, cubic in x.

    r(x, y) = sum s_i(x, y) X_i,    X = (r, r_x, r_y) of the left and of the right end      (6 vectors of 2)
    U = 1/2 int E^T D E dV,         E = ((r_x.r_x - 1)/2, (r_y.r_y - 1)/2, r_x.r_y)

x runs along the axis from 0 to the length L, y across the section from -h/2 to h/2; all is in the base frame and in
metres. The mass matrix is constant. Every strain is linear in the Gram matrix B = X X^T (6 x 6), so that with any
complete set of numbers eps linear in B

    eps_c = 1/2 sum N_c,ij (B - B of the straight element)_ij,    U = 1/2 eps^T C eps
    F = (sum sigma_c N_c) X,   sigma = C eps,    dF/dX = g^T C g + sum sigma_c N_c (x) I,   g = d eps/dX

with constant N and C (`Forms`). Three such sets give the same force:

* `quadrature`: the strains at 5 x 3 Gauss points, which are exact for this element, and on the axis where a law asks;
* `invariants`: the 21 entries of B themselves, with one constant 21 x 21 matrix of rank 14;
* `legendre`: 15 numbers in which C is all but diagonal, the coefficients of the strains in Legendre polynomials along
  x. The compiled loop uses these.

Laws, D over (E_xx, E_yy, 2 E_xy), nu Poisson's ratio, G the shear modulus:

| law | D | pure bending is too stiff by |
|---|---|---|
| omar | plane strain, Lame's constants as in the paper; no shear factor | 1/((1+nu)(1-2nu)/(1-nu)) |
| pstress | E/(1-nu^2) [[1, nu], [nu, 1]], G | 1/(1-nu^2) |
| diag | E, E, G: no Poisson effect | nothing |
| split | E, E, kt G throughout, and the Poisson effect of plane stress on the axis only | nothing |

The stiffening (the linear r_y cannot follow the Poisson effect of bending across the section) does not go away with
refinement; what does, as 1/(4 n^2) of the tip deflection of n elements, is that the turn of the section is linear in x.
In large bending r_y, which is linear too, gets shorter between ends that are turned by phi: that costs about
phi^2 A L^2 / (600 I) of the deflection, 14 % for 8 elements of a strip 250 times as long as high under F = EI / L^2.
Runs and equilibria tell it (`assumptions`).
The paper calls the formulation exact and does not say which D it uses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...model import FloatArray

Array = npt.NDArray[Any]
LAWS = ("split", "omar", "pstress", "diag")
FORMS = ("invariants", "quadrature", "legendre")
PAIRS = [(i, j) for i in range(6) for j in range(i, 6)]
"""Entries of the Gram matrix in the order of `invariants`."""


class Forms(NamedTuple):
    """Strain numbers of N elements: eps = 1/2 N : B - zero, energy 1/2 eps^T C eps [J]."""

    N: FloatArray  # (elements, m, 6, 6), symmetric
    C: FloatArray  # (elements, m, m)
    zero: FloatArray  # (elements, m), 1/2 N : B of the straight element


class Stuff(NamedTuple):
    """Data of the elements: one entry per element, SI units."""

    length: FloatArray
    E: FloatArray
    nu: FloatArray
    shear_factor: FloatArray
    area: FloatArray
    second_moment: FloatArray

    @property
    def fourth_moment(self) -> FloatArray:
        """Integral of y^4 over the rectangle with this area and second moment [m^6]."""
        return np.asarray(1.8 * self.second_moment**2 / self.area)


def shape(xi: float, L: float, y: float = 0.0) -> FloatArray:
    """Return s_1 .. s_6 at x = xi L and y."""
    x2, x3 = xi * xi, xi**3
    return np.array([
        1 - 3 * x2 + 2 * x3, L * (xi - 2 * x2 + x3), y * (1 - xi), 3 * x2 - 2 * x3, L * (x3 - x2), y * xi
    ])


def shape_x(xi: float, L: float, y: float = 0.0) -> FloatArray:
    """Return the derivatives of s_1 .. s_6 along x."""
    bend = 6 * (xi - xi * xi) / L
    return np.array([-bend, 1 - 4 * xi + 3 * xi * xi, -y / L, bend, 3 * xi * xi - 2 * xi, y / L])


def shape_y(xi: float) -> FloatArray:
    """Return the derivatives of s_1 .. s_6 along y."""
    return np.array([0.0, 0.0, 1 - xi, 0.0, 0.0, xi])


def straight(L: float) -> FloatArray:
    """Return X of the undeformed element along x."""
    return np.array([[0.0, 0], [1, 0], [0, 1], [L, 0], [1, 0], [0, 1]])


def mass6(length: FloatArray, mass: FloatArray, gyration2: FloatArray) -> FloatArray:
    """Return the constant mass matrices (elements, 6, 6), each entry times the unit 2 x 2; gyration2 = I / A [m^2]."""
    m6 = np.zeros((length.size, 6, 6))
    one = np.ones_like(length)
    entries: dict[tuple[int, int], FloatArray] = {
        (0, 0): 13 / 35 * one, (0, 3): 9 / 70 * one, (0, 1): 11 / 210 * length, (3, 4): -11 / 210 * length,
        (0, 4): -13 / 420 * length, (1, 3): 13 / 420 * length, (1, 1): length**2 / 105, (1, 4): -(length**2) / 140,
        (2, 2): gyration2 / 3, (2, 5): gyration2 / 6,
        (3, 3): 13 / 35 * one, (4, 4): length**2 / 105, (5, 5): gyration2 / 3,
    }
    for (i, j), value in entries.items():
        m6[:, i, j] = m6[:, j, i] = mass * value
    return m6


def moduli(law: str, E: float, nu: float, kt: float) -> tuple[FloatArray, FloatArray]:
    """Return D throughout the volume, and what is added to it on the axis."""
    G = E / (2 * (1 + nu))
    plane = E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, 0]])
    none = np.zeros((3, 3))
    if law == "omar":
        lam = E * nu / ((1 + nu) * (1 - 2 * nu))
        return np.array([[lam + 2 * G, lam, 0], [lam, lam + 2 * G, 0], [0, 0, G]]), none
    if law == "pstress":
        return plane + np.diag([0, 0, G]), none
    if law == "diag":
        return np.diag([E, E, G]), none
    return np.diag([E, E, kt * G]), plane - np.diag([E, E, 0])


def _strain_forms(xi: float, L: float, y: float) -> FloatArray:
    """Return N of (E_xx, E_yy, 2 E_xy) at a point."""
    a, d = shape_x(xi, L, y), shape_y(xi)
    return np.array([np.outer(a, a), np.outer(d, d), np.outer(a, d) + np.outer(d, a)])


def quadrature(stuff: Stuff, law: str) -> Forms:
    """Return the strains at 5 x 3 Gauss points and at 5 points of the axis."""
    x, wx = np.polynomial.legendre.leggauss(5)
    y, wy = np.polynomial.legendre.leggauss(3)
    forms, stiffness = [], []
    for L, E, nu, kt, A, I in zip(*stuff, strict=True):
        volume, axis = moduli(law, E, nu, kt)
        height = np.sqrt(12 * I / A)
        along, across = list(zip(x, wx, strict=True)), list(zip(y, wy, strict=True))
        points: list[Any] = [(s, w, t, v, volume) for s, w in along for t, v in across]
        points += [(s, w, 0.0, 2.0, axis) for s, w in along]
        forms.append(np.concatenate([_strain_forms((1 + s) / 2, L, t * height / 2) for s, _, t, _, _ in points]))
        C = np.zeros((3 * len(points),) * 2)
        for k, (_, w, _, v, D) in enumerate(points):
            C[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = D * (w * v * L * A / 4)
        stiffness.append(C)
    return _forms(np.array(forms), np.array(stiffness), stuff.length)


def invariants(stuff: Stuff, law: str) -> Forms:
    """Return the Gram entries themselves, with their constant 21 x 21 matrix."""
    points = quadrature(stuff, law)
    weights = np.array([0.5 if i == j else 1.0 for i, j in PAIRS])
    # 1/2 N : B = sum over pairs, those off the diagonal twice
    rows = np.stack([points.N[:, :, i, j] * w for (i, j), w in zip(PAIRS, weights, strict=True)], axis=-1)
    C = np.einsum("eck,ecd,edl->ekl", rows, points.C, rows)
    N = np.zeros((21, 6, 6))
    for k, (i, j) in enumerate(PAIRS):
        N[k, i, j] += 1.0
        N[k, j, i] += 1.0
    return _forms(np.repeat(N[None], stuff.length.size, axis=0), C, stuff.length)


def legendre_stiffness(stuff: Stuff, law: str) -> FloatArray:
    """Return (elements, 9): stiffness of the Legendre coefficients, per unit of their weight 1 / (2 k + 1).

    E_xx = sum E0_k P_k + y sum e1_k P_k + y^2 e2, E_yy = sum G_k P_k, 2 E_xy = sum t0_k P_k + y sum t1_k P_k. In this
    order: E0 E0, E0 G, G G, e1 e1, E0_0 e2, e2 e2, G_0 e2, t0 t0, t1 t1.
    """
    rows = []
    for L, E, nu, kt, A, I, I4 in zip(*stuff, stuff.fourth_moment, strict=True):
        volume, axis = moduli(law, E, nu, kt)
        D, both = volume, volume + axis
        rows.append(L * np.array([
            A * both[0, 0], A * both[0, 1], A * both[1, 1], I * D[0, 0], I * D[0, 0], I4 * D[0, 0], I * D[0, 1],
            A * both[2, 2], I * D[2, 2],
        ]))
    return np.array(rows)


def legendre(stuff: Stuff, law: str) -> Forms:
    """Return E0_0 .. E0_4, e1_0 .. e1_2, G_0 .. G_2, t0_0 .. t0_3 (see `legendre_stiffness`)."""
    N, C = [], []
    for L, row in zip(stuff.length, legendre_stiffness(stuff, law), strict=True):
        N.append(np.array([_project(product, k, L) for product, k in _COEFFICIENTS]))
        aa, ag, gg, bb, a2, s22, g2, tt, ss = row
        M = np.zeros((15, 15))
        for k, (product, order) in enumerate(_COEFFICIENTS):
            M[k, k] = {"E0": aa, "e1": bb, "G": gg, "t0": tt}[product] / (2 * order + 1)
        for k in range(3):
            M[k, 8 + k] = M[8 + k, k] = ag / (2 * k + 1)
        # e2 = 6 G_2 / L^2, t1 = 2 / L (G_1, 3 G_2)
        M[0, 10] += 6 * a2 / L**2
        M[8, 10] += 6 * g2 / L**2
        M[10, 0], M[10, 8] = M[0, 10], M[8, 10]
        M[9, 9] += 4 * ss / L**2
        M[10, 10] += 36 * s22 / L**4 + 12 * ss / L**2
        C.append(M)
    return _forms(np.array(N), np.array(C), stuff.length)


_COEFFICIENTS = [(name, k) for name, count in (("E0", 5), ("e1", 3), ("G", 3), ("t0", 4)) for k in range(count)]


def _project(product: str, order: int, L: float) -> FloatArray:
    """Return N of one Legendre coefficient, by exact quadrature."""
    x, w = np.polynomial.legendre.leggauss(6)
    total = np.zeros((6, 6))
    for s, weight in zip(x, w, strict=True):
        a, b, d = shape_x((1 + s) / 2, L), shape_x(0.0, L, 1.0) - shape_x(0.0, L), shape_y((1 + s) / 2)
        one, other = {"E0": (a, a), "e1": (a, b), "G": (d, d), "t0": (a, d)}[product]
        both = np.outer(one, other) if one is other else np.outer(one, other) + np.outer(other, one)
        total += weight * (2 * order + 1) / 2 * np.polynomial.legendre.Legendre.basis(order)(s) * both
    return total


def _forms(N: FloatArray, C: FloatArray, length: FloatArray) -> Forms:
    X = np.array([straight(L) for L in length])
    return Forms(N, C, 0.5 * np.einsum("ecij,eik,ejk->ec", N, X, X))


def make_forms(stuff: Stuff, law: str, kind: str) -> Forms:
    """Return the strain numbers of a kind (`FORMS`) for a law (`LAWS`)."""
    return {"quadrature": quadrature, "invariants": invariants, "legendre": legendre}[kind](stuff, law)


def strains(forms: Forms, X: Array) -> tuple[Array, Array]:
    """Return eps (elements, m) and g = d eps/dX (elements, m, 6, 2) for X (elements, 6, 2).

    Positions are taken from the left end: of the Gram entries only what a shift does not change matters, and the rest
    would be rounding (of E A |r|^2 / L^2, where E A |r_x|^2 will do).
    """
    X = X - X[:, :1] * np.array([1.0, 0, 0, 1, 0, 0])[:, None]
    g = np.einsum("ecij,ejk->ecik", forms.N, X)
    return 0.5 * np.einsum("ecik,eik->ec", g, X) - forms.zero, g


def force(forms: Forms, X: Array, V: Array, eta: float = 0.0) -> Array:
    """Return the elastic force (elements, 6, 2) [N, N m]; with eta [s] that of the stress D (E + eta dE/dt)."""
    eps, g = strains(forms, X)
    if eta:
        eps = eps + eta * np.einsum("ecik,eik->ec", g, V)
    sigma = np.einsum("ecd,ed->ec", forms.C, eps)
    return np.asarray(np.einsum("ec,ecik->eik", sigma, g))


def stiffness(forms: Forms, X: FloatArray, V: FloatArray, eta: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return dF/dX and dF/dV (elements, 12, 12)."""
    eps, g = strains(forms, X)
    flat = g.reshape(*g.shape[:2], 12)
    rate = np.einsum("ecij,ejk->ecik", forms.N, V).reshape(flat.shape)
    sigma = np.einsum("ecd,ed->ec", forms.C, eps + eta * np.einsum("ecj,ej->ec", flat, V.reshape(-1, 12)))
    stress = np.einsum("ec,ecij->eij", sigma, forms.N)
    along = np.einsum("ecd,edj->ecj", forms.C, flat + eta * rate)
    K = np.einsum("eci,ecj->eij", flat, along) + np.einsum("eij,kl->eikjl", stress, np.eye(2)).reshape(-1, 12, 12)
    D = eta * np.einsum("eci,ecd,edj->eij", flat, forms.C, flat)
    return K, D


def energy(forms: Forms, X: FloatArray) -> float:
    """Return the elastic energy [J]."""
    eps, _ = strains(forms, X)
    return 0.5 * float(np.einsum("ec,ecd,ed->", eps, forms.C, eps))
