"""Frequency responses of records.

    estimator     H                                    right where
    periods       mean Y / mean U over the periods     the excitation is periodic; noise on both averages out
    H1            Syu / Suu                            noise on the outputs alone, not fed back
    H2            Syy / Suy                            noise on the input alone (one input)
    Hv            least total squares                  noise on both: of equal signal-to-noise ratio, or as the
    periods tell
    reference     Syr / Sur                            closed loop: noise on the output comes back on the input

The standard deviation of every line comes from the scatter of the periods, or from coherence and number of averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import NotAvailable, require, unknown
from ..model import ComplexArray, FloatArray, names
from . import feedback, quality
from .record import Record, nearly_repeating
from .response import MeasuredResponse
from .spectra import independent, segments_of, transformed, used

METHODS = ("auto", "periods", "H1", "H2", "Hv", "reference")
EXCITED = 1e-3
"""Lines whose input is below this part of the largest one are not excited."""

CLEAR = 6.0
"""Lines whose mean input is below so many of its own standard deviations are noise."""


def frf(
    data: Record | Sequence[Record],
    method: str = "auto",
    *,
    band: Sequence[float] | None = None,
    segment: float | None = None,
    window: str = "hann",
    overlap: float = 0.5,
    drop: int = 1,
) -> MeasuredResponse:
    """Return the frequency response of a record, with standard deviations and coherence.

    Parameters
    ----------
    data : Record or sequence of Record
        The data; for several inputs with periodic excitation as many records as inputs, with different excitations.
    method : str
        "periods", "H1", "H2", "Hv", "reference" (closed loop; the record holds the references), or "auto": periods of a
        periodic excitation, else the reference where there is one, else H1.
    band : (low, high), optional
        Frequencies [rad/s].
    segment, window, overlap
        As for `spectra`, where segments are averaged.
    drop : int
        Periods left out at the beginning: the transient.

    Returns
    -------
    MeasuredResponse
        Of the sampled system: with the lag of the hold and of every delay (see `MeasuredResponse.unheld`).

    Warns
    -----
    DataWarning
        For data that are saturated or coarsely quantised; lines with coherence below one half; inputs that answer to
        the noise of an output (a loop without its reference).

    Examples
    --------
    >>> x = np.tile(np.random.default_rng(1).standard_normal(256), 4)
    >>> found = fx.identify.frf(fx.identify.record(1e-2, {"u [N]": x}, {"y [m]": 2e-3 * x}))
    >>> print(found.method, found.omega.size, abs(found.response).max().round(6))
    periods 128 0.002
    """
    records = [data] if isinstance(data, Record) else list(data)
    require(bool(records), "no record is given")
    require(
        all(isinstance(r, Record) for r in records), "frf takes a Record or a list of them; see identify.read_record"
    )
    if method not in METHODS:
        raise unknown("estimator", method, METHODS)
    first = records[0]
    for other in records[1:]:
        same = names(other.inputs) == names(first.inputs) and names(other.outputs) == names(first.outputs)
        require(same, "the records have different signals; choose the same of each (Record.choose)")
        even = abs(other.dt - first.dt) <= 1e-6 * first.dt and other.period == first.period
        require(even, f"the records have different sample times or periods ({first!r}, {other!r})")
    quality.tell(text for r in records for text in r.warnings())
    chosen = method
    if method == "auto":
        chosen = "periods" if first.period else "reference" if first.references else "H1"
        if chosen == "H1":
            _tell_repeating(records)
    if chosen == "periods":
        found = _by_periods(records, drop)
    elif chosen == "Hv" and first.period:
        found = _total(records, drop)
    else:
        if chosen != "reference":
            _tell_answers(records, chosen)
        found = _by_segments(records, chosen, segment, window, overlap)
    kept = used(found.omega, band)
    require(bool(kept.any()), f"no excited line lies in the band {band}")
    found = found.lines(kept)
    _tell_weak(found)
    return replace(found, provenance={**first.provenance, "samples": sum(r.t.size for r in records)})


def _tell_weak(found: MeasuredResponse) -> None:
    known = np.isfinite(found.coherence)
    if not known.any():
        return
    for k, signal in enumerate(found.outputs):
        weak = known[k] & (found.coherence[k] < 0.5)
        if weak.mean() > 0.1:
            hertz = found.omega[weak] / (2.0 * np.pi)
            quality.tell(
                [
                    f'output "{signal.name}": {weak.mean():.0%} of the lines, {hertz.min():.4g} to '
                    f"{hertz.max():.4g} Hz, have a coherence below one half: little of it comes from the inputs; "
                    "excite more, or leave the band out"
                ]
            )


def _periods(data: Record, drop: int) -> tuple[ComplexArray, FloatArray]:
    """Return transforms of the periods, (periods, signals, lines), and frequencies."""
    require(data.period > 0, 'the record is not periodic: say its period, or use method = "H1"')
    period, count = data.period, data.t.size // data.period
    require(0 <= drop < count, f"drop = {drop} of {count} periods leaves none")
    shift = data.t.size - count * period  # the last periods: what is incomplete belongs to the transient
    whole = replace(data, t=data.t[shift:], u=data.u[shift:], y=data.y[shift:], r=data.r[shift:], period=0)
    parts, omega = transformed(whole, period, period, np.ones(period))
    return parts[drop:], omega


def _by_periods(records: list[Record], drop: int) -> MeasuredResponse:
    first = records[0]
    p, ny = len(first.inputs), len(first.outputs)
    enough = len(records) >= p
    require(
        enough,
        f"{p} inputs need as many records with different periodic excitations, got {len(records)}; choose one "
        'input, or use method = "H1" with excitations that are not alike',
    )
    parts = []
    for record in records:
        transformed_, omega = _periods(record, drop)
        parts.append(transformed_)
    means = np.stack([x.mean(axis=0) for x in parts], axis=1)  # signals, records, lines
    U, Y = means[:p], means[p : p + ny]
    size = np.abs(U).max(axis=(0, 1))
    scatter = np.sqrt(np.max([np.var(x[:, :p], axis=0).max(axis=0) / x.shape[0] for x in parts], axis=0))
    lines = np.flatnonzero((size > EXCITED * size[1:].max()) & (size > CLEAR * scatter) & (omega > 0.0))
    require(lines.size > 0, "no line of the input repeats from period to period: is the period right?")
    U, Y = U[:, :, lines], Y[:, :, lines]
    u = np.moveaxis(U, 2, 0)
    if p > 1:
        condition = np.linalg.cond(u)
        fine = condition < 1e6
        require(bool(fine.all()), "the records excite the inputs alike: change the phases or signs of one of them")
    inverse = np.linalg.pinv(u)
    H = np.einsum("yrf,frp->ypf", Y, inverse)
    # every period's misfit Y - H U holds the noise of outputs and inputs together
    variance, noise = np.full((ny, p, lines.size), np.nan), np.full((ny, lines.size), np.nan)
    counts = [x.shape[0] for x in parts]
    if min(counts) > 1:
        each = np.zeros((ny, len(records), lines.size))
        for r, x in enumerate(parts):
            misfit = x[:, p : p + ny][:, :, lines] - np.einsum("ypf,kpf->kyf", H, x[:, :p][:, :, lines])
            misfit = misfit - misfit.mean(axis=0)
            each[:, r] = np.sum(np.abs(misfit) ** 2, axis=0) / (counts[r] - 1)
        weights = np.abs(np.moveaxis(inverse, 0, 2)) ** 2 / np.array(counts)[:, None, None]
        variance = np.einsum("yrf,rpf->ypf", each, weights)
        noise = each.mean(axis=1)
    else:
        quality.tell(["a single period is left after the transient: the standard deviation of the lines is not known"])
    power = np.mean(np.abs(Y) ** 2, axis=1)
    coherence = np.where(np.isnan(noise), np.nan, power / np.maximum(power + noise, 1e-300))
    _tell_feedback(records, parts, lines, p)
    return MeasuredResponse(
        omega[lines],
        H,
        first.inputs,
        first.outputs,
        sigma=np.sqrt(variance),
        coherence=coherence,
        dt=first.dt,
        held=first.held,
        method="periods",
    )


def _tell_feedback(records: list[Record], parts: list[ComplexArray], lines: Any, p: int) -> None:
    """Say so where the inputs scatter from period to period and nobody gave the reference of the loop."""
    for record, x in zip(records, parts, strict=True):
        if record.references or x.shape[0] < 2:
            continue
        inputs = x[:, :p][:, :, lines]
        scatter = np.sqrt(np.mean(np.abs(inputs - inputs.mean(axis=0)) ** 2) / np.mean(np.abs(inputs) ** 2))
        if scatter > 1e-2:
            quality.tell(
                [
                    f"the input differs from period to period by {scatter:.1%}: it is measured with noise, or "
                    "comes from a "
                    "feedback law; averaged periods are right all the same, H1 would not be. Of a loop record "
                    "the reference too"
                ]
            )


def _tell_repeating(records: list[Record]) -> None:
    """Say so where an input that is not periodic repeats but for noise: that noise may be the outputs' own."""
    for record in records:
        found = [(signal, nearly_repeating(record.u[:, k])) for k, signal in enumerate(record.inputs)]
        quality.tell(
            f'input "{signal.name}" repeats every {count * record.dt:.6g} s but for noise: if what drove the arm was '
            f"periodic, say the period (--period {count * record.dt:.6g}). H1 is wrong where that noise is a sensor's, "
            "or comes from the outputs through a feedback law; averaged periods are right"
            for signal, count in found if count
        )


