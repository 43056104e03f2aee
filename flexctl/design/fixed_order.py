"""Laws of a given structure whose gains are searched: a few states from any measurements, and the integral of one.

    u = J r'' + sum over measurements of  F_j(s) (y_ref - y)_j  +  k_i integral of (r - z)

    F_j = d_j + sum over pairs of (a_jk w_k^2 + b_jk w_k s) / (s^2 + 2 zeta_k w_k s + w_k^2)
              + sum over poles of c_jk p_k / (s + p_k)

All measurements share the poles, so that a pair costs two states and a pole one, whatever is measured; every law with
these poles is of this form. y_ref is what the measurement reads on the rigid arm that bends quasi-statically under
J r''. Nothing here knows the modes of the arm: gains are found by `tune`, over as many plants as must be served.

`output_integral` is the integral alone, to be added to a joint PD, a notch behind it or a strain filter by `together`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import require
from ..laws.controller import Delayed, LinearLaw
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal
from ..support import checks
from .design import Design
from .design_model import DesignModel, Names, design_model

_BACK = 0.1
"""Part of what a limit cuts off that is taken from the integral in a period."""


def fixed_order(
    plant: LinearGiven, *, direct: Sequence[float], frequencies: Sequence[float] = (), dampings: Sequence[float] = (),
    pair_gains: Sequence[float] = (), poles: Sequence[float] = (), pole_gains: Sequence[float] = (),
    integral: float = 0.0, measures: Names, drive: str, follow: str, sample_time: float, limit: float = np.inf,
) -> Design:
    """Return a law of a fixed number of states, 2 per pair, 1 per pole and integral; one sample of computation delay.

    Parameters
    ----------
    plant : SecondOrder
        Where J and y_ref come from: a linear plant with one rigid-body mode.
    direct : sequence of float
        d of every measurement, input per measured unit.
    frequencies, dampings : sequence of float
        w [rad/s] and zeta of every pair of poles.
    pair_gains : sequence of float
        a and b of the first measurement, of the second, .., pair after pair: like `direct`.
    poles : sequence of float
        p [rad/s].
    pole_gains : sequence of float
        c of the first measurement, of the second, .., pole after pole.
    integral : float
        k_i [input per unit of the followed output and second], which must then be measured; 0: none.
    measures, drive, follow : str or tuple of str
        Measured outputs (positions, strains), the input, the followed output.
    sample_time : float
        Control period [s].
    limit : float
        Largest command.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> law = fx.fixed_order(  # a PD with a filtered rate, written as a pole
    ...     plant, direct=(1.0 + 0.05 / 4e-3,), poles=(250.0,), pole_gains=(-0.05 / 4e-3,), measures="joint1_angle",
    ...     drive="joint1_torque", follow="chord1_angle", sample_time=1e-3, limit=0.3,
    ... )
    >>> law.stable
    True
    """
    plant = as_second_order(plant)
    checks.positive("sample_time", sample_time, "s")
    model = design_model(plant, 0, measures, drive, follow)
    require(len(model.drives) == 1, f"{len(model.drives)} inputs; a law of fixed order drives one")
    ny, pairs, single = len(model.measures), len(frequencies), len(poles)
    given = {
        "direct": (direct, ny), "dampings": (dampings, pairs), "pair_gains": (pair_gains, 2 * pairs * ny),
        "pole_gains": (pole_gains, single * ny), "frequencies": (frequencies, pairs), "poles": (poles, single),
    }
    numbers = {name: _numbers(name, value, count) for name, (value, count) in given.items()}
    for name, unit in (("frequencies", "rad/s"), ("dampings", ""), ("poles", "rad/s")):
        require(bool(np.all(numbers[name] > 0)), f"{name} = {numbers[name]} {unit} must be positive")
    K = _filters(numbers, model, ny)
    law = model.law(discretise(K, sample_time) if len(K.A) else replace(K, dt=sample_time), limit)
    if integral:
        law = with_integral(law, _measured(model, integral))
    assumed = {"design": "fixed order", "states": len(law.A), "sample_time": sample_time, "delay": 1, "limit": limit}
    return Design(Delayed(law, 1), plant, assumed)


def output_integral(
    plant: LinearGiven, *, gain: float, measure: str, drive: str, sample_time: float
) -> LinearLaw:
    """Return the law u = gain x integral of (r - y) of one output, which it follows.

    Parameters
    ----------
    plant : SecondOrder
        The plant that has these signals.
    gain : float
        Input per unit of the output and second.
    measure, drive : str
        The output that is measured and followed, and the input.
    sample_time : float
        Control period [s].

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> pd = fx.joint_pd(plant, kp=1.0, kd=0.05, filter_time=4e-3, sample_time=1e-3)
    >>> tip = fx.output_integral(
    ...     plant, gain=0.2, measure="chord1_angle", drive="joint1_torque", sample_time=1e-3
    ... )
    >>> fx.together(fx.filtered(pd, fx.notch(200.0, 0.5)), tip, limit=0.3).measures
    ('joint1_angle', 'chord1_angle')
    """
    model = design_model(plant, 0, (measure,), drive, measure)
    nothing = LinearLaw(
        checks.positive("sample_time", sample_time, "s"), model.measures, model.drives, model.follows
    )
    return with_integral(nothing, _measured(model, gain))


def _measured(model: DesignModel, gain: float) -> tuple[int, float]:
    """Return which measurement is integrated, and the gain."""
    follow = model.follows[0]
    known = follow in model.measures
    require(known, f"the integral of {follow} needs it measured; the law measures {list(model.measures)}")
    return model.measures.index(follow), checks.number("integral", gain)


def with_integral(law: LinearLaw, of: tuple[int, float]) -> LinearLaw:
    """Return a law that follows one output with the integral of that measurement added; limits stop it."""
    i, gain = of
    n, T = len(law.A), law.sample_time
    value = np.array([1.0, 0.0, 0.0])

    def grown(matrix: FloatArray, rows: int, columns: int) -> FloatArray:
        return np.pad(matrix, ((0, rows), (0, columns)))

    A, C = grown(law.A, 1, 1), grown(law.C, 0, 1)
    By, Br, Bu = grown(law.By, 1, 0), grown(law.Br, 1, 0), grown(law.Bu, 1, 0)
    C[0, n], A[n, n], By[n, i], Br[n] = gain, 1.0, -T, T * value
    back = _BACK / gain  # what the limits cut off is taken from the integral
    A[n] -= back * C[0]
    By[n] -= back * law.Dy[0]
    Br[n] -= back * law.Dr[0]
    Bu[n] += back
    return replace(law, A=A, By=By, Br=Br, Bu=Bu, C=C, start=grown(law.start, 1, 0))


def _numbers(name: str, value: Sequence[float], count: int) -> FloatArray:
    found = np.atleast_1d(np.asarray(value, float)).ravel()
    require(found.size == count, f"{found.size} numbers for {name}; the measurements, pairs and poles ask for {count}")
    require(bool(np.isfinite(found).all()), f"{name} = {found} must be finite")
    return found


def _filters(numbers: dict[str, FloatArray], model: DesignModel, ny: int) -> FirstOrder:
    """Return the continuous feedback from y - y_ref: states in pairs, every measurement an input of each."""
    w, zeta, p = numbers["frequencies"], numbers["dampings"], numbers["poles"]
    m, n = w.size, 2 * w.size + p.size
    A, B, C = np.zeros((n, n)), np.zeros((n, ny)), np.zeros((1, n))
    gains = numbers["pair_gains"].reshape(m, ny, 2)
    for k in range(m):
        i = 2 * k
        # observable form: (x2' = a part, x1' the rest), so that all measurements share the two states
        A[i : i + 2, i : i + 2] = w[k] * np.array([[-2.0 * zeta[k], 1.0], [-1.0, 0.0]])
        B[i], B[i + 1], C[0, i] = -w[k] * gains[k, :, 1], -w[k] * gains[k, :, 0], 1.0
    for k, pole in enumerate(p):
        i = 2 * m + k
        A[i, i], B[i], C[0, i] = -pole, -pole * numbers["pole_gains"].reshape(p.size, ny)[k], 1.0
    reads, acts = (tuple(Signal(name) for name in kind) for kind in (model.measures, model.drives))
    return FirstOrder(A, B, C, -numbers["direct"][None], tuple(Signal(f"f{i + 1}") for i in range(n)), reads, acts)
