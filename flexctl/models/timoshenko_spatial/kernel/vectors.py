"""Vectors of three and symmetric 3 x 3 tensors, as tuples: kept in registers, never allocated."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST


@kernel(**FAST)
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel(**FAST)
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel(**FAST)
def times(s, a):
    return s * a[0], s * a[1], s * a[2]


@kernel(**FAST)
def more(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel(**FAST)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(**FAST)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(**FAST)
def three(x, i):
    """Entries i, i + 1, i + 2."""
    return x[i], x[i + 1], x[i + 2]


@kernel(**FAST)
def put(x, i, a):
    x[i], x[i + 1], x[i + 2] = a


@kernel(**FAST)
def gain(x, i, a):
    x[i] += a[0]
    x[i + 1] += a[1]
    x[i + 2] += a[2]


@kernel(**FAST)
def rotated(R, i, a):
    """R a, R stored by rows from entry i."""
    return (
        R[i] * a[0] + R[i + 1] * a[1] + R[i + 2] * a[2],
        R[i + 3] * a[0] + R[i + 4] * a[1] + R[i + 5] * a[2],
        R[i + 6] * a[0] + R[i + 7] * a[1] + R[i + 8] * a[2],
    )


@kernel(**FAST)
def tensor_times(second, d1, d3, t, n, a):
    """Apply the tensor second + d1 t t^T + d3 n n^T."""
    p, q = d1 * dot(t, a), d3 * dot(n, a)
    return second * a[0] + p * t[0] + q * n[0], second * a[1] + p * t[1] + q * n[1], second * a[2] + p * t[2] + q * n[2]


@kernel(**FAST)
def put_symmetric(out, i, c, s1, a, s2, b):
    """c + s1 a a^T + s2 b b^T."""
    a0, a1, a2, b0, b1, b2 = s1 * a[0], s1 * a[1], s1 * a[2], s2 * b[0], s2 * b[1], s2 * b[2]
    out[i] = c + a0 * a[0] + b0 * b[0]
    out[i + 1] = a0 * a[1] + b0 * b[1]
    out[i + 2] = a0 * a[2] + b0 * b[2]
    out[i + 3] = c + a1 * a[1] + b1 * b[1]
    out[i + 4] = a1 * a[2] + b1 * b[2]
    out[i + 5] = c + a2 * a[2] + b2 * b[2]


@kernel(**FAST)
def symmetric_product(s, a, b):
    """s (a b^T + b a^T) / 2."""
    h = 0.5 * s
    return (
        s * a[0] * b[0], h * (a[0] * b[1] + a[1] * b[0]), h * (a[0] * b[2] + a[2] * b[0]),
        s * a[1] * b[1], h * (a[1] * b[2] + a[2] * b[1]), s * a[2] * b[2],
    )


@kernel(**FAST)
def tensor(second, d1, d3, t, n):
    """Entries of second + d1 t t^T + d3 n n^T."""
    p, q = times(d1, t), times(d3, n)
    return (
        second + p[0] * t[0] + q[0] * n[0], p[0] * t[1] + q[0] * n[1], p[0] * t[2] + q[0] * n[2],
        second + p[1] * t[1] + q[1] * n[1], p[1] * t[2] + q[1] * n[2], second + p[2] * t[2] + q[2] * n[2],
    )
