"""Sensors of an ANCF arm. Names and meanings are those of `timoshenko_planar.sensors`, and some more.

| output | meaning |
|---|---|
| joint angle, rate | encoder: root section against the previous link's end section |
| tip_x, tip_y, tip_acceleration_x, .._y | in the base frame |
| tip_error_x, tip_error_y | tip minus tip of the rigid arm with the same joint angles |
| chord angle, rate | between the straight lines through the ends of the links, as in the paper |
| link deflection | of the link's end from the normal of its root section |
| joint_torque | what a servo joint applies |
| displacement, acceleration, curvature, strain | as in `timoshenko_planar`; curvature is of the sections' turn |

The paper's frames for the deflection pass through both ends of a link, and it is zero in them by definition. Its angles
come from arccos, which loses the sign; here they are counted from the encoder's, so that they do not jump.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal
from ..sensors import between_middles, check_moves, gauge, rigid_tip, sensor_signal, within
from .element import shape
from .mesh import AncfMesh, Expanded, chain

Array = npt.NDArray[Any]
POSITION, RATE, PLACE, ACCELERATION, ERROR, CHORD, CHORD_RATE, CURVATURE, DISPLACEMENT, TRANSVERSE, SERVO = range(11)


class Channel(NamedTuple):
    """One output.

    `place` is a joint (POSITION, RATE, SERVO), a number of the blocks (PLACE, ACCELERATION), an axis (ERROR), a link
    (CHORD, CHORD_RATE) or an element; `other` an element (CURVATURE) or link (DISPLACEMENT); `xi` where in the element,
    or the weight of `other`.
    """

    kind: int
    place: int
    other: int = 0
    xi: float = 0.0
    scale: float = 1.0


def build_channels(mesh: AncfMesh, arm: Arm, clamped: bool) -> tuple[tuple[Signal, ...], tuple[Channel, ...]]:
    """Return the outputs of an arm and their records."""
    found: list[tuple[Signal, Channel]] = []

    def add(name: str, unit: str, text: str, *record: Any) -> None:
        found.append((Signal(name, unit, text), Channel(*record)))

    J, last = len(arm.links), 6 * len(mesh.place) - 6
    for i in range(int(clamped), J):
        add(f"joint{i + 1}_angle", "rad", "encoder: root section", POSITION, i)
        add(f"joint{i + 1}_rate", "rad/s", "encoder: root section", RATE, i)
    for name, kind, unit in (("tip", PLACE, "m"), ("tip_acceleration", ACCELERATION, "m/s^2")):
        for axis in (0, 1):
            add(f"{name}_{'xy'[axis]}", unit, "", kind, last + axis)
    for axis in (0, 1):
        add(f"tip_error_{'xy'[axis]}", "m", "from the rigid arm with the same joint angles", ERROR, axis)
    for i in range(J):
        add(f"chord{i + 1}_angle", "rad", "between straight lines through the ends of the links", CHORD, i)
        add(f"chord{i + 1}_rate", "rad/s", "", CHORD_RATE, i)
        end = int(np.flatnonzero(mesh.link == i)[-1])
        add(f"link{i + 1}_deflection", "m", "of its end from its root section", DISPLACEMENT, end, i, 1.0, 0.0)
    for i, joint in enumerate(arm.joints):
        if joint.drive == "servo":
            add(f"joint{i + 1}_torque", "N m", "applied by the servo", SERVO, i)
    for sensor in arm.sensors:
        found.append((sensor_signal(sensor, [signal for signal, _ in found]), _channel(mesh, arm, sensor)))
    return tuple(s for s, _ in found), tuple(c for _, c in found)


def _channel(mesh: AncfMesh, arm: Arm, sensor: Sensor) -> Channel:
    i, link = sensor.link - 1, arm.links[sensor.link - 1]
    own = np.flatnonzero(mesh.link == i)
    ends = mesh.station[own]
    if sensor.kind in ("curvature", "strain"):
        pair = between_middles(ends, sensor.position)  # where the turn of a section that is linear in x is best
        return Channel(CURVATURE, int(own[pair.first]), int(own[pair.second]), pair.weight, gauge(sensor, link))
    k, xi = within(ends, sensor.position)
    check_moves(sensor, fixed=i == 0)
    kind = DISPLACEMENT if sensor.kind == "displacement" else TRANSVERSE
    return Channel(kind, int(own[k]), i, xi, sensor.position * link.length)


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _left(a: Array) -> Array:
    """Return a turned by a right angle, counter-clockwise."""
    return np.array([-a[1], a[0]])


class AncfSensors:
    """The outputs as functions of the blocks; `gains` are kp and kv of each joint."""

    def __init__(self, mesh: AncfMesh, arm: Arm, clamped: bool, gains: FloatArray) -> None:
        self.mesh, self.lengths, self.gains = mesh, np.array([link.length for link in arm.links]), gains
        self.base = arm.joints[0].angle
        self.signals, self.channels = build_channels(mesh, arm, clamped)

    def angles(self, q: FloatArray) -> FloatArray:
        """Return the joint angles [rad]."""
        return np.asarray(np.append(q, [self.base, 1.0, 0.0])[self.mesh.joint])

    def read(self, q: FloatArray, v: FloatArray, u: FloatArray, full: Expanded, B: FloatArray) -> FloatArray:
        """Return all readings; B is the input matrix."""
        mesh, y = self.mesh, np.zeros(len(self.channels))
        phi, rates = self.angles(q), np.append(v, [0.0] * 3)[mesh.joint]
        x, a = full.x.ravel(), full.a.ravel()
        for row, c in enumerate(self.channels):
            if c.kind in (POSITION, RATE):
                y[row] = (phi, rates)[c.kind][c.place]
            elif c.kind in (PLACE, ACCELERATION):
                y[row] = (x if c.kind == PLACE else a)[c.place]
            elif c.kind == ERROR:
                y[row] = full.x[-1, c.place] - rigid_tip(self.lengths, phi)[c.place]
            elif c.kind == CHORD:
                y[row] = phi[c.place] + self._lean(full.x, c.place)
                if c.place:
                    y[row] += self._bend(full.x, c.place - 1) - self._lean(full.x, c.place - 1)
            elif c.kind == CHORD_RATE:
                y[row] = self._chord_rate(full, c.place) - (self._chord_rate(full, c.place - 1) if c.place else 0.0)
            elif c.kind == CURVATURE:
                one, other = (self._curvature(full.x, e) for e in (c.place, c.other))
                y[row] = c.scale * ((1 - c.xi) * one + c.xi * other)
            elif c.kind == DISPLACEMENT:
                away, normal = self._away(full.x, c)
                y[row] = c.scale * phi[c.other] + away @ normal / np.sqrt(normal @ normal)
            elif c.kind == TRANSVERSE:
                acceleration, normal = self._moving(full, c)
                y[row] = acceleration @ normal / np.sqrt(normal @ normal)
            else:
                i = c.place
                y[row] = B[mesh.joint[i]] @ u - self.gains[0, i] * phi[i] - self.gains[1, i] * rates[i]
        return y

    def _lean(self, X: Array, i: int) -> float:
        """Angle of the chord of link i against its root section."""
        c, w = self._chord(X, i), X[self.mesh.roots[i], 4:]
        return float(np.arctan2(c @ w, _cross(c, w)))

    def _chord(self, X: Array, i: int) -> Array:
        return np.asarray(X[self.mesh.end[i], :2] - X[self.mesh.roots[i], :2])

    def _chord_rate(self, full: Expanded, i: int) -> float:
        c = self._chord(full.x, i)
        return _cross(c, self._chord(full.v, i)) / float(c @ c)

    def _bend(self, X: Array, i: int) -> float:
        """Angle of the end section of link i against its root section."""
        w, e = X[self.mesh.roots[i], 4:], X[self.mesh.end[i], 4:]
        return float(np.arctan2(_cross(w, e), w @ e))

    def _curvature(self, X: Array, e: int) -> float:
        one, other = X[self.mesh.left[e], 4:], X[self.mesh.left[e] + 1, 4:]
        m = 0.5 * (one + other)
        return _cross(m, other - one) / float(m @ m) / float(self.mesh.stuff.length[e])

    def _away(self, X: Array, c: Channel) -> tuple[Array, Array]:
        b, root = self.mesh.left[c.place], self.mesh.roots[c.other]
        s = shape(c.xi, float(self.mesh.stuff.length[c.place]))
        return s @ X[b : b + 2].reshape(6, 2) - X[root, :2], X[root, 4:]

    def _moving(self, full: Expanded, c: Channel) -> tuple[Array, Array]:
        b = self.mesh.left[c.place]
        s = shape(c.xi, float(self.mesh.stuff.length[c.place]))
        return s @ full.a[b : b + 2].reshape(6, 2), (1 - c.xi) * full.x[b, 4:] + c.xi * full.x[b + 1, 4:]

    def rows(self, q: FloatArray, full: Expanded, B: FloatArray) -> OutputTangent:
        """Return the derivatives of `read`."""
        mesh, n, ny = self.mesh, self.mesh.size, len(self.channels)
        parts = [np.zeros((ny, mesh.place.size)) for _ in range(3)]  # by the blocks, their rates and accelerations
        direct = [np.zeros((ny, n + 3)) for _ in range(2)]  # by q and v
        through = np.zeros((ny, B.shape[1]))
        for row, c in enumerate(self.channels):
            self._row(row, c, q, full, parts, direct)
            if c.kind == SERVO:
                through[row] = B[mesh.joint[c.place]]
        J, JV, JA = chain(mesh, full)
        X, V, A = parts
        return OutputTangent(
            X @ J + V @ JV + A @ JA + direct[0][:, :n], V @ J + 2 * A @ JV + direct[1][:, :n], A @ J, through
        )

    def _row(
        self, row: int, c: Channel, q: FloatArray, full: Expanded, parts: list[FloatArray], direct: list[FloatArray]
    ) -> None:
        mesh, (X, V, A) = self.mesh, [p[row].reshape(-1, 6) for p in parts]
        if c.kind in (POSITION, RATE):
            direct[c.kind][row, mesh.joint[c.place]] = 1.0
        elif c.kind in (PLACE, ACCELERATION):
            parts[0 if c.kind == PLACE else 2][row, c.place] = 1.0
        elif c.kind == ERROR:
            X[-1, c.place] = 1.0
            angle = np.cumsum(self.angles(q))
            lever = self.lengths * (-np.sin(angle) if c.place == 0 else np.cos(angle))
            direct[0][row, mesh.joint] -= np.cumsum(lever[::-1])[::-1]
        elif c.kind in (CHORD, CHORD_RATE):
            for i, sign in ((c.place, 1.0), (c.place - 1, -1.0)):
                if i >= 0:
                    self._chord_row(c.kind, i, sign, full, X, V)
        elif c.kind == CURVATURE:
            for e, weight in ((c.place, 1 - c.xi), (c.other, c.xi)):
                b, scale = mesh.left[e], c.scale * weight / mesh.stuff.length[e]
                one, other = full.x[b, 4:], full.x[b + 1, 4:]
                m, d = 0.5 * (one + other), other - one
                by_m = -_left(d) / (m @ m) - 2 * m * _cross(m, d) / (m @ m) ** 2
                by_d = _left(m) / (m @ m)
                X[b, 4:] += scale * (0.5 * by_m - by_d)
                X[b + 1, 4:] += scale * (0.5 * by_m + by_d)
        elif c.kind == DISPLACEMENT:
            direct[0][row, mesh.joint[c.other]] = c.scale
            root = mesh.roots[c.other]
            away, w = self._away(full.x, c)
            normal = w / np.sqrt(w @ w)
            self._spread(X, c, normal)
            X[root, :2] -= normal
            X[root, 4:] += (away - (away @ normal) * normal) / np.sqrt(w @ w)
        elif c.kind == TRANSVERSE:
            acceleration, w = self._moving(full, c)
            normal, b = w / np.sqrt(w @ w), mesh.left[c.place]
            self._spread(A, c, normal)
            across = (acceleration - (acceleration @ normal) * normal) / np.sqrt(w @ w)
            X[b, 4:] += (1 - c.xi) * across
            X[b + 1, 4:] += c.xi * across
        else:
            direct[0][row, mesh.joint[c.place]] = -self.gains[0, c.place]
            direct[1][row, mesh.joint[c.place]] = -self.gains[1, c.place]

    def _spread(self, target: FloatArray, c: Channel, direction: Array) -> None:
        """Add direction . d(position in an element)."""
        b = self.mesh.left[c.place]
        s = shape(c.xi, float(self.mesh.stuff.length[c.place]))
        target[b : b + 2] += np.outer(s, direction).reshape(2, 6)

    def _chord_row(self, kind: int, i: int, sign: float, full: Expanded, X: FloatArray, V: FloatArray) -> None:
        root, end = self.mesh.roots[i], self.mesh.end[i]
        c, dc = self._chord(full.x, i), self._chord(full.v, i)
        turn = sign * _left(c) / (c @ c)
        if kind == CHORD:
            X[end, :2] += turn
            X[root, :2] -= turn
            return
        slope = -sign * _left(dc) / (c @ c) - 2 * sign * c * _cross(c, dc) / (c @ c) ** 2
        for target, part in ((V, turn), (X, slope)):
            target[end, :2] += part
            target[root, :2] -= part
