"""LQG that follows without an offset, on any linear plant: torques, voltages, valves; all of its states.

Beside the states x of the model of `sampled_model` the filter knows a load d at every input, and an offset b of every
measured output that is not followed; both change by noise alone:

    x+ = A x + B u + E d,     d+ = d,     b+ = b,     y = C x + b

So there is one unknown constant for every measurement, and in the steady state nothing is left that the filter cannot
explain: whatever constant load acts on the plant, wherever it acts, the followed outputs come to their references as
long as the commands are within their limits (Muske and Badgwell 2002, Pannocchia and Rawlings 2003). Without b a force
at the tip, or the weight that a strain gauge reads, would leave an error. The command is

    u = u_ref - K (x^ - x_ref),      x_ref = N (r, r', r'', d^),      u_ref = U (r, r', r'', d^)

where N and U belong to the motion on which the plant follows r exactly while its second derivative is constant,

    (A - I) N0 + B U0 = 0,         C N0 = 1          (A - I) N1 + B U1 = T N0,            C N1 = 0
    (A - I) Nd + B Ud = -E,        C Nd = 0          (A - I) N2 + B U2 = T^2/2 N0 + T N1,  C N2 = 0

C of the followed outputs. Nothing winds up: the filter is told the limited commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import require
from ..laws.controller import LinearLaw
from ..machine.given import LinearGiven, as_linear
from ..model import FloatArray
from ..support.checks import each, several
from .design import Design
from .design_model import Names
from .estimated import riccati
from .lqg_regulator import RegulatorWeights, regulator_gain
from .sampled_model import SampledModel, sampled_model


@dataclass(frozen=True)
class ServoWeights:
    """Weights of the design, in the units of the plant; one number serves all channels, or give one for each.

    Attributes
    ----------
    penalty : mapping
        Weight of the squared deviation of outputs or states of the plant from their course, by name.
    command : float or sequence of float
        Weight of each command's squared deviation from its course.
    disturbance : float or sequence of float
        Variance of a disturbance of each command.
    noise : float or sequence of float
        Variance of each measurement's noise.
    load : float or sequence of float
        Variance by which the load at each input changes per sample, in the square of the unit of that input.
    bias : float
        Variance by which the offset of each measurement that is not followed changes per sample.

    Examples
    --------
    >>> weights = fx.ServoWeights(penalty={"joint1_angle": 1.0}, command=1e-3, disturbance=1e-4, noise=1e-8, load=1e-6)
    >>> weights.bias
    1e-12
    """

    penalty: Mapping[str, float]
    command: float | Sequence[float]
    disturbance: float | Sequence[float]
    noise: float | Sequence[float]
    load: float | Sequence[float]
    bias: float = 1e-12


def lqg_servo(
    plant: LinearGiven, weights: ServoWeights, *, measures: Names, drives: Names, follow: Names, sample_time: float,
    delay: int = 1, limit: float = np.inf,
) -> Design:
    """Return the design; the law also follows its other measurements, whose values at rest are taken off them.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        Continuous linear plant; all of its states are in the law.
    weights : ServoWeights
        See there.
    measures, drives, follow : str or tuple of str
        Measured outputs, driven inputs, and measured outputs that are followed, as many as inputs.
    sample_time : float
        Control period [s].
    delay : int
        Samples of computation delay.
    limit : float
        Largest command of the law.

    Examples
    --------
    >>> arm = fx.load_plant("ralf", overrides={"joint.1.hydraulic_gain": 0.0, "joint.2.hydraulic_gain": 0.0,
    ...                                        "damping": {"kind": "modal", "ratio": 0.01}})
    >>> angles = ("joint1_angle", "joint2_angle")
    >>> weights = fx.ServoWeights(
    ...     penalty=dict.fromkeys(angles, 1.0), command=1e-3, disturbance=1e-4, noise=1e-9, load=1e-6)
    >>> law = fx.lqg_servo(arm.linearise(), weights, measures=angles, drives=("joint1_valve", "joint2_valve"),
    ...                    follow=angles, sample_time=1e-3)
    >>> law.stable
    True
    """
    plant = as_linear(plant)
    given = {"measures": measures, "drives": drives, "follow": follow}
    measures, drives, follow = (_listed(name, x) for name, x in given.items())
    require(len(follow) == len(drives), f"{len(follow)} followed outputs for {len(drives)} inputs; give as many")
    apart = [name for name in follow if name not in measures]
    require(not apart, f"followed outputs {apart} are not measured: nothing would show their remaining errors")
    model = sampled_model(plant, measures, drives, sample_time, delay)
    rows = np.array([model.row(name) for name in follow])
    (N, U), (Nd, Ud) = _course(model, rows), _against(model, rows)
    K = regulator_gain(model, RegulatorWeights(weights.penalty, weights.command, 1.0, 1.0))
    A, B, C, L = _filter(model, weights, follow)
    n, k = len(model.A), len(drives)
    seen = np.eye(len(A)) - L @ C  # z^ = seen z^- + L y
    gain = np.zeros((k, len(A)))
    gain[:, :n], gain[:, n : n + k] = -K, Ud + K @ Nd
    held = -np.linalg.solve(Ud, U[:, ::3])  # the loads with which the plant rests without commands where it is read
    start = np.vstack([N[:, ::3] + Nd @ held, held, np.zeros((len(A) - n - k, k))])
    start = start @ np.eye(len(measures))[[measures.index(name) for name in follow]]
    law = LinearLaw(
        sample_time, measures, drives, follow, A=A @ seen, By=A @ L, Bu=B, C=gain @ seen, Dy=gain @ L, Dr=U + K @ N,
        start=start,
    )
    assumed = {
        "design": "LQG servo", "sample_time": sample_time, "delay": delay, "limit": limit, "weights": weights,
        "states": n,
    }
    return Design(model.law(law, limit, tuple(x for x in measures if x not in follow)), plant, assumed)


def _listed(name: str, given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(several(name, given, f'{name}=("joint1_angle",)'))


def _solved(
    model: SampledModel, rows: FloatArray, right: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return N and U with (A - I) N + B U = right, C N = value, C of the followed outputs."""
    n, k = model.B.shape
    whole = np.block([[model.A - np.eye(n), model.B], [rows, np.zeros((len(rows), k))]])
    scale = np.abs(whole).max(axis=1)
    regular = bool(np.linalg.cond(whole / scale[:, None]) < 1e13)
    what = "constant commands move the followed outputs: one of them does not, or two do the same"
    require(regular, f"the followed outputs cannot be held at any value, for not all {what}")
    found = np.linalg.solve(whole, np.vstack([right, value]))
    return found[:n], found[n:]


