"""How far estimates scatter: with noise of any colour, and between parts of the data where the model is wrong.

With g = J'r the slope of the sum of squares and N = J'J, noise moves the parameters by -N^-1 g. The covariance of g is
summed over frequencies, since both misfit and sensitivity have peaks where the arm resonates:

    cov g = sum_k 2 / n^2 S(w_k) Re F(w_k) F(w_k)^H       F transform of J, S power of r where F has its own

A model that is wrong gives other parameters where other data weigh more. Estimates in which one part of a partition
(records, outputs, bands, quarters of time) has its weight and the others little are compared with the common one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import ComplexArray, FloatArray
from .problem import Block

SMOOTHED = 8
"""Lines on either side over which the power of a misfit is smoothed."""
LEFT = 0.02
"""Weight of the other parts where estimates of parts are compared, so that all parameters stay determined."""
BANDS, QUARTERS, SLICES = 4, 4, 8


class Spectrum(NamedTuple):
    """Transforms of a block's misfit and sensitivity, the weight of each line in sums, its frequency [rad/s]."""

    r: ComplexArray
    J: ComplexArray
    weight: FloatArray
    omega: FloatArray


IntArray = npt.NDArray[np.intp]
Part = tuple[FloatArray, FloatArray]
"""Slope J'r and normal matrix J'J of a part of the data."""