def _tell_answers(records: list[Record], method: str) -> None:
    """Say so where the inputs answer to the noise of an output, which no average takes out."""
    remedy = "take the references that the record holds (method = \"reference\")" if records[0].references else (
        "record what the loop was asked for and give it (references, on the command line --reference NAME)"
    )
    remedy += ", or excite periodically and give the period"
    quality.tell(feedback.told(records, f"{method} is", remedy))


def _by_segments(
    records: list[Record], method: str, segment: float | None, window: str, overlap: float
) -> MeasuredResponse:
    first = records[0]
    p, ny, nr = len(first.inputs), len(first.outputs), len(first.references)
    parts, averages = [], 0.0
    for record in records:
        length, step, taper = segments_of(record, segment, window, overlap)
        x, omega = transformed(record, length, step, taper)
        parts.append(x)
        averages += independent(x.shape[0], length, step)
    stacked = np.concatenate(parts)
    enough = averages > p + 0.5
    require(
        enough,
        f"the record is too short: {averages:.1f} independent segments for {p} inputs; measure longer, or take "
        "shorter segments (segment = seconds)",
    )
    S = np.einsum("kaf,kbf->abf", stacked.conj(), stacked) / stacked.shape[0]  # S[a, b] = mean conj(a) b
    u, y, r = slice(0, p), slice(p, p + ny), slice(p + ny, p + ny + nr)
    power = np.real(np.einsum("aaf->af", S[u, u])).max(axis=0)
    lines = np.flatnonzero((power > EXCITED**2 * power[1:].max()) & (omega > 0.0))
    S = S[:, :, lines]
    Suu, Suy, Syy = S[u, u], S[u, y], np.real(np.einsum("aaf->af", S[y, y]))
    H1 = _solved(Suu, Suy)
    multiple = np.real(np.einsum("ypf,pyf->yf", H1, Suy.conj()))
    coherence = np.clip(multiple / np.maximum(Syy, 1e-300), 0.0, 1.0)
    if method == "H1":
        H = H1
    elif method == "reference":
        require(nr >= p, f"the record holds {nr} references for {p} inputs; a loop needs one for each")
        require(nr == p, f"the record holds {nr} references for {p} inputs; choose as many")
        H = _solved(S[r, u], S[r, y])
        loop = np.abs(S[r, y]) ** 2 if nr == 1 else None
        if loop is not None:
            coherence = np.clip(loop[0] / np.maximum(np.real(S[r, r][0, 0]) * Syy, 1e-300), 0.0, 1.0)
    else:
        if p > 1:
            raise NotAvailable(f"{method} is for one input, there are {p}; use H1, or periods")
        H2 = Syy[:, None] / np.where(Suy == 0.0, 1e-300, Suy.conj()).transpose(1, 0, 2)
        # equal signal-to-noise ratios: magnitude sqrt(|H1| |H2|), the phase is that of both
        H = H2 if method == "H2" else H1 * np.sqrt(np.abs(H2) / np.maximum(np.abs(H1), 1e-300))
    freedom = max(averages - p, 0.5)
    inverse = np.real(np.einsum("aaf->af", np.moveaxis(np.linalg.pinv(np.moveaxis(Suu, 2, 0)), 0, 2)))
    rest = Syy * (1.0 - coherence)
    if method == "reference":
        sigma = _of_references(stacked[:, :, lines], H, S[r, u], S[r, r], (p, ny), averages)
    elif method in ("H2", "Hv"):
        gain = np.maximum(coherence, 1e-6)
        sigma = np.abs(H) * np.sqrt((1.0 - coherence) / (gain * freedom))[:, None, :]
    else:
        sigma = np.sqrt(rest[:, None, :] * inverse[None] / freedom)
    return MeasuredResponse(
        omega[lines],
        H,
        first.inputs,
        first.outputs,
        sigma=sigma,
        coherence=coherence,
        dt=first.dt,
        held=first.held,
        method=method,
    )


