"""Sensors at stations of a link: which elements they read, for the planar and the spatial arm.

Between nodes positions and angles are linear; the curvature is known best at the middle of an element and interpolated
between these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import DefinitionError, require
from ..machine.arm import Link, Sensor
from ..model import FloatArray, Signal

UNITS = {"displacement": "m", "acceleration": "m/s^2", "curvature": "1/m", "strain": "1"}


class Between(NamedTuple):
    """Two elements of a segment (counted within it) or one, and where between them, 0 to 1."""

    first: int
    second: int
    weight: float


def between_middles(ends: FloatArray, station: float) -> Between:
    """Return the elements whose middles a station lies between; `ends` are the stations of the elements, N x 2."""
    middle = ends.mean(axis=1)
    k = int(np.clip(np.searchsorted(middle, station), 1, max(middle.size - 1, 1)))
    last = min(k, middle.size - 1)
    span = middle[last] - middle[k - 1]
    return Between(k - 1, last, float((station - middle[k - 1]) / span) if span > 0 else 0.0)


def within(ends: FloatArray, station: float) -> tuple[int, float]:
    """Return the element that holds a station, and where in it, 0 to 1."""
    k = min(int(np.searchsorted(ends[:, 1], station)), len(ends) - 1)
    return k, float((station - ends[k, 0]) / (ends[k, 1] - ends[k, 0]))


def gauge(sensor: Sensor, link: Link) -> float:
    """Return what the curvature is multiplied by: 1, or the distance to the outermost fibre for a strain."""
    if sensor.kind != "strain":
        return 1.0
    distance = link.section_at(sensor.position).outer_distance
    if distance is None:
        raise DefinitionError(f'sensor "{sensor.name}": strain = c curvature needs outer_distance in its section')
    return distance


def sensor_signal(sensor: Sensor, taken: list[Signal]) -> Signal:
    """Return the output of a sensor, its name not among those taken by the model."""
    if sensor.name in {s.name for s in taken}:
        raise DefinitionError(f'the name "{sensor.name}" is taken by the model; choose another for the sensor')
    return Signal(sensor.name, UNITS[sensor.kind], f"{sensor.kind} at {sensor.position:g} L of link {sensor.link}")


def rigid_tip(lengths: FloatArray, angles: Any) -> Any:
    """Return the tip (.., 2) [m] of straight links, one after the other, with these joint angles [rad]."""
    turned = np.cumsum(angles, axis=-1)
    return np.stack([np.cos(turned) @ lengths, np.sin(turned) @ lengths], axis=-1)


def chord_signals(i: int) -> list[Signal]:
    """Return the outputs of link i, from 1, that need no sensor: its chord and the deflection of its end."""
    return [
        Signal(f"chord{i}_angle", "rad"), Signal(f"chord{i}_rate", "rad/s"),
        Signal(f"link{i}_deflection", "m", "of the end from the tangent at the root"),
    ]


def angle_of(across: Any, along: Any) -> Any:
    """Return arctan2(across, along), for complex steps too: they do not pass through numpy's."""
    angle = np.arctan2(across.real, along.real)
    if np.iscomplexobj(across):
        angle = angle + 1j * (along.real * across.imag - across.real * along.imag) / (along.real**2 + across.real**2)
    return angle


def check_moves(sensor: Sensor, fixed: bool) -> None:
    """Refuse a displacement of the root from itself, and an acceleration of the base."""
    still = sensor.position > 0 or (sensor.kind == "acceleration" and not fixed)
    require(still, f'sensor "{sensor.name}": the root does not move; give a position above 0')
