"""The operations of `models.timoshenko_planar` for the common step (`kernels.stepper`).

The same generalised-alpha steps, the same law and recording. What makes it fast: x, y, theta of all nodes lie one after
the other (structure of arrays); the element loops are short, without branches and with sine and cosine as polynomials,
so that they vectorise; the iteration matrix is symmetric and block-tridiagonal with 3 x 3 blocks and is eliminated from
the tip inwards, where the angle of a joint is one scalar more, condensed on the way (or nothing, where it is
prescribed); and the accelerations are extrapolated, so that one correction per step is enough.

A correction is accepted below 100 times the tolerance: with a fresh exact tangent the error left is of the order of its
square. With damping of the strain rates the tangent is symmetrised, modal damping and the turning of follower
forces are left out of the tangent: it is not exact then, and the tolerance holds as it is.

mode 0 is the geometrically exact arm; mode 1 keeps the deformation from the commanded rigid arm to first order, with
the stiffening by that arm's axial forces; mode 2 is mode 1 without the inertia of the deformation.
"""

from __future__ import annotations

from ....kernels.furthest import LOOSE, angle, grown, surpasses
from ....kernels.idle import never, no_foresight, nothing
from ....kernels.jit import kernel
from ....kernels.joints import jump_all_with_command, put_all_on_command, record_torques
from ....kernels.loops import loops
from ....kernels.operations import Operations
from ....kernels.state import FULL
from ....kernels.tables import DONE, INSIDE
from .balance import residual, stiffness
from .element import fill_elements
from .rigid import command_rigid_arm
from .sensors import read_outputs
from .solve import eliminate
from .state import FORM, NONLINEAR


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    record_torques(form.beam.inputs, motion, record, k)
    if record.furthest.shape[1] > 0:
        keep_furthest(form, record, k)
    elif record.q.shape[0] > 1:
        put_row(form, record, k)


@kernel(**INSIDE)
def put_row(form, record, k):
    """Put coordinates and rates into a row of the record."""
    beam, state = form.beam, form.nodes
    place, i = 0, 0
    for p in range(1, state.x.shape[1]):
        if i < beam.roots.size and p - 1 == beam.roots[i]:
            record.q[k, place], record.v[k, place] = state.phi[i], state.rate[i]
            place, i = place + 1, i + 1
        for row in range(3):
            record.q[k, place], record.v[k, place] = state.x[row, p], state.v[row, p]
            place += 1


@kernel(**LOOSE)
def most_between(x, y, first, last):
    """Return the largest turn between neighbours of these elements, as `grown`."""
    most = 0.0
    for e in range(first + 1, last):
        a, b = x[e] - x[e - 1], y[e] - y[e - 1]
        c, d = x[e + 1] - x[e], y[e + 1] - y[e]
        most = max(most, grown(abs(a * d - b * c), a * c + b * d))
    return most


@kernel(**LOOSE)
def most_of_first(x, y, first, last):
    """Return the largest turn of these elements against the first of them, as `grown`."""
    a, b, most = x[first + 1] - x[first], y[first + 1] - y[first], 0.0
    for e in range(first + 1, last):
        c, d = x[e + 1] - x[e], y[e + 1] - y[e]
        most = max(most, grown(abs(a * d - b * c), a * c + b * d))
    return most


@kernel(**INSIDE)
def keep_furthest(form, record, k):
    """Keep the state if it drives an assumption of `models.serial` further than those before."""
    roots, x, y, links = form.beam.roots, form.nodes.x[0], form.nodes.x[1], form.beam.roots.size
    every = 0.0
    for i in range(links):
        last = roots[i + 1] if i + 1 < links else x.size - 1
        if form.mode == NONLINEAR:
            most = most_between(x, y, roots[i], last)
        else:
            most = most_of_first(x, y, roots[i], last)
            every += angle(most)
        if surpasses(record, i, most, k):
            put_row(form, record, i)
    if form.mode != NONLINEAR and surpasses(record, links, every, k):
        put_row(form, record, links)


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump = jump_all_with_command(motion)
    if form.mode != NONLINEAR:
        command_rigid_arm(form.beam, motion.target, 3, form.stiffening, form.work.frame, form.work.rows)
    return jump


@kernel(**INSIDE)
def lead(form, motion):
    """Put prescribed joints where they are commanded."""
    put_all_on_command(motion)
    if form.mode != NONLINEAR:
        command_rigid_arm(form.beam, motion.target, 2, form.stiffening, form.work.frame, form.work.rows)


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.operations.Operations`."""
    beam, state, frame, W, mode = form.beam, form.nodes, form.work.frame, form.work.rows, form.mode
    fill_elements(beam, state, frame, mode, W)
    residual(beam, state, u, frame, mode, W)
    if fresh:
        stiffness(beam, state, cq, cv, frame, mode, W)
    size = eliminate(beam, state, motion.drive, ca + beam.numbers[0] * cv, cv, cq, form.work.joint, W)
    return DONE, size


@kernel(**INSIDE)
def stiffen(form, motion, k, value):
    """Set how much a drive adds to the pivot of the joint that input k turns."""
    form.work.joint[form.beam.inputs[k], 6] = value * form.beam.gains[k] * form.beam.gains[k]


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Take over the torques of the joints."""
    for i in range(motion.torque.size):
        motion.torque[i] = form.work.joint[i, 5]


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted; see the module docstring."""
    exact = form.beam.numbers[1] == 0.0 and form.beam.damping.size == 0 and form.beam.numbers[3] == 0.0
    return tolerance * max(1.0, form.beam.numbers[2]) * (100.0 if exact else 1.0)


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    read_outputs(form.beam, form.nodes, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    read_outputs(form.beam, form.nodes, rows, y)


OPERATIONS = Operations(
    measure, solve, no_foresight, lead, leap, finish, nothing, limit, store, sense, never, keeps=True, prefers=FULL,
    swing=0.02, stride=0.3, stiffen=stiffen,
)


LOOPS = loops(OPERATIONS, FORM)
