"""The joint paths of RALF's experiments: a sine command through the measured position servos, exactly.

Third-order fits of Lee, Huggins and Book 1988, (4.1), read as poles in Hz with unity gain at rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from flexctl.testing.differences import Array

POLES = {
    "joint1": 2 * np.pi * np.array([-30.37, -9.0 + 16.5j, -9.0 - 16.5j]),
    "joint2": 2 * np.pi * np.array([-33.57, -21.0 + 23.07j, -21.0 - 23.07j]),
}


@dataclass(frozen=True)
class ServoSine:
    """`begin` plus the servo's answer to amplitude sin(2 pi 0.5 t) for 0 <= t < 2 s, then zero; from rest."""

    begin: float
    amplitude: float
    joint: str
    omega: float = np.pi
    stop: float = 2.0
    breakpoints: tuple[float, ...] = (0.0, 2.0)
    duration: float = 2.0
    parts: tuple[Array, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        c = np.real(np.poly(POLES[self.joint]))
        A = np.zeros((5, 5))  # angle, rate, acceleration, command, its quadrature
        A[0, 1] = A[1, 2] = 1.0
        A[2] = [-c[3], -c[2], -c[1], c[3], 0.0]
        A[3, 4], A[4, 3] = self.omega, -self.omega
        first = np.array([0.0, 0.0, 0.0, 0.0, self.amplitude])
        until = _flow(A, first, np.array([self.stop]))[0]
        object.__setattr__(self, "parts", (A, first, until * [1, 1, 1, 0, 0]))

    @property
    def target(self) -> float:
        return self.begin

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array, Array]:
        t = np.asarray(t, float)
        A, first, later = self.parts
        flat = np.atleast_1d(t).ravel()
        early = flat < self.stop
        x = np.where(early[:, None], _flow(A, first, flat), _flow(A, later, np.maximum(flat - self.stop, 0.0)))
        value, rate, acceleration = (x[:, k].reshape(t.shape) for k in range(3))
        return self.begin + value, rate, acceleration


def _flow(A: Array, x: Array, t: Array) -> Array:
    """Rows exp(A t) x."""
    values, V = np.linalg.eig(A)
    return ((np.exp(np.outer(t, values)) * np.linalg.solve(V, x.astype(complex))) @ V.T).real
