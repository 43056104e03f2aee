"""Results that owe nothing to the product's integrators: SciPy on a model's plain methods, exact modal sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.integrate import solve_ivp

import flexctl as fx
from flexctl.model import MechanicalModel, closure_forces

Array = np.ndarray
MS = 1e-3


class Truth:
    """M a + h + W lam = B u of a model as y' = f(t, y), y = (q, v), integrated from jump to jump.

    Without closures by Radau's method with the model's tangent; with closures, whose second derivative is kept zero, by
    an explicit Runge-Kutta method of order 8.
    """

    def __init__(self, model: MechanicalModel, rtol: float) -> None:
        self.model, self.rtol, self.evaluations = model, rtol, 0
        self.n, self.closed = len(model.coordinates), bool(model.closures)

    def accelerations(self, t: float, q: Array, v: Array, u: Array) -> Array:
        """Return accelerations under the inputs u."""
        model, n = self.model, self.n
        self.evaluations += 1
        right = model.input_matrix(q) @ u - model.force(q, v, t)
        if not self.closed:
            return np.asarray(sla.solve(model.mass(q), right, assume_a="pos", check_finite=False))
        G, W = model.closure_jacobian(q), closure_forces(model, q)
        m = len(G)
        matrix = np.block([[model.mass(q), W], [G, np.zeros((m, m))]])
        return np.linalg.solve(matrix, np.concatenate([right, -model.closure_bias(q, v)]))[:n]

    def slopes(self, t: float, q: Array, v: Array, u: Array) -> Array:
        """Return the derivatives of the accelerations with respect to q and v."""
        tangent = self.model.tangent(q, v, self.accelerations(t, q, v, u), u, np.zeros(0))
        right = np.hstack([tangent.stiffness, tangent.damping])
        return -np.asarray(sla.solve(tangent.mass, right, check_finite=False))

    def advance(self, y: Array, times: Array, u: Callable[[float], Array]) -> Array:
        """Return the states at `times`, of which the first belongs to y; u is smooth in between."""
        n = self.n

        def slope(t: float, y: Array) -> Array:
            return np.concatenate([y[n:], self.accelerations(t, y[:n], y[n:], u(t))])

        def jacobian(t: float, y: Array) -> Array:
            lower = self.slopes(t, y[:n], y[n:], u(t))
            return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])

        if self.closed:
            options: dict[str, Any] = {"method": "DOP853", "atol": 1e-4 * self.rtol}
        else:
            options = {"method": "Radau", "jac": jacobian, "atol": self.rtol * 1e-6}
        found = solve_ivp(slope, times[[0, -1]], y, t_eval=times, rtol=self.rtol, **options)
        assert found.success, found.message
        return np.asarray(found.y.T)

    def output(self, t: float, y: Array, u: Array) -> Array:
        """Return the sensor readings."""
        q, v = y[: self.n], y[self.n :]
        return self.model.output(q, v, self.accelerations(t, q, v, u), u)


def open_loop(
    arm: fx.Plant, inputs: Mapping[str, Any], duration: float, rtol: float, kind: type[Truth] = Truth
) -> dict[str, Array]:
    """Return every output at 1 ms samples of a run under prescribed inputs."""
    model = arm.model
    truth = kind(model, rtol)
    signals = [inputs.get(s.name) for s in model.inputs]
    times = np.arange(round(duration / MS) + 1) * MS
    inner = (b for s in signals if s is not None for b in s.breakpoints if b < times[-1])
    breaks = sorted({0.0, float(times[-1]), *inner})
    y, rows = np.concatenate([model.reference(), np.zeros(truth.n)]), [np.zeros(0)] * times.size
    for begin, end in pairwise(breaks):

        def u(t: float, begin: float = begin, end: float = end) -> Array:
            inside = min(max(t, begin), end)  # limits from inside at both ends
            return np.array([0.0 if s is None else float(s(inside, before=inside == end)) for s in signals])

        inside = np.flatnonzero((times > begin - 1e-9) & (times < end + 1e-9))
        states = truth.advance(y, np.clip(times[inside], begin, end), u)
        y = states[-1]
        for k, state in zip(inside, states, strict=True):
            if k > inside[0] or k == 0:
                rows[k] = truth.output(float(times[k]), state, u(float(times[k])))
    return {s.name: column for s, column in zip(model.outputs, np.array(rows).T, strict=True)}


def sampled_loop(
    arm: fx.Plant, law: Any, reference: Mapping[str, Any], duration: float, rtol: float
) -> dict[str, Array]:
    """Return every output at the control periods of a run of a sampled law."""
    model, h = arm.model, law.sample_time
    truth, names = Truth(model, rtol), [s.name for s in model.outputs]
    measures = [names.index(name) for name in law.measures]
    drives = [[s.name for s in model.inputs].index(name) for name in law.drives]
    y, u, state, rows = np.concatenate([model.reference(), np.zeros(truth.n)]), np.zeros(len(model.inputs)), None, []
    for k in range(round(duration / h) + 1):
        readings = truth.output(k * h, y, u)
        rows.append(readings)
        state = law.initial_at(readings[measures]) if state is None else state
        r = np.concatenate([np.array(reference[name](k * h), float) for name in law.follows])
        command, state = law.step(state, k * h, readings[measures], r)
        u = np.zeros(len(model.inputs))
        u[drives] = command
        y = truth.advance(y, np.array([k, k + 1]) * h, lambda t, u=u: u)[-1]
    return dict(zip(names, np.array(rows).T, strict=True))


def modal_sum(linear: fx.SecondOrder, row: Array, rate: bool, jumps: list[tuple[float, float]], t: Array) -> Array:
    """Return one reading of an arm with Rayleigh damping and one input that jumps: the exact sum over all modes.

    `row` is what the sensor reads of the coordinates (or their rates); `jumps` are times and changes of the input.
    """
    lam, P = sla.eigh(linear.K, linear.M)
    lam = np.where(lam < 1e-9 * lam[-1] * 1e-6, 0.0, lam)
    d = np.einsum("ij,ik,kj->j", P, linear.D, P)
    gain = (row @ P) * (P.T @ linear.B[:, 0])
    total = np.zeros(t.size)
    for start, change in jumps:
        tau = np.maximum(t - start, 0.0)[:, None]
        roots = np.sqrt((0.25 * d * d - lam).astype(complex))
        s1, s2 = -0.5 * d + roots, -0.5 * d - roots
        moves = lam > 0.0
        s1, s2, still = np.where(moves, s1, 1.0), np.where(moves, s2, 2.0), np.where(moves, lam, 1.0)
        e1, e2 = np.exp(np.where(moves, s1 * tau, 0.0)), np.exp(np.where(moves, s2 * tau, 0.0))
        if rate:
            response = np.where(moves, (e1 - e2) / (s1 - s2), tau)
        else:
            response = np.where(moves, (1.0 + (s2 * e1 - s1 * e2) / (s1 - s2)) / still, 0.5 * tau**2)
        total += change * (response.real @ gain)
    return total
