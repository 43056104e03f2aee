"""Frequency grids that miss no peak and no notch.

A resonance of damping ratio zeta is 2 zeta omega wide: 1000 points over three decades pass a mode with zeta = 0.1 % by
up to 12 dB. A grid here consists of

* a logarithmic base,
* the frequency Im p and the peak frequency of every lightly damped pole p, a fan of offsets k |Re p| on both sides,
* points added where the response of any channel changes fast, until neighbours differ by less than 3 dB and 20 degrees,
* the frequencies of the notches and peaks of every channel, located by a secant step in the complex plane (near a zero
  the response is linear in omega, near a pole its inverse is).

The last two need no poles, so that any `FrequencyModel` can be shown; what shows neither in gain nor in phase between
two points of the base is then not found. Undamped poles are approached to 1e-5 of their frequency but not evaluated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abilities import KnowsPoles, provenance_of, sample_time_of
from ..errors import DefinitionError, require
from ..linear import FirstOrder, SecondOrder
from ..linear.modes import modes
from ..machine.given import as_linear
from ..model import ComplexArray, FloatArray, FrequencyModel
from ..models import REGISTRY
from ..support.checks import real
from ..support.kinds import SystemGiven
from .evaluate import Transfer, axis, on_axis

SHOWN = 10  # flexible modes of a discretised arm in the default range
_STEP = 0.35  # largest change of ln H between neighbours: 3 dB in gain, 20 degrees in phase
_NOTHING = 1e-11  # a channel that is this part of what another input does to the same output is zero
_CLOSEST = 1e-6  # neighbours are not split further below this part of their frequency
_CROSSING = 1e-3  # nor below this one where a response without damping passes through zero: a secant step finds it
_CENTRE = 1e-5  # no point closer to an undamped pole, in parts of its frequency
_FAN = np.array([0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])


def grid(model: SystemGiven, lo: float | None = None, hi: float | None = None, points: int = 400) -> FloatArray:
    """Return frequencies [rad/s] at which no peak loses more than 0.1 dB.

    Parameters
    ----------
    model : FrequencyModel or MechanicalModel
        What will be evaluated; a mechanical model is linearised at rest.
    lo, hi : float, optional
        Range [rad/s]. Default: from a decade below the first flexible mode to a little above the last, of a discretised
        arm the tenth (see `shown_modes`), and never above the Nyquist frequency of a sampled plant. Needed for models
        whose poles are not known.
    points : int
        Points of the logarithmic base; the grid has more.

    Examples
    --------
    >>> omega = fx.grid(fx.load_plant("tokhi_azad_1994").linearise(), 1.0, 1000.0)
    >>> bool(omega[0] == 1.0 and omega.size > 400)
    True
    """
    plant = frequency_model(model)
    return resolved(plant, on_axis(plant), lo, hi, points)[0]


def resolved(
    plant: FrequencyModel, evaluate: Transfer, lo: float | None, hi: float | None, points: int
) -> tuple[FloatArray, ComplexArray]:
    """Return the grid and the response on it."""
    require(points >= 2, f"points = {points}: a grid needs at least 2")
    poles = known_poles(plant)
    lo, hi = span(poles, sample_time_of(plant), lo, hi, shown_modes(plant))
    start = start_grid(lo, hi, points, poles)
    return refine(evaluate, start, poles, limit=60 * points + 20 * start.size)


def frequency_model(model: Any) -> FrequencyModel:
    """Return the model itself, or the linear plant of a mechanical model or catalogue plant."""
    return model if isinstance(model, FrequencyModel) else as_linear(model)


def known_poles(model: FrequencyModel) -> ComplexArray | None:
    """Return the poles with Im >= 0 that are not zero [rad/s], or None when the model does not tell."""
    if isinstance(model, SecondOrder | FirstOrder):
        found = modes(model)
        return np.concatenate([found.poles, found.real_poles.astype(complex)])
    return model.poles() if isinstance(model, KnowsPoles) else None


def shown_modes(model: FrequencyModel) -> int | None:
    """Return the number of flexible modes in the default range; None: all of them.

    The highest modes of a discretised arm are those of its mesh, not of the arm: ten are shown, and the response says
    how many are not. Of a plant given by matrices nobody else knows which mode matters.
    """
    kind = provenance_of(model).get("model")
    return SHOWN if isinstance(model, SecondOrder | FirstOrder) and kind in REGISTRY else None


def span(
    poles: ComplexArray | None, dt: float, lo: float | None, hi: float | None, shown: int | None = None
) -> tuple[float, float]:
    """Return the range to show, defaults filled in and checked; the default holds `shown` modes, or all."""
    nyquist = math.pi / dt if dt else math.inf
    if poles is None and (lo is None or hi is None):
        raise DefinitionError("the poles of this model are not known: give lo and hi [rad/s]")
    low, high = _default_span(np.zeros(0, complex) if poles is None else poles, shown)
    low = low if lo is None else real("lo", lo, "rad/s")
    high = min(high if hi is None else real("hi", hi, "rad/s"), nyquist)
    if lo is None and low >= high:
        low = high / 1e3
    if hi is None and low >= high:
        high = min(low * 1e3, nyquist)
    require(math.isfinite(high) and 0.0 < low < high, f"frequency range lo = {low:g}, hi = {high:g} rad/s: 0 < lo < hi")
    return low, high


def _default_span(poles: ComplexArray, shown: int | None) -> tuple[float, float]:
    flexible = np.sort(np.abs(poles[poles.imag > 0.0]))
    if flexible.size:
        last = min(shown or flexible.size, flexible.size) - 1
        above = math.sqrt(flexible[last] * flexible[last + 1]) if flexible.size > last + 1 else math.inf
        return 0.1 * float(flexible[0]), min(1.3 * float(flexible[last]), above)
    real = np.abs(poles[poles != 0.0])
    return (0.1 * float(real.min()), 10.0 * float(real.max())) if real.size else (0.01, 100.0)


def start_grid(lo: float, hi: float, points: int, poles: ComplexArray | None) -> FloatArray:
    """Return the base and the fans around the lightly damped poles."""
    parts: list[FloatArray] = [np.asarray(np.geomspace(lo, hi, points), float)]
    for pole in [] if poles is None else poles[(poles.imag > 0.0) & (np.abs(poles.real) < 0.5 * np.abs(poles))]:
        centre, half = float(pole.imag), abs(float(pole.real))
        if half < _CLOSEST * centre:
            offsets = np.asarray(_CENTRE * centre * 2.0 ** np.arange(16), float)
        else:
            offsets = half * _FAN
            peak = math.sqrt(max(0.0, centre * centre - half * half))  # |1/(s^2 - 2 Re p s + |p|^2)| is largest here
            parts.append(np.array([centre, peak]))
        offsets = offsets[offsets < 0.3 * centre]
        parts.append(centre - offsets)
        parts.append(centre + offsets)
    omega = np.unique(np.concatenate(parts))
    omega = omega[(omega > lo) & (omega < hi)]
    return np.concatenate([[lo], _off_undamped(omega, poles), [hi]])


def _off_undamped(omega: FloatArray, poles: ComplexArray | None) -> FloatArray:
    """Return the frequencies that are not within `_CENTRE` of an undamped pole."""
    if poles is None or omega.size == 0:
        return omega
    undamped = np.sort(poles.imag[(poles.imag > 0.0) & (np.abs(poles.real) < _CLOSEST * np.abs(poles))])
    if undamped.size == 0:
        return omega
    at = np.clip(np.searchsorted(undamped, omega), 1, max(1, undamped.size - 1))
    near = np.minimum(np.abs(omega - undamped[at - 1]), np.abs(omega - undamped[np.minimum(at, undamped.size - 1)]))
    kept: FloatArray = omega[near > 0.99 * _CENTRE * omega]
    return kept


def refine(
    evaluate: Transfer, omega: FloatArray, poles: ComplexArray | None = None, limit: int = 100_000
) -> tuple[FloatArray, ComplexArray]:
    """Return the grid refined until the response of every channel is resolved, and the response on it.

    Parameters
    ----------
    evaluate : callable
        s -> response, (..., len(s)).
    omega : ndarray
        First grid.
    poles : ndarray, optional
        Known poles; undamped ones are avoided.
    limit : int
        Number of points at which refinement ends.
    """
    H = _channels(evaluate, omega)
    inputs = _inputs(evaluate, omega)
    for _ in range(40):
        seen = ~_rounding(H, inputs)
        coarse = seen[:, 1:] & seen[:, :-1] & (changes(H) > _STEP)
        close = np.where(_crossings(H), _CROSSING, _CLOSEST)
        split = np.any(coarse & (np.diff(omega) > close * omega[1:]), axis=0)
        fresh = _off_undamped(0.5 * (omega[:-1] + omega[1:])[split], poles)
        if fresh.size == 0 or omega.size + fresh.size > limit:
            break
        omega, H = _merged(evaluate, omega, H, fresh)
    for _ in range(3):
        real = H[~nothing(H, inputs)]
        omega, H = _merged(evaluate, omega, H, _off_undamped(_extrema(omega, real), poles))
    return omega, H


def _inputs(evaluate: Transfer, omega: FloatArray) -> int:
    """Return the number of inputs of a response (outputs, inputs, ..), 1 if it has another shape."""
    shape = evaluate(axis(omega[:1])).shape
    return int(shape[1]) if len(shape) == 3 else 1


def _rounding(H: ComplexArray, inputs: int) -> npt.NDArray[np.bool_]:
    """Return where a channel is nothing but rounding beside what other inputs do to its output.

    In space many channels are zero but for that: its wild changes would have the grid refined everywhere.
    """
    return np.asarray(_part(H, inputs) < _NOTHING)


def nothing(H: ComplexArray, inputs: int) -> npt.NDArray[np.bool_]:
    """Return which channels are rounding, but for their own false resonances and the notches of the others."""
    part = _part(H, inputs)
    return np.asarray((np.median(part, axis=1) < _NOTHING) & (np.quantile(part, 0.95, axis=1) < 1e3 * _NOTHING))


def _part(H: ComplexArray, inputs: int) -> FloatArray:
    """Return each gain as part of the largest that any input has to the same output."""
    gain = np.nan_to_num(np.abs(H), posinf=np.finfo(float).max).reshape(-1, inputs, H.shape[1])
    largest = gain.max(axis=1, keepdims=True)
    return np.asarray(gain / np.where(largest > 0.0, largest, 1.0)).reshape(H.shape)


def changes(H: ComplexArray) -> FloatArray:
    """Return |ln| of the ratio of neighbours (principal value); inf beside a zero or pole, 0 in a channel that is 0."""
    with np.errstate(all="ignore"):
        change = np.abs(np.log(H[:, 1:] / H[:, :-1]))
    change[np.isnan(change)] = np.inf
    change[(H[:, 1:] == 0.0) & (H[:, :-1] == 0.0)] = 0.0
    result: FloatArray = change
    return result


def _crossings(H: ComplexArray) -> npt.NDArray[np.bool_]:
    """Return between which neighbours a response without damping changes its sign at a zero, falling on both sides."""
    gain = np.abs(H)
    falls = np.diff(gain, axis=1)
    outside = np.ones((H.shape[0], 1), bool)
    before = np.concatenate([outside, falls[:, :-1] < 0.0], axis=1)
    behind = np.concatenate([falls[:, 1:] > 0.0, outside], axis=1)
    across = H[:, 1:] * H[:, :-1].conj()
    turned = (across.real < 0.0) & (np.abs(across.imag) < 1e-7 * np.abs(across.real))
    return np.asarray(turned & before & behind)


def _channels(evaluate: Transfer, omega: FloatArray) -> ComplexArray:
    H = evaluate(axis(omega))
    return H.reshape(-1, omega.size)


def _merged(
    evaluate: Transfer, omega: FloatArray, H: ComplexArray, fresh: FloatArray
) -> tuple[FloatArray, ComplexArray]:
    fresh = np.setdiff1d(fresh, omega)
    if fresh.size == 0:
        return omega, H
    omega, H = np.concatenate([omega, fresh]), np.concatenate([H, _channels(evaluate, fresh)], axis=1)
    order = np.argsort(omega, kind="stable")
    return omega[order], H[:, order]


def _extrema(omega: FloatArray, H: ComplexArray) -> FloatArray:
    """Return where the zero (pole) of a channel lies that is next to a local minimum (maximum) of its gain.

    The frequency of an undamped pole is left out: there is no peak to see.
    """
    found = []
    for values in H:
        gain = np.abs(values)
        for sign, straight in ((1, values), (-1, _inverse(values))):
            low = sign * gain
            k = 1 + np.flatnonzero((low[1:-1] < low[:-2]) & (low[1:-1] <= low[2:]))
            beside = np.where(low[k - 1] < low[k + 1], k - 1, k + 1)
            with np.errstate(all="ignore"):
                root = omega[k] - straight[k] * (omega[beside] - omega[k]) / (straight[beside] - straight[k])
            inside = (root.real > omega[k - 1]) & (root.real < omega[k + 1])
            inside &= (sign > 0) | (np.abs(root.imag) > _CLOSEST * omega[k])
            found.append(root.real[inside])
    return np.concatenate(found) if found else np.zeros(0)


def _inverse(values: ComplexArray) -> ComplexArray:
    with np.errstate(all="ignore"):
        result: ComplexArray = 1.0 / values
    return result
