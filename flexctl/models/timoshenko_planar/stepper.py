"""The compiled stepper of `timoshenko_planar`, and the analyses with commanded joints.

It takes the same steps as the plain engine; see `models.timoshenko_planar.kernel.operations` for what makes it fast,
and `timoshenko_planar` for what "linear" and "quasi_static" mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...kernels.engine import Plan, Stepper
from ...model import FloatArray
from ..bodies import lumped
from ..joint_drives import Static, check_analysis, driven
from .kernel import state as kernels
from .kernel.operations import LOOPS, OPERATIONS
from .mesh import lumped_mass

if TYPE_CHECKING:
    from . import TimoshenkoPlanar

MODES = {"nonlinear": kernels.NONLINEAR, "linear": kernels.LINEAR, "quasi_static": kernels.QUASI_STATIC}


def beam(model: TimoshenkoPlanar) -> kernels.Beam:
    """Return the constants of a model as the kernels want them."""
    mesh, arm, sensors = model.mesh, lumped(model.arm), model.sensors
    l, m, j = mesh.length, mesh.rhoA * mesh.length, mesh.rhoI * mesh.length
    nodes = mesh.node[1:]
    masses = np.diag(lumped_mass(mesh, arm))
    hubs = np.zeros(mesh.size)  # the hubs turn with the left ends of their elements and are counted there
    for i, root in enumerate(mesh.root[1:], 1):
        hubs[mesh.node[root, 2]] = arm.joints[i].hub_inertia
    node = np.zeros((4, l.size + 1))
    node[0, 1:] = masses[nodes[:, 0]] + m / 3.0
    node[0, 1:-1] += m[1:] / 3.0
    node[1, 1:] = (masses - hubs)[nodes[:, 2]]
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
    loads = model.loads
    joint_at = {int(e): i for i, e in enumerate(mesh.root)}
    where = [
        (part.column, part.element + part.end, -1 if part.end else joint_at.get(part.element, -1), part.kind)
        for part in loads.parts
    ]
    numbers = np.array([model.alpha, model.beta, sensors.lengths.sum(), float(bool(loads.followers))])
    return kernels.Beam(
        np.ascontiguousarray([l, 1.0 / l, mesh.EA, mesh.GA, mesh.EI / l, m / 6.0, j / 6.0]), node,
        np.array(joint, float), np.array(gains, float), numbers,
        _damping(model),
        mesh.root.astype(np.int64), np.array(inputs, np.int64), np.array(outputs, np.int64).ravel(),
        np.array(where, np.int64).ravel(), np.array([part.weight for part in loads.parts]),
    )


def _damping(model: TimoshenkoPlanar) -> FloatArray:
    """Return (N, Q, M) per rate of the strains, transposed; strains of one kind together, not those of one element."""
    if not model.C.size:
        return np.zeros((0, 0))
    n = model.mesh.length.size
    order = np.arange(3 * n).reshape(n, 3).T.ravel()
    per_length = model.C / np.repeat(model.mesh.length, 3)[:, None]
    return np.ascontiguousarray(per_length[np.ix_(order, order)].T)


def stepper(model: TimoshenkoPlanar, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a run; see `engines.Plan`."""
    check_analysis(model.arm, model.analysis, plan.commands)
    mesh, nodes = model.mesh, model.mesh.length.size + 1
    place = np.zeros(mesh.size, np.int64)
    place[mesh.node[1:]] = np.arange(1, nodes)[:, None] + nodes * np.arange(3)
    place[mesh.joint] = 3 * nodes + np.arange(mesh.joint.size)
    motion = driven(model.arm, q, v, place, 3 * nodes + mesh.joint.size, plan)
    work = kernels.work(nodes, mesh.joint.size, len(model.outputs))
    mode = MODES[model.analysis]
    form = kernels.Form(beam(model), kernels.view(motion, nodes), work, mode, model.stiffening)
    if mode == kernels.QUASI_STATIC:
        from .kernel.static import run_static  # few runs need it

        return Static(model, run_static, form, motion, u, plan, place)
    return Stepper(model, LOOPS, form, motion, u, plan, first, prefers=OPERATIONS.prefers, place=place)
