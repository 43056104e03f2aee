"""Sensors of a spatial arm: joints, tip, and stations along the links.

| output | meaning |
|---|---|
| joint angle, rate | the joint variable; of a prismatic joint `joint1_extension` [m] and `joint1_rate` [m/s] |
| tip_x, .., tip_acceleration_x, .. | in the base frame |
| tip_error_x, .. | tip minus tip of the rigid arm with the same (actual) joint variables, in the base frame |
| chord angle, rate | of the line from joint to next joint (or tip) against that of the previous link, seen along z |
| link deflection | of the link's end from the tangent at its root, towards e2 |
| curvature, strain | of bending towards the sensor's direction, e2 or e3: kappa3 or -kappa2, and c times that |
| displacement | towards e2 or e3 of the root, from its tangent; direction y of a revolute joint's link: plus s phi |
| acceleration | towards e2 or e3 of the deformed section, as an accelerometer fixed to it reads |

Chords and the deflections of links are read of arms that are planar while they do not bend: joints that turn about
parallel axes, no kinks. A sensor sits on the link proper, or on the kink if the link has no length. e2, e3 are y, z of
a link and x, y of the link's frame in its kink. Derivatives are taken by complex steps, exact to rounding.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import NotAvailable
from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal
from ..sensors import angle_of, between_middles, check_moves, chord_signals, gauge, sensor_signal, within
from .element import Ends, ends, strains
from .mesh import AXES, IntArray, SpatialMesh
from .rigid import rigid_tip
from .rotation import back, exp, log

Array = npt.NDArray[Any]


class Station(NamedTuple):
    """A sensor: its kind, two elements, a weight, a scale, its direction (1 or 2: e2, e3), and a joint or -1."""

    kind: str
    place: int
    other: int
    weight: float
    scale: float
    direction: int
    joint: int


class SpatialSensors:
    """The outputs as functions of coordinates, rates and accelerations, which may carry leading axes."""

    def __init__(self, mesh: SpatialMesh, arm: Arm) -> None:
        self.mesh = mesh
        signals = []
        for i, slides in enumerate(mesh.prismatic, 1):
            unit, word = ("m", "extension") if slides else ("rad", "angle")
            signals += [Signal(f"joint{i}_{word}", unit), Signal(f"joint{i}_rate", f"{unit}/s")]
        for name, unit, text in (
            ("tip", "m", ""),
            ("tip_acceleration", "m/s^2", ""),
            ("tip_error", "m", "from the rigid arm with the same joint variables"),
        ):
            signals += [Signal(f"{name}_{letter}", unit, text) for letter in "xyz"]
        self.chords = chords(mesh)
        own = [chord_signals(i + 1) for i in range(len(self.chords))]
        signals += [s for angle, rate, _ in own for s in (angle, rate)] + [deflection for _, _, deflection in own]
        self.stations = [Station("displacement", end - 1, root, 1.0, 0.0, 1, -1) for root, end in self.chords]
        for sensor in arm.sensors:
            signals.append(sensor_signal(sensor, signals))
            self.stations.append(_station(mesh, arm, sensor))
        self.signals = tuple(signals)
        self.used: IntArray = np.array(sorted({e for s in self.stations for e in (s.place, s.other)}), np.int64)
        self.part = mesh.part(self.used)

    def read(self, q: Array, v: Array, a: Array) -> Array:
        """Return all readings, (.., outputs)."""
        mesh, tip = self.mesh, self.mesh.node[-1, :3]
        joints = np.stack([q[..., mesh.joint], v[..., mesh.joint]], axis=-1)
        error = q[..., tip] - rigid_tip(mesh, q[..., mesh.joint])
        parts = [joints.reshape(*joints.shape[:-2], -1), q[..., tip], a[..., tip], error]
        if self.chords:
            parts.append(self._chords(q, v))
        if self.stations:
            parts.append(self._stations(q, v, a))
        kind = np.result_type(q, v, a)
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
        return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])).astype(kind) for x in parts], axis=-1)

    def _chords(self, q: Array, v: Array) -> Array:
        """Return angle and rate of each chord against the previous one, (.., 2 links).

        The angle is that of the root's section and what the chord is turned from it, so that it goes beyond pi.
        """
        mesh, angles, rates = self.mesh, [], []
        section = np.concatenate([q, 0.0 * q[..., :1]], axis=-1)[..., mesh.node[:, 5]]
        x, w = (np.concatenate([part, 0.0 * part[..., :1]], axis=-1)[..., mesh.node[:, :2]] for part in (q, v))
        for i, (root, end) in enumerate(self.chords):
            turned = q[..., mesh.joint[: i + 1]].sum(axis=-1) + section[..., root]
            d, slip = x[..., end, :] - x[..., root, :], w[..., end, :] - w[..., root, :]
            along = np.cos(turned) * d[..., 0] + np.sin(turned) * d[..., 1]
            across = np.cos(turned) * d[..., 1] - np.sin(turned) * d[..., 0]
            angles.append(turned + angle_of(across, along))
            rates.append((d[..., 0] * slip[..., 1] - d[..., 1] * slip[..., 0]) / (d**2).sum(axis=-1))
        both = np.stack(np.broadcast_arrays(*angles, *rates), axis=-1).reshape(*angles[0].shape, 2, -1)
        both[..., 1:] -= both[..., :-1].copy()
        return np.asarray(np.swapaxes(both, -1, -2).reshape(*angles[0].shape, -1))

    def _stations(self, q: Array, v: Array, a: Array) -> Array:
        mesh = self.part
        local = [np.concatenate([x, 0.0 * x[..., :1]], axis=-1)[..., mesh.dof[:, :12]] for x in (q, v, a)]
        joints = tuple(x[..., mesh.joint] for x in (q, v, a))
        e = ends(mesh, local[0], local[1], local[2], (joints[0], joints[1], joints[2]))
        axes = [end.R @ AXES[mesh.kink] for end in (e.left, e.right)]
        kappa = strains(mesh, e).strain[..., 3:]
        where = {int(k): i for i, k in enumerate(self.used)}
        columns = []
        for s in self.stations:
            i, j = where[s.place], where[s.other]
            if s.kind in ("curvature", "strain"):
                bending = (1.0 - s.weight) * kappa[..., i, :] + s.weight * kappa[..., j, :]
                columns.append(s.scale * (bending[..., 2] if s.direction == 1 else -bending[..., 1]))
            elif s.kind == "displacement":
                x = (1.0 - s.weight) * e.left.x[..., i, :] + s.weight * e.right.x[..., i, :]
                across = back(axes[0][..., j, :, :], x - e.left.x[..., j, :])[..., s.direction]
                columns.append(across + (s.scale * q[..., mesh.joint[s.joint]] if s.joint >= 0 else 0.0))
            else:
                columns.append(_across(e, axes, i, s))
        return np.stack(columns, axis=-1)

    def rows(self, q: FloatArray, v: FloatArray, a: FloatArray, inputs: int) -> OutputTangent:
        """Return the derivatives of `read`."""
        h, unit, x = 1e-30, np.eye(self.mesh.size), [q, v, a]
        found = []
        for k in range(3):
            moved = [np.broadcast_to(part, unit.shape) + (1j * h * unit if k == i else 0.0) for i, part in enumerate(x)]
            found.append(np.ascontiguousarray(self.read(moved[0], moved[1], moved[2]).imag.T / h))
        return OutputTangent(found[0], found[1], found[2], np.zeros((len(self.signals), inputs)))


def chords(mesh: SpatialMesh) -> list[tuple[int, int]]:
    """Return the nodes from which and to which the chord of each link goes; none of an arm that is not planar."""
    J = mesh.joint.size
    flexible = all(mesh.segment(i, False).size for i in range(J))
    if not flexible or mesh.prismatic.any() or mesh.kinks.any() or mesh.twist[:-1].any():
        return []
    nodes = [int(root) for root in mesh.root] + [len(mesh.node) - 1]
    return list(pairwise(nodes))


def _across(e: Ends, axes: list[Array], i: int, s: Station) -> Array:
    """Return the acceleration across the section at a part of an element; angles are linear within it."""
    acceleration = (1.0 - s.weight) * e.left.a[..., i, :] + s.weight * e.right.a[..., i, :]
    root, end = (x[..., i, :, :] for x in axes)
    R = root @ exp(s.weight * log(np.swapaxes(root, -1, -2) @ end))
    return np.asarray(back(R, acceleration)[..., s.direction])


def _station(mesh: SpatialMesh, arm: Arm, sensor: Sensor) -> Station:
    i, link = sensor.link - 1, arm.links[sensor.link - 1]
    own, direction = mesh.segment(i, link.length == 0), 1 if sensor.direction == "y" else 2
    if not own.size:
        raise NotAvailable(f'sensor "{sensor.name}": link {sensor.link} has no flexible part; put it on another link')
    ends = mesh.station[own]
    if sensor.kind in ("curvature", "strain"):
        pair, scale = between_middles(ends, sensor.position), gauge(sensor, link)
        first, second = int(own[pair.first]), int(own[pair.second])
        return Station(sensor.kind, first, second, pair.weight, scale, direction, -1)
    k, part = within(ends, sensor.position)
    check_moves(sensor, fixed=own[0] == 0)
    if sensor.kind == "acceleration" and mesh.slide[own[0]] >= 0 and sensor.position < 1.0:
        raise NotAvailable(
            f'sensor "{sensor.name}": material passes a station of a sliding part; an accelerometer sits at position 1'
        )
    turns = sensor.direction == "y" and link.length > 0 and not mesh.prismatic[i]
    scale = sensor.position * link.length
    return Station(sensor.kind, int(own[k]), int(own[0]), part, scale, direction, i if turns else -1)
