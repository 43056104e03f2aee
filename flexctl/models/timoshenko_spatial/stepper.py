"""The compiled stepper of `timoshenko_spatial`, and the analyses with commanded joints.

It takes the same steps as the plain engine; see `models.timoshenko_spatial.kernel.operations` for what makes it fast,
and `timoshenko_spatial` for what "linear" and "quasi_static" mean. Rigid kinks and bodies move exactly in every
analysis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...kernels.engine import Plan, Stepper
from ...model import FloatArray
from ..joint_drives import Static, check_analysis, driven
from .kernel import sensors as channels
from .kernel import state as kernels
from .kernel.operations import EXACT, LOOPS
from .mesh import IntArray

if TYPE_CHECKING:
    from . import TimoshenkoSpatial
    from .sensors import Station

MODES = {"nonlinear": kernels.NONLINEAR, "linear": kernels.LINEAR, "quasi_static": kernels.QUASI_STATIC}


def beam(model: TimoshenkoSpatial) -> kernels.Beam:
    """Return the constants of a model as the kernels want them."""
    mesh, bodies = model.mesh, model.mesh.bodies
    slides, share = mesh.slide >= 0, np.diff(mesh.station, axis=1)[:, 0]
    EA, GA, _, GJ, EI2, EI3 = mesh.stiffness.T
    element = np.column_stack(
        [np.where(slides, share, mesh.length), EA, GA, GJ, EI2, EI3, mesh.rhoA, mesh.rhoJ, 1.0 - mesh.station]
    )
    rigid, links = np.zeros(mesh.joint.size), np.arange(mesh.joint.size)
    for e in np.flatnonzero(mesh.offset.any(axis=(1, 2))):
        rigid += mesh.offset[e, :, 2]
    flexible = np.where(mesh.prismatic, 0.0, mesh.kinks - rigid)
    joint = np.column_stack([mesh.rotor, model.kp, model.kv, mesh.turn, mesh.twist, rigid, flexible, mesh.lengths])
    centres = bodies.offset[np.arange(bodies.mass.size), bodies.link]
    body = np.column_stack([bodies.mass, centres, bodies.inertia.reshape(-1, 9)]).reshape(-1, 13)
    place = _places(model)
    joints = {int(phi): i for i, phi in enumerate(mesh.joint)}
    joints |= {int(mesh.node[-1, axis]): links.size + axis for axis in range(3)}
    outputs = _outputs(model, place)
    gains = [model.B[row, k] for k, row in enumerate(model.rows)] + [x for c in outputs for x in c[1]]
    reach = mesh.lengths + np.where(mesh.prismatic, model.arm.reference_joints, mesh.kinks)
    whole = [np.column_stack([mesh.link, mesh.kink, mesh.slide]), np.column_stack([bodies.node, bodies.link])]
    kind, holder = (np.ascontiguousarray(x, np.int64).reshape(-1, x.shape[1]) for x in whole)
    numbers = [model.alpha, model.beta, reach.sum(), *model.gravity, float(model.loads.follower.any())]
    return kernels.Beam(
        np.ascontiguousarray(element), kind, np.ascontiguousarray(joint), mesh.prismatic.astype(np.int64),
        mesh.root.astype(np.int64), np.ascontiguousarray(body), holder,
        np.array(numbers), np.array(gains, float),
        np.array([joints[row] for row in model.rows], np.int64), np.array([c[0] for c in outputs], np.int64),
        np.ascontiguousarray(model.C),
        np.array(_loads(model), np.int64).ravel(), model.loads.weight, _undeformed(model),
    )


def _undeformed(model: TimoshenkoSpatial) -> FloatArray:
    """Return cosine and sine of the turn of each element of the undeformed arm, as `SerialArm.turns_of` takes it."""
    found = np.column_stack([np.ones(model.mesh.length.size), np.zeros(model.mesh.length.size)])
    for elements, turn in model.undeformed_turns:
        found[elements[1:]] = np.column_stack([np.cos(turn[0]), np.sin(turn[0])])
    return found


def _loads(model: TimoshenkoSpatial) -> list[tuple[int, ...]]:
    """Return for each part of a load: input, node, link, where its force stands in the residual, axis, kind."""
    mesh, J = model.mesh, model.mesh.joint.size
    found: list[tuple[int, ...]] = []
    for part in model.loads.parts:
        e = part.left
        first = e >= 0 and (e == 0 or mesh.link[e - 1] != mesh.link[e])
        place = 6 * len(mesh.node) + J + 6 * part.link if first else 6 * part.node
        kind = int(part.moment) + 2 * int(part.follower)
        found.append((part.column, part.node, part.link, int(place), part.axis, kind))
    return found


def _places(model: TimoshenkoSpatial) -> IntArray:
    """Return where each coordinate stands in the state of the kernels."""
    mesh = model.mesh
    place = np.zeros(mesh.size, np.int64)
    place[mesh.node[1:]] = np.arange(6, 6 * len(mesh.node)).reshape(-1, 6)
    place[mesh.joint] = 6 * len(mesh.node) + np.arange(mesh.joint.size)
    return place


def _outputs(model: TimoshenkoSpatial, place: IntArray) -> list[tuple[tuple[int, ...], tuple[float, float]]]:
    """Return (kind, place, other, code) and (weight, scale) of each output, in the order of `SpatialSensors`."""
    mesh, plain = model.mesh, (0.0, 1.0)
    found: list[tuple[tuple[int, ...], tuple[float, float]]] = []
    for phi in place[mesh.joint]:
        found += [((channels.POSITION, int(phi), 0, 0), plain), ((channels.RATE, int(phi), 0, 0), plain)]
    tip = [int(x) for x in place[mesh.node[-1, :3]]]
    for kind in (channels.POSITION, channels.ACCELERATION):
        found += [((kind, x, 0, 0), plain) for x in tip]
    found += [((channels.ERROR, 0, 0, axis), plain) for axis in range(3)]
    for i, (root, end) in enumerate(model.sensors.chords):
        found += [((kind, 6 * end, 6 * root, i), plain) for kind in (channels.CHORD, channels.CHORD_RATE)]
    return found + [_station(s) for s in model.sensors.stations]


def _station(s: Station) -> tuple[tuple[int, ...], tuple[float, float]]:
    kinds = {"displacement": channels.DISPLACEMENT, "acceleration": channels.TRANSVERSE}
    kind = kinds.get(s.kind, channels.CURVATURE)
    return (kind, s.place, s.other, s.direction + 3 * (s.joint + 1)), (s.weight, s.scale)


class _Checked(Stepper):
    """A run that says which slide went in."""

    def check(self, result: tuple[float, float, float, float], h: float) -> None:
        """Raise an error unless the loop reports success."""
        if result[0] == kernels.RETRACTED:
            self.model._check_free(self.state()[0], result[1])  # type: ignore[attr-defined]
        super().check(result, h)


class _Static(_Checked, Static):
    """A quasi-static one."""


def stepper(model: TimoshenkoSpatial, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a run; see `engine.Plan`."""
    check_analysis(model.arm, model.analysis, plan.commands)
    mesh, place, mode = model.mesh, _places(model), MODES[model.analysis]
    J, size = mesh.joint.size, 6 * len(mesh.node) + mesh.joint.size
    motion = driven(model.arm, q, v, place, size, plan)
    work = kernels.work(mesh.length.size, J, len(mesh.bodies.mass), len(model.outputs))
    motion = motion._replace(d=work.r[:size], lift=work.r[:0])
    form = kernels.Form(beam(model), work, mode, model.stiffening)
    if mode == kernels.QUASI_STATIC:
        from .kernel.static import run_static  # few runs need it

        return _Static(model, run_static, form, motion, u, plan, place, LOOPS[False].parts[False])
    model._check_free(q, float(plan.tables.t[first]))
    loops = LOOPS[mode == kernels.NONLINEAR]
    return _Checked(model, loops, form, motion, u, plan, first, prefers=EXACT.prefers, place=place)
