"""State space models of records: PO-MOESP, then output error.

    LQ of [Uf; Up; Yp; Yf],  SVD of L32 = Yf's part explained by [Up; Yp] beside Uf,  A and C from the shift structure,
    unstable eigenvalues pulled inside the circle,  B, D, x0 by linear least squares            (Verhaegen 1994)

The output error of the poles is then minimised with everything else eliminated (see `flexctl.identify.output_error`).
Several horizons are tried; the one with the best fit to the estimation data is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..linear import FirstOrder
from ..model import ComplexArray, FloatArray, Signal, names
from ..support.tabular import Column, Tabular
from . import feedback, quality
from .output_error import OutputErrorFit, output_error, simulated
from .poles import WithPoles
from .record import Record

INSIDE = 0.9995
"""Radius to which unstable poles are pulled."""
HORIZONS = (10, 15, 20, 25, 30, 40, 50, 60)


@dataclass(frozen=True, eq=False)
class SubspaceFit(WithPoles, Tabular):
    """A sampled state space model identified from a record.

    Attributes
    ----------
    plant : FirstOrder
        The model, sampled like the record.
    initial : ndarray
        State at the beginning of the record.
    offsets : ndarray
        What each output has besides the model's: its mean and a constant, which is fitted.
    fit : mapping
        For each output 100 (1 - |y - model| / |y - mean|) [%], of the estimation data.
    horizon : int
        Block rows that were used.
    on_bound : tuple of float
        Frequencies [rad/s] of modes that rest on the bound of the search: their damping is not identified.
    singular_values : ndarray
        Of the projection: where they fall off is the order.
    sigma_frequency, sigma_damping : ndarray
        Relative standard deviations of the modes' frequencies and damping ratios; NaN without refinement.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u, y = rng.standard_normal(400), np.zeros(400)
    >>> for k in range(2, 400):
    ...     y[k] = 1.6 * y[k - 1] - 0.95 * y[k - 2] + 0.1 * u[k - 1]
    >>> found = fx.identify.subspace(fx.identify.record(1.0, {"u [N]": u}, {"y [m]": y}), 2)
    >>> print(abs(found.plant.poles()).round(4))
    [0.9747 0.9747]
    """

    plant: FirstOrder
    initial: FloatArray
    offsets: FloatArray
    fit: Mapping[str, float]
    horizon: int
    on_bound: tuple[float, ...]
    singular_values: FloatArray
    sigma_frequency: FloatArray
    sigma_damping: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def poles(self) -> ComplexArray:
        """Poles of continuous time with Im >= 0, log(z) / dt [rad/s]."""
        z = self.plant.poles()
        with np.errstate(divide="ignore"):
            s = np.log(z.astype(complex)) / self.plant.dt
        s = s[s.imag >= 0.0]
        return np.asarray(s[np.argsort(np.abs(s))])

    def __repr__(self) -> str:
        fits = ", ".join(f"{name} {value:.2f} %" for name, value in self.fit.items())
        return f"SubspaceFit(order {len(self.plant.states)}, {fits})"

    def predict(self, data: Record) -> FloatArray:
        """Return the outputs of the model under the inputs of a record, its initial state and offsets fitted to it."""
        return predicted(self.plant, data)

    def validate(self, data: Record) -> dict[str, float]:
        """Return the fit [%] to other data, initial state and offsets fitted."""
        return fit_percent(data, predicted(self.plant, data))

    def _table(self) -> list[Column]:
        return [
            Column("mode", np.arange(1, self.poles.size + 1)),
            Column("frequency", self.frequencies_hz, "Hz"),
            Column("sigma_frequency", self.frequencies_hz * self.sigma_frequency, "Hz"),
            Column("damping", self.damping, "1"),
            Column("sigma_damping", np.abs(self.damping) * self.sigma_damping, "1"),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "fit_percent": dict(self.fit), "horizon": self.horizon}


def subspace(
    data: Record,
    order: int,
    *,
    horizons: Sequence[int] | None = None,
    refine: bool = True,
    direct: bool = True,
    progress: Callable[[str, float], None] | None = None,
) -> SubspaceFit:
    """Return a sampled state space model of a record.

    Parameters
    ----------
    data : Record
        The data. Means are taken out of outputs and inputs.
    order : int
        Number of states.
    horizons : sequence of int, optional
        Block rows to be tried; by default 10 to 60, as far as the record allows.
    refine : bool
        Minimise the output error from there.
    direct : bool
        Whether there is feed-through.
    progress : callable, optional
        Called with what is running and the fraction done.

    Raises
    ------
    DefinitionError
        When the record is too short for the order, or the inputs excite too few lines.

    Warns
    -----
    DataWarning
        When a mode rests on the bound of the search.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u, y = rng.standard_normal(400), np.zeros(400)
    >>> for k in range(1, 400):
    ...     y[k] = 0.9 * y[k - 1] + u[k - 1]
    >>> found = fx.identify.subspace(fx.identify.record(0.1, {"u [N]": u}, {"y [m]": y}), 1, refine=False)
    >>> len(found.plant.states)
    1
    """
    require(isinstance(data, Record), "subspace takes a Record; see identify.record and identify.read_record")
    whole = isinstance(order, int | np.integer) and not isinstance(order, bool) and order >= 1
    require(whole, f"order = {order!r} must be a whole number of states, 1 or more")
    n, p, ny = int(order), len(data.inputs), len(data.outputs)
    quality.tell([*data.warnings(), *feedback.told([data], "poles and gains are", feedback.FITTED)])
    u, y = data.u - data.u.mean(axis=0), data.y - data.y.mean(axis=0)
    rows = HORIZONS if horizons is None else horizons
    tried = [f for f in rows if f > n / ny + 1 and _columns(data.t.size, f) > 2 * f * (p + ny)]
    if not tried:
        least = (2 * (int(n / ny) + 2)) * (p + ny) + 2 * (int(n / ny) + 2)
        raise DefinitionError(
            f"the record of {data.t.size} samples is too short for order {n} with {p} inputs and {ny} outputs"
            + (f" and horizons {list(horizons)}" if horizons is not None else f"; it needs {least} at least")
        )
    _check_excitation(data, u, n)
    say = progress or (lambda what, part: None)
    scale = y.std(axis=0)
    starts = []
    for k, f in enumerate(tried):
        A, C, size = _moesp(u, y / scale, f, n)
        starts.append((_fit_of_linear(A, C, u, y / scale, direct), f, A, C, size))
        say("subspace", (k + 1) / len(tried))
    starts.sort(key=lambda item: item[0].cost)
    best, chosen = starts[0][0], starts[0]
    if refine:
        distinct = starts[: min(4, len(starts))]
        found = []
        for k, start in enumerate(distinct):
            found.append((output_error(start[2], u, y / scale, INSIDE, direct), start))
            say("output error", (k + 1) / len(distinct))
        best, chosen = min(found, key=lambda item: item[0].cost)
    return _told(data, best, chosen[1], chosen[4], scale)


def _columns(count: int, horizon: int) -> int:
    return count - 2 * horizon + 1


def _check_excitation(data: Record, u: FloatArray, order: int) -> None:
    """Refuse inputs that hold fewer lines than the order asks for."""
    power = np.abs(np.fft.rfft(u, axis=0)) ** 2
    for k, signal in enumerate(data.inputs):
        lines = int(np.sum(power[:, k] > 1e-10 * power[:, k].max()))
        enough = 2 * lines >= order
        require(
            enough,
            f'input "{signal.name}" holds {lines} lines; a model of order {order} needs {(order + 1) // 2} at least: '
            "excite with more frequencies",
        )


def _moesp(u: FloatArray, y: FloatArray, f: int, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, C and the singular values of PO-MOESP with f block rows for past and future."""
    p, ny, columns = u.shape[1], y.shape[1], _columns(len(u), f)

    def hankel(x: FloatArray, begin: int) -> FloatArray:
        return np.concatenate([x[begin + i : begin + i + columns].T for i in range(f)])

    rows = np.concatenate([hankel(u, f), hankel(u, 0), hankel(y, 0), hankel(y, f)])
    L = np.asarray(np.linalg.qr(rows.T, mode="r")).T
    a, b = f * p, f * p + f * (p + ny)
    U, size, _ = np.linalg.svd(L[b:, a:b], full_matrices=False)
    observability = U[:, :n] * np.sqrt(size[:n])
    A = np.linalg.lstsq(observability[:-ny], observability[ny:], rcond=None)[0]
    return _pulled(A), observability[:ny], size


