"""Outputs to which nothing is fed through, as far as the data tell.

A fit with a term 1 finds some feed-through for every output, 1e-9 of its gains where there is none: of an angle, a
strain. A plant with it has no H2 norm, and a controller acts through it at once. So a channel keeps its term only where
it says more than a parameter is worth by Bayes' criterion.
"""

from __future__ import annotations

import numpy as np

from ..model import ComplexArray, FloatArray
from .vector_fitting import Fit, Terms, numerator_of, residues

ROUNDING = 1e-9
"""Relative error of lines below which nothing is told from rounding."""


def without_feed(
    s: ComplexArray, H: ComplexArray, weight: FloatArray, fit: Fit, terms: Terms, zero: float = 0.0
) -> Fit:
    """Return the fit with its poles, and no term 1 in channels that do as well without.

    Parameters
    ----------
    s, H, weight : ndarray
        Lines, gains with a row for each channel, and one over their deviations.
    fit, terms
        The fit, and what it has beside its poles.
    zero : float
        Where a model without feed-through vanishes: 2 / T of samples in the plane of `warped`, 0 for infinity.
    """
    if not terms.direct or terms.slope:
        return fit
    fewer = terms._replace(direct=False, zero=zero)
    other = residues(s, H, weight, fit.poles, fewer)
    count = 2.0 * s.size
    least = np.mean(np.abs(ROUNDING * H * weight) ** 2, axis=1)
    own, without = (np.maximum(np.mean(np.abs(one.residual) ** 2, axis=1), least) for one in (fit, other))
    proper = count * np.log(without / own) < np.log(count)
    feed = np.zeros(len(H))
    if zero:  # the columns have their values there taken off
        there = numerator_of(np.array([zero], complex), fit.poles, terms._replace(direct=False))
        feed = -other.coefficients @ there[0].real
    coefficients = np.where(proper[:, None], np.column_stack([other.coefficients, feed]), fit.coefficients)
    residual = np.where(proper[:, None], other.residual, fit.residual)
    return Fit(fit.poles, coefficients, float(np.mean(np.abs(residual) ** 2)), residual, proper)
