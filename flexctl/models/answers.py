"""The answers of a model from outside, checked once when it is built: kinds, shapes, finite numbers.

All but `compiled`, which is asked by a run alone, are asked at the reference pose, at rest. Whether the answers are
right is for `flexctl.testing.conformance` to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..model import Energy, MechanicalModel, OutputTangent, Signal, Tangent


def check_answers(model: MechanicalModel) -> None:
    """Raise `DefinitionError` for the first method whose answer is not what the interface says.

    What the methods themselves raise passes through.
    """
    _check_names(model)
    n, p, k, m = (len(x) for x in (model.coordinates, model.inputs, model.outputs, model.closures))
    q = _checked("reference()", model.reference(), (n,))
    zero, u, lam = np.zeros(n), np.zeros(p), np.zeros(m)
    asked: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
        "mass(q)": (lambda: model.mass(q), (n, n)),
        "force(q, v, t)": (lambda: model.force(q, zero, 0.0), (n,)),
        "input_matrix(q)": (lambda: model.input_matrix(q), (n, p)),
        "output(q, v, a, u)": (lambda: model.output(q, zero, zero, u), (k,)),
        "closure(q)": (lambda: model.closure(q), (m,)),
        "closure_jacobian(q)": (lambda: model.closure_jacobian(q), (m, n)),
        "closure_bias(q, v)": (lambda: model.closure_bias(q, zero), (m,)),
    }
    for name, (ask, shape) in asked.items():
        _checked(name, ask(), shape)
    tangent = model.tangent(q, zero, zero, u, lam)
    _check_parts("tangent(q, v, a, u, lam)", tangent, Tangent, ((n, n),) * 3)
    sensors = model.output_tangent(q, zero, zero, u)
    _check_parts("output_tangent(q, v, a, u)", sensors, OutputTangent, ((k, n), (k, n), (k, n), (k, p)))
    _check_parts("energy(q, v)", model.energy(q, zero), Energy, ((), ()))


def _check_names(model: MechanicalModel) -> None:
    for what in ("coordinates", "inputs", "outputs"):
        signals = getattr(model, what)
        row = isinstance(signals, tuple | list) and all(isinstance(one, Signal) for one in signals)
        require(row, f'{what} = {signals!r:.60}: give a tuple of signals, (fx.Signal("joint1", "rad"), ..)')
        known = [one.name for one in signals]
        twice = next((name for name in known if known.count(name) > 1), "")
        require(not twice, f'{what}: "{twice}" stands there twice; every name once')
    require(bool(model.coordinates), "coordinates are empty: a model has one at least")


def _checked(name: str, answer: Any, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return an answer as an array of this shape."""
    try:
        numbers = np.asarray(answer)
        numbers = numbers if numbers.dtype.kind == "c" else numbers.astype(float)
    except (TypeError, ValueError):
        raise DefinitionError(f"{name} returns {answer!r:.60}, which is no array of real numbers") from None
    require(numbers.dtype.kind != "c", f"{name} returns complex numbers; all are real here")
    wanted = f"{shape}: one entry for each coordinate, input, output or closure" if shape else "one number"
    require(numbers.shape == shape, f"{name} returns an array of shape {numbers.shape} in place of {wanted}")
    require(bool(np.isfinite(numbers).all()), f"{name} is not finite in the reference pose at rest")
    return numbers


def _check_parts(name: str, answer: Any, kind: type, shapes: tuple[tuple[int, ...], ...]) -> None:
    """Check a named tuple of arrays."""
    fits, wanted = isinstance(answer, kind), f"flexctl.model.{kind.__name__}"
    require(fits, f"{name} returns {answer!r:.60} ({type(answer).__name__}) in place of a {wanted}")
    for part, shape in zip(kind._fields, shapes, strict=True):  # type: ignore[attr-defined]
        _checked(f"{name}: {part}", getattr(answer, part), shape)
