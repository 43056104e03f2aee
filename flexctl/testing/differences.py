"""Derivatives by differences, the checks of a model's own derivatives built on them, and equality of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import MechanicalModel, balance, closure_forces, closure_turn
from ..simulation.response import Response

Array = npt.NDArray[Any]


def claim(true: bool | np.bool_, otherwise: str) -> None:
    """Raise `AssertionError` with a message unless something is true; unlike `assert` under python -O too."""
    if not true:
        raise AssertionError(otherwise)


def slope(f: Callable[[float], Any], step: float = 1e-3) -> Array:
    """Return f'(0) by central differences of fourth order."""
    near, far = (np.asarray(f(k * step)) - np.asarray(f(-k * step)) for k in (1, 2))
    return np.asarray((8.0 * near - far) / (12.0 * step))


def jacobian(f: Callable[[Array], Any], x: Array, step: float = 1e-3) -> Array:
    """Return df/dx, one column for each entry of x."""

    def column(e: Array) -> Array:
        return slope(lambda s: f(x + s * e), step)

    return np.array([column(e) for e in np.eye(x.size)]).T


def order(errors: Sequence[float], ratio: float = 2.0) -> Array:
    """Return observed orders of convergence; each error belongs to a step `ratio` times smaller than the one before."""
    e = np.asarray(errors, float)
    return np.asarray(np.log(e[:-1] / e[1:]) / np.log(ratio))


def assert_same(one: Response, other: Response, tolerance: float = 1e-11) -> None:
    """Check for the same times, outputs and inputs, to a tolerance relative to the largest."""
    np.testing.assert_array_equal(one.t, other.t)
    for a, b in ((one.y, other.y), (one.u, other.u)):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


class Motion(NamedTuple):
    """A state with accelerations, inputs and closure forces, none of them consistent with the equations."""

    q: Array
    v: Array
    a: Array
    u: Array
    lam: Array


def some_motion(model: MechanicalModel, spread: float = 0.3, seed: int = 1) -> Motion:
    """Return random numbers of about `spread` round the reference pose."""
    draw = np.random.default_rng(seed).standard_normal
    n, p, m = len(model.coordinates), len(model.inputs), len(model.closures)
    return Motion(model.reference() + spread * draw(n), spread * draw(n), 5 * draw(n), 3 * draw(p), 2 * draw(m))


def left_side(model: MechanicalModel, q: Array, v: Array, a: Array, u: Array, lam: Array) -> Array:
    """Return M a + h + W lam - B u; W is G^T unless a joint is driven by motion."""
    return balance(model, q, v, a, u) + closure_forces(model, q) @ lam


def assert_near(actual: Array, wanted: Array, rtol: float = 1e-8, floor: float = 0.0) -> None:
    """Check for equality to rtol of the largest entry, and to `floor`."""
    largest = max(np.abs(wanted).max(initial=0.0), 1e-3)
    np.testing.assert_allclose(actual, wanted, rtol=0.0, atol=rtol * largest + floor)


def check_tangent(model: MechanicalModel, x: Motion) -> None:
    """Check the tangent of the whole left side, and of the outputs, against differences."""
    tangent = model.tangent(*x)
    # rounding of the forces themselves, divided by the step of the differences: beside elastic forces, gyroscopic ones
    # are small
    floor = 1e-12 * float(np.abs(left_side(model, *x)).max())
    assert_near(tangent.mass, jacobian(lambda a: left_side(model, x.q, x.v, a, x.u, x.lam), x.a), floor=floor)
    assert_near(tangent.damping, jacobian(lambda v: left_side(model, x.q, v, x.a, x.u, x.lam), x.v), floor=floor)
    assert_near(tangent.stiffness, jacobian(lambda q: left_side(model, q, x.v, x.a, x.u, x.lam), x.q))
    out = model.output_tangent(x.q, x.v, x.a, x.u)
    assert_near(out.position, jacobian(lambda q: model.output(q, x.v, x.a, x.u), x.q))
    assert_near(out.rate, jacobian(lambda v: model.output(x.q, v, x.a, x.u), x.v))
    assert_near(out.acceleration, jacobian(lambda a: model.output(x.q, x.v, a, x.u), x.a))
    assert_near(out.input, jacobian(lambda u: model.output(x.q, x.v, x.a, u), x.u))


def check_closures(model: MechanicalModel, x: Motion) -> None:
    """Check G, (dG/dt) v and d(G v)/dq against differences of g and of G v."""
    if model.closures:
        assert_near(closure_turn(model, x.q, x.v), jacobian(lambda q: model.closure_jacobian(q) @ x.v, x.q))
        assert_near(model.closure_jacobian(x.q), jacobian(model.closure, x.q))
        bias = slope(lambda s: model.closure_jacobian(x.q + s * x.v) @ x.v)
        assert_near(model.closure_bias(x.q, x.v), bias)


def check_compiled(model: MechanicalModel, x: Motion, without: str = " ") -> None:
    """Check the compiled functions against the plain methods, but for outputs with a word in their name.

    The torque of a joint that is led is defined where the equations hold, which they do not at x.
    """
    kept = [i for i, signal in enumerate(model.outputs) if without not in signal.name]
    compiled = model.compiled()
    if compiled is None:
        raise AssertionError(f"{model.kind} has no compiled form")
    n, w = x.q.size, compiled.bandwidth
    out, y = np.empty(n), np.empty(len(model.outputs))
    state = (*x[:3], np.concatenate([x.u, x.lam]), compiled.reals, compiled.ints)
    compiled.residual(0.0, *state, out)
    assert_near(out, left_side(model, *x), 1e-12)
    compiled.output(*state, y)
    assert_near(y[kept], model.output(*x[:4])[kept], 1e-12)
    M, D, K = model.tangent(*x)
    for ca, cv, cq in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (3.0, 0.7, 1.0)):
        band = np.full((3 * w + 1, n), np.nan)
        compiled.tangent(0.0, *state[:4], ca, cv, cq, compiled.reals, compiled.ints, band)
        full = np.array([[band[2 * w + i - j, j] if abs(i - j) <= w else 0.0 for j in range(n)] for i in range(n)])
        assert_near(full, ca * M + cv * D + cq * K, 1e-12)
    if compiled.closure is not None:
        m = x.lam.size
        found = [np.empty(shape) for shape in (m, m, (m, n), (m, n), (n, m))]
        compiled.closure(x.q, x.v, compiled.reals, compiled.ints, *found)
        wanted = (
            model.closure(x.q), model.closure_bias(x.q, x.v), model.closure_jacobian(x.q),
            closure_turn(model, x.q, x.v), closure_forces(model, x.q),
        )
        for one, other in zip(found, wanted, strict=True):
            assert_near(one, other, 1e-12)
