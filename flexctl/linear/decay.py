"""Whether the poles of a loop decay: they are known to rounding only.

A mode that has no damping and that the law does not see is a pole on the axis. Rounding puts it to either side, so the
sign of its real part says nothing: such a loop is neither stable nor unstable, it goes on for ever.
"""

from __future__ import annotations

import numpy as np

from ..model import ComplexArray

STABLE, MARGINAL, UNSTABLE = "stable", "MARGINAL", "UNSTABLE"
GROWTH = 1e-9
"""Growth below this part of the fastest pole may be rounding."""
OWN, FASTEST, SAMPLED = 1e-12, 1e-14, 1e-11
"""Rounding of the real part of a pole: parts of its size, of the fastest pole, and of the rate of sampling."""


def grows(poles: ComplexArray, period: float = 0.0) -> bool:
    """Whether a pole [rad/s] of a loop with a control period [s] (0: continuous) grows, rounding apart."""
    known, fastest = _known(poles)
    # two integrators that a sampled law does not see are a double z = 1: the square root of rounding apart
    least = max(GROWTH * fastest, 1e-7 / period if period else 0.0)
    return bool(known.real.max(initial=-np.inf) > least)


def decays(poles: ComplexArray, period: float = 0.0) -> bool:
    """Whether every pole [rad/s] decays by more than rounding."""
    known, fastest = _known(poles)
    rounding = OWN * np.abs(known) + FASTEST * fastest + (SAMPLED / period if period else 0.0)
    return bool((known.real < -rounding).all())


def state_of(poles: ComplexArray, period: float = 0.0) -> str:
    """Return "stable", "MARGINAL" (nothing grows, and something does not decay) or "UNSTABLE"."""
    return UNSTABLE if grows(poles, period) else STABLE if decays(poles, period) else MARGINAL


def _known(poles: ComplexArray) -> tuple[ComplexArray, float]:
    """Return the poles without those of pure delays, which are -inf, and the size of the fastest."""
    known = np.asarray(poles, complex)[np.isfinite(poles)]
    return known, float(np.abs(known).max(initial=0.0))
