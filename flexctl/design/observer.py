"""An estimator as a thing of its own: what no sensor reads, from what some sensors read and the applied torques.

    z^- = A z^[k-1] + B l[k],     z^ = z^- + L (y[k] - Cz z^- - R l[k]),     e = E z^ + R_e l[k]

z are the modes that are kept, their rates and the loads at the inputs, l the inputs that acted since the last sample
(see `flexctl.design.estimated`, and there why R must not be left out where a strain is measured). It runs beside any
law, or after a run on what was recorded:

    filter = fx.observer(plant, modes=3, measures=("joint1_angle", "root_curvature"), drive="joint1_torque",
                         estimates="chord1_angle", sample_time=1e-3, noise=(3e-12, 1e-8))
    found = filter.over(run)                    estimates, innovations, loads and states at every sample
    filter.error_bound(other_plant, 0.3)        the largest error that torques up to 0.3 N m can cause on another plant

A law that acts on such estimates is `flexctl.lqg`, which holds the same filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sla

from ..errors import ConvergenceError, DefinitionError, require, unknown
from ..linear import FirstOrder, SecondOrder
from ..linear.discrete import zero_order_hold
from ..linear.modes import normal_modes
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal, index_of, names
from ..support import checks
from ..support.checks import each
from ..support.tabular import Column, Tabular
from .design_model import Names
from .estimated import EstimatedModel, estimated_model

if TYPE_CHECKING:
    from ..simulation.response import Response

_TAIL = 0.01
"""Part of the sum of an impulse response that may be left when it is ended by a geometric series."""


@dataclass(frozen=True, eq=False)
class Estimates(Tabular):
    """Estimates of an observer along a recorded run, at its samples.

    Attributes
    ----------
    t : ndarray
        Times [s].
    values, innovations, loads, states : ndarray
        Estimated outputs, readings minus their predictions, loads at the inputs (empty where none are
        estimated), modal coordinates and rates; a row for every time.
    truth : ndarray
        What the run recorded of the estimated outputs, nan where it recorded nothing.
    outputs, measures, inputs : tuple of Signal
        Names and units of the columns of values and truth, innovations, loads.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
    >>> signals = {"measures": "joint1_angle", "drive": "joint1_torque", "estimates": "chord1_angle"}
    >>> filter = fx.observer(plant.linearise(), modes=3, sample_time=1e-3, noise=3e-12, **signals)
    >>> run = fx.simulate(plant, inputs={"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3)
    >>> found = filter.over(run)
    >>> found.values.shape == (found.t.size, 1)
    True
    """

    t: FloatArray
    values: FloatArray
    innovations: FloatArray
    loads: FloatArray
    states: FloatArray
    truth: FloatArray
    outputs: tuple[Signal, ...]
    measures: tuple[Signal, ...]
    inputs: tuple[Signal, ...]

    _index = "time"

    def __getitem__(self, name: str) -> FloatArray:
        """Return an estimated output, "innovation:" plus a measured one, "load:" plus an input, "truth:" plus one."""
        columns = {column.name: column.values for column in self._table()}
        if name not in columns:
            raise unknown("estimate", name, columns)
        return np.asarray(columns[name])

    @property
    def errors(self) -> dict[str, float]:
        """Largest error of every estimate that the run recorded too, in its unit."""
        off = np.abs(self.values - self.truth)
        return {s.name: float(off[:, i].max()) for i, s in enumerate(self.outputs) if not np.isnan(off[:, i]).any()}

    def _table(self) -> list[Column]:
        found = [Column("time", self.t, "s")]
        groups = (
            ("", self.outputs, self.values), ("truth:", self.outputs, self.truth),
            ("innovation:", self.measures, self.innovations), ("load:", self.inputs, self.loads),
        )
        for prefix, signals, data in groups:
            found += [Column(prefix + s.name, data[:, i], s.unit) for i, s in enumerate(signals[: data.shape[1]])]
        return found + [Column(f"state{i + 1}", column) for i, column in enumerate(self.states.T)]


@dataclass(frozen=True, eq=False)
class Observer:
    """An estimator of what no sensor reads, from what some sensors read and the applied torques: a Kalman filter.

    It runs beside any law, or after a run on what was recorded (`over`).

    Attributes
    ----------
    sample_time : float
        Period [s].
    measures, drives, estimates : tuple of Signal
        Signals it reads, inputs it must know, signals it estimates.
    model : EstimatedModel
        What it knows of the plant.
    E, Re : ndarray
        Rows of the estimates on z and on the inputs.
    gain : ndarray
        L.
    start : ndarray
        z before the first sample, per first reading.
    noise : tuple of float
        Noise variances of the design.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
    >>> signals = {"measures": "joint1_angle", "drive": "joint1_torque", "estimates": "chord1_angle"}
    >>> filter = fx.observer(plant.linearise(), modes=3, sample_time=1e-3, noise=3e-12, **signals)
    >>> fx.names(filter.estimates)
    ['chord1_angle']
    """

    sample_time: float
    measures: tuple[Signal, ...]
    drives: tuple[Signal, ...]
    estimates: tuple[Signal, ...]
    model: EstimatedModel
    E: FloatArray
    Re: FloatArray
    gain: FloatArray
    start: FloatArray
    noise: tuple[float, ...]

    def __repr__(self) -> str:
        told = f"{names(self.measures)}, {names(self.drives)} -> {names(self.estimates)}"
        return f"Observer({len(self.model.A)} states, {told}, every {self.sample_time:g} s)"

    def initial_at(self, y: FloatArray) -> FloatArray:
        """Return z^ when the sensors read y and nothing moves."""
        return np.asarray(self.start @ np.asarray(y, float))

    def step(self, state: FloatArray, y: FloatArray, applied: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the estimates, the innovation and the next state z^, from readings and what acted since the last."""
        known = self.model
        before = known.A @ state + known.B @ applied
        innovation = y - known.Cz @ before - known.R @ applied
        after: FloatArray = before + self.gain @ innovation
        return self.E @ after + self.Re @ applied, innovation, after

    @cached_property
    def system(self) -> FirstOrder:
        """The observer as a sampled system from (measures, drives) to the estimates, for export."""
        known, L = self.model, self.gain
        keep = np.eye(len(known.A)) - L @ known.Cz
        A, B = keep @ known.A, np.hstack([L, keep @ known.B - L @ known.R])
        D = self.E @ B
        D[:, len(self.measures) :] += self.Re
        states = tuple(Signal(f"x{i + 1}") for i in range(len(A)))
        return FirstOrder(A, B, self.E @ A, D, states, (*self.measures, *self.drives), self.estimates, self.sample_time)

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation of every estimate under white noise of the design's variances, torques exact."""
        F = self.system
        k = len(self.measures)
        V = np.diag(self.noise)
        P = sla.solve_discrete_lyapunov(F.A, F.B[:, :k] @ V @ F.B[:, :k].T)
        variance = np.diag(F.C @ P @ F.C.T + F.D[:, :k] @ V @ F.D[:, :k].T)
        return {s.name: float(np.sqrt(x)) for s, x in zip(self.estimates, variance, strict=True)}

    def over(self, run: Response, at: Mapping[str, float] | None = None) -> Estimates:
        """Return the estimates along a recorded run.

        Parameters
        ----------
        run : Response
            A run that recorded what is measured; its estimated outputs, where recorded, are the truth.
        at : mapping, optional
            What outputs and inputs read at the point about which the plant was linearised, by name; 0 by default.
        """
        count = int(np.floor((run.t[-1] - run.t[0]) / self.sample_time + 1e-9)) + 1
        t = run.t[0] + self.sample_time * np.arange(count)
        require(count >= 2, f"the run is {run.t[-1] - run.t[0]:g} s long: shorter than one period of the observer")
        rest = dict(at or {})
        y = np.column_stack([np.interp(t, run.t, run[s.name]) - rest.get(s.name, 0.0) for s in self.measures])
        u = np.column_stack([_mean(run, s.name, t) - rest.get(s.name, 0.0) for s in self.drives])
        state, rows = self.initial_at(y[0]), []
        for reading, applied in zip(y, u, strict=True):
            estimate, innovation, state = self.step(state, reading, applied)
            rows.append((estimate + [rest.get(s.name, 0.0) for s in self.estimates], innovation, state))
        values, innovations, z = (np.array(column) for column in zip(*rows, strict=True))
        n, known = len(self.model.Phi), names(run.outputs)
        truth = np.column_stack([
            np.interp(t, run.t, run[s.name]) if s.name in known else np.full(count, np.nan) for s in self.estimates
        ])
        kinds = (self.estimates, self.measures, self.drives)
        return Estimates(t, values, innovations, z[:, n:], z[:, :n], truth, *kinds)

    def error_bound(
        self, plant: LinearGiven, limit: float | Sequence[float], longest: float = 100.0
    ) -> dict[str, float]:
        """Return for every estimate the largest error that inputs up to a limit can cause on a plant, whatever they do.

        It is the sum of |h| of the error's impulse response, times the limit: no input within the limit does worse, and
        one attains it. The plant starts at rest and its sensors are exact.

        Parameters
        ----------
        plant : SecondOrder or FirstOrder
            Any plant with these signals: another payload, other frequencies, more modes.
        limit : float or sequence of float
            Largest size of each driven input.
        longest : float
            Time after which the response must have decayed [s].

        Examples
        --------
        >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
        >>> filter = fx.observer(
        ...     plant.linearise(), modes=3, measures="joint1_angle", drive="joint1_torque", estimates="chord1_angle",
        ...     sample_time=1e-3, noise=3e-12
        ... )
        >>> heavier = plant.with_(payload={"mass": 0.01}).linearise()
        >>> bounds = [filter.error_bound(arm, 0.3)["chord1_angle"] for arm in (plant.linearise(), heavier)]
        >>> bounds[1] > bounds[0]
        True
        """
        bound = each("limit", limit, len(self.drives), "positive")
        found, system = np.zeros(len(self.estimates)), self._error_system(plant)
        for j in range(len(self.drives)):
            found += bound[j] * _summed(system, j, int(longest / self.sample_time))
        return {s.name: float(x) for s, x in zip(self.estimates, found, strict=True)}

    def _error_system(self, plant: LinearGiven) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return A, B, C, D from the driven inputs to estimate minus output, at the samples.

        What acted since the last sample is a state, since sensors and observer see it only then.
        """
        held = zero_order_hold(plant, self.sample_time)
        columns = [index_of("input", s.name, held.inputs) for s in self.drives]
        rows, wanted = ([index_of("output", s.name, held.outputs) for s in kind] for kind in
                        (self.measures, self.estimates))
        F, k, n, p = self.system, len(self.measures), len(held.A), len(columns)
        B, D = held.B[:, columns], held.D[:, columns]
        # states: plant, observer, l
        m = len(F.A)
        A = np.zeros((n + m + p, n + m + p))
        A[:n, :n] = held.A
        A[n : n + m] = np.hstack([F.B[:, :k] @ held.C[rows], F.A, F.B[:, :k] @ D[rows] + F.B[:, k:]])
        direct = F.D[:, :k] @ D[rows] + F.D[:, k:] - D[wanted]
        C = np.hstack([F.D[:, :k] @ held.C[rows] - held.C[wanted], F.C, direct])
        return A, np.vstack([B, np.zeros((m, p)), np.eye(p)]), C, np.zeros((len(C), p))


def _summed(system: tuple[FloatArray, ...], column: int, most: int) -> FloatArray:
    """Return the sum of |h| of every output for one input; what follows a decayed end is added as a geometric series.

    `most` is the number of samples after which it must have decayed.
    """
    A, B, C, _ = system
    block = 1000
    rows = np.empty((block, *C.shape))
    rows[0] = C
    for i in range(1, block):
        rows[i] = rows[i - 1] @ A
    power, x = np.linalg.matrix_power(A, block), B[:, column]
    sums: list[FloatArray] = []
    for _ in range(0, most, block):
        sums.append(np.abs(rows @ x).sum(axis=0))
        x = power @ x
        if len(sums) > 2 and np.all(sums[-1] < sums[-2]):
            ratio = np.maximum(sums[-1] / sums[-2], sums[-2] / sums[-3])
            total, tail = np.sum(sums, axis=0), sums[-1] * ratio / np.maximum(1.0 - ratio, 1e-12)
            if np.all(tail <= _TAIL * total):
                return np.asarray(total + tail)
        if len(sums) > 2 and np.all(sums[-1] <= 1e-12 * np.sum(sums, axis=0)):
            return np.asarray(np.sum(sums, axis=0))
    raise ConvergenceError(
        "the error of the estimate does not decay on this plant: a mode without damping, or a rigid motion that no "
        "sensor sees; give the plant damping, measure a joint, or wait longer"
    )


def _mean(run: Response, name: str, t: FloatArray) -> FloatArray:
    """Return the mean of a held input over the period before each sample; zero before the first."""
    held = run[name]
    area = np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(run.t))])
    return np.concatenate([[0.0], np.diff(np.interp(t, run.t, area)) / np.diff(t)])


def observer(
    plant: LinearGiven, *, modes: int, measures: Names, drive: Names, estimates: Names, sample_time: float,
    noise: float | Sequence[float], disturbance: float = 1.0, load: float | Sequence[float] = 0.0,
) -> Observer:
    """Return a steady-state Kalman filter on the rigid and the first flexible modes of a plant.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant.
    modes : int
        Flexible modes of the filter; what the others bend under the applied inputs is added without delay.
    measures, drive, estimates : str or tuple of str
        Outputs that are measured (angles, strains, accelerations), driven inputs, outputs to estimate.
    sample_time : float
        Period [s].
    noise : float or sequence of float
        Variance of every measurement's noise, in its unit squared.
    disturbance : float
        Process noise variance on the modal rates per sample_time^2, beside that of the inputs (1 N m)^2.
    load : float or sequence of float
        Variance by which a load at each input changes per sample [(N m)^2]; 0: no load is estimated.

    Examples
    --------
    >>> sensors = [{"name": "root_curvature", "kind": "curvature", "position": 0.0}]
    >>> arm = fx.load_plant("tokhi_azad_1994", sensor=sensors)
    >>> filter = fx.observer(
    ...     arm.linearise(), modes=3, measures=("joint1_angle", "root_curvature"), drive="joint1_torque",
    ...     estimates="chord1_angle", sample_time=1e-3, noise=(3e-12, 1e-8), load=1e-6
    ... )
    >>> run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=0.5)
    >>> found = filter.over(run)
    >>> print(f"{1e3 * found.errors['chord1_angle']:.1f} mrad of {1e3 * run['chord1_angle'].max():.0f}")
    2.2 mrad of 173
    """
    plant = as_second_order(plant)
    period = checks.positive("sample_time", sample_time, "s")
    measured, drives, wanted = (x if isinstance(x, tuple) else (x,) for x in (measures, drive, estimates))
    rows, out = ([index_of("output", name, plant.outputs) for name in kind] for kind in (measured, wanted))
    columns = [index_of("input", name, plant.inputs) for name in drives]
    variances = each("noise", noise, len(rows), "positive")
    loads = each("load", load, len(columns), "zero or positive")
    require(bool(np.all(loads > 0) or not loads.any()), f"load = {load}: estimate the loads at all inputs, or none")
    require(bool(disturbance >= 0), f"disturbance = {disturbance} must not be negative")
    A, B, C, R = _modal(plant, modes, [*rows, *out], columns)
    known = estimated_model(A, B, C[: len(rows)], R[: len(rows)], period, bool(loads.any()))
    gain = known.gain(disturbance, loads, variances, period)
    # the loads bend like the inputs
    E = np.hstack([C, R])[len(rows) :] if known.loads else C[len(rows) :]
    reads, acts, told = (
        tuple(signals[i] for i in chosen)
        for signals, chosen in ((plant.outputs, rows), (plant.inputs, columns), (plant.outputs, out))
    )
    start = np.zeros((len(known.A), len(rows)))
    free = np.flatnonzero(~A[len(A) // 2 :, : len(A) // 2].any(axis=0))  # rigid modes: no stiffness
    start[free] = np.linalg.pinv(C[: len(rows), free])
    return Observer(period, reads, acts, told, known, E, R[len(rows) :], gain, start, tuple(variances))


def _modal(
    plant: SecondOrder, modes: int, rows: Sequence[int], columns: Sequence[int]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, B, C of the rigid and the first flexible modes, and R: feed-through and what the other modes bend."""
    if not bool(np.all(np.diag(plant.M) > 0)):
        raise DefinitionError("the plant has states without mass, as hydraulic drives have: no observer is made for it")
    normal = normal_modes(plant.M, plant.K)
    count = normal.rigid + modes
    require(0 <= modes <= len(plant.M) - normal.rigid, f"modes = {modes} must lie between 0 and "
            f"{len(plant.M) - normal.rigid}")
    shapes, left = normal.shapes[:, :count], normal.shapes[:, count:]
    D, w2, b = shapes.T @ plant.D @ shapes, np.diag(normal.omega[:count] ** 2), shapes.T @ plant.B[:, columns]
    q, v, a = (x[rows] @ shapes for x in (plant.Cq, plant.Cv, plant.Ca))
    zero, one = np.zeros((count, count)), np.eye(count)
    bent = plant.Cq[rows] @ left @ ((left.T @ plant.B[:, columns]) / normal.omega[count:, None] ** 2)
    A = np.block([[zero, one], [-w2, -D]])
    C = np.hstack([q - a @ w2, v - a @ D])
    return A, np.vstack([np.zeros_like(b), b]), C, a @ b + plant.Du[np.ix_(rows, columns)] + bent