def _pulled(A: FloatArray) -> FloatArray:
    """Return A with its eigenvalues outside the circle pulled to `INSIDE`."""
    z, V = np.linalg.eig(A)
    if np.abs(z).max() <= INSIDE:
        return A
    z = np.where(np.abs(z) > INSIDE, INSIDE * z / np.abs(z), z)
    return np.asarray(np.real(V @ np.diag(z) @ np.linalg.inv(V)))


def _fit_of_linear(A: FloatArray, C: FloatArray, u: FloatArray, y: FloatArray, direct: bool) -> OutputErrorFit:
    """Return B, D, x0 and constants of given A and C by linear least squares."""
    n, p, ny, count = len(A), u.shape[1], y.shape[1], len(u)
    columns = []
    free = np.empty((count, n, n))
    power = np.eye(n)
    for k in range(count):
        free[k] = power
        power = A @ power
    for i in range(n):
        columns.append((free[:, :, i] @ C.T).ravel())
    for j in range(p):
        for i in range(n):
            b = np.zeros((n, 1))
            b[i] = 1.0
            columns.append((simulated(A, b, u[:, [j]]) @ C.T).ravel())
    for j in range(p if direct else 0):
        for i in range(ny):
            block = np.zeros((count, ny))
            block[:, i] = u[:, j]
            columns.append(block.ravel())
    columns += [np.tile(row, count) for row in np.eye(ny)]
    rows = np.column_stack(columns)
    c = np.asarray(np.linalg.lstsq(rows, y.ravel(), rcond=None)[0], float)
    x0, B = c[:n], c[n : n + n * p].reshape(p, n).T
    D = c[n + n * p : -ny].reshape(p, ny).T if direct else np.zeros((ny, p))
    cost = float(np.sum((y.ravel() - rows @ c) ** 2))
    unknown = np.full(0, np.nan)
    return OutputErrorFit(A, B, C, D, x0, c[-ny:], cost, np.zeros(0, bool), unknown, unknown)


