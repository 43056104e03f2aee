"""Sensors of a planar arm: joints, tip, and stations along the links.

Every output is one `Channel`; the compiled kernel reads the same records.

| output | meaning |
|---|---|
| joint angle, rate | of the link's root against the previous link's end: what an encoder reads |
| chord angle, rate | of the straight line from joint to next joint (or tip) against that of the previous link |
| link deflection | of the link's end from the tangent at its root |
| tip_x, tip_y, tip_acceleration_x, .._y | in the base frame |
| tip_error_x, tip_error_y | tip minus tip of the rigid arm with the same (actual) joint angles, in the base frame |
| curvature, strain | theta' and c theta', c the distance to the outermost fibre |
| displacement | along the arc, the joint's rotation included: s phi + deflection from the tangent at the link's root |
| acceleration | across the deformed link, as an accelerometer fixed to it reads |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal
from ..sensors import angle_of, between_middles, check_moves, chord_signals, gauge, rigid_tip, sensor_signal, within
from .mesh import Mesh, spread

Array = npt.NDArray[Any]
POSITION, RATE, ACCELERATION, ERROR_X, ERROR_Y, CURVATURE, DISPLACEMENT, TRANSVERSE, CHORD, CHORD_RATE = range(10)


class Channel(NamedTuple):
    """One output: its kind, a coordinate or element, a second element, a weight and a scale; see `build_channels`."""

    kind: int
    place: int
    other: int
    weight: float
    scale: float


def build_channels(mesh: Mesh, arm: Arm) -> tuple[tuple[Signal, ...], tuple[Channel, ...]]:
    """Return the outputs of an arm and their records."""
    signals, channels = [], []
    for i, phi in enumerate(mesh.joint, 1):
        signals += [Signal(f"joint{i}_angle", "rad"), Signal(f"joint{i}_rate", "rad/s")]
        channels += [Channel(POSITION, int(phi), 0, 0.0, 1.0), Channel(RATE, int(phi), 0, 0.0, 1.0)]
    last = np.append(mesh.root[1:], mesh.length.size) - 1
    for i, (root, end) in enumerate(zip(mesh.root, last, strict=True)):
        # the weight names the root of the previous link, against whose chord the angle counts
        before = float(mesh.root[i - 1]) if i else -1.0
        signals += chord_signals(i + 1)
        channels += [Channel(kind, int(end), int(root), before, 1.0) for kind in (CHORD, CHORD_RATE)]
        channels.append(Channel(DISPLACEMENT, int(end), int(root), 1.0, 0.0))
    for name, kind, unit in (("tip", POSITION, "m"), ("tip_acceleration", ACCELERATION, "m/s^2")):
        for axis, letter in enumerate("xy"):
            signals.append(Signal(f"{name}_{letter}", unit))
            channels.append(Channel(kind, int(mesh.node[-1, axis]), 0, 0.0, 1.0))
    for letter, kind in (("x", ERROR_X), ("y", ERROR_Y)):
        signals.append(Signal(f"tip_error_{letter}", "m", "from the rigid arm with the same joint angles"))
        channels.append(Channel(kind, 0, 0, 0.0, 1.0))
    for sensor in arm.sensors:
        signals.append(sensor_signal(sensor, signals))
        channels.append(_channel(mesh, arm, sensor))
    return tuple(signals), tuple(channels)


def _channel(mesh: Mesh, arm: Arm, sensor: Sensor) -> Channel:
    i, link = sensor.link - 1, arm.links[sensor.link - 1]
    own = np.flatnonzero(mesh.link == i)
    ends = mesh.station[own]
    if sensor.kind in ("curvature", "strain"):
        pair = between_middles(ends, sensor.position)
        return Channel(CURVATURE, int(own[pair.first]), int(own[pair.second]), pair.weight, gauge(sensor, link))
    k, part = within(ends, sensor.position)
    check_moves(sensor, fixed=i == 0)
    kind = DISPLACEMENT if sensor.kind == "displacement" else TRANSVERSE
    return Channel(kind, int(own[k]), int(mesh.root[i]), part, sensor.position * link.length)


class PlanarSensors:
    """The outputs as functions of coordinates, rates and accelerations."""

    def __init__(self, mesh: Mesh, arm: Arm) -> None:
        self.mesh, self.lengths = mesh, np.array([link.length for link in arm.links])
        self.signals, self.channels = build_channels(mesh, arm)

    def read(self, q: Array, v: Array, a: Array) -> Array:
        """Return all readings."""
        mesh = self.mesh
        local, acceleration = spread(mesh, q), spread(mesh, a)
        error = q[mesh.node[-1, :2]] - rigid_tip(self.lengths, q[mesh.joint])
        curvature = (local[:, 5] - local[:, 2]) / mesh.length
        y = np.zeros(len(self.channels), np.result_type(q, v, a))
        for row, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE, ACCELERATION):
                y[row] = (q, v, a)[c.kind][c.place]
            elif c.kind in (ERROR_X, ERROR_Y):
                y[row] = error[c.kind - ERROR_X]
            elif c.kind == CURVATURE:
                y[row] = c.scale * ((1 - c.weight) * curvature[c.place] + c.weight * curvature[c.other])
            elif c.kind in (CHORD, CHORD_RATE):
                rate = spread(mesh, v) if c.kind == CHORD_RATE else local
                y[row] = _chord(local, rate, c.other, c.place, c.kind)
                if c.weight >= 0:
                    y[row] -= _chord(local, rate, int(c.weight), c.other - 1, c.kind)
            elif c.kind == DISPLACEMENT:
                root, psi = local[c.other], local[c.other, 2]
                d = _between(local[c.place], c.weight)[:2] - root[:2]
                y[row] = c.scale * q[mesh.dof[c.other, 6]] - np.sin(psi) * d[0] + np.cos(psi) * d[1]
            else:
                theta, acc = _between(local[c.place], c.weight)[2], _between(acceleration[c.place], c.weight)
                y[row] = -np.sin(theta) * acc[0] + np.cos(theta) * acc[1]
        return y

    def rows(self, q: FloatArray, v: FloatArray, a: FloatArray, inputs: int) -> OutputTangent:
        """Return the derivatives of `read`."""
        mesh, n, ny = self.mesh, self.mesh.size, len(self.channels)
        wide = [np.zeros((ny, n + 1)) for _ in range(3)]
        rows = OutputTangent(wide[0], wide[1], wide[2], np.zeros((ny, inputs)))
        angle = np.cumsum(q[mesh.joint])
        # d(rigid tip)/d(phi_j): what lies beyond joint j turns
        lever = np.stack([-self.lengths * np.sin(angle), self.lengths * np.cos(angle)])
        turn = np.cumsum(lever[:, ::-1], axis=1)[:, ::-1]
        for row, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE, ACCELERATION):
                rows[c.kind][row, c.place] = 1.0
            elif c.kind in (ERROR_X, ERROR_Y):
                axis = c.kind - ERROR_X
                rows.position[row, mesh.joint] = -turn[axis]
                rows.position[row, mesh.node[-1, axis]] += 1.0
            elif c.kind == CURVATURE:
                for e, w in ((c.place, 1 - c.weight), (c.other, c.weight)):
                    self._angle(rows.position[row], e, 0.0, -c.scale * w / mesh.length[e])
                    self._angle(rows.position[row], e, 1.0, c.scale * w / mesh.length[e])
            elif c.kind in (CHORD, CHORD_RATE):
                self._chord_rows(rows, row, q, v, c)
            elif c.kind == DISPLACEMENT:
                self._displacement(rows.position[row], q, c)
            else:
                self._transverse(rows, row, q, a, c)
        return OutputTangent(rows.position[:, :n], rows.rate[:, :n], rows.acceleration[:, :n], rows.input)

    def _angle(self, target: FloatArray, e: int, part: float, factor: float) -> None:
        """Add factor d(theta at a part of element e)."""
        dof = self.mesh.dof[e]
        np.add.at(target, dof[[2, 6, 5]], factor * np.array([1 - part, 1 - part, part]))

    def _place(self, target: FloatArray, e: int, part: float, direction: FloatArray) -> None:
        """Add direction . d(position at a part of element e)."""
        dof = self.mesh.dof[e]
        np.add.at(target, dof[:2], (1 - part) * direction)
        np.add.at(target, dof[3:5], part * direction)

    def _displacement(self, target: FloatArray, q: FloatArray, c: Channel) -> None:
        local = spread(self.mesh, q)
        psi = local[c.other, 2]
        d = _between(local[c.place], c.weight)[:2] - local[c.other, :2]
        along, across = np.array([np.cos(psi), np.sin(psi)]), np.array([-np.sin(psi), np.cos(psi)])
        target[self.mesh.dof[c.other, 6]] += c.scale
        self._place(target, c.place, c.weight, across)
        self._place(target, c.other, 0.0, -across)
        self._angle(target, c.other, 0.0, -float(along @ d))

    def _chord_rows(self, rows: OutputTangent, row: int, q: FloatArray, v: FloatArray, c: Channel) -> None:
        local, rate = spread(self.mesh, q), spread(self.mesh, v)
        for root, end, sign in ((c.other, c.place, 1.0), (int(c.weight), c.other - 1, -1.0)):
            if root < 0:
                continue
            d, w = local[end, 3:5] - local[root, :2], rate[end, 3:5] - rate[root, :2]
            square = float(d @ d)
            turn = np.array([-d[1], d[0]]) / square
            targets = [(rows.position[row], turn)]
            if c.kind == CHORD_RATE:
                slip = (np.array([w[1], -w[0]]) - 2.0 * (turn @ w) * d) / square
                targets = [(rows.rate[row], turn), (rows.position[row], slip)]
            for target, direction in targets:
                self._place(target, end, 1.0, sign * direction)
                self._place(target, root, 0.0, -sign * direction)

    def _transverse(self, rows: OutputTangent, row: int, q: FloatArray, a: FloatArray, c: Channel) -> None:
        theta = _between(spread(self.mesh, q)[c.place], c.weight)[2]
        acc = _between(spread(self.mesh, a)[c.place], c.weight)[:2]
        along, across = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
        self._place(rows.acceleration[row], c.place, c.weight, across)
        self._angle(rows.position[row], c.place, c.weight, -float(along @ acc))


def _chord(local: Array, rate: Array, root: int, end: int, kind: int) -> Any:
    """Return the angle (or rate) of the line from the beginning of one element to the end of another.

    The angle is that of the root's section and what the line is turned from it, so that it goes beyond pi with the arm.
    """
    d, w, psi = local[end, 3:5] - local[root, :2], rate[end, 3:5] - rate[root, :2], local[root, 2]
    if kind == CHORD_RATE:
        return (d[0] * w[1] - d[1] * w[0]) / (d @ d)
    along, across = np.cos(psi) * d[0] + np.sin(psi) * d[1], np.cos(psi) * d[1] - np.sin(psi) * d[0]
    return psi + angle_of(across, along)


def _between(local: Array, part: float) -> Array:
    """Return (x, y, theta) at a part of an element."""
    return np.asarray((1 - part) * local[:3] + part * local[3:])
