"""Roots of functions of a complex frequency, none of them missed.

`isolate` brackets what an exact count tells; `bisect` refines all brackets at once; `turns` counts by the argument
principle, zeros - poles = change of arg f along a closed path / (2 pi); `search` finds a known number of complex roots
by the secant rule from many starts, those already found divided out. Where the number found and the number counted
differ, nothing is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...errors import ConvergenceError
from ...model import ComplexArray, FloatArray

Count = Callable[[float], int]
Real = Callable[[FloatArray], FloatArray]
Complex = Callable[[ComplexArray], ComplexArray]


def axis(omega: FloatArray) -> ComplexArray:
    """Return j omega."""
    return np.asarray(1j * omega, np.complex128)


def isolate(count: Count, low: float, high: float) -> list[tuple[float, float, int]]:
    """Return brackets (a, b, number of roots in it), one root each unless rounding cannot separate them."""
    todo, found = [(low, count(low), high, count(high))], []
    while todo:
        a, na, b, nb = todo.pop()
        if nb == na:
            continue
        middle = 0.5 * (a + b)
        if nb - na == 1 or b - a <= 4e-16 * b:
            found.append((a, b, nb - na))
            continue
        nm = count(middle)
        todo += [(middle, nm, b, nb), (a, na, middle, nm)]
    return found


def bisect(f: Real, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the roots in all the brackets at once, to rounding; f has different signs at a and b."""
    a, b, sign = a.copy(), b.copy(), np.sign(f(a))
    for _ in range(80):
        middle = 0.5 * (a + b)
        if np.all((middle == a) | (middle == b)):
            break
        left = np.sign(f(middle)) == sign
        a, b = np.where(left, middle, a), np.where(left, b, middle)
    return 0.5 * (a + b)


def turns(f: Complex, radius: float, sweep: float) -> float:
    """Return arg f at radius exp(j sweep) minus arg f at radius, followed along the arc, in units of pi."""
    angle = np.linspace(0.0, sweep, 257)
    values = f(radius * np.exp(1j * angle))
    for _ in range(40):
        step = np.abs(np.angle(values[1:] * values[:-1].conj()))
        wide = (step > 0.6) & (np.diff(angle) > 1e-11)
        if not wide.any():
            break
        fresh = 0.5 * (angle[1:] + angle[:-1])[wide]
        angle, values = np.append(angle, fresh), np.append(values, f(radius * np.exp(1j * fresh)))
        order = np.argsort(angle)
        angle, values = angle[order], values[order]
    change: float = float(np.sum(np.angle(values[1:] * values[:-1].conj()))) / math.pi
    return change


def whole(value: float, what: str) -> int:
    """Return a count that must be a whole number, or raise `ConvergenceError`."""
    number = round(value)
    if not abs(value - number) < 0.05:
        raise ConvergenceError(f"{what}: the argument turns by {value:.3f} pi, not a whole number")
    return number


def search(f: Complex, known: ComplexArray, number: int, starts: ComplexArray, radius: float) -> ComplexArray:
    """Return up to `number` roots of f inside a circle beyond those known, each conjugate pair once with Im >= 0.

    A complex root counts twice, a real one once. The phase and relative size of f suffice.
    """
    found: list[complex] = []
    left = number
    while left > 0:
        roots, before = _secant(f, np.concatenate([known, found]), starts, radius), left
        for root in roots:
            real = abs(root.imag) < 1e-9 * abs(root)
            if left >= (1 if real else 2) and all(abs(root - r) > 1e-7 * abs(root) for r in found):
                found.append(complex(root.real, 0.0 if real else abs(root.imag)))
                left -= 1 if real else 2
        if left == before:
            break
    return np.array(found, complex)


def _secant(f: Complex, known: ComplexArray, starts: ComplexArray, radius: float) -> ComplexArray:
    """Return what the secant rule reaches from the starts, f without its known roots."""
    both = np.concatenate([known, known[known.imag != 0.0].conj()])

    def rest(s: ComplexArray) -> ComplexArray:
        with np.errstate(all="ignore"):
            return np.asarray(f(s) / np.prod((s[:, None] - both) / radius, axis=1))

    x0, x1 = starts, starts * (1.0 + 1e-4 * np.exp(1j))
    y0, y1 = rest(x0), rest(x1)
    reached: list[complex] = []
    for _ in range(60):
        with np.errstate(all="ignore"):
            step = -y1 * (x1 - x0) / (y1 - y0)
            limit = 0.3 * np.abs(x1)
            step = np.where(np.abs(step) > limit, step * (limit / np.abs(step)), step)
        fresh = x1 + step
        done = np.abs(step) <= 1e-13 * np.abs(x1)
        inside = (np.abs(fresh) < 1.2 * radius) & (np.abs(fresh) > 1e-9 * radius) & np.isfinite(fresh)
        reached += list(fresh[done & inside & (np.abs(fresh) < radius)])
        going = inside & ~done
        if not going.any():
            break
        x0, y0, x1 = x1[going], y1[going], fresh[going]
        y1 = rest(x1)
    kept: list[complex] = []
    for root in sorted(reached, key=abs):
        upper = root.conjugate() if root.imag < 0.0 else root
        if all(abs(upper - r) > 1e-7 * abs(upper) for r in kept):
            kept.append(complex(upper))
    return np.array(kept, complex)
