"""LQG that holds against constant loads, on a few modes, designed in discrete time with the computation delay a state.

Plant for the design: the rigid modes and the first flexible ones, exact zero-order hold, x = (eta, eta'), and the
commands p on their way to the actuators. A Kalman filter with the *applied* (limited, delayed) commands as inputs
estimates x. The cost is

    sum over followed outputs of z^2 + w_rate z'^2,  plus w_energy (eta'^2 + omega^2 eta^2) + R u^2

There are two ways to hold against a load. With an integral, s+ = s + Ts (z - r), z its reading (its estimate, where it
is not measured), and + q_int s^2 in the cost:

    u = u_ff - Kx (x^ - x_ref) - Kp (p - u_ff) - Ks s,     u_ff = J r'' + d r'

When a command is limited, s is corrected by what was cut off (anti-windup). Or with the loads d at the inputs, d+ = d +
noise, among the estimated states:

    u = u_ff - Kx (x^ - x_ref) - Kp (p - u_ff) - (1 + Kp) d^

which answers u = -d in the steady state whatever Kp is. That is as fast as the observer: on the 0.96 m arm a load is
gone in 0.24 s, where the integral takes more than 4 s, and nothing winds up. It knows loads at the *inputs* alone: a
constant force elsewhere bends the arm in another way than the observer believes, and leaves an error that only the
integral of a followed output that is measured takes away.

x_ref is r and r' on the rigid modes and the quasi-static bending b_i J r'' / omega_i^2 on mode i: without it the hub
would be pulled to the rigid angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import require
from ..laws.controller import Delayed, LinearLaw
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray
from ..support import checks
from ..support.checks import each
from .design import Design
from .design_model import DesignModel, Names, design_model
from .estimated import EstimatedModel, estimated_model, riccati


@dataclass(frozen=True)
class LqgWeights:
    """Weights of the design; outputs in rad, torque in N m. One number serves all channels, or give one for each.

    Attributes
    ----------
    rate : float
        Weight of a followed output's rate squared [s^2].
    energy : float
        Weight of the modal energies.
    integral : float or sequence of float
        Weight of a followed output's integral squared [1/s^2]; 0 where loads are estimated.
    command : float or sequence of float
        Weight R of a command squared [1/(N m)^2].
    disturbance : float
        Process noise variance on the modal rates per Ts^2, beside that of the inputs (1 N m)^2.
    noise : sequence of float
        Measurement noise variance of each measured output.
    load : float or sequence of float
        Variance by which a load at each input changes per sample [(N m)^2]; 0: no load is estimated, the integral holds
        against it.

    Examples
    --------
    >>> fx.LqgWeights(rate=1e-5, energy=1e-4, integral=0.2, command=1e-4, disturbance=0.2, noise=(1e-7, 1e-7)).rate
    1e-05
    """

    rate: float
    energy: float
    integral: float | Sequence[float]
    command: float | Sequence[float]
    disturbance: float
    noise: Sequence[float]
    load: float | Sequence[float] = 0.0


def lqg(
    plant: LinearGiven, weights: LqgWeights, *, modes: int, sample_time: float, measures: Names, drive: Names,
    follow: Names, limit: float = np.inf, remainder: bool = False,
) -> Design:
    """Return the design, one sample of computation delay included.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs.
    weights : LqgWeights
        See there.
    modes : int
        Flexible modes in the design; the rest is spill-over to be certified on the full plant.
    sample_time : float
        Control period [s].
    measures, drive, follow : str or tuple of str
        Measured outputs, inputs that drive joints, followed outputs: angles or positions of the rigid arm.
    limit : float
        Largest command, in the unit of these inputs: N m, V, A.
    remainder : bool
        Whether the observer knows what the modes that are left out bend under the applied torque; needed where a
        strain or curvature is measured, see `flexctl.design.estimated`.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> names = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
    >>> law = fx.lqg(plant, fx.bryson(plant, bandwidth=10.0, **names), modes=2, sample_time=1e-3, limit=0.3, **names)
    >>> law.stable
    True
    """
    plant = as_second_order(plant)
    checks.positive("sample_time", sample_time, "s")
    model = design_model(plant, modes, measures, drive, follow)
    _check(weights, model)
    A, B, C = model.statespace
    loads = bool(np.any(np.asarray(weights.load) > 0))
    left = model.remainder if remainder else np.zeros((len(C), B.shape[1]))
    known = estimated_model(A, B, C, left, sample_time, loads)
    gain = _regulator(known.Phi, known.Gamma, model, weights, sample_time)
    load = each("load", weights.load, B.shape[1], "zero or positive")
    correct = known.gain(weights.disturbance, load, np.asarray(weights.noise, float), sample_time)
    law = _assemble(known, model, gain, correct, sample_time, remainder)
    assumed = {
        "design": "LQG", "modes": modes, "sample_time": sample_time, "delay": 1, "limit": limit, "remainder": remainder,
    }
    return Design(Delayed(law.limited(-limit, limit), 1), plant, {**assumed, "weights": weights})


def _check(weights: LqgWeights, model: DesignModel) -> None:
    given, wanted = len(weights.noise), len(model.measures)
    require(given == wanted, f"{given} noise variances for {wanted} measured outputs; give one each")
    k = len(model.drives)
    for name in ("command", "integral", "load"):
        value = np.atleast_1d(np.asarray(getattr(weights, name), float))
        require(value.size in (1, k), f"{value.size} weights of the {name} for {k} channels; give one, or one each")
    positive = bool(np.min([*np.atleast_1d(weights.command), *weights.noise]) > 0)
    require(positive, f"the weight of the command and all noise variances must be positive; got {weights}")
    integral, load = (np.atleast_1d(np.asarray(x, float)) for x in (weights.integral, weights.load))
    either = bool((np.all(integral > 0) and not load.any()) or (np.all(load > 0) and not integral.any()))
    remedy = "give integral > 0 and load = 0 (an integral), or integral = 0 and load > 0 (loads are estimated)"
    require(either, f"integral = {weights.integral} and load = {weights.load}: one way holds against loads; {remedy}")
    others = all(weight >= 0 for weight in (weights.rate, weights.energy, weights.disturbance))
    require(others, f"the weights of rate, energy and disturbance must not be negative; got {weights}")


def _regulator(Phi: FloatArray, Gamma: FloatArray, model: DesignModel, w: LqgWeights, Ts: float) -> FloatArray:
    """Return the gain on (x, p) and, with an integral, s."""
    m, c, omega = model.omega.size, model.c, model.omega
    n, k = 2 * m, len(c)
    size = n + k + (k if np.any(np.asarray(w.integral) > 0) else 0)
    A = np.zeros((n + 2 * k, n + 2 * k))
    A[:n, :n], A[:n, n : n + k] = Phi, Gamma
    A[n + k :, :m], A[n + k :, n + k :] = Ts * c, np.eye(k)
    B: FloatArray = np.zeros((n + 2 * k, k))
    B[n : n + k] = np.eye(k)
    Q = np.zeros((n + 2 * k, n + 2 * k))
    Q[:m, :m] = c.T @ c + w.energy * np.diag(omega**2)
    Q[m:n, m:n] = w.rate * c.T @ c + w.energy * np.eye(m)
    Q[n + k :, n + k :] = np.diag(each("integral", w.integral, k, "zero or positive"))
    A, B, Q = A[:size, :size], B[:size], Q[:size, :size]
    R = np.diag(each("command", w.command, k, "positive"))
    P = riccati(A, B, Q, R, "regulator")
    return np.asarray(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), float)


def _assemble(
    known: EstimatedModel, model: DesignModel, gain: FloatArray, L: FloatArray, Ts: float, remainder: bool
) -> LinearLaw:
    m, k, n = model.omega.size, len(model.drives), len(known.Phi)
    Kx, Kp, Ks = gain[:, :n], gain[:, n : n + k], gain[:, n + k :]
    reference = np.zeros((n, 3 * k))  # x_ref from (r, r', r'') of each followed output
    rigid = np.linalg.inv(model.c[:, :k])
    reference[:k], reference[m : m + k] = np.kron(rigid, [[1.0, 0.0, 0.0]]), np.kron(rigid, [[0.0, 1.0, 0.0]])
    reference[k:m] = model.b[k:] / model.omega[k:, None] ** 2 @ model.inertial
    Kz = np.hstack([Kx, np.eye(k) + Kp]) if known.loads else Kx
    # states of the law: z^- = (x^-, d^-), p, then l and s where they are needed
    o, r, i = len(known.A), k if remainder else 0, Ks.shape[1]
    z, p, l, s = (slice(a, b) for a, b in ((0, o), (o, o + k), (o + k, o + k + r), (o + k + r, o + k + r + i)))
    size, ny = s.stop, len(model.measures)
    # z^ = z^- + L (y - Cz z^- - R l)
    seen = np.zeros((o, size))
    seen[:, z], seen[:, l] = np.eye(o) - L @ known.Cz, -(L @ known.R)[:, :r]
    Cu, Dy = -Kz @ seen, -Kz @ L
    Cu[:, p], Cu[:, s] = -Kp, -Ks
    Dr = Kx @ reference + (np.eye(k) + Kp) @ model.feedforward
    A, By, Br, Bu = (np.zeros((size, columns)) for columns in (size, ny, 3 * k, k))
    A[z], By[z] = known.A @ seen, known.A @ L
    A[z, p] += known.B
    A[l, p] = np.eye(k)[:r]
    Bu[p] = np.eye(k)
    start = np.zeros((size, ny))  # the rigid arm that stands where it is measured
    start[:k] = np.linalg.pinv(model.rows[:, :k])
    if i:
        _integrate((A, By, Br, Bu), (seen, L), model, s, Ts)
        back: FloatArray = np.asarray(0.1 * np.linalg.inv(Ks), float)  # less what the limits cut off
        A[s] += back @ Cu
        By[s] += back @ Dy
        Br[s] += back @ Dr
        Bu[s] -= back
    return LinearLaw(
        Ts, model.measures, model.drives, model.follows, A=A, By=By, Br=Br, Bu=Bu, C=Cu, Dy=Dy, Dr=Dr, start=start
    )


def _integrate(
    law: tuple[FloatArray, ...], estimate: tuple[FloatArray, FloatArray], model: DesignModel, s: slice, Ts: float
) -> None:
    """Write the rows of the integrals of the followed outputs minus their references into the law.

    The estimate of an output that is measured would leave the error that a constant load makes in the estimate.
    """
    A, By, Br, _ = law
    seen, L = estimate
    m, k = model.omega.size, len(model.drives)
    A[s, s] = np.eye(k)
    for i, name in enumerate(model.follows):
        if name in model.measures:
            By[s.start + i, model.measures.index(name)] = Ts
        else:
            A[s.start + i] += Ts * model.c[i] @ seen[:m]
            By[s.start + i] = Ts * model.c[i] @ L[:m]
    Br[s] = np.kron(-Ts * np.eye(k), [[1.0, 0.0, 0.0]])
