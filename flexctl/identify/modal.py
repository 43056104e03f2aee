"""Modal models of frequency responses: poles common to all channels, over orders, with standard deviations.

    H(s) = sum of R_m / (s - p_m) + conj.  +  R1 / s + R2 / s^2  +  D          R of rank one for a mode

The order is raised until more pairs no longer pay (Bayes' criterion); a mode is stable if its frequency agrees to 1 %
and its damping to 5 % with those of the order before. The chosen order is refined to the weighted least squares
estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConvergenceError, require
from ..linear import FirstOrder
from ..model import ComplexArray, FloatArray
from ..support.checks import number
from ..support.kinds import SystemGiven
from ..support.tabular import Column, Tabular
from . import quality
from .modal_plant import realised
from .poles import WithPoles
from .proper import ROUNDING, without_feed
from .response import MeasuredResponse, as_measured
from .vector_fitting import Fit, Terms, fitted, refined, start_poles
from .warped import from_w, is_over, is_sampled_only, lines_of, slope, to_w, undelayed, warped_by

STABLE_FREQUENCY, STABLE_DAMPING = 0.01, 0.05
ASSUMED = 0.01
"""Relative error of every line where none is known."""
UNEXPLAINED = 2.0
"""chi^2 above which an order is chosen by the modes that last, not by what more pairs take from chi^2."""
ORDERS, SCANNED = (1, 2, 3, 4, 5, 6, 8), 300
"""Orders and number of lines with which delays are tried."""
NOT_HELD = (
    "the lines are not those of an arm sampled with a hold and a delay of whole samples (real poles that only samples "
    "have): the lag of the hold was divided out instead, and what is folded back near half the sampling frequency may "
    "appear as fast poles"
)
FAR_ABOVE = 1.2
"""Frequency of a pole, in parts of the last line's, from which on it is told."""
LIGHT = 0.3
"""Damping ratio from which on a pair is not called a mode."""


@dataclass(frozen=True)
class OrderFit:
    """Poles and shapes found at one order.

    Attributes
    ----------
    pairs : int
        Number of pole pairs.
    chi2 : float
        Mean of |residual / sigma|^2.
    poles : ndarray
        With Im >= 0 [rad/s].
    stable : ndarray
        Whether each agrees with one of the order before.
    """

    pairs: int
    chi2: float
    poles: ComplexArray
    stable: Any


@dataclass(frozen=True, eq=False)
class ModalFit(WithPoles, Tabular):
    """A modal model identified from frequency responses.

    Attributes
    ----------
    plant : FirstOrder
        The model, continuous; the delay is not in it.
    poles : ndarray
        With Im >= 0 [rad/s], by frequency.
    sigma_frequency, sigma_damping : ndarray
        Relative standard deviation of each pole's frequency and damping ratio.
    covariance : ndarray
        Covariance of (real part, imaginary part) of each pole [rad^2/s^2], (poles, 2, 2).
    orders : tuple of OrderFit
        What was found at every order: the stabilisation diagram.
    chi2 : float
        Mean of |residual / sigma|^2 of the chosen order: 1 if the model explains all but the noise.
    delay : float
        Delay [s] that was taken out first.
    pairs : int
        The order that was chosen.
    data, model : MeasuredResponse, ndarray
        What was fitted (continuous, delay taken out), and the model at its lines.

    Examples
    --------
    >>> w = np.linspace(1.0, 30.0, 300)
    >>> H = 1.0 / (100.0 - w**2 + 0.4j * w)
    >>> found = fx.identify.modal(fx.identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01))
    >>> print(found.frequencies_hz.round(4), found.damping.round(4))
    [1.5915] [0.02]
    """

    plant: FirstOrder
    poles: ComplexArray
    sigma_frequency: FloatArray
    sigma_damping: FloatArray
    covariance: FloatArray
    orders: tuple[OrderFit, ...]
    chi2: float
    delay: float
    pairs: int
    data: MeasuredResponse
    model: ComplexArray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stable(self) -> Any:
        """Whether each pole was found at the order before or after, too."""
        beside = [o.poles for o in self.orders if abs(o.pairs - self.pairs) == 1]
        return np.array([any(_agrees(p, poles) for poles in beside) for p in self.poles])

    def __repr__(self) -> str:
        hertz = ", ".join(f"{f:.4g}" for f in self.frequencies_hz)
        return f"ModalFit({self.poles.size} modes, {hertz} Hz, chi^2 {self.chi2:.3g}, delay {self.delay:.4g} s)"

    def _table(self) -> list[Column]:
        return [
            Column("mode", np.arange(1, self.poles.size + 1)),
            Column("frequency", self.frequencies_hz, "Hz"),
            Column("sigma_frequency", self.frequencies_hz * self.sigma_frequency, "Hz"),
            Column("damping", self.damping, "1"),
            Column("sigma_damping", self.damping * self.sigma_damping, "1"),
            Column("stable", self.stable.astype(float)),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "chi2": self.chi2, "delay_s": self.delay}


