"""The compiled stepper of `timoshenko_planar`, and the analyses with commanded joints.

It takes the same steps as the general loop; see `_kernels.planar_stepper` for what makes it fast, and
`timoshenko_planar` for what "linear" and "quasi_static" mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotAvailable
from ..model import FloatArray
from ._kernels import loop
from ._kernels import planar_stepper as kernels
from .joint_drives import check_analysis, joint_drives
from .planar_mesh import lumped_mass

if TYPE_CHECKING:
    from .timoshenko_planar import TimoshenkoPlanar

MODES = {"nonlinear": kernels.NONLINEAR, "linear": kernels.LINEAR, "quasi_static": kernels.QUASI_STATIC}


def beam(model: TimoshenkoPlanar) -> kernels.Beam:
    """Return the constants of a model as the kernels want them."""
    mesh, arm, sensors = model.mesh, model.arm, model.sensors
    l, m, j = mesh.length, mesh.rhoA * mesh.length, mesh.rhoI * mesh.length
    nodes = mesh.node[1:]
    lumped = np.diag(lumped_mass(mesh, arm))
    hubs = np.zeros(mesh.size)  # the hubs turn with the left ends of their elements and are counted there
    for i, root in enumerate(mesh.root[1:], 1):
        hubs[mesh.node[root, 2]] = arm.joints[i].hub_inertia
    node = np.zeros((4, l.size + 1))
    node[0, 1:] = lumped[nodes[:, 0]] + m / 3.0
    node[0, 1:-1] += m[1:] / 3.0
    node[1, 1:] = (lumped - hubs)[nodes[:, 2]]
    node[2:, 1:] = model.weight[nodes[:, :2]].T
    joint = [[getattr(x, key) for x in arm.joints] for key in ("hub_inertia", "rotor_inertia")]
    joint += [list(model.kp), list(model.kv), list(sensors.lengths)]
    gains = [model.B[row, k] for k, row in enumerate(model.rows)]
    gains += [x for c in sensors.channels for x in (c.weight, c.scale)]
    place = {int(phi): -1 - i for i, phi in enumerate(mesh.joint)}
    place |= {int(c): axis * (l.size + 1) + p for p in range(1, l.size + 1) for axis, c in enumerate(mesh.node[p])}
    outputs = [(c.kind, place[c.place] if c.kind < 3 else c.place, c.other) for c in sensors.channels]
    tip = {int(mesh.node[-1, axis]): mesh.root.size + axis for axis in (0, 1)}
    inputs = [tip[row] if row in tip else -1 - place[row] for row in model.rows]
    return kernels.Beam(
        np.ascontiguousarray([l, 1.0 / l, mesh.EA, mesh.GA, mesh.EI / l, m / 6.0, j / 6.0]), node,
        np.array(joint, float), np.array(gains, float), np.array([model.alpha, model.beta, sensors.lengths.sum()]),
        _damping(model),
        mesh.root.astype(np.int64), np.array(inputs, np.int64), np.array(outputs, np.int64).ravel(),
    )  # fmt: skip


def _damping(model: TimoshenkoPlanar) -> FloatArray:
    """Return (N, Q, M) per rate of the strains, transposed; strains of one kind together, not those of one element."""
    if not model.C.size:
        return np.zeros((0, 0))
    n = model.mesh.length.size
    order = np.arange(3 * n).reshape(n, 3).T.ravel()
    per_length = model.C / np.repeat(model.mesh.length, 3)[:, None]
    return np.ascontiguousarray(per_length[np.ix_(order, order)].T)


class PlanarStepper:
    """State of a run; the counterpart of `engines.Implicit`.

    Parameters
    ----------
    model : TimoshenkoPlanar
        The arm.
    scheme, q, v, u, tables, record, first
        As for the engines.
    commands : mapping
        For each commanded joint ("joint1", ..) its angle, rate, and acceleration before and after jumps at the times of
        the tables, 4 x nt.
    """

    def __init__(
        self, model: TimoshenkoPlanar, scheme: Any, q: FloatArray, v: FloatArray, u: FloatArray, tables: loop.Tables,
        record: loop.Record, first: int, commands: Mapping[str, FloatArray],
    ) -> None:  # fmt: skip
        joints, N = model.mesh.joint.size, model.mesh.length.size
        self.model, self.tables, self.record = model, tables, record
        self.u, self.held, self.mode = u.copy(), np.zeros(u.size), MODES[model.analysis]
        self.beam = beam(model)
        self.scheme = loop.Scheme(
            scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, scheme.tolerance, float(scheme.iterations)
        )
        self.drive, self.command = joint_drives(model.arm, commands, tables.t.size, kernels)
        check_analysis(model.arm, model.analysis, commands)
        rows = [np.zeros((3, N + 1)) for _ in range(5)]
        for target, source in zip(rows, (q, v), strict=False):
            target[:, 1:] = source[model.mesh.node[1:]].T
        turned = np.zeros((5, joints))
        turned[0], turned[1] = q[model.mesh.joint], v[model.mesh.joint]
        x, rate, a, shifted, before = rows
        self.state_ = kernels.State(x, rate, a, shifted, before, turned, np.zeros(joints), np.zeros(2))
        self._fixed = (
            self.beam,
            self.state_,
            kernels.work(N + 1, joints, len(model.outputs)),
            self.drive,
            self.command,
        )
        if self.mode != kernels.QUASI_STATIC:
            kernels.begin(*self._fixed, first, self.mode, model.stiffening, self.u)

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y = np.zeros(len(self.model.outputs))
        kernels.measure(self.beam, self.state_, y)
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        mesh, found = self.model.mesh, []
        for row, nodes in ((0, self.state_.x), (1, self.state_.v)):
            q = np.zeros(mesh.size)
            q[mesh.joint], q[mesh.node[1:]] = self.state_.joint[row], nodes[:, 1:].T
            found.append(q)
        return found[0], found[1]

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> tuple[float, float, float, float]:
        """Step from grid point `first` to `last`, recording; returns (status, time, iteration, last correction)."""
        if self.mode == kernels.QUASI_STATIC:
            if law.drives.size:
                raise NotAvailable("a quasi-static run has no rates for a controller; use analysis nonlinear or linear")
            kernels.run_static(*self._fixed, self.model.stiffening, first, last, self.tables, self.record)
            return 0.0, float(self.tables.t[last]), 0.0, 0.0
        found: tuple[float, float, float, float] = kernels.run(
            loop.control, *self._fixed, self.mode, self.model.stiffening, self.u, self.held, memory, law, first, last,
            self.scheme, self.tables, self.record,
        )  # fmt: skip
        return found
