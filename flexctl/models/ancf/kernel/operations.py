"""The operations of `models.ancf` for the common step (`kernels.stepper`).

The iteration matrix is symmetric in a band of 16 and factored without pivoting (mass over the step squared dominates
it). Rows are 32 wide and the rest is zero, so that the inner loops have a fixed length and vectorise. It is kept from
step to step, or taken fresh (`FULL`), or corrected by Broyden's rank-one updates within a step (the paper's choice).
"""

from __future__ import annotations

import math

import numpy as np

from ....kernels.furthest import VALUE, surpasses
from ....kernels.idle import never, no_foresight
from ....kernels.jit import kernel
from ....kernels.joints import any_prescribed, jump_with_command, put_on_command
from ....kernels.loops import loops
from ....kernels.operations import Operations
from ....kernels.state import KEPT, PRESCRIBED
from ....kernels.tables import DONE, SINGULAR
from .balance import expand, residual
from .sensors import POSITION, RATE, read_outputs
from .solve import assemble, factorise, hold, largest, substitute
from .state import FORM, INSIDE, left_of


@kernel(**INSIDE)
def release(beam, drive, r):
    for l in range(drive.size):
        if drive[l] == PRESCRIBED:
            r[beam.links[3 * l + 1]] = 0.0


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.operations.Operations`."""
    beam, work = form.beam, form.work
    n, r = beam.sizes[0], work.right[16:]
    expand(beam, motion.q, motion.v, motion.a, work)
    residual(beam, motion.q, motion.v, motion.a, u, work, r)
    if fresh:
        assemble(beam, ca, cv, cq, work)
        hold(beam, motion.drive, work.band)
        if factorise(work.band, work.columns, work.pivots, n):
            return SINGULAR, np.inf
    release(beam, motion.drive, r)
    substitute(work.band, work.columns, n, work.right)
    return DONE, largest(r, n)


@kernel(**INSIDE)
def divide(form, motion, x):
    """Solve with the factors of the matrix of the step; the last correction is lost."""
    work, n = form.work, form.beam.sizes[0]
    for i in range(n):
        work.right[16 + i] = x[i]
    substitute(work.band, work.columns, n, work.right)
    for i in range(n):
        x[i] = work.right[16 + i]


@kernel(**INSIDE)
def refresh(form, motion):
    """Fill the blocks that are measured."""
    expand(form.beam, motion.q, motion.v, motion.a, form.work)


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Fill the blocks, and the torques of prescribed joints."""
    beam, work = form.beam, form.work
    expand(beam, motion.q, motion.v, motion.a, work)
    if any_prescribed(motion.drive):
        r = work.right[16:]
        residual(beam, motion.q, motion.v, motion.a, u, work, r)
        for l in range(motion.drive.size):
            motion.torque[l] = r[max(beam.links[3 * l + 1], 0)]


@kernel(**INSIDE)
def lead(form, motion):
    """Put prescribed joints where they are commanded."""
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            put_on_command(motion, l, form.beam.links[3 * l + 1])


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump = False
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            jump = jump_with_command(motion, l, form.beam.links[3 * l + 1]) or jump
    return jump


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted."""
    return tolerance * form.beam.numbers[2]


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    beam = form.beam
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            for j in range(beam.sizes[3]):
                if beam.inputs[j] == beam.links[3 * l + 1]:
                    record.u[k, j] = motion.torque[l]
    if record.furthest.shape[1] > 0:
        keep_furthest(beam, motion, record, k)
    elif record.q.shape[0] > 1:
        put_row(motion, record, k)


@kernel(**INSIDE)
def put_row(motion, record, k):
    """Put coordinates and rates into a row of the record."""
    for i in range(motion.q.size):
        record.q[k, i], record.v[k, i] = motion.q[i], motion.v[i]


@kernel(**INSIDE)
def slope_at(beam, q, at):
    """Return the slope at a block of which the numbers begin there; what is no coordinate is zero."""
    x, y = beam.place[at + 2], beam.place[at + 3]
    return (q[x] if x >= 0 else 0.0), (q[y] if y >= 0 else 0.0)


@kernel(**INSIDE)
def keep_furthest(beam, motion, record, k):
    """Keep the state if the turn within an element costs more than before, see `models.ancf.arm`."""
    link = -1
    for e in range(beam.costs.size):
        link, at = link + (1 if beam.lefts[e] < 0 else 0), left_of(beam, e)
        a, b = slope_at(beam, motion.q, at)
        c, d = slope_at(beam, motion.q, at + 6)
        across, along = abs(a * d - b * c), a * c + b * d
        # no tangent is smaller than its angle
        if along <= 0.0 or beam.costs[e] * across * across > record.furthest[VALUE, link] * along * along:
            turn = math.atan2(across, along)
            if surpasses(record, link, beam.costs[e] * turn * turn, k):
                put_row(motion, record, link)


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings; the blocks are filled."""
    read_outputs(form.beam, form.work.blocks, form.work.section, motion.q, motion.v, u, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them; joints are in the coordinates, anything else needs the blocks."""
    beam, own = form.beam, True
    for i in range(rows.size):
        kind = beam.inputs[beam.sizes[3] + 3 * rows[i]]
        own = own and kind in (POSITION, RATE)
    if not own:
        expand(beam, motion.q, motion.v, motion.a, form.work)
        read_outputs(beam, form.work.blocks, form.work.section, motion.q, motion.v, u, rows, y)
        return
    for i in range(rows.size):
        at = beam.sizes[3] + 3 * rows[i]
        phi = beam.links[3 * beam.inputs[at + 1] + 1]
        y[i] = motion.q[phi] if beam.inputs[at] == POSITION else motion.v[phi]


OPERATIONS = Operations(
    measure, solve, no_foresight, lead, leap, finish, refresh, limit, store, sense, never, keeps=True, prefers=KEPT,
    far=0.1, divide=divide, pays=(0.1, 3.0),  # factors take as long as three corrections
)


LOOPS = loops(OPERATIONS, FORM)
