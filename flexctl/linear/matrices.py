"""Users' own matrices as a plant.

    M a + D v + K q + G' lam = B u,   G q = 0,   y = Cq q + Cv v + Ca a + Du u          (SecondOrder)
    x' = A x + B u,   y = C x + D u                                                     (FirstOrder)

Closure equations are removed by the null space of G: q = N z, and every matrix is projected. K must then contain the
geometric term d(G' lam)/dq of the operating point; without it the poles about a loaded equilibrium are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..model import FloatArray, Signal
from ..support.kinds import Matrix
from . import FirstOrder, SecondOrder, independent_basis
from .descriptor import check_regular

Labels = Sequence[str | Signal]
_WITH_UNIT = re.compile(r"(.*\S)\s+\[(.*)\]\s*")


def from_matrices(
    M: Matrix = None,
    D: Matrix = None,
    K: Matrix = None,
    B: Matrix = None,
    C: Matrix = None,
    *,
    Cq: Matrix = None,
    Cv: Matrix = None,
    Ca: Matrix = None,
    Du: Matrix = None,
    G: Matrix = None,
    A: Matrix = None,
    dt: float = 0.0,
    coordinates: Labels | None = None,
    states: Labels | None = None,
    inputs: Labels | None = None,
    outputs: Labels | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> SecondOrder | FirstOrder:
    """Return a plant made of arrays, nested lists or scipy sparse matrices.

    Parameters
    ----------
    M, D, K : matrix
        Mass, damping (none by default), stiffness, n x n. M may be singular where s^2 M + s D + K is regular.
    B : matrix
        Input matrix; a vector of either orientation is one input. Without it there are no inputs.
    C, Cq, Cv, Ca : matrix
        Output rows for coordinates (C is another name for Cq), rates, accelerations; vectors are one output. Without
        any, the outputs are the coordinates (states).
    Du : matrix
        Feed-through.
    G : matrix
        Closure equations G q = 0, one per row.
    A : matrix
        Makes a first-order plant of A, B, C and D; M, K, G and the rest are then not allowed.
    dt : float
        Sample time of a first-order plant [s]; 0 is continuous.
    coordinates, states, inputs, outputs : sequence of str or Signal
        Names, or "name [unit]"; q1, x1, u1, y1, ... by default.
    provenance : mapping
        Where the numbers come from.

    Raises
    ------
    DefinitionError
        Wrong shapes, entries that are not finite, redundant closures, a singular pencil.

    Examples
    --------
    >>> plant = fx.from_matrices([[1.0]], [[0.1]], [[4.0]], [[1.0]], [[1.0]], inputs=["force"], outputs=["position"])
    >>> print(plant.modes())
    0 rigid modes
    mode  frequency [Hz]      [rad/s]  damping [%]
       1         0.31831            2          2.5
    """
    second = {"M": M, "K": K, "Cq": Cq, "Cv": Cv, "Ca": Ca, "Du": Du, "G": G}
    note = {"plant": "matrices", **(provenance or {})}
    if A is not None:
        extra = [name for name, value in second.items() if value is not None]
        belong = "belongs" if len(extra) == 1 else "belong"
        words = f"{', '.join(extra)} {belong} to a second-order one: give one set"
        feed = "; the feed-through of a first-order plant is D" if "Du" in extra else ""
        require(not extra, f"A makes a first-order plant; {words}{feed}")
        require(coordinates is None, "a first-order plant has states, not coordinates")
        return _first_order(A, B, C, D, dt, (states, inputs, outputs), note)
    for name in ("M", "K"):
        require(second[name] is not None, f"{name} is missing: give M and K, or A, B, C and D")
    require(states is None, "a second-order plant has coordinates, not states")
    require(dt == 0, f"dt = {dt}: a second-order plant is continuous")
    require(C is None or Cq is None, "C is another name for Cq; give one of them")
    sensors = (C if Cq is None else Cq, Cv, Ca, Du)
    return _second_order(M, D, K, B, sensors, G, (coordinates, inputs, outputs), note)


def _first_order(
    A: Any, B: Any, C: Any, D: Any, dt: float, labels: tuple[Labels | None, ...], note: dict[str, Any]
) -> FirstOrder:
    a = _square("A", A, None)
    n = a.shape[0]
    b = _columns("B", B, n)
    c = np.eye(n) if C is None else _rows("C", C, n)
    d = _feed_through("D", D, (c.shape[0], b.shape[1]))
    x = signals("state", labels[0], n, "x")
    u = signals("input", labels[1], b.shape[1], "u")
    y = x if C is None and labels[2] is None else signals("output", labels[2], c.shape[0], "y")
    require(np.isfinite(dt) and dt >= 0, f"dt = {dt} s must be zero (continuous) or positive")
    return FirstOrder(a, b, c, d, x, u, y, float(dt), note)


def _second_order(
    M: Any,
    D: Any,
    K: Any,
    B: Any,
    sensors: tuple[Any, ...],
    G: Any,
    labels: tuple[Labels | None, ...],
    note: dict[str, Any],
) -> SecondOrder:
    m = _square("M", M, None)
    n = m.shape[0]
    k, d = _square("K", K, n), np.zeros((n, n)) if D is None else _square("D", D, n)
    b = _columns("B", B, n)
    q, u = signals("coordinate", labels[0], n, "q"), signals("input", labels[1], b.shape[1], "u")
    rows = [None if c is None else _rows(f"C{'qva'[i]}", c, n) for i, c in enumerate(sensors[:3])]
    given = [r.shape[0] for r in rows if r is not None]
    require(len(set(given)) <= 1, f"Cq, Cv and Ca have {given} rows; every output has a row in each")
    ny = given[0] if given else n
    y = q if not given and labels[2] is None else signals("output", labels[2], ny, "y")
    cq, cv, ca = (np.zeros((ny, n)) if r is None else r for r in rows)
    if not given:
        cq = np.eye(n)
    du, basis = _feed_through("Du", sensors[3], (ny, b.shape[1])), None
    if G is not None:
        basis, kept = independent_basis(_closure(G, n))
        q = tuple(q[i] for i in kept)
        m, d, k = (basis.T @ x @ basis for x in (m, d, k))
        b, cq, cv, ca = basis.T @ b, cq @ basis, cv @ basis, ca @ basis
    check_regular(m, d, k)
    plant = SecondOrder(m, d, k, b, cq, cv, ca, du, q, u, y, None, basis, note)
    return SecondOrder(m, d, k, b, cq, cv, ca, du, q, u, y, None, basis, {**note, "symmetric": plant.symmetric})


def _closure(G: Any, n: int) -> FloatArray:
    g = _rows("G", G, n)
    require(0 < g.shape[0] < n, f"G has {g.shape[0]} closure equations for {n} coordinates; some motion must remain")
    return g


def _matrix(label: str, value: Any) -> FloatArray:
    """Return a matrix of floats; vectors stay vectors."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "c" and np.any(raw.imag):
            raise DefinitionError(f"matrix {label} is complex; plants are real")
        matrix: FloatArray = np.array(raw.real if raw.dtype.kind == "c" else raw, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(f"matrix {label} is not a matrix of numbers: {error}") from error
    require(matrix.ndim <= 2, f"matrix {label} has {matrix.ndim} dimensions")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):  # of a single number an index is empty
        where = ", ".join(str(i + 1) for i in bad[0]) or "1"
        raise DefinitionError(f"matrix {label} has an entry that is not finite, at ({where})")
    return matrix


