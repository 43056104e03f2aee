"""Natural frequencies, damped poles and zeros of a `TransferMatrixArm`, counted before they are looked for.

Rayleigh damping is the same operator on every term: (sigma~ M + K) q = B u / (1 + beta s) with
sigma~ = (s^2 + alpha s) / (1 + beta s). Poles and zeros of the undamped arm, sigma~, then give the damped ones exactly.
Dampers at joints (servo damping, friction, damped springs) are not of this kind: poles and zeros are then searched in
the half plane Im s >= 0, their number known from the argument of the characteristic function and of the response.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConvergenceError, DefinitionError, NotAvailable, require
from ...model import ComplexArray, FloatArray, index_of
from .roots import Complex, Real, axis, bisect, isolate, search, turns, whole

if TYPE_CHECKING:
    from . import TransferMatrixArm

BESIDE = 1e-7
"""A zero nearer to a pole than this part of its frequency cancels it."""


def count_below(model: TransferMatrixArm, omega: float) -> int:
    """Return the number of undamped natural frequencies below omega, rigid-body ones included."""
    from .kernel import count as kernels

    chain = model.chain
    l = float(chain.units(np.array([1j * omega]))[0])
    return int(kernels.count_below(chain.kind, chain.values, omega, l, chain.E0))


def natural_frequencies(model: TransferMatrixArm, count: int | None, below: float | None) -> FloatArray:
    """Return the flexible natural frequencies [rad/s]: the lowest `count`, or all below a bound."""
    if (count is None) == (below is None):
        raise DefinitionError("give count or below, one of them")
    require((count or below or 0) > 0, f"count = {count}, below = {below} rad/s: must be positive")
    model = model.undamped()
    low, high = _lowest(model), below if below is not None else 0.0
    rigid = count_below(model, low)
    if below is None:
        high = 2.0 * low
        while count_below(model, high) - rigid < (count or 0):
            high *= 1.5
    if high <= low:
        return np.zeros(0)
    brackets = isolate(lambda w: count_below(model, w), low, high)
    a, b, number = (np.array(x, float) for x in zip(*brackets, strict=True)) if brackets else (np.zeros(0),) * 3
    unit = model.chain.units(1j * b)

    def sign(w: FloatArray) -> FloatArray:
        return np.asarray(model.characteristic(axis(w), unit)[0].real)

    single = sign(a) * sign(b) < 0 if a.size else np.zeros(0, bool)
    roots = np.where(single, b, 0.5 * (a + b))
    if single.any():
        unit = unit[single]
        roots[single] = bisect(sign, a[single], b[single])
    for i in np.flatnonzero(~single):  # a double root, or one that touches zero: by the count alone
        roots[i] = _by_count(model, a[i], b[i])
    omega: FloatArray = np.sort(np.repeat(roots, number.astype(int)))[:count]
    return omega


def _lowest(model: TransferMatrixArm) -> float:
    """Return a frequency below every flexible one."""
    chain = model.chain
    total = float(np.sum(chain.pieces[:, 0]))
    omega = math.sqrt(chain.E0 / float(chain.pieces[:, 1].max())) / total**2
    rigid = model.rigid_modes
    for _ in range(60):
        if count_below(model, omega) == rigid:
            return omega
        omega *= 0.25
    raise ConvergenceError("no frequency below the first flexible one found")


def _by_count(model: TransferMatrixArm, a: float, b: float) -> float:
    low = count_below(model, a)
    while b - a > 4e-16 * b:
        middle = 0.5 * (a + b)
        if count_below(model, middle) > low:
            b = middle
        else:
            a = middle
    return 0.5 * (a + b)


def damped(model: TransferMatrixArm, sigma: ComplexArray) -> ComplexArray:
    """Return s with Im s >= 0 of (s^2 + alpha s) / (1 + beta s) = sigma, by size; of a positive sigma both."""
    b = model.alpha - model.beta * sigma
    root = np.sqrt(b * b + 4.0 * sigma)
    s = np.concatenate([0.5 * (root - b), 0.5 * (-root - b)])
    real = np.abs(s.imag) <= 1e-14 * np.abs(s)
    s = np.where(real, s.real, s)
    if not model.alpha and not model.beta:
        s = np.where(np.concatenate([sigma, sigma]).imag == 0.0, np.where(s.real == 0.0, 1j * s.imag, s), s)
    s = s[real | (s.imag > 0.0)]
    return np.asarray(s[np.argsort(np.abs(s), kind="stable")])


def poles(model: TransferMatrixArm, below: float | None) -> ComplexArray:
    """Return the poles with Im >= 0 but those at zero, |s| below a bound."""
    if below is None:
        omega = natural_frequencies(model, 12, None)
        below = math.sqrt(omega[10] * omega[11])
    require(below > 0, f"below = {below} rad/s must be positive")
    if not model.joint_dampers:
        omega = natural_frequencies(model, None, _undamped_bound(model, below))
        zeta = model.arm.damping.ratio
        if zeta > 0:
            return np.asarray(omega[omega < below] * complex(-zeta, math.sqrt(1.0 - zeta * zeta)))
        rigid = np.full(model.rigid_modes if model.alpha else 0, -model.alpha + 0j)
        found = np.concatenate([rigid, damped(model, np.asarray(-(omega**2), np.complex128))])
        found = found[np.argsort(np.abs(found), kind="stable")]
        return np.asarray(found[np.abs(found) < below])
    radius = _clear(model, below)
    unit = np.full(1, float(model.chain.units(np.array([radius]))[0]))
    reference = float(model.characteristic(np.array([radius], complex), unit)[1][0])
    # the compliance 1 / (K + c s) of a damped joint spring is infinite at -K/c, what a winding adds at -R/L, and the
    # characteristic function there
    soft = np.array(
        [j.stiffness / j.damping for j in model.arm.joints if j.damping > 0]
        + [w.resistance / w.inductance for w in model.windings.values()]
    )

    def value(s: ComplexArray) -> ComplexArray:
        phase, size = model.characteristic(s, np.repeat(unit, s.size))
        with np.errstate(all="ignore"):
            return np.asarray(phase * np.exp(size - reference) * np.prod((s[:, None] + soft) / radius, axis=1))

    number = whole(turns(lambda s: model.characteristic(s)[0], radius, math.pi), "poles")
    number += int(np.sum(soft < radius)) - model.poles_at_zero
    omega = natural_frequencies(model, None, radius)
    starts = np.concatenate([1j * omega, -_logarithmic(radius), _rays(radius)])
    return _complete(value, np.zeros(model.poles_at_zero, complex), number, starts, radius, below, "poles")


def _complete(
    value: Complex, known: ComplexArray, number: int, starts: ComplexArray, radius: float, below: float, what: str
) -> ComplexArray:
    found = search(value, known, number, starts, radius)
    have = int(np.sum(np.where(found.imag == 0.0, 1, 2)))
    if have != number:
        message = f"{what} within {radius:g} rad/s: {number} counted, {have} found"
        raise ConvergenceError(message, residual=number - have)
    found = found[np.abs(found) < below]
    return found[np.argsort(np.abs(found), kind="stable")]


def _logarithmic(radius: float) -> ComplexArray:
    return np.geomspace(1e-4 * radius, 0.98 * radius, 60).astype(complex)


def _rays(radius: float) -> ComplexArray:
    r, angle = np.geomspace(1e-2 * radius, 0.95 * radius, 12), np.linspace(0.15, math.pi - 0.15, 12)
    return np.asarray((r[:, None] * np.exp(1j * angle)).ravel())


def _undamped_bound(model: TransferMatrixArm, below: float) -> float:
    """Return a bound for undamped frequencies of poles with |s| < below (|s|^2 = omega^2 for pairs)."""
    if model.beta:
        require(below < 0.99 / model.beta, f"below = {below:g} rad/s: infinitely many real poles near -1/beta; ask for "
                f"less than {0.99 / model.beta:g} rad/s")
        return below * math.sqrt((1.0 + model.alpha / below) / (1.0 - model.beta * below))
    return math.sqrt(below * (below + model.alpha))


def _clear(model: TransferMatrixArm, below: float) -> float:
    """Return a radius not much above a bound, in the middle between two natural frequencies."""
    if model.beta:
        require(below < 0.5 / model.beta, f"below = {below:g} rad/s: poles crowd towards -1/beta; ask for less than "
                f"{0.5 / model.beta:g} rad/s")
    above = natural_frequencies(model, None, 1.5 * below)
    edges = np.concatenate([[below], above[above > below], [1.5 * below]])
    k = int(np.argmax(np.diff(edges) / edges[:-1]))
    return float(math.sqrt(edges[k] * edges[k + 1]))


def zeros(model: TransferMatrixArm, output: str, source: str, below: float | None) -> ComplexArray:
    """Return the zeros of one channel with Im >= 0 and 0 < |s| < below."""
    row, column = index_of("output", output, model.outputs), index_of("input", source, model.inputs)
    if model.arm.damping.kind == "modal" and model.arm.damping.ratio > 0:
        raise NotAvailable("a constant modal ratio has no closed form; take the zeros of modal_plant(count)")
    if below is None:
        omega = natural_frequencies(model, 12, None)
        below = math.sqrt(omega[10] * omega[11])
    require(below > 0, f"below = {below} rad/s must be positive")
    power = model.derivatives(output) + (-2 if source.endswith("_acceleration") else 0)

    def channel(of: TransferMatrixArm, s: ComplexArray) -> ComplexArray:
        with np.errstate(all="ignore"):
            return np.asarray(of.channel(row, column, s) / s**power)

    if not model.joint_dampers:
        plain, bound = model.undamped(), _undamped_bound(model, below)
        sigma = _undamped_zeros(plain, lambda s: channel(plain, s), bound)
        found = damped(model, sigma)
        return found[np.abs(found) < below]
    radius = _clear(model, below)

    def response(s: ComplexArray) -> ComplexArray:
        return channel(model, s)

    seen = [p for p in poles(model, radius) if _residue(response, p)]
    number = whole(turns(response, radius, math.pi), "zeros") - _order_at_zero(response, radius, 1)
    number += sum(1 if p.imag == 0.0 else 2 for p in seen)
    both = np.array(seen + [p.conjugate() for p in seen if p.imag != 0.0], complex)

    def numerator(s: ComplexArray) -> ComplexArray:
        return np.asarray(response(s) * np.prod((s[:, None] - both) / radius, axis=1))

    omega = np.abs(np.array(seen, complex))
    middle = np.sqrt(omega[1:] * omega[:-1]) if omega.size > 1 else np.zeros(0)
    starts = np.concatenate([1j * middle, _logarithmic(radius), -_logarithmic(radius), _rays(radius)])
    what, none = f"zeros from {source} to {output}", np.zeros(0, complex)
    return _complete(numerator, none, number, starts, radius, below, what)


def _residue(f: Complex, pole: complex) -> bool:
    """Return whether a channel sees a pole: its residue counts beside the response around it."""
    around = pole * (1.0 + 1e-5 * np.exp(2j * np.pi * np.arange(8) / 8))
    values = f(around)
    return bool(abs(np.mean(values * np.exp(2j * np.pi * np.arange(8) / 8))) > 1e-3 * abs(np.mean(values)))


def _order_at_zero(f: Complex, radius: float, step: int) -> int:
    """Return n of f ~ s^(n step) at s = 0."""
    s = np.array([1e-7 * radius, 2e-7 * radius], np.complex128)
    size = np.abs(f(s))
    return round(math.log2(size[1] / size[0]) / step)


def _undamped_zeros(model: TransferMatrixArm, f: Complex, below: float) -> ComplexArray:
    """Return sigma = s^2 of the zeros of an undamped channel, |s| < below; complex pairs with both signs of Im."""

    def on_axis(w: FloatArray) -> FloatArray:
        return np.asarray(f(axis(w)).real)

    def right(x: FloatArray) -> FloatArray:
        return np.asarray(f(np.asarray(x, np.complex128)).real)

    radius = _clear(model, below)
    omega = np.unique(natural_frequencies(model, None, radius))
    beside = [on_axis(omega * (1.0 + side * BESIDE)) for side in (-1, 1)]
    seen = omega[beside[0] * beside[1] < 0.0]
    number = whole(turns(f, radius, 0.5 * math.pi), "zeros") - _order_at_zero(f, radius, 2)
    number += seen.size
    for points in (12, 60, 400, 3000):
        edges = np.concatenate([[1e-6 * radius], omega, [radius]])
        grids = [np.linspace(a * (1 + BESIDE), b * (1 - BESIDE), points) for a, b in pairwise(edges)]
        imaginary = _changes(on_axis, grids)
        real = _changes(right, [np.geomspace(1e-5 * radius, radius, 20 * points)])
        sigma = np.concatenate([-(imaginary**2), real**2]).astype(complex)
        if sigma.size == number:
            return sigma
        if points > 12 and sigma.size < number and (number - sigma.size) % 2 == 0:
            pairs = _quadruples(f, sigma, number - sigma.size, radius)
            if sigma.size + 2 * pairs.size == number:
                return np.concatenate([sigma, pairs, pairs.conj()])
    raise ConvergenceError(
        f"zeros within {radius:g} rad/s: {number} pairs counted, {sigma.size} found", residual=number - sigma.size
    )


def _changes(f: Real, grids: list[FloatArray]) -> FloatArray:
    """Return the roots where f changes its sign along the grids."""
    a, b = [], []
    values = f(np.concatenate(grids))
    for grid, part in zip(grids, np.split(values, np.cumsum([g.size for g in grids])[:-1]), strict=True):
        k = np.flatnonzero(part[1:] * part[:-1] < 0.0)
        a.append(grid[k])
        b.append(grid[k + 1])
    left, right = np.concatenate(a), np.concatenate(b)
    return bisect(f, left, right) if left.size else left


def _quadruples(f: Complex, sigma: ComplexArray, number: int, radius: float) -> ComplexArray:
    """Return the complex sigma, Im > 0, of `number` zeros that are neither on the real nor on the imaginary axis."""

    def of_sigma(x: ComplexArray) -> ComplexArray:
        return np.asarray(f(np.sqrt(x)))

    r, angle = np.geomspace(1e-2, 0.98, 25) * radius, np.linspace(0.03, 0.97, 25) * math.pi
    starts = np.asarray((r[:, None] ** 2 * np.exp(1j * angle)).ravel())
    found = search(of_sigma, sigma, number, starts, radius**2)
    return np.asarray(found[found.imag != 0.0])

