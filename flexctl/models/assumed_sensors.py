"""What is measured on a tree of `assumed_modes`; the names mean what they mean for `timoshenko_planar`.

| output | meaning |
|---|---|
| joint angle, rate | of the link's root against the tangent of the link that carries it |
| tip_x, tip_y, tip_acceleration_x, .._y | in the base frame |
| tip_error_x, tip_error_y | tip minus tip of the rigid arm with the same joint angles, none of them free |
| curvature, strain | w'' and c w'', c the distance to the outermost fibre |
| displacement | along the link, the joint's rotation included: s phi + w |
| acceleration | across the deformed link |

Every output is one `Channel`; the compiled kernel reads the same records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arm import Arm, Sensor
from ..errors import DefinitionError, require
from ..model import FloatArray, OutputTangent, Signal
from .assumed_motion import TreeMotion
from .assumed_tree import Station, Tree

POSITION, RATE, PLACE, ACCELERATION, ERROR, ACROSS = range(6)
UNITS = {"displacement": "m", "acceleration": "m/s^2", "curvature": "1/m", "strain": "1"}
AXES = (1.0 + 0.0j, 1.0j)  # a direction as a complex number: the reading is Re(conj(direction) place)


class Channel(NamedTuple):
    """One output: its kind, a row of eta (POSITION, RATE; for ACROSS the angle of the tangent), a station, an axis."""

    kind: int
    row: FloatArray
    station: Station
    axis: int = 0


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
        self.way = self._way()
        described = [("tip", PLACE, "m"), ("tip_acceleration", ACCELERATION, "m/s^2")]
        if all(arm.joints[i].drive != "free" for i in self.way):
            described.append(("tip_error", ERROR, "m"))
        for name, kind, unit in described:
            for axis, letter in enumerate("xy"):
                self._add(Signal(f"{name}_{letter}", unit), Channel(kind, none, tree.tip, axis))
        for sensor in arm.sensors:
            require(
                sensor.name not in {s.name for s in self.signals},
                f'the name "{sensor.name}" is taken by the model; choose another for the sensor',
            )
            what = f"{sensor.kind} at {sensor.position:g} L of link {sensor.link}"
            self._add(Signal(sensor.name, UNITS[sensor.kind], what), self._channel(sensor))

    def _add(self, signal: Signal, channel: Channel) -> None:
        self.signals.append(signal)
        self.channels.append(channel)

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
        scale = 1.0
        if sensor.kind == "strain":
            distance = link.section_at(s).outer_distance
            if distance is None:
                raise DefinitionError(
                    f'sensor "{sensor.name}": strain = c curvature needs outer_distance in its section'
                )
            scale = distance
        row[self.tree.elastic[i]] = scale * shapes.curvature(s)
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

    def read(self, eta: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Return all readings."""
        motion, y = TreeMotion(self.tree, eta, v, a), np.zeros(len(self.channels))
        for k, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE):
                y[k] = c.row @ (eta if c.kind == POSITION else v)
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