def spectrum(J: FloatArray, r: FloatArray, block: Block) -> Spectrum:
    """Return the transforms of a block of a record."""
    n = r[block.rows].size
    weight = np.full(n // 2 + 1, 2.0 / n)
    weight[0] = 1.0 / n
    if n % 2 == 0:
        weight[-1] = 1.0 / n
    omega = np.asarray(2.0 * np.pi * np.fft.rfftfreq(n, block.dt), float)
    return Spectrum(np.fft.rfft(r[block.rows]), np.fft.rfft(J[block.rows], axis=0), weight, omega)


def coloured(J: FloatArray, r: FloatArray, block: Block) -> FloatArray:
    """Return the covariance of J'r of a block of a record, its misfit taken as noise of its own spectrum."""
    s = spectrum(J, r, block)
    size = np.maximum(np.linalg.norm(J[block.rows], axis=0), 1e-300)
    seen = (np.abs(s.J / size) ** 2).sum(axis=1)
    seen += 1e-12 * seen.max(initial=1e-300)
    power = _smoothed(np.abs(s.r) ** 2 * seen) / _smoothed(seen)
    twice = np.where(s.weight < 1.5 / r[block.rows].size, 2.0, 1.0)  # the ends have no imaginary part
    return np.asarray(((s.J.conj() * (0.5 * twice * s.weight**2 * power)[:, None]).T @ s.J).real)


def _smoothed(x: FloatArray) -> FloatArray:
    half = min(SMOOTHED, x.size - 1)
    return np.convolve(np.pad(x, half, mode="reflect"), np.full(2 * half + 1, 1.0 / (2 * half + 1)), "valid")


def pieces(block: Block, count: int, spread: bool) -> list[IntArray]:
    """Return the rows of a block in so many parts: one after the other, or lines in turn, so that each sees the band.

    Without a quarter of its band a response hardly tells some parameters, and what they do then is no scatter of the
    estimate from all of it. Lines one after the other tell of a model that is wrong in a part of the band.
    """
    rows = np.arange(block.rows.start, block.rows.stop)
    if spread and block.dt == 0.0:
        return [rows[np.arange(rows.size) // 2 % count == k] for k in range(count)]
    return [np.asarray(part) for part in np.array_split(rows, count)]


def sliced(J: FloatArray, r: FloatArray, blocks: Sequence[Block], spread: Collection[int] = ()) -> FloatArray:
    """Return the variances by the jackknife over slices of time, all outputs of a record together.

    Of the responses in `spread`, by their items, over lines in turn.
    """
    found: dict[tuple[int, int], Part] = {}
    for block in blocks:
        for k, rows in enumerate(pieces(block, SLICES, block.item in spread)):
            key = (block.item, k)
            found[key] = _sum([*([found[key]] if key in found else []), _part(J[rows], r[rows])])
    return jackknife(J, r, list(found.values()))


def jackknife(J: FloatArray, r: FloatArray, parts: Sequence[Part]) -> FloatArray:
    """Return the variances by the jackknife over parts, one Gauss-Newton step each."""
    slope, normal = J.T @ r, J.T @ J
    steps = np.array([_step(slope - g, normal - N) for g, N in parts])
    return np.asarray((len(parts) - 1) / len(parts) * np.sum((steps - steps.mean(axis=0)) ** 2, axis=0))


def disagreement(J: FloatArray, r: FloatArray, blocks: Sequence[Block]) -> FloatArray:
    """Return the variances between estimates from different parts of the data, of all partitions together."""
    total = np.zeros(J.shape[1])
    for parts in _partitions(J, r, blocks):
        if len(parts) > 1:
            moved = np.array([_estimate(parts, k) for k in range(len(parts))])
            total += np.mean(moved**2, axis=0)
    return total


def _estimate(parts: Sequence[Part], own: int) -> FloatArray:
    """Return how far the parameters move where one part has its weight and the others little."""
    weights = np.where(np.arange(len(parts)) == own, 1.0, LEFT)
    return _step(
        np.asarray(sum(w * g for w, (g, _) in zip(weights, parts, strict=True))),
        np.asarray(sum(w * N for w, (_, N) in zip(weights, parts, strict=True))),
    )


def _partitions(J: FloatArray, r: FloatArray, blocks: Sequence[Block]) -> Iterable[list[Part]]:
    whole = [_part(J[b.rows], r[b.rows]) for b in blocks]
    for label in ("item", "output"):
        groups: dict[object, list[Part]] = {}
        for block, part in zip(blocks, whole, strict=True):
            groups.setdefault(block.item if label == "item" else block.output, []).append(part)
        yield [_sum(parts) for parts in groups.values()]
    yield _bands(J, r, blocks)
    if any(block.dt > 0.0 for block in blocks):
        yield _quarters(J, r, blocks)


def _quarters(J: FloatArray, r: FloatArray, blocks: Sequence[Block]) -> list[Part]:
    """Return the quarters of records; frequency responses count little everywhere."""
    found: list[list[Part]] = [[] for _ in range(QUARTERS)]
    for block in blocks:
        edges = np.linspace(block.rows.start, block.rows.stop, QUARTERS + 1).round().astype(int)
        for k, (a, b) in enumerate(pairwise(edges)):
            if block.dt > 0.0:
                found[k].append(_part(J[a:b], r[a:b]))
    rest = [_part(J[b.rows], r[b.rows]) for b in blocks if b.dt == 0.0]
    return [_sum(parts) for parts in found] + ([_sum(rest)] if rest else [])


def _bands(J: FloatArray, r: FloatArray, blocks: Sequence[Block]) -> list[Part]:
    """Return the data by bands of frequency that tell equally much."""
    lines: list[tuple[FloatArray, FloatArray, FloatArray]] = []  # frequency, terms of J'r, of J'J
    for block in blocks:
        if block.dt > 0.0:
            s = spectrum(J, r, block)
            terms = np.einsum("k,ki,kj->kij", s.weight, s.J.conj(), s.J).real
            lines.append((s.omega, (s.weight[:, None] * (s.J.conj() * s.r[:, None])).real, terms))
        else:
            own = J[block.rows]
            lines.append((np.asarray(block.omega), own * r[block.rows, None], np.einsum("ki,kj->kij", own, own)))
    omega = np.concatenate([one[0] for one in lines])
    slopes = np.concatenate([one[1] for one in lines])
    normals = np.concatenate([one[2] for one in lines])
    told = np.einsum("kii->ki", normals)
    told = (told / np.maximum(told.sum(axis=0), 1e-300)).sum(axis=1)
    order = np.argsort(omega)
    reached = np.cumsum(told[order]) / max(float(told.sum()), 1e-300)
    which = np.empty(omega.size, int)
    which[order] = np.minimum((BANDS * reached).astype(int), BANDS - 1)
    return [(slopes[which == k].sum(axis=0), normals[which == k].sum(axis=0)) for k in range(BANDS)]


def _part(J: FloatArray, r: FloatArray) -> Part:
    return J.T @ r, J.T @ J


def _sum(parts: Sequence[Part]) -> Part:
    return np.asarray(sum(g for g, _ in parts)), np.asarray(sum(N for _, N in parts))


def _step(slope: FloatArray, normal: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(normal, -slope, rcond=1e-12)[0], float)