def _course(model: SampledModel, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return N and U on (r, r', r'') of every followed output."""
    k, T = len(rows), model.sample_time
    none, zero = np.zeros((len(model.A), k)), np.zeros((k, k))
    N0, U0 = _solved(model, rows, none, np.eye(k))
    N1, U1 = _solved(model, rows, T * N0, zero)
    N2, U2 = _solved(model, rows, 0.5 * T**2 * N0 + T * N1, zero)
    return _interleaved(N0, N1, N2), _interleaved(U0, U1, U2)


def _interleaved(*parts: FloatArray) -> FloatArray:
    """Return the columns of three matrices in the order of references: value, rate, acceleration of each channel."""
    return np.asarray(np.stack(parts, axis=2).reshape(len(parts[0]), -1), float)


def _against(model: SampledModel, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Nd and Ud: where the plant rests, and by what commands, under a unit load at each input."""
    return _solved(model, rows, -model.E, np.zeros((len(rows), len(model.drives))))


def _filter(
    model: SampledModel, weights: ServoWeights, follow: tuple[str, ...]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, B, C of the states, loads and offsets, and the gain of their estimate."""
    k, ny = len(model.drives), len(model.measures)
    others = np.eye(ny)[:, [i for i, name in enumerate(model.measures) if name not in follow]]
    loads, noise = each("load", weights.load, k, "positive"), np.diag(each("noise", weights.noise, ny, "positive"))
    biases = each("bias", weights.bias, others.shape[1], "positive") if others.size else np.zeros(0)
    A = sla.block_diag(model.A, np.eye(k), np.eye(len(biases)))
    A[: len(model.A), len(model.A) : len(model.A) + k] = model.E
    B = np.vstack([model.B, np.zeros((k + len(biases), k))])
    C = np.hstack([model.C, np.zeros((ny, k)), others])
    W = model.E @ np.diag(each("disturbance", weights.disturbance, k, "positive")) @ model.E.T
    P = riccati(A.T, C.T, sla.block_diag(W, np.diag(loads), np.diag(biases)), noise, "filter")
    return A, B, C, np.asarray(np.linalg.solve(C @ P @ C.T + noise, C @ P).T, float)
