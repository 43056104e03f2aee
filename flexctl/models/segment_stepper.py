"""The compiled stepper of `finite_segment`.

It takes the same steps as the general loop, at a cost linear in the segments; see `_kernels.segment_stepper`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import FloatArray
from ._kernels import finite_segment, loop
from ._kernels import segment_stepper as kernels
from .joint_drives import joint_drives

if TYPE_CHECKING:
    from .finite_segment import FiniteSegment


def segments(model: FiniteSegment) -> kernels.Segments:
    """Return the constants of a model as the kernels want them."""
    chain, sensors = model.chain, model.sensors
    bodies, levers = finite_segment.inputs(model)
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
    )  # fmt: skip


class SegmentStepper:
    """State of a run; the counterpart of `engines.Implicit`.

    Parameters
    ----------
    model : FiniteSegment
        The arm.
    scheme, q, v, u, tables, record, first
        As for the engines.
    commands : mapping
        For each commanded joint ("joint1", ..) its angle, rate, and acceleration before and after jumps at the times of
        the tables, 4 x nt.
    """

    def __init__(
        self, model: FiniteSegment, scheme: Any, q: FloatArray, v: FloatArray, u: FloatArray, tables: loop.Tables,
        record: loop.Record, first: int, commands: Mapping[str, FloatArray],
    ) -> None:  # fmt: skip
        joints, n = model.chain.joint.size, model.chain.length.size
        self.model, self.tables, self.record = model, tables, record
        self.u, self.held = u.copy(), np.zeros(u.size)
        self.scheme = loop.Scheme(
            scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, scheme.tolerance, float(scheme.iterations)
        )
        drive, command = joint_drives(model.arm, commands, tables.t.size, kernels)
        theta, w = np.array(model.angles(q), float), np.array(model.angles(v), float)
        a, shifted, before = np.zeros((3, n))
        self.state_ = kernels.State(theta, w, a, shifted, before, np.zeros(joints), np.zeros(joints), np.zeros(2))
        self._fixed = (segments(model), self.state_, kernels.work(n, len(model.outputs)), drive, command)
        kernels.begin(*self._fixed, first, self.u)

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y = np.zeros(len(self.model.outputs))
        kernels.measure(*self._fixed[:3], y)
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        return self.model.coordinates_of(self.state_.x), self.model.coordinates_of(self.state_.v)

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> tuple[float, float, float, float]:
        """Step from grid point `first` to `last`, recording; returns (status, time, iteration, last correction)."""
        found: tuple[float, float, float, float] = kernels.run(
            loop.control, *self._fixed, self.u, self.held, memory, law, first, last, self.scheme, self.tables,
            self.record,
        )  # fmt: skip
        return found
