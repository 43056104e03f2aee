"""Signatures of the compiled functions that a model without a stepper of its own brings (`Compiled`)."""

from __future__ import annotations

from numba import float64, types

from .tables import INT, MAT, VEC

RESIDUAL = types.void(float64, VEC, VEC, VEC, VEC, VEC, INT, VEC)
"""residual(t, q, v, a, u, reals, ints, out): out = M a + h - B u."""
TANGENT = types.void(float64, VEC, VEC, VEC, VEC, float64, float64, float64, VEC, INT, MAT)
"""tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out): out = ca M + cv D + cq K at out[2 w + i - j, j], w wide."""
OUTPUT = types.void(VEC, VEC, VEC, VEC, VEC, INT, VEC)
"""output(q, v, a, u, reals, ints, y)."""
CLOSURE = types.void(VEC, VEC, VEC, INT, VEC, VEC, MAT, MAT, MAT)
"""closure(q, v, reals, ints, g, bias, G, V, W): g, (dG/dt) v; G, V = d(G v)/dq; W of M a + h + W lam = B u, n x m."""