def _told(data: Record, best: OutputErrorFit, horizon: int, size: FloatArray, scale: FloatArray) -> SubspaceFit:
    states = tuple(Signal(f"x{i + 1}") for i in range(len(best.A)))
    note = {**data.provenance, "plant": "identified", "method": "PO-MOESP, output error"}
    plant = FirstOrder(
        best.A,
        best.B,
        scale[:, None] * best.C,
        scale[:, None] * best.D,
        states,
        data.inputs,
        data.outputs,
        data.dt,
        note,
    )
    z = plant.poles()
    bound = np.abs(z) > INSIDE - 1e-6
    on_bound = tuple(float(abs(np.log(x)) / data.dt) for x in z[bound & (z.imag >= 0)])
    if on_bound:
        hertz = ", ".join(f"{w / (2 * np.pi):.4g}" for w in on_bound)
        quality.tell(
            [
                f"a mode at {hertz} Hz rests on the bound of the search (|z| = {INSIDE}): it is undamped or "
                "unstable as far as the "
                "record shows; its damping is not identified"
            ]
        )
    y = predicted(plant, data)
    count = int(np.sum(z.imag >= 0))
    sf, sd = best.sigma_frequency, best.sigma_damping
    unknown = np.full(count, np.nan)
    return SubspaceFit(
        plant,
        best.initial,
        data.y.mean(axis=0) + scale * best.offset,
        fit_percent(data, y),
        horizon,
        on_bound,
        size,
        sf if sf.size == count else unknown,
        sd if sd.size == count else unknown,
        note,
    )


def predicted(plant: FirstOrder, data: Record, free: bool = True) -> FloatArray:
    """Return the outputs of a sampled plant under the inputs of a record; with `free` the initial state is fitted."""
    require(plant.dt > 0, "the plant is continuous: sample it first (fx.zero_order_hold)")
    same = abs(plant.dt - data.dt) <= 1e-6 * plant.dt
    require(same, f"the plant is sampled every {plant.dt:.6g} s, the record every {data.dt:.6g} s")
    at = [names(data.inputs).index(name) if name in names(data.inputs) else -1 for name in names(plant.inputs)]
    require(-1 not in at, f"the record lacks inputs of the plant: {', '.join(names(plant.inputs))}")
    u = data.u[:, at] - data.u[:, at].mean(axis=0)
    forced = simulated(plant.A, plant.B, u) @ plant.C.T + u @ plant.D.T
    if not free:
        return np.asarray(forced + data.y.mean(axis=0))
    measured = data.choose(outputs=names(plant.outputs)).y
    scale = measured.std(axis=0)
    n = len(plant.A)
    columns = [simulated(plant.A, np.zeros((n, 1)), u[:, :1], x0) @ plant.C.T for x0 in np.eye(n)]
    offsets = [np.broadcast_to(np.eye(len(scale))[k], measured.shape) for k in range(len(scale))]
    rows = np.stack([*columns, *offsets], axis=2) / scale[:, None]
    c = np.linalg.lstsq(rows.reshape(-1, rows.shape[2]), ((measured - forced) / scale).ravel(), rcond=None)[0]
    return np.asarray(forced + (rows @ c) * scale)


def fit_percent(data: Record, y: FloatArray) -> dict[str, float]:
    """Return 100 (1 - |y - model| / |y - mean|) [%] for each output."""
    rest = np.linalg.norm(data.y - y, axis=0) / np.linalg.norm(data.y - data.y.mean(axis=0), axis=0)
    return {signal.name: float(100.0 * (1.0 - rest[k])) for k, signal in enumerate(data.outputs)}
