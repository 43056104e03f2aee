"""Sensors of a tree of `assumed_modes`; the names have the same meaning as for `timoshenko_planar`.

| output | meaning |
|---|---|
| joint angle, rate | of the link's root against the tangent of the link that carries it |
| chord angle, rate | of the straight line from the link's root to its end against that of the link that carries it |
| link deflection | of the link's end from the tangent at its root |
| tip_x, tip_y, tip_acceleration_x, .._y | in the base frame |
| tip_error_x, tip_error_y | tip minus tip of the rigid arm with the same joint angles, none of them free |
| curvature, strain | w'' and c w'', c the distance to the outermost fibre |
| displacement | along the link, the joint's rotation included: s phi + w |
| acceleration | across the deformed link |

Chords are those of flexible links that are clamped at their root; deflections, where their shapes move the end.

Every output is one `Channel`; the compiled kernel reads the same records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import require
from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal
from ..sensors import chord_signals, gauge, sensor_signal
from .mesh import Station, Tree
from .motion import TreeMotion

POSITION, RATE, PLACE, ACCELERATION, ERROR, ACROSS, CHORD, CHORD_RATE = range(8)
AXES = (1.0 + 0.0j, 1.0j)  # a direction as a complex number: the reading is Re(conj(direction) place)


class Channel(NamedTuple):
    """One output: its kind, a row of eta (POSITION, RATE; for ACROSS the angle of the tangent), a station, an axis.

    A chord's station is the end of its link.
    """

    kind: int
    row: FloatArray
    station: Station
    axis: int = 0


class Lean(NamedTuple):
    """Turn of a link's chord against its root, its rate, and their derivatives by the link's elastic coordinates.

    The rate's derivative by their rates is that of the turn by them.
    """

    angle: float
    rate: float
    by_position: FloatArray
    rate_by_position: FloatArray


class TreeSensors:
    """The outputs as functions of eta and its derivatives."""

    def __init__(self, tree: Tree, arm: Arm) -> None:
        self.tree, self.arm = tree, arm
        self.signals: list[Signal] = []
        self.channels: list[Channel] = []
        none = np.zeros(tree.size)
        for i in range(len(arm.links)):
            self._add(Signal(f"joint{i + 1}_angle", "rad"), Channel(POSITION, tree.joint(i), tree.tip))
            self._add(Signal(f"joint{i + 1}_rate", "rad/s"), Channel(RATE, tree.joint(i), tree.tip))
        for i in range(len(arm.links)):
            self._add_chord(i)
        self.way = self._way()
        described = [("tip", PLACE, "m"), ("tip_acceleration", ACCELERATION, "m/s^2")]
        if all(arm.joints[i].drive != "free" for i in self.way):
            described.append(("tip_error", ERROR, "m"))
        for name, kind, unit in described:
            for axis, letter in enumerate("xy"):
                self._add(Signal(f"{name}_{letter}", unit), Channel(kind, none, tree.tip, axis))
        for sensor in arm.sensors:
            self._add(sensor_signal(sensor, self.signals), self._channel(sensor))

    def _add(self, signal: Signal, channel: Channel) -> None:
        self.signals.append(signal)
        self.channels.append(channel)

    def _add_chord(self, i: int) -> None:
        tree, link, end = self.tree, self.arm.links[i], self.tree.station(i, 1.0)
        tilts = link.length * np.abs(tree.shapes[i].slope(0.0)).max(initial=0.0) > 1e-6
        if link.kind != "flexible" or tilts:
            return
        angle, rate, deflection = chord_signals(i + 1)
        turn, across = np.zeros(tree.size), np.zeros(tree.size)
        turn[i] = 1.0
        if tree.parent[i] >= 0:
            turn[tree.parent[i]] = -1.0
        self._add(angle, Channel(CHORD, turn, end))
        self._add(rate, Channel(CHORD_RATE, turn, end))
        across[tree.elastic[i]] = end.field.b[0]
        if np.abs(across).max() > 1e-9:  # shapes are 1 at an end that moves
            self._add(deflection, Channel(POSITION, across, end))

    def _way(self) -> list[int]:
        """Return the links from the base to the tip."""
        way, i = [], self.arm.tip_link
        while i >= 0:
            way.append(i)
            i = self.tree.parent[i]
        return way[::-1]

    def _channel(self, sensor: Sensor) -> Channel:
        i, s = sensor.link - 1, sensor.position
        link, shapes, station = self.arm.links[i], self.tree.shapes[i], self.tree.station(i, s)
        row = np.zeros(self.tree.size)
        if sensor.kind == "acceleration":
            moves = s > 0 or self.tree.parent[i] >= 0
            require(moves, f'sensor "{sensor.name}": the root does not move; give a position above 0')
            return Channel(ACROSS, self.tree.slope(i, s), station)
        if sensor.kind == "displacement":
            require(s > 0, f'sensor "{sensor.name}": the root does not move; give a position above 0')
            row += s * link.length * self.tree.joint(i)
            row[self.tree.elastic[i]] += station.field.b[0]
            return Channel(POSITION, row, station)
        require(shapes.nb > 0, f'sensor "{sensor.name}": link {sensor.link} does not bend; give it bending modes')
        row[self.tree.elastic[i]] = gauge(sensor, link) * shapes.curvature(s)
        return Channel(POSITION, row, station)

    def rigid_steps(self) -> list[tuple[float, FloatArray]]:
        """Return, from the base to the tip, how far each link goes [m] and the row of eta for its rigid angle."""
        links, found, turn = self.arm.links, [], np.zeros(self.tree.size)
        for here, beyond in zip(self.way, [*self.way[1:], -1], strict=True):
            turn = turn + self.tree.joint(here)
            found.append((links[here].length * (links[beyond].root if beyond >= 0 else 1.0), turn))
        return found

    def rigid_tip(self, eta: FloatArray) -> tuple[complex, FloatArray]:
        """Return the tip of the rigid arm with the same joint angles, and its derivative by eta."""
        place, row = complex(self.tree.base[self.way[0]]), np.zeros(self.tree.size, complex)
        for length, turn in self.rigid_steps():
            step = length * np.exp(1j * (turn @ eta))
            place, row = place + step, row + 1j * step * turn
        return place, row

    def lean(self, i: int, eta: FloatArray, v: FloatArray) -> Lean:
        """Return how the chord of a link is turned against its root."""
        f, z, dz = self.tree.station(i, 1.0).field, eta[self.tree.elastic[i]], v[self.tree.elastic[i]]
        H = f.H[0]
        place = complex(f.x[0] + (f.a[0] - 0.5 * H @ z) @ z, f.b[0] @ z)
        slope = f.a[0] - H @ z + 1j * f.b[0]
        rate = slope @ dz
        return Lean(
            float(np.angle(place)), float((rate / place).imag), (slope / place).imag,
            (-(H @ dz) / place - rate * slope / place**2).imag,
        )

    def _leans(self, c: Channel, eta: FloatArray, v: FloatArray) -> list[tuple[float, FloatArray, Lean]]:
        """Return sign, elastic coordinates and turn of the chords of a link and of the one that carries it."""
        i = c.station.link
        pairs = ((1.0, i), (-1.0, self.tree.parent[i]))
        return [(sign, self.tree.elastic[k], self.lean(k, eta, v)) for sign, k in pairs if k >= 0]

    def read(self, eta: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Return all readings."""
        motion, y = TreeMotion(self.tree, eta, v, a), np.zeros(len(self.channels))
        for k, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE):
                y[k] = c.row @ (eta if c.kind == POSITION else v)
                continue
            if c.kind in (CHORD, CHORD_RATE):
                x, part = (eta, 0) if c.kind == CHORD else (v, 1)
                y[k] = c.row @ x + sum(sign * lean[part] for sign, _, lean in self._leans(c, eta, v))
                continue
            here, axis = motion.at(c.station), AXES[c.axis]
            if c.kind == PLACE:
                y[k] = (np.conj(axis) * here.place[0]).real
            elif c.kind == ERROR:
                y[k] = (np.conj(axis) * (here.place[0] - self.rigid_tip(eta)[0])).real
            elif c.kind == ACCELERATION:
                y[k] = (np.conj(axis) * here.acceleration[0]).real
            else:
                y[k] = (np.conj(1j * np.exp(1j * (c.row @ eta))) * here.acceleration[0]).real
        return y

    def rows(self, eta: FloatArray, v: FloatArray, a: FloatArray, inputs: int) -> OutputTangent:
        """Return the derivatives of `read`."""
        motion, n, ny = TreeMotion(self.tree, eta, v, a), self.tree.size, len(self.channels)
        out = OutputTangent(np.zeros((ny, n)), np.zeros((ny, n)), np.zeros((ny, n)), np.zeros((ny, inputs)))
        for k, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE):
                out[0 if c.kind == POSITION else 1][k] = c.row
                continue
            if c.kind in (CHORD, CHORD_RATE):
                turn = out.position if c.kind == CHORD else out.rate
                turn[k] += c.row
                for sign, own, lean in self._leans(c, eta, v):
                    turn[k, own] += sign * lean.by_position
                    if c.kind == CHORD_RATE:
                        out.position[k, own] += sign * lean.rate_by_position
                continue
            here, axis = motion.at(c.station), AXES[c.axis]
            if c.kind in (PLACE, ERROR):
                rigid = self.rigid_tip(eta)[1] if c.kind == ERROR else 0.0
                out.position[k] = (np.conj(axis) * (here.J[0] - rigid)).real
                continue
            if c.kind == ACROSS:
                axis = 1j * np.exp(1j * (c.row @ eta))
                out.position[k] = (np.conj(1j * axis) * here.acceleration[0]).real * c.row
            out.position[k] += (np.conj(axis) * here.by_position[0]).real
            out.rate[k] = (np.conj(axis) * here.by_rate[0]).real
            out.acceleration[k] = (np.conj(axis) * here.J[0]).real
        return out
