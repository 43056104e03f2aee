"""Robust stability against several uncertainties at once: an upper bound of the structured singular value.

    w_i = delta_i z_i,  |delta_i| <= 1      closed by the controller:      z = M(s) w,      stable for all if mu(M) < 1

A payload that is not the rated one acts on the tip as the force -dm y''_tip: one real delta of rank one. Taking it as
complex, or looking at the largest singular value, makes the answer useless. Uncertainty of the input (actuator,
neglected dynamics) is a complex delta; one is always needed, since purely real problems are discontinuous in frequency.

The controller is sampled; between samples it holds: K(e^(sT)) (1 - e^(-sT)) / (sT) is what the plant sees.
The bound speaks only about the modes of the plant given. Its source: Fan, Tits and Doyle 1991 (slycot's ab13md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..linear import SecondOrder
from ..linear.interconnect import closed_loop
from ..linear.modes import modes
from ..machine.given import LinearGiven, as_first_order, as_second_order
from ..model import ComplexArray, FloatArray, index_of, names
from .blocks import COMPLEX, REAL, scaled_bound
from .evaluate import axis, on_axis
from .grids import start_grid


@dataclass(frozen=True)
class Real:
    """A real uncertain parameter between an output and an input of the plant: input = size delta output.

    Attributes
    ----------
    name : str
        Label.
    reads, drives : str
        Plant output and plant input it connects, e.g. "tip_acceleration" and "tip_force" for a payload.
    size : float
        Input per output at delta = 1, e.g. -0.010 for a payload of up to 10 g more or less.
    """

    name: str
    reads: str
    drives: str
    size: float


@dataclass(frozen=True)
class InputUncertainty:
    """A complex relative uncertainty of a command: the plant gets (1 + size delta) u.

    Attributes
    ----------
    name : str
        Label.
    drives : str
        The plant input.
    size : float
        Relative size, e.g. 0.3.
    """

    name: str
    drives: str
    size: float


@dataclass(frozen=True, eq=False)
class RobustBound:
    """The bound along frequency.

    Attributes
    ----------
    omega : ndarray
        Frequencies [rad/s].
    mu : ndarray
        Upper bound of the structured singular value.
    largest : float
        Its maximum; robustly stable for uncertainties up to 1 / largest of those given.
    frequency : float
        Where it is [rad/s].
    """

    omega: FloatArray
    mu: FloatArray
    largest: float
    frequency: float

    def __str__(self) -> str:
        verdict = "stable for all of it" if self.largest < 1 else "not shown to be stable for all of it"
        return f"mu <= {self.largest:.4g} at {self.frequency:.4g} rad/s: {verdict}"


def robust_bound(
    plant: LinearGiven, law: Any, uncertainties: Sequence[Real | InputUncertainty], points: int = 300
) -> RobustBound:
    """Return the bound of a loop under uncertainties; the nominal loop must be stable.

    Parameters
    ----------
    plant : SecondOrder
        Nominal plant with the inputs and outputs of the uncertainties.
    law : Controller
        A linear sampled law with its delay.
    uncertainties : sequence
        At least one of them complex.
    points : int
        Points of the logarithmic grid; fans around all poles of the closed loop are added.
    """
    plant = as_second_order(plant)
    require(any(isinstance(u, InputUncertainty) for u in uncertainties), "give at least one complex uncertainty")
    feedback = as_first_order(law.feedback())
    require(feedback.dt > 0, "the law must be sampled")
    omega = _grid(plant, feedback, points)
    M = _loop(plant, feedback, uncertainties, omega)
    kinds = [REAL if isinstance(u, Real) else COMPLEX for u in uncertainties]
    mu = scaled_bound(M, [1] * len(kinds), kinds)
    k = int(np.argmax(mu))
    return RobustBound(omega, mu, float(mu[k]), float(omega[k]))


def _grid(plant: SecondOrder, feedback: Any, points: int) -> FloatArray:
    closed = closed_loop(plant.discrete(feedback.dt), feedback)
    z = closed.poles()
    if np.abs(z).max() >= 1.0:
        raise DefinitionError("the nominal loop is unstable; a robust bound has no meaning")
    s = np.log(z[np.abs(z) > 1e-3].astype(complex)) / feedback.dt
    found = modes(plant)
    poles = np.concatenate([s[s.imag >= 0], found.poles])
    slow = np.abs(s)[np.abs(s) > 0].min()
    return start_grid(0.1 * float(slow), np.pi / feedback.dt, points, poles)


def _loop(
    plant: SecondOrder, feedback: Any, uncertainties: Sequence[Real | InputUncertainty], omega: FloatArray
) -> ComplexArray:
    """Return M, (frequencies, blocks, blocks)."""
    reads = [index_of("plant output", name, plant.outputs) for name in names(feedback.inputs)]
    drives = [index_of("plant input", name, plant.inputs) for name in names(feedback.outputs)]
    s = axis(omega)
    P = np.moveaxis(on_axis(plant)(s), 2, 0)
    K = np.moveaxis(feedback.transfer(np.exp(s * feedback.dt)), 2, 0)
    hold = (1.0 - np.exp(-s * feedback.dt)) / (s * feedback.dt)
    K = K * hold[:, None, None]
    enter, leave, through = [], [], []
    for u in uncertainties:
        column = np.zeros(len(plant.inputs))
        column[index_of("plant input", u.drives, plant.inputs)] = 1.0
        enter.append(column)
        if isinstance(u, Real):
            leave.append(u.size * P[:, index_of("plant output", u.reads, plant.outputs), :])
            through.append(np.zeros((omega.size, len(drives))))
        else:
            at = names(feedback.outputs)
            require(u.drives in at, f'the law does not drive "{u.drives}"; it drives {at}')
            leave.append(np.zeros((omega.size, len(plant.inputs)), complex))
            command = np.zeros((omega.size, len(drives)))
            command[:, at.index(u.drives)] = u.size
            through.append(command)
    E = np.array(enter).T  # plant inputs of w
    F = np.eye(len(plant.inputs))[:, drives]
    from_input, from_command = np.stack(leave, 1), np.stack(through, 1)
    L = K @ P[:, reads][:, :, drives]
    # u = K y = (I - K P)^-1 K P_w w
    command = np.linalg.solve(np.eye(len(drives)) - L, K @ (P[:, reads] @ E))
    return np.asarray(from_input @ (F @ command + E) + from_command @ command)
