"""Stable inversion: the torque that makes the tip follow a smooth motion, although the tip is non-minimum phase.

    U(j w) = A_d(j w) / (s^2 G_tip(s))_{s = j w},     A_d the spectrum of the wanted tip acceleration

The inverse of a non-minimum-phase plant is unstable forwards in time, but bounded over all time: it begins before the
motion does (pre-actuation, about 4 over the slowest right half-plane zero). s^2 G is finite at zero frequency, where it
is 1 / J, so the rigid mode needs no care. Evaluated by FFT on a window that leaves room on both sides.

The torque assumes the payload. `deviation` puts a law on top that acts on measured minus predicted outputs; a stiff
joint PD would fight the bending that the inversion asks for only if its reference were the rigid angle.

Source: Devasia, Chen and Paden 1996; Bayo 1987 for flexible arms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DefinitionError, NotAvailable, require
from ..laws.controller import Delayed, LinearLaw, bare
from ..machine.given import LinearGiven, as_second_order
from ..model import ComplexArray, FloatArray
from ..motion.moves import Motion, Tabulated
from ..motion.signals import Sampled
from ..support.kinds import AnyLaw
from .design_model import DesignModel, design_model


@dataclass(frozen=True, eq=False)
class Inversion:
    """A torque and the motions that go with it; they begin `lead` before the wanted motion.

    Attributes
    ----------
    torque : Sampled
        The input.
    references : dict
        Motion of every measured output, by name.
    lead : float
        Time at which the wanted motion begins [s].
    pre_actuation : float
        Time before that from which the input exceeds 0.1 % of its peak [s].
    peak : float
        Largest input.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> move = fx.Polynomial(0.0, 0.1, 0.4, degree=9)
    >>> found = fx.stable_inversion(plant, move, modes=3, drive="joint1_torque", follow="chord1_angle")
    >>> print(f"{1e3 * found.pre_actuation:.0f} ms")
    73 ms
    """

    torque: Sampled
    references: dict[str, Tabulated]
    lead: float
    pre_actuation: float
    peak: float


def stable_inversion(
    plant: LinearGiven, motion: Motion, *, modes: int, drive: str, follow: str, measures: tuple[str, ...] = (),
    step: float = 2.5e-4, room: float = 1.0, cut: float = 1e-6,
) -> Inversion:
    """Return the input that makes the followed output do a motion.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with one rigid-body mode.
    motion : Motion
        What the followed output does, from rest to rest and with continuous acceleration (a `Polynomial` of degree 7
        or 9); it may begin at any time.
    modes : int
        Flexible modes of the inverse; each one more reduces the error about fivefold.
    drive, follow, measures : str
        Input, followed output, and further outputs to predict.
    step : float
        Sample time of the result [s].
    room : float
        Time left before and after the motion [s].
    cut : float
        Part of the peak below which the torque before the motion is left out; 0.1 % would be missed at the end.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> move = fx.Polynomial(0.0, 0.1, 0.4, degree=9)
    >>> found = fx.stable_inversion(plant, move, modes=3, drive="joint1_torque", follow="chord1_angle")
    >>> print(f"{found.peak:.3f} N m")
    0.238 N m
    """
    plant = as_second_order(plant)
    require(step > 0 and room > 0 and 0 < cut < 1, f"step = {step} s, room = {room} s, cut = {cut}: positive, cut < 1")
    names = tuple(dict.fromkeys((follow, *measures)))
    model = design_model(plant, modes, names, drive, follow)
    start = min(motion.breakpoints)
    count = int(2 ** np.ceil(np.log2((motion.duration - start + 2 * room) / step)))
    require(count > 1, f"step = {step} s is longer than the motion and the room around it; give a shorter one")
    t = step * np.arange(count) - room
    wanted = np.where(t >= 0, motion(np.maximum(t, 0.0) + start)[2], 0.0)
    _check_smooth(wanted)
    s: ComplexArray = np.asarray(2j * np.pi * np.fft.rfftfreq(count, step), complex)
    response = _acceleration_response(model, s)
    spectrum = np.fft.rfft(wanted) / response[0]
    torque = np.fft.irfft(spectrum, count)
    peak = float(np.abs(torque).max())
    first = int(np.argmax(np.abs(torque) > cut * peak))
    if first == 0:
        raise DefinitionError(f"room = {room} s before the motion is too short for the pre-actuation; give more")
    active = int(np.argmax(np.abs(torque) > 1e-3 * peak))
    used = slice(first, None)
    shifted = t[used] - t[first]
    begin = float(motion(start)[0])
    references = {
        name: _motion(shifted, np.fft.irfft(spectrum * row, count), used, step, begin * float(model.gain[i, 0]))
        for i, (name, row) in enumerate(zip(names, response, strict=True))
    }
    return Inversion(Sampled(shifted, torque[used]), references, float(-t[first]), float(-t[active]), peak)


def _check_smooth(wanted: FloatArray) -> None:
    jump, size = float(np.abs(np.diff(wanted)).max()), float(np.abs(wanted).max())
    require(size > 0, "the motion does not move")
    remedy = "take Polynomial(.., degree=9)"
    require(jump < 0.1 * size, f"the acceleration jumps by {jump:.3g} of {size:.3g}: no torque does that; {remedy}")


def _acceleration_response(model: DesignModel, s: ComplexArray) -> ComplexArray:
    """Return s^2 times the response of every measured output at s, exact at zero."""
    k, damping = model.omega.size, model.damping
    x = np.where(s == 0, 1.0, s)[:, None, None]
    load = np.broadcast_to(model.b, (s.size, k, 1))
    eta = np.linalg.solve(np.eye(k) + damping / x + np.diag(model.omega**2) / x**2, load)[:, :, 0]
    eta[s == 0] = np.concatenate([model.b[:1, 0], np.zeros(k - 1)])
    return np.asarray(model.rows @ eta.T)


def _motion(t: FloatArray, acceleration: FloatArray, used: slice, step: float, begin: float) -> Tabulated:
    """Return the motion with a sampled acceleration, at rest before it."""
    rate = step * (np.cumsum(acceleration) - 0.5 * acceleration)
    value = step * (np.cumsum(rate) - 0.5 * rate) + begin
    return Tabulated(t, value[used], rate[used], acceleration[used])


def deviation(law: AnyLaw) -> Any:
    """Return the law acting on measured minus wanted outputs: it follows the measured outputs, by their names.

    What it would do by itself to follow a reference is left out; the torque of the inversion takes its place and is
    given to `simulate` as an input.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.deviation(law).follows
    ('joint1_angle',)
    """
    law = bare(law)
    if isinstance(law, Delayed):
        return replace(law, law=deviation(law.law))
    if not isinstance(law, LinearLaw):
        raise NotAvailable(f"{type(law).__name__} is not a linear law, so it has no deviation form")
    ny = len(law.measures)
    values = np.zeros((ny, 3 * ny))
    values[range(ny), range(0, 3 * ny, 3)] = -1.0
    return replace(law, follows=law.measures, Br=law.By @ values, Dr=law.Dy @ values, start=0.0 * law.start)