def _square(label: str, value: Any, n: int | None) -> FloatArray:
    matrix = np.atleast_2d(_matrix(label, value))
    wanted = f"{n} x {n}, like M" if n else "square"
    rows, columns = matrix.shape
    require(
        rows == columns and rows > 0 and n in (None, rows), f"matrix {label} is {rows} x {columns}; it must be {wanted}"
    )
    return matrix


def _columns(label: str, value: Any, n: int) -> FloatArray:
    """Return an n x p matrix; a vector of n numbers is one column."""
    if value is None:
        return np.zeros((n, 0))
    matrix = _matrix(label, value)
    if matrix.ndim < 2 or (matrix.shape == (1, n) and n > 1):
        matrix = matrix.reshape(-1, 1)
    require(matrix.shape[0] == n, f"matrix {label} is {_by(matrix)}; it needs {n} rows, one per coordinate or state")
    return matrix


def _rows(label: str, value: Any, n: int) -> FloatArray:
    """Return an m x n matrix; a vector of n numbers is one row."""
    matrix = _matrix(label, value)
    if matrix.ndim < 2 or (matrix.shape == (n, 1) and n > 1):
        matrix = matrix.reshape(1, -1)
    require(matrix.shape[1] == n, f"matrix {label} is {_by(matrix)}; it needs {n} columns, one per coordinate or state")
    return matrix


def _feed_through(label: str, value: Any, shape: tuple[int, int]) -> FloatArray:
    """Return the matrix; a single zero stands for all."""
    if value is None:
        return np.zeros(shape)
    matrix = np.atleast_2d(_matrix(label, value))
    if matrix.size == 0 or (matrix.size == 1 and matrix.flat[0] == 0.0):
        return np.zeros(shape)
    if matrix.shape != shape and matrix.size == shape[0] * shape[1] and 1 in shape:
        matrix = matrix.reshape(shape)
    require(
        matrix.shape == shape, f"matrix {label} is {_by(matrix)}; outputs and inputs ask for {shape[0]} x {shape[1]}"
    )
    return matrix


def _by(matrix: FloatArray) -> str:
    return " x ".join(str(n) for n in matrix.shape)


def signals(what: str, labels: Labels | None, count: int, letter: str) -> tuple[Signal, ...]:
    """Return the signals of some labels, or letter1, letter2, ... by default."""
    if labels is None:
        return tuple(Signal(f"{letter}{i + 1}") for i in range(count))
    given = [labels] if isinstance(labels, str) else list(labels)
    require(len(given) == count, f"{len(given)} {what} names for {count} {what}s")
    result = tuple(label if isinstance(label, Signal) else _signal(str(label)) for label in given)
    seen: set[str] = set()
    for signal in result:
        require(bool(signal.name.strip()), f"a {what} name is empty")
        require(
            "." not in signal.name, f'{what} name "{signal.name}" contains ".", which python-control does not allow'
        )
        require(signal.name not in seen, f'two {what}s are called "{signal.name}"')
        seen.add(signal.name)
    return result


def _signal(label: str) -> Signal:
    """Return the signal of "name" or "name [unit]"; "y[0]" is a name."""
    found = _WITH_UNIT.fullmatch(label)
    return Signal(found[1], found[2]) if found else Signal(label)