def modal(
    response: SystemGiven,
    *,
    pairs: int | None = None,
    most: int = 12,
    rigid: bool | None = None,
    direct: bool = True,
    delay: float | str = "scan",
    progress: Callable[[str, float], None] | None = None,
) -> ModalFit:
    """Return the modal model of a measured frequency response.

    Parameters
    ----------
    response : MeasuredResponse, FrequencyResponse of data or control.FrequencyResponseData
        The gains with their standard deviations; without these all lines count with the same relative error.
    pairs : int, optional
        Number of pole pairs; by default as many as improve the fit, up to `most`.
    most : int
        Highest order to try.
    rigid : bool, optional
        Whether there are terms 1/s and 1/s^2 (a joint that turns freely); by default where a channel falls like that
        at the low end.
    direct : bool
        Whether there may be feed-through (accelerations, modes above the band): in channels where the data tell it.
    delay : float or "scan"
        Delay [s] in the response; "scan" tries 0 to 8 whole samples of sampled data (none in continuous ones).
    progress : callable, optional
        Called with what is running and the fraction done.

    Warns
    -----
    DataWarning
        For modes without a line in their peak, orders that do not suffice, unknown standard deviations.

    Examples
    --------
    >>> w = np.linspace(1.0, 30.0, 300)
    >>> H = 1.0 / (100.0 - w**2 + 0.4j * w)
    >>> data = fx.identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01)
    >>> fx.identify.modal(data, delay=0.0).plant
    FirstOrder(2 states, ['force'] -> ['x'], continuous)
    """
    response = as_measured(response)
    require(pairs is None or pairs >= 1, f"pairs = {pairs} must be 1 or more")
    response = response.lines(response.omega > 0.0)
    enough = response.omega.size >= 2 * (pairs or 1) + 4
    require(
        enough, f"{response.omega.size} lines are too few for {pairs or 1} pole pairs; at least {2 * (pairs or 1) + 4}"
    )
    say = progress or (lambda what, part: None)
    chosen_delay = _scanned(response, rigid, direct, say) if delay == "scan" else number("delay", delay, 's, or "scan"')
    data = undelayed(response, chosen_delay)
    found = _fitted(data, response, chosen_delay, (pairs, most, rigid, direct), say)
    if found is None:  # a delay between samples, say: what is left of it has no poles of an arm
        quality.tell([NOT_HELD])
        found = _fitted(response.unheld(chosen_delay), response, chosen_delay, (pairs, most, rigid, direct), say)
    if found is None:
        raise ConvergenceError("no model of continuous time was found")
    return found


