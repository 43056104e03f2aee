"""The deformation under the inertia of the commanded rigid arm, without steps."""

from __future__ import annotations

from numba import float64, types

from ....kernels.jit import entry
from ....kernels.pieces import aim
from ....kernels.state import MOTION
from ....kernels.tables import COURSE, DONE, ENTRY
from .operations import finish, measure, solve, store
from .rigid import command_rigid_arm, put_on_rigid_arm
from .state import FORM


@entry(types.UniTuple(float64, 4)(FORM, MOTION, COURSE), **ENTRY)
def run_static(form, motion, course):
    """Fill the record with the deformation under the rigid arm's inertia."""
    beam, state, tables, record, W = form.beam, form.nodes, course.tables, course.record, form.work.rows
    n = beam.element.shape[1]
    for k in range(course.span[0], course.span[1] + 1):
        aim(motion, k, 0.0, 1.0)
        command_rigid_arm(beam, motion.target, 3, form.stiffening, form.work.frame, W)
        put_on_rigid_arm(beam, state, motion.target, form.work.frame, W)
        solve(form, motion, tables.after[k], 0.0, 0.0, 1.0, True)
        for row in range(3):
            for p in range(1, n + 1):
                state.x[row, p] -= state.d[row, p]
        for i in range(motion.drive.size):
            state.phi[i] -= state.own[i]
        finish(form, motion, tables.after[k], 0.0)
        measure(form, motion, tables.after[k], record.y[k])
        for j in range(record.u.shape[1]):
            record.u[k, j] = tables.after[k, j]
        store(form, motion, record, k)
    return DONE, tables.t[course.span[1]], 0.0, 0.0
