"""Lines of held samples on the imaginary axis of another plane, in which the sampled arm is rational of its own order.

    w = (2 / T) tanh(s T / 2),   z = exp(s T) = (1 + w T / 2) / (1 - w T / 2),   w = j (2 / T) tan(omega T / 2) at lines

Sampled with a hold, a mode is a pair of poles of z, 1 / s^2 is T^2 (z + 1) / (2 (z - 1)^2) = 1 / w^2 - (T / 2) / w. So
fits in w are exact up to the Nyquist frequency. Dividing by the lag of the hold leaves what is folded back from above
it, which a fit in s follows with fast poles that the arm does not have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import require
from ..model import ComplexArray, FloatArray
from .response import MeasuredResponse

EDGE = 1.0 - 1e-9
"""Frequency of the last line, in parts of Nyquist's, where w is infinite."""
FASTEST = 1e-3
"""Least z of a real pole: faster ones are over within a sample."""
OVER = 0.05
"""Size of z below which a real pole is over within a sample, and looks like a delay of one."""


def warped_by(data: MeasuredResponse) -> bool:
    """Whether lines are those of held samples."""
    return data.held and data.dt > 0.0


def lines_of(data: MeasuredResponse) -> ComplexArray:
    """Return where the lines of a response lie: w of held samples, else j omega."""
    if not warped_by(data):
        return np.asarray(1j * data.omega, complex)
    nyquist = np.pi / data.dt
    require(
        bool(data.omega[-1] <= nyquist * (1.0 + 1e-9)),
        f"the line at {data.omega[-1] / (2 * np.pi):.6g} Hz is above {0.5 / data.dt:.6g} Hz, half the sampling "
        "frequency: leave such lines out (band), or correct dt",
    )
    return np.asarray(2j / data.dt * np.tan(0.5 * data.dt * np.minimum(data.omega, EDGE * nyquist)), complex)


def to_w(poles: ComplexArray, dt: float) -> ComplexArray:
    """Return poles of w from those of s."""
    return np.asarray(2.0 / dt * np.tanh(0.5 * dt * poles), complex)


def from_w(pole: complex, dt: float) -> complex:
    """Return a pole of s from one of w, Im s from 0 to the Nyquist frequency."""
    z = (1.0 + 0.5 * dt * pole) / (1.0 - 0.5 * dt * pole)
    return complex(np.log(z if pole.imag else max(z.real, FASTEST)) / dt)


def slope(pole: complex, dt: float) -> complex:
    """Return ds/dw at a pole of w."""
    return complex(1.0 / (1.0 - (0.5 * dt * pole) ** 2))


def is_sampled_only(poles: ComplexArray, dt: float) -> bool:
    """Whether a real pole of w is none of an arm between samples: its z is negative."""
    return bool((_real(poles, dt) < -OVER).any())


def is_over(poles: ComplexArray, dt: float) -> bool:
    """Whether a real pole of w is over within a sample."""
    return bool((np.abs(_real(poles, dt)) < OVER).any())


def _real(poles: ComplexArray, dt: float) -> FloatArray:
    """Return z of the real poles of w."""
    real = poles[poles.imag == 0.0].real
    return np.asarray((1.0 + 0.5 * dt * real) / (1.0 - 0.5 * dt * real))


def undelayed(response: MeasuredResponse, delay: float) -> MeasuredResponse:
    """Return the response with a delay [s] taken out: of held samples as samples."""
    if not warped_by(response):
        return response.unheld(delay)
    turned = np.exp(1j * response.omega * delay)
    return replace(response, response=response.response * turned)
