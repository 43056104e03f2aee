"""The compiled stepper of `finite_segment`.

It takes the same steps as the plain engine, at a cost linear in the segments; see `models.finite_segment.kernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...kernels.engine import Plan, Stepper
from ...model import FloatArray
from ..joint_drives import driven
from . import kernel as kernels

if TYPE_CHECKING:
    from . import FiniteSegment


def segments(model: FiniteSegment) -> kernels.Segments:
    """Return the constants of a model as the kernels want them."""
    chain, sensors = model.chain, model.sensors
    bodies, levers = _inputs(model)
    number = {int(k): i for i, k in enumerate(chain.joint)} | {-1: chain.joint.size, -2: chain.joint.size + 1}
    gains = [*levers, *(x for c in sensors.channels for x in (c.weight, c.scale))]
    outputs = [x for c in sensors.channels for x in (c.kind, c.body, c.other, c.joint)]
    return kernels.Segments(
        np.ascontiguousarray([
            chain.length, chain.centre, chain.mass, chain.inertia, chain.stiffness, model.damper, chain.span
        ]),
        np.ascontiguousarray([model.rotor, model.kp, model.kv + model.friction, sensors.lengths]),
        np.array(gains, float), np.array([model.alpha, *model.gravity]), chain.joint.astype(np.int64),
        np.array([number[k] for k in bodies], np.int64), np.array(outputs, np.int64),
        np.ascontiguousarray(model.hinges_coupled),
        np.array([(part.column, part.body, part.kind) for part in model.loads.parts], np.int64).ravel(),
        np.array([(part.weight, part.distance) for part in model.loads.parts]).ravel(),
    )


def _inputs(model: FiniteSegment) -> tuple[list[int], list[float]]:
    """Return for each input the body beyond its joint, or -1, -2 for the tip forces, and its lever."""
    column = model.B[:, : model.tip].T
    rows = [int(np.flatnonzero(x)[0]) for x in column]
    return [*rows, -1, -2], [*(float(x[k]) for x, k in zip(column, rows, strict=True)), 1.0, 1.0]


def stepper(model: FiniteSegment, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a run; see `engine.Plan`."""
    joints, n = model.chain.joint.size, model.chain.length.size
    angles, rates = (np.array(model.angles(x), float) for x in (q, v))
    motion = driven(model.arm, angles, rates, np.arange(n), n, plan)
    form = kernels.Form(segments(model), _work(n, joints, len(model.outputs)))
    return Chain(model, kernels.LOOPS, form, motion, u, plan, first, prefers=kernels.OPERATIONS.prefers)


def _work(bodies: int, joints: int, outputs: int) -> kernels.Work:
    """Return scratch arrays for a chain with so many bodies, joints and outputs."""
    push, commanded, stiff = np.zeros((3, joints))
    rows, near = np.zeros((kernels.ROWS, bodies)), np.zeros((2, bodies))
    return kernels.Work(rows, near, push, commanded, stiff, np.arange(outputs))


class Chain(Stepper):
    """The common step; its coordinates are the angles of the bodies in the base frame."""

    def coordinates_of(self, x: FloatArray) -> FloatArray:
        """Return coordinates or rates for angles or rates of the bodies, or for rows of these."""
        return self.model.coordinates_of(x)  # type: ignore[attr-defined, no-any-return]