def _fitted(
    data: MeasuredResponse,
    response: MeasuredResponse,
    delay: float,
    wanted: tuple[int | None, int, bool | None, bool],
    say: Callable[[str, float], None],
) -> ModalFit | None:
    """Return the fit of data without delay, None where they are held samples and no arm between them fits."""
    pairs, most, rigid, direct = wanted
    s, H, weight = _rows(data)
    highest = pairs or max(1, min(most, (s.size - 4) // 3))
    terms = Terms(_integrations(s, H, weight, rigid), direct, False)
    terms = _direct_or_not(data, terms)[-1]
    orders, fits = _over_orders(data, s, H, weight, terms, range(1, highest + 1 + (1 if pairs else 0)), say)
    at = _best(fits, H.size, pairs, _floor(data))
    say("refining the poles", 0.0)
    fit, covariance = refined(s, H, weight, fits[at], terms)
    if rigid is None and terms.rigid == 2:
        fit, covariance, terms = _fewer_integrations(s, H, weight, fit, covariance, terms, _floor(data))
    fit = without_feed(s, H, weight, fit, terms, 2.0 / data.dt if warped_by(data) else 0.0)
    say("refining the poles", 1.0)
    if warped_by(data) and is_sampled_only(fit.poles, data.dt):
        return None
    return _told(data, response, fit, covariance, orders, terms, delay, orders[at].pairs)


def _rows(data: MeasuredResponse) -> tuple[ComplexArray, ComplexArray, FloatArray]:
    """Return s, the gains with a row for each channel, and their weights; channels that are zero are left out later."""
    H = data.response.reshape(-1, data.omega.size)
    live = np.abs(H).max(axis=1) > 0.0
    require(bool(live.all()), "a channel of the response is zero throughout; leave it out")
    if data.has_sigma:
        sigma = data.sigma.reshape(H.shape)
        # no line is trusted beyond rounding
        sigma = np.maximum(sigma, np.maximum(ROUNDING * np.abs(H), 1e-15 * np.abs(H).max(axis=1, keepdims=True)))
    else:
        quality.tell(
            [
                f"the standard deviation of the lines is not known: all count with {ASSUMED:.0%} of their size, "
                "and chi^2 and "
                "the standard deviations of the poles are relative to that"
            ]
        )
        sigma = ASSUMED * np.abs(H)
        sigma = np.maximum(sigma, 1e-3 * np.median(sigma, axis=1, keepdims=True))
    return lines_of(data), H, np.asarray(1.0 / sigma, float)


def _scanned(response: MeasuredResponse, rigid: bool | None, direct: bool, say: Callable[[str, float], None]) -> float:
    """Return the delay of whole samples with which a model of moderate order fits best."""
    if response.dt == 0.0:
        return 0.0
    thin = response.lines(np.unique(np.linspace(0, response.omega.size - 1, SCANNED).round().astype(int)))
    best: list[tuple[float, float]] = []
    for count in range(9):
        data = undelayed(thin, count * response.dt)
        s, H, weight = _rows_quietly(data)
        # a wrong delay can be had for a few more pairs: what counts is how few suffice. Advanced by a sample too many,
        # held samples of what has no feed-through fit as well, with one: so that is tried without
        fits = [
            fitted(s, H, weight, _start(data, n), terms, 8)
            for terms in _direct_or_not(data, Terms(_integrations(s, H, weight, rigid), direct, False))
            for n in ORDERS if 3 * n + 4 <= s.size
        ]
        least = min(_criterion(f, H.size, _floor(response)) + _as_a_delay(data, f, H.size) for f in fits)
        # where several explain the noise with as few pairs, the one that leaves least with any number of them
        best.append((round(least, 6), float(sum(np.log(max(f.chi2, 1e-300)) for f in fits))))
        say("scanning the delay", (count + 1) / 9.0)
    return best.index(min(best)) * response.dt


def _as_a_delay(data: MeasuredResponse, fit: Fit, values: int) -> float:
    """Return what counts against a real pole that is over within a sample: as much as one pole pair more."""
    more = 2 + 2 * fit.coefficients.shape[0]
    return float(np.log(2.0 * values) * more) if warped_by(data) and is_over(fit.poles, data.dt) else 0.0


def _direct_or_not(data: MeasuredResponse, terms: Terms) -> list[Terms]:
    """Return the terms with which a delay is tried: of held samples without feed-through, and with it."""
    if not warped_by(data):
        return [terms]
    proper = terms._replace(direct=False, zero=2.0 / data.dt)
    return [proper, terms] if terms.direct else [proper]


def _floor(data: MeasuredResponse) -> float:
    """Return the chi^2 below which a fit says no more: noise explained, or nothing but rounding left over."""
    return 0.8 if data.has_sigma else (ROUNDING / ASSUMED) ** 2


def _criterion(fit: Fit, values: int, floor: float) -> float:
    """Return Bayes' criterion; below a floor of chi^2 nothing more is gained."""
    count = 2.0 * values
    return float(count * np.log(max(fit.chi2, floor)) + np.log(count) * (fit.poles.size * 2 + fit.coefficients.size))


def _rows_quietly(data: MeasuredResponse) -> tuple[ComplexArray, ComplexArray, FloatArray]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _rows(data)


def _start(data: MeasuredResponse, pairs: int) -> ComplexArray:
    """Return poles spread over the lines."""
    if not warped_by(data):
        return start_poles(float(data.omega[0]), float(data.omega[-1]), pairs)
    high = min(float(data.omega[-1]), 0.95 * np.pi / data.dt)
    return to_w(start_poles(float(data.omega[0]), high, pairs), data.dt)


def _rigid(s: ComplexArray, H: ComplexArray, weight: FloatArray) -> bool:
    """Return whether a channel falls at the low end as something that moves freely does: by 1/s or 1/s^2."""
    count = max(5, int(np.sum(s.imag < 2.0 * s[0].imag)))
    w = np.log(s.imag[:count])
    slopes = []
    for k in range(H.shape[0]):
        clear = np.median(np.abs(H[k, :count]) * weight[k, :count]) > 3.0
        slopes.append(np.polyfit(w, np.log(np.abs(H[k, :count]) + 1e-300), 1)[0] if clear else 0.0)
    return bool(min(slopes) < -0.7)


def _integrations(s: ComplexArray, H: ComplexArray, weight: FloatArray, rigid: bool | None) -> int:
    """Return how many powers of 1/s are fitted: two where there are any."""
    return 2 if (_rigid(s, H, weight) if rigid is None else rigid) else 0


def _fewer_integrations(
    s: ComplexArray, H: ComplexArray, weight: FloatArray, fit: Fit, covariance: FloatArray, terms: Terms, floor: float
) -> tuple[Fit, FloatArray, Terms]:
    """Return the fit without 1/s^2 where that says as much: a joint with viscous friction or a motor integrates once.

    A term 1/s^2 made of noise would be an integrator that no law reaches, or a slow pole on either side of zero.
    """
    fewer = terms._replace(rigid=1)
    try:
        other, spread = refined(s, H, weight, fitted(s, H, weight, fit.poles, fewer), fewer)
    except ConvergenceError:
        return fit, covariance, terms
    if _criterion(other, H.size, floor) > _criterion(fit, H.size, floor):
        return fit, covariance, terms
    return other, spread, fewer


def _over_orders(
    data: MeasuredResponse,
    s: ComplexArray,
    H: ComplexArray,
    weight: FloatArray,
    terms: Terms,
    orders: Sequence[int],
    say: Callable[[str, float], None],
) -> tuple[tuple[OrderFit, ...], list[Fit]]:
    found: list[OrderFit] = []
    fits: list[Fit] = []
    for pairs in orders:
        fit = fitted(s, H, weight, _start(data, pairs), terms)
        before = found[-1].poles if found else np.zeros(0, complex)
        fits.append(fit)
        poles = _poles_of(data, fit)
        found.append(OrderFit(pairs, fit.chi2, poles, np.array([_agrees(p, before) for p in poles], bool)))
        say("raising the order", (pairs - orders[0] + 1) / len(orders))
    return tuple(found), fits


def _poles_of(data: MeasuredResponse, fit: Fit) -> ComplexArray:
    """Return the poles of a fit in s."""
    return np.array([from_w(p, data.dt) for p in fit.poles], complex) if warped_by(data) else fit.poles


def _agrees(pole: complex, others: ComplexArray) -> bool:
    if not others.size or pole.imag <= 0.0:
        return False
    w, zeta = abs(pole), -pole.real / abs(pole)
    near = others[np.abs(np.abs(others) / w - 1.0) < STABLE_FREQUENCY]  # an order may have a pole at zero
    return bool(np.any(np.abs(-near.real / np.abs(near) - zeta) < STABLE_DAMPING * zeta))


def _best(fits: Sequence[Fit], values: int, pairs: int | None, floor: float) -> int:
    """Return the index of the asked order, or of the smallest value of Bayes' criterion."""
    if pairs is not None:
        return pairs - 1
    if min(f.chi2 for f in fits) > UNEXPLAINED:
        found = _persistent(fits)
        if found is not None:
            return found
    return int(np.argmin([_criterion(f, values, floor) for f in fits]))


def _persistent(fits: Sequence[Fit]) -> int | None:
    """Return the smallest order with every mode that keeps its place over orders, None where none does.

    Where no linear model explains the data, more pairs always pay: they follow what is no mode.
    """
    places = [np.abs(f.poles[f.poles.imag > 0.0]) for f in fits]

    def holds(w: float, others: FloatArray) -> bool:
        return bool(np.any(np.abs(others / w - 1.0) < STABLE_FREQUENCY))

    lasting = [w for w in places[-1] if sum(holds(w, p) for p in places) >= max(3, (len(places) + 1) // 2)]
    if not lasting:
        return None
    return next(k for k, p in enumerate(places) if all(holds(w, p) for w in lasting))


def _told(
    data: MeasuredResponse,
    measured: MeasuredResponse,
    fit: Fit,
    covariance: FloatArray,
    orders: tuple[OrderFit, ...],
    terms: Terms,
    delay: float,
    chosen: int,
) -> ModalFit:
    scale = fit.chi2 if not data.has_sigma else max(fit.chi2, 1.0)
    shape = (len(data.outputs), len(data.inputs))
    model = data.response.reshape(-1, data.omega.size) - fit.residual / _rows_quietly(data)[2]
    least = min(o.chi2 for o in orders)
    if data.has_sigma and least > 2.0:
        quality.tell(
            [
                f"{orders[-1].pairs} pole pairs, the most that were tried, leave chi^2 = {least:.3g}: allow "
                "more (most), or there "
                "is something in the data that no linear model explains (friction, a delay between samples)"
            ]
        )
    flexible = fit.poles.imag > 0.0
    at = np.cumsum([0, *np.where(flexible, 2, 1)[:-1]])
    poles = _poles_of(data, fit)
    sigma_f, sigma_d, blocks = [], [], []
    for k, w, p in zip(at, fit.poles, poles, strict=True):
        two = covariance[k : k + 2, k : k + 2] if w.imag > 0 else np.diag([covariance[k, k], 0.0])
        g = slope(w, data.dt) if warped_by(data) else 1.0
        # of the logarithms of -Re w and Im w, so that dp = g (Re w, j Im w) of them
        turn = np.array([[(g * w.real).real, (g * 1j * w.imag).real], [(g * w.real).imag, (g * 1j * w.imag).imag]])
        spread = scale * turn @ two @ turn.T
        grad_f = np.array([p.real, p.imag]) / abs(p) ** 2  # d log |p|
        grad_d = np.array([1.0 / p.real, 0.0]) - grad_f  # d log zeta
        sigma_f.append(np.sqrt(max(grad_f @ spread @ grad_f, 0.0)))
        sigma_d.append(np.sqrt(max(grad_d @ spread @ grad_d, 0.0)))
        blocks.append(spread)
    order = np.argsort(np.abs(poles))
    found = ModalFit(
        realised(fit, terms, data, shape),
        poles[order],
        np.array(sigma_f)[order],
        np.array(sigma_d)[order],
        np.array(blocks)[order],
        orders,
        fit.chi2,
        delay,
        chosen,
        data,
        model.reshape(data.response.shape),
        {**measured.provenance, "method": "vector fitting", "estimator": measured.method},
    )
    quality.tell([*_unseen(found), *_outside(found)])
    return found


def _outside(found: ModalFit) -> list[str]:
    """Return a word on poles far above the lines of a continuous response: they follow a lag, not a mode."""
    top = float(found.data.omega[-1])
    fast = [p for p in found.poles if abs(p) > FAR_ABOVE * top]
    if not fast or warped_by(found.data):
        return []
    hertz = ", ".join(f"{abs(p) / (2.0 * np.pi):.4g}" for p in fast)
    return [
        f"poles of {hertz} Hz lie above the last line, {top / (2.0 * np.pi):.4g} Hz: they stand for what is above "
        "it, or follow the lag of a hold or a delay. If the data are of held samples, say so (dt, held)"
    ]


def _unseen(found: ModalFit) -> list[str]:
    """Return a word on the modes in whose peak there is no line."""
    gaps = [float(np.abs(found.data.omega - abs(p)).min()) for p in found.poles]
    blind = [
        f"{hertz:.5g} Hz (the nearest {gap / (2 * np.pi):.3g} Hz away, half its width {-p.real / (2 * np.pi):.3g} Hz)"
        for p, hertz, gap in zip(found.poles, found.frequencies_hz, gaps, strict=True)
        if p.imag > 0.0 and gap > 3.0 * abs(p.real) and -p.real / abs(p) < LIGHT
    ]
    if not blind:
        return []
    said = f"no excited line lies within the peak of the mode at {', '.join(blind)}"
    return [f"{said}: its damping is a guess; excite it with closer lines"]
