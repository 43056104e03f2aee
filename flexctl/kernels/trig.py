"""Angles in compiled code: sine and cosine without branches, and lines between points."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .tables import FAST, WITHIN


@kernel(**WITHIN)
def cosine_sine(x):
    """Cosine and sine by fdlibm's polynomials after reduction to pi/4: without branches, so that loops vectorise.

    The library's take five times as long. pi/2 is taken off in two parts, the first of 33 bits: exact to 1e6 rad.
    """
    k = np.floor(x * 0.6366197723675814 + 0.5)
    r = (x - k * 1.5707963267341256) - k * 6.077100506506192e-11
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    sine = r + r * z * (-1.66666666666666324348e-01 + z * p)
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11)
    p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
    cosine = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * p)
    m = k - 4.0 * np.floor(0.25 * k)
    odd = (m == 1.0) | (m == 3.0)
    c, s = sine if odd else cosine, cosine if odd else sine
    return -c if (m == 1.0) | (m == 2.0) else c, -s if m >= 2.0 else s


@kernel(**FAST)
def line_angle(psi, c, s, dx, dy):
    """Angle of a line (dx, dy), counted on from psi with cosine c and sine s: it does not jump where atan2 does."""
    return psi + np.arctan2(c * dy - s * dx, c * dx + s * dy)


@kernel(**FAST)
def line_rate(dx, dy, vx, vy):
    """Rate at which a line (dx, dy) turns whose ends move apart with (vx, vy)."""
    return (dx * vy - dy * vx) / (dx * dx + dy * dy)