def _of_references(
    parts: ComplexArray, H: ComplexArray, Sru: ComplexArray, Srr: ComplexArray, sizes: tuple[int, int], averages: float
) -> FloatArray:
    """Return deviations of H with H' = Sru^-1 Sry: what is left, e = y - H u, reaches it as Sru^-1 Sre."""
    p, ny = sizes
    e = parts[:, p : p + ny] - np.einsum("ypf,kpf->kyf", H, parts[:, :p])
    left = np.sum(np.abs(e) ** 2, axis=0) / parts.shape[0]
    inverse = np.linalg.inv(np.moveaxis(Sru, 2, 0))
    spread = np.real(np.einsum("fpr,frs,fps->pf", inverse, np.moveaxis(Srr, 2, 0), inverse.conj()))
    return np.asarray(np.sqrt(left[:, None] * spread[None] / max(averages - p, 0.5)))


def _solved(left: ComplexArray, right: ComplexArray) -> ComplexArray:
    """Return S_yu S_uu^-1 of spectra S[a, b] = mean conj(a) b, (outputs, inputs, lines)."""
    found = np.linalg.solve(np.moveaxis(left, 2, 0), np.moveaxis(right, 2, 0))
    return np.asarray(np.transpose(found, (2, 1, 0)))


def _total(records: list[Record], drop: int) -> MeasuredResponse:
    """Return Hv of one input with the noise covariance that the periods tell: total least squares of the mean."""
    first = records[0]
    if len(first.inputs) > 1:
        raise NotAvailable(f"Hv is for one input, there are {len(first.inputs)}; use periods")
    base = _by_periods(records, drop)
    # with the covariance of the scatter, the likelihood of a line is greatest at the
    # ratio of the means: what the periods give
    return replace(base, method="Hv")
