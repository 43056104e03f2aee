"""Sensors of a chain of segments; names and meanings are those of `timoshenko_planar.sensors`.

Positions along the chain are sums c_j R_j over its bodies with c_j = l_j inboard of the sensor, so that every output
and its derivatives are sums over angles. With a flexible joint the displacement counts its spring: s times the angle
between the link's root and the previous link's end, plus the deflection from the tangent at the root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import DefinitionError
from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal
from ..sensors import angle_of, check_moves, chord_signals, gauge, rigid_tip, sensor_signal, within
from .mesh import Chain

Array = npt.NDArray[Any]
ANGLE, RATE, TIP, TIP_ACCELERATION, ERROR, CURVATURE, DISPLACEMENT, TRANSVERSE, CHORD, CHORD_RATE = range(10)


class Channel(NamedTuple):
    """One output: its kind, a body (or axis), a second one, the body beyond the joint, a weight and a scale.

    A chord runs from `other` to `body`; its weight is the root of the previous link, against whose chord it counts.
    """

    kind: int
    body: int
    other: int
    joint: int
    weight: float
    scale: float


def build_channels(chain: Chain, arm: Arm) -> tuple[tuple[Signal, ...], tuple[Channel, ...]]:
    """Return the outputs of an arm and their records."""
    signals, channels = [], []
    for i, k in enumerate(chain.joint, 1):
        side = "" if k == chain.root[i - 1] else "of the motor's side, before the joint's spring"
        signals += [Signal(f"joint{i}_angle", "rad", side), Signal(f"joint{i}_rate", "rad/s")]
        channels += [Channel(kind, int(k), 0, 0, 0.0, 1.0) for kind in (ANGLE, RATE)]
    end = np.append(chain.joint[1:], chain.length.size) - 1
    for i, (joint, root) in enumerate(zip(chain.joint, chain.root, strict=True)):
        at, before = (int(end[i]), int(root), int(joint)), float(chain.root[i - 1]) if i else -1.0
        signals += chord_signals(i + 1)
        channels += [Channel(kind, *at, before, 1.0) for kind in (CHORD, CHORD_RATE)]
        channels.append(Channel(DISPLACEMENT, *at, 1.0, 0.0))
    for name, kind, unit, text in (
        ("tip", TIP, "m", ""), ("tip_acceleration", TIP_ACCELERATION, "m/s^2", ""),
        ("tip_error", ERROR, "m", "from the rigid arm with the same joint angles"),
    ):
        for axis, letter in enumerate("xy"):
            signals.append(Signal(f"{name}_{letter}", unit, text))
            channels.append(Channel(kind, axis, 0, 0, 0.0, 1.0))
    for sensor in arm.sensors:
        signals.append(sensor_signal(sensor, signals))
        channels.append(_channel(chain, arm, sensor))
    return tuple(signals), tuple(channels)


def _channel(chain: Chain, arm: Arm, sensor: Sensor) -> Channel:
    i = sensor.link - 1
    if sensor.kind in ("curvature", "strain"):
        return _bending(chain, arm, sensor)
    check_moves(sensor, fixed=i == 0)
    own = np.flatnonzero((chain.link == i) & (chain.length > 0))
    k, part = within(chain.station[own], sensor.position)
    kind = DISPLACEMENT if sensor.kind == "displacement" else TRANSVERSE
    reach = sensor.position * arm.links[i].length
    return Channel(kind, int(own[k]), int(chain.root[i]), int(chain.joint[i]), part, reach)


def _bending(chain: Chain, arm: Arm, sensor: Sensor) -> Channel:
    """Return the channel of a curvature or strain: known at the springs, linear between and beyond them."""
    own = np.flatnonzero((chain.link == sensor.link - 1) & (chain.span > 0))
    if own.size == 0:
        message = f'sensor "{sensor.name}": link {sensor.link} has no spring that bends; use more segments'
        raise DefinitionError(message)
    scale = gauge(sensor, arm.links[sensor.link - 1])
    k = int(np.clip(np.searchsorted(chain.place[own], sensor.position), 1, max(own.size - 1, 1)))
    one, two = int(own[k - 1]), int(own[min(k, own.size - 1)])
    gap = chain.place[two] - chain.place[one]
    weight = float((sensor.position - chain.place[one]) / gap) if gap > 0 else 0.0
    return Channel(CURVATURE, one, two, 0, weight, scale)


class SegmentSensors:
    """The outputs as functions of angles, rates and accelerations of the bodies."""

    def __init__(self, chain: Chain, arm: Arm) -> None:
        self.chain, self.lengths = chain, np.array([link.length for link in arm.links])
        self.signals, self.channels = build_channels(chain, arm)

    def relative(self, x: Array) -> Array:
        """Return the value of each joint from those of the bodies."""
        return np.asarray(x[self.chain.joint] - np.append(x, 0.0)[self.chain.joint - 1])

    def _levers(self, c: Channel) -> FloatArray:
        """Return c_j of the place of a sensor, from the base or (displacement) from the link's root."""
        levers = self.chain.length.copy()
        if c.kind in (DISPLACEMENT, TRANSVERSE):
            levers[c.body] *= c.weight
            levers[c.body + 1 :] = 0.0
        if c.kind == DISPLACEMENT:
            levers[: c.other] = 0.0
        return levers

    def read(self, theta: Array, w: Array, a: Array) -> Array:
        """Return all readings."""
        R, T = _frames(theta)
        position, acceleration = R, T * a - R * w**2
        y = np.zeros(len(self.channels), np.result_type(theta, w, a))
        for row, c in enumerate(self.channels):
            if c.kind in (ANGLE, RATE):
                x = (theta, w)[c.kind]
                y[row] = x[c.body] - (x[c.body - 1] if c.body else 0.0)
            elif c.kind == CURVATURE:
                y[row] = sum(f * (theta[k] - theta[k - 1]) for k, f in self._bends(c))
            elif c.kind in (TIP, TIP_ACCELERATION):
                y[row] = (position if c.kind == TIP else acceleration)[c.body] @ self._levers(c)
            elif c.kind == ERROR:
                y[row] = position[c.body] @ self._levers(c) - rigid_tip(self.lengths, self.relative(theta))[c.body]
            elif c.kind == DISPLACEMENT:
                before = theta[c.joint - 1] if c.joint else 0.0
                y[row] = c.scale * (theta[c.other] - before) + T[:, c.other] @ (position @ self._levers(c))
            elif c.kind == CHORD:
                for sign, root, levers in self._chords(c):
                    d = position @ levers
                    y[row] += sign * (theta[root] + angle_of(T[:, root] @ d, R[:, root] @ d))
            elif c.kind == CHORD_RATE:
                for sign, _, levers in self._chords(c):
                    d, e = R @ levers, (T * w) @ levers
                    y[row] += sign * (d[0] * e[1] - d[1] * e[0]) / (d @ d)
            else:
                y[row] = T[:, c.body] @ (acceleration @ self._levers(c))
        return y

    def _chords(self, c: Channel) -> list[tuple[float, int, FloatArray]]:
        """Return sign, root and levers of the chords of a link and of the one before it."""
        found = []
        for sign, root, end in ((1.0, c.other, c.body), (-1.0, int(c.weight), c.joint - 1)):
            if root >= 0:
                levers = self.chain.length.copy()
                levers[:root] = levers[end + 1 :] = 0.0
                found.append((sign, root, levers))
        return found

    def _bends(self, c: Channel) -> tuple[tuple[int, float], ...]:
        """Return the hinges of a curvature and their factors."""
        span = self.chain.span
        return (c.body, c.scale * (1.0 - c.weight) / span[c.body]), (c.other, c.scale * c.weight / span[c.other])

    def rows(self, theta: FloatArray, w: FloatArray, a: FloatArray, inputs: int) -> OutputTangent:
        """Return the derivatives of `read` by angles, rates and accelerations of the bodies."""
        R, T = _frames(theta)
        n, ny = theta.size, len(self.channels)
        zero = [np.zeros((ny, n)) for _ in range(3)]
        rows = OutputTangent(zero[0], zero[1], zero[2], np.zeros((ny, inputs)))
        # of an acceleration by angle, rate, acceleration
        slopes = (-R * a - T * w**2, -2.0 * R * w, T)
        for row, c in enumerate(self.channels):
            levers, target = self._levers(c), rows.position[row]
            if c.kind in (ANGLE, RATE):
                self._difference(rows[c.kind][row], c.body, c.body - 1, 1.0)
            elif c.kind == CURVATURE:
                for k, f in self._bends(c):
                    self._difference(target, k, k - 1, f)
            elif c.kind == TIP:
                target += levers * T[c.body]
            elif c.kind == TIP_ACCELERATION:
                for k in range(3):
                    rows[k][row] += levers * slopes[k][c.body]
            elif c.kind == ERROR:
                target += levers * T[c.body] - self._rigid_row(theta, c.body)
            elif c.kind == DISPLACEMENT:
                target += levers * (T[:, c.other] @ T)
                target[c.other] -= R[:, c.other] @ (R @ levers)
                self._difference(target, c.other, c.joint - 1, c.scale)
            elif c.kind in (CHORD, CHORD_RATE):
                self._chord_rows(rows, row, R, T, w, c)
            else:
                for k in range(3):
                    rows[k][row] += levers * (T[:, c.body] @ slopes[k])
                target[c.body] -= R[:, c.body] @ ((T * a - R * w**2) @ levers)
        return rows

    def _chord_rows(self, rows: OutputTangent, row: int, R: Array, T: Array, w: Array, c: Channel) -> None:
        for sign, _, levers in self._chords(c):
            d, e = R @ levers, (T * w) @ levers
            square = float(d @ d)
            turn = np.array([-d[1], d[0]]) / square
            if c.kind == CHORD:
                rows.position[row] += sign * levers * (turn @ T)
                continue
            slip = (np.array([e[1], -e[0]]) - 2.0 * (turn @ e) * d) / square
            rows.rate[row] += sign * levers * (turn @ T)
            rows.position[row] += sign * levers * (slip @ T - (turn @ R) * w)

    def _difference(self, target: FloatArray, k: int, j: int, factor: float) -> None:
        """Add factor d(theta_k - theta_j); j = -1 is the base."""
        target[k] += factor
        if j >= 0:
            target[j] -= factor

    def _rigid_row(self, theta: FloatArray, axis: int) -> FloatArray:
        """Return d(rigid tip) by the angles of the bodies."""
        angle = np.cumsum(self.relative(theta))
        lever = self.lengths * (-np.sin(angle), np.cos(angle))[axis]
        row = np.zeros(theta.size)
        for k, turn in zip(self.chain.joint, np.cumsum(lever[::-1])[::-1], strict=True):
            self._difference(row, int(k), int(k) - 1, turn)
        return row


def _frames(theta: Array) -> tuple[Array, Array]:
    """Return R = (c, s) and its derivative T = (-s, c), 2 x n."""
    c, s = np.cos(theta), np.sin(theta)
    return np.stack([c, s]), np.stack([-s, c])
