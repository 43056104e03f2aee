"""The explicit scheme of the finite-difference beam as matrices, as its paper has it.

    Y+ = A Y - Y- + B u,      A = 2 I - dt^2 M^-1 K,      B = dt^2 M^-1 B_model

second order in dt, stable for dt <= 2/omega_max; without damping v'M v/2 + Y+'K Y/2, v = (Y+ - Y)/dt, is constant. The
start is of second order too: Y1 = Y0 + dt V0 + (A/2 - I) Y0 + B u0/2. Mass-proportional damping is taken centrally,
g = alpha dt/2: (1 + g) Y+ = A Y - (1 - g) Y- + B u, and leaves the limit as it is. Other damping couples all nodes at
the new time, and has no place here. `simulate(model, method="march")` runs the scheme.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...errors import DefinitionError, NotAvailable, require
from ...model import FloatArray, Signal

if TYPE_CHECKING:
    from ...linear import FirstOrder
    from . import FiniteDifference


def scheme(model: FiniteDifference, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return A and B of Y+ = A Y - Y- + B u."""
    if _mass_damping(model) > 0:
        raise NotAvailable("Y+ = A Y - Y- + B tau has no place for damping; use scheme_plant(dt) or damping kind none")
    increments = _increments(model, _positive_step(dt))
    return 2.0 * np.eye(model.M.shape[0]) - increments[0], increments[1]


def scheme_plant(model: FiniteDifference, dt: float) -> FirstOrder:
    """Return the scheme as a discrete plant with sample time dt.

    States are Y_k and (Y_k - Y_{k-1})/dt, called `<coordinate>_rate`; rate and acceleration outputs are the central
    differences. Its response from zero is the scheme from rest if the first sample of the input is halved (with
    damping: times (1 + alpha dt/2)/2).
    """
    from ...linear import FirstOrder  # a higher layer, needed here only

    _check_stable(model, dt)
    g = 0.5 * _mass_damping(model) * dt
    s1, s2 = 1.0 / (1.0 + g), (1.0 - g) / (1.0 + g)
    dK, dB = (s1 / dt * m for m in _increments(model, dt))
    one, zero = np.eye(model.M.shape[0]), np.zeros_like(model.M)
    rate, rate_input = np.hstack([-dK, s2 * one]), dB  # (Y_{k+1} - Y_k)/dt
    here, before = np.hstack([one, zero]), np.hstack([zero, one])
    c = model.sensors
    return FirstOrder(
        np.vstack([here + dt * rate, rate]),
        np.vstack([dt * rate_input, rate_input]),
        c.position @ here + 0.5 * c.rate @ (rate + before) + c.acceleration @ (rate - before) / dt,
        c.input + 0.5 * c.rate @ rate_input + c.acceleration @ rate_input / dt,
        (*model.coordinates, *(Signal(f"{q.name}_rate", f"{q.unit}/s") for q in model.coordinates)),
        model.inputs, model.outputs, float(dt),
        {"model": model.kind, "form": model.form, "sections": model.sections, "scheme": "explicit march"},
    )


def _increments(model: FiniteDifference, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return dt^2 M^-1 K and dt^2 M^-1 B."""
    n = model.M.shape[0]
    both = np.asarray(np.linalg.solve(model.M, np.hstack([model.K, model.B])), np.float64)
    return dt**2 * both[:, :n], dt**2 * both[:, n:]


def _mass_damping(model: FiniteDifference) -> float:
    """Return alpha of D = alpha M, or raise `NotAvailable`."""
    damping = model.arm.damping
    if damping.kind == "none" or not np.any(model.D):
        return 0.0
    if damping.kind == "rayleigh" and damping.beta == 0:
        return damping.alpha
    raise NotAvailable(
        f"the paper's scheme has no place for damping but D = alpha M, this arm has {damping}; use simulate, whose "
        'method="march" takes it'
    )


def _positive_step(dt: float) -> float:
    require(math.isfinite(dt) and dt > 0, f"dt = {dt} s must be positive and finite")
    return dt


def _check_stable(model: FiniteDifference, dt: float) -> None:
    limit = model.stability_limit()
    if _positive_step(dt) > limit:
        digit = 10.0 ** (math.floor(math.log10(limit)) - 2)
        raise DefinitionError(
            f"dt = {dt * 1e6:.6g} us is above the stability limit {limit * 1e6:.2f} us of this mesh "
            f"({model.sections} sections); use dt <= {math.floor(limit / digit) * digit * 1e6:.3g} us or fewer sections"
        )
