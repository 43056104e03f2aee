"""Driven joints around the operations of any formulation (`drives` has one joint), for the common step.

The coordinates of the drives stand behind those of the arm, which sees the first part of the same memory as its state.
S_j = ca M_j + cv D_j + cq K_j of joint j are made anew in every call. With p_j = B_j^T d, the correction of the joint,
and e_j that of the drive's own coordinates,

    S d + sum B_j S_j[0] (p_j, e_j) = R,      S_j[1:] (p_j, e_j) = r_j[1:]

with R the residual of the arm under the torques of the drives.

e_j is eliminated: what is left of a joint is a torque, which the arm is under in place of that of the drive, and a
stiffness s_j. A formulation that makes its tangent anew (it has `stiffen`) is given both, so that a step costs little
more than one of the arm alone, and converges as that does.

Where forces have kinks the joints are looked at again where such a correction leads. It is as good as one of the arm
alone if they do as their tangents say; if one does not, others follow until they do or are `care` times smaller.

One that keeps its factors has the joints at its border: with d0 = S^-1 R and Z_j = S^-1 B_j, d = d0 - sum Z_j s_j p_j,
a small system. Z_j is kept as long as the factors are, and a step is judged accordingly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from .drive_places import (
    ALL,
    BRISTLE,
    BRISTLE_BRISTLE,
    BRISTLE_MOTOR,
    CHARGE,
    CHARGE_CHARGE,
    CHARGE_MOTOR,
    FRICTION_READING,
    LINK,
    MOTOR,
    MOTOR_BRISTLE,
    MOTOR_CHARGE,
    MOTOR_LINK,
    MOTOR_MOTOR,
    READINGS,
    SLOTS,
    TORQUE_READING,
)
from .drives import condense, drive
from .drives import reach as reach_of
from .general import no_leap
from .groups import group
from .idle import never, no_foresight, no_stiffness, nothing
from .jit import kernel
from .lu import factor_full, solve_full
from .operations import Operations
from .state import FROM, KEEPS, KEPT, MOTION, SHRUNK, STRIDE
from .tables import DONE, INSIDE, INT, MAT, PLAIN, SINGULAR, VEC


class Set(NamedTuple):
    """The driven joints of an arm: k joints, an arm of n numbers in the kernels and p inputs; `joints` makes it."""

    constants: np.ndarray  # (k, C), see `drives`
    columns: np.ndarray  # (k, n) joint angle by the numbers of the kernels
    spans: np.ndarray  # (2 k,) where the entries of each column that are not zero begin and end
    slots: np.ndarray  # (4 k,) where each slot stands in the state around, -1: nowhere, or the link
    outputs: np.ndarray  # (5,) how many the arm has; 1 while the joints have just been asked about this state,
    # or about where the last correction leads; `rough`;
    # 1: Z is that of these factors; 1: the arm can be stiffened
    own: np.ndarray  # (2 k,) inputs of each joint, or -1
    torques: np.ndarray  # (k,) input of the arm inside
    kept: np.ndarray  # (2 m,) inputs that stay: inside, around
    readings: np.ndarray  # (2 r,) joint and what is read: -1, -2 angle and rate of the motor
    kinks: np.ndarray  # (1,) 1 where a force has kinks, or all but kinks
    u: np.ndarray  # (p,) inputs of the arm inside
    local: np.ndarray  # (4, 4) position, rate, acceleration, inputs of a joint
    r: np.ndarray  # (k, 4) residuals
    S: np.ndarray  # (k, ALL) matrices, see `drive_places`
    left: np.ndarray  # (k, 2) torque and stiffness of each joint without the drive's own coordinates
    seen: np.ndarray  # (k, 3) readings
    Z: np.ndarray  # (k, n)
    A: np.ndarray  # (k, k)
    pivots: np.ndarray
    right: np.ndarray  # (k,)
    held: np.ndarray  # (k,) stiffnesses that the factors and `holds` have
    inside: np.ndarray  # (k,) those of them in the factors
    holds: np.ndarray  # (k, k) torques that hold back a turn of one joint, by the stiffnesses of all
    care: np.ndarray  # (1,) by what a correction must be smaller where a joint is rough
    shrunk: np.ndarray  # (2,) what smooth steps know of how corrections shrink, while one is rough


SET = group((MAT, MAT, *(INT,) * 8, VEC, *(MAT,) * 7, INT, VEC, VEC, VEC, MAT, VEC, VEC), Set)


class Around(NamedTuple):
    """The form of the arm inside, its state, and the drives."""

    inner: Any
    motion: Any
    set: Set


AROUND = group((int64, MOTION, SET), Around)
"""Of any formulation: of its form is known where the row begins."""


def joints(
    constants: np.ndarray, columns: np.ndarray, slots: np.ndarray, outputs: int, own: np.ndarray, torques: np.ndarray,
    kept: np.ndarray, readings: np.ndarray, inputs: int, kinks: bool, grows: bool,
) -> Set:
    """Return the set of driven joints with its scratch."""
    (k, n), zeros = columns.shape, np.zeros
    def whole(x: Any) -> np.ndarray:
        return np.ascontiguousarray(x, np.int64).ravel()

    filled = [np.append(np.flatnonzero(column), 0) for column in columns]
    spans = [(x[0], x[:-1].max(initial=-1) + 1) for x in filled]
    return Set(
        np.ascontiguousarray(constants), np.ascontiguousarray(columns), whole(spans), whole(slots),
        whole([outputs, 0, 1, 0, grows]), whole(own), whole(torques), whole(kept), whole(readings), whole([kinks]),
        zeros(inputs), zeros((4, SLOTS)), zeros((k, SLOTS)), zeros((k, ALL)), zeros((k, 2)), zeros((k, READINGS)),
        zeros((k, n)), zeros((k, k)), zeros(k, np.int64), zeros(k), zeros(k), zeros(k), zeros((k, k)), np.ones(1),
        zeros(2),
    )


BORDERED, GROWS = 3, 4
"""Places in `Set.outputs`."""
SMOOTH = 1e-9
"""Part of its torque by which a joint may differ from its tangent. As a force that is always there, it would change a
motion by as much."""
ROUGH = 1e-2
"""Size of a correction that is never small enough, and not too large to be taken."""


@kernel(**PLAIN)
def stand(joints, j, motion, parts):
    """Fill positions, rates and accelerations of joint j, less these parts (cq, cv, ca) of the correction."""
    q, v, a, d, local, (cq, cv, ca) = motion.q, motion.v, motion.a, motion.d, joints.local, parts
    x, position, rate, acceleration, moved = joints.columns[j], 0.0, 0.0, 0.0, 0.0
    for i in range(joints.spans[2 * j], joints.spans[2 * j + 1]):
        position += x[i] * q[i]
        rate += x[i] * v[i]
        acceleration += x[i] * a[i]
        moved += x[i] * d[i]
    local[0, LINK], local[1, LINK], local[2, LINK] = position - cq * moved, rate - cv * moved, acceleration - ca * moved
    for slot in range(MOTOR, SLOTS):
        i = joints.slots[SLOTS * j + slot]
        if i >= 0:
            local[0, slot], local[1, slot], local[2, slot] = q[i] - cq * d[i], v[i] - cv * d[i], a[i] - ca * d[i]


@kernel(**PLAIN)
def rough(joints, motion, u, parts):
    """Whether a joint, where the correction leads, is not what its tangent makes of it."""
    some = False
    for j in range(joints.torques.size):
        c, r, S, seen, local = joints.constants[j], joints.r[j], joints.S[j], joints.seen[j], joints.local
        torque = joints.left[j, 0] - joints.left[j, 1] * along(joints, j, motion.d)
        bristle, charge = S[MOTOR_BRISTLE] / S[BRISTLE_BRISTLE], S[MOTOR_CHARGE] / S[CHARGE_CHARGE]
        stand(joints, j, motion, parts)
        for i in range(2):
            at = joints.own[2 * j + i]
            local[3, i] = u[at] if at >= 0 else 0.0
        drive(c, local, (0.0, 0.0, 0.0), (r, seen, S))
        joints.u[joints.torques[j]] = -r[LINK]
        least = SMOOTH * (abs(seen[TORQUE_READING]) + abs(seen[FRICTION_READING]))
        some = some or not abs(r[LINK] - torque) <= least
        if joints.slots[SLOTS * j + MOTOR] >= 0:
            some = some or not abs(r[MOTOR]) <= least
        if joints.slots[SLOTS * j + CHARGE] >= 0:
            some = some or not abs(charge * r[CHARGE]) <= least
        if joints.slots[SLOTS * j + BRISTLE] >= 0:
            some = some or not abs(bristle * r[BRISTLE]) <= least
    return some


@kernel(**PLAIN)
def ask(joints, motion, u, weights):
    """Evaluate all joints: residuals, readings and, for the weights ca, cv, cq, matrices; and the inputs of the arm."""
    local = joints.local
    joints.outputs[1] = 0
    for i in range(0, joints.kept.size, 2):
        joints.u[joints.kept[i]] = u[joints.kept[i + 1]]
    for j in range(joints.torques.size):
        stand(joints, j, motion, (0.0, 0.0, 0.0))
        for i in range(2):
            at = joints.own[2 * j + i]
            local[3, i] = u[at] if at >= 0 else 0.0
        drive(joints.constants[j], local, weights, (joints.r[j], joints.seen[j], joints.S[j]))
        joints.u[joints.torques[j]] = -joints.r[j, LINK]


@kernel(**PLAIN)
def along(joints, j, d):
    """Return what the correction d of the arm turns joint j."""
    total = 0.0
    for i in range(joints.spans[2 * j], joints.spans[2 * j + 1]):
        total += joints.columns[j, i] * d[i]
    return total


@kernel(**PLAIN)
def same(joints):
    """Whether all stiffnesses are those that the factors hold."""
    found = True
    for j in range(joints.torques.size):
        found = found and joints.left[j, 1] == joints.held[j]
    return found


@kernel(**PLAIN)
def hold(joints):
    """Fill `holds` for the stiffnesses as they are; returns whether that failed."""
    A, k = joints.A, joints.torques.size
    for j in range(k):
        joints.held[j] = joints.left[j, 1]
        for other in range(k):
            A[j, other] = along(joints, j, joints.Z[other]) * (joints.left[other, 1] - joints.inside[other])
        A[j, j] += 1.0
    if factor_full(A, joints.pivots) != 0:
        return True
    for other in range(k):
        column = joints.holds[other]
        for j in range(k):
            column[j] = 0.0
        column[other] = 1.0
        solve_full(A, joints.pivots, column)
        for j in range(k):
            column[j] *= joints.held[j] - joints.inside[j]
    return False


@kernel(**PLAIN)
def border(joints, d):
    """Take what the stiffnesses of the joints hold back off the correction of the arm; returns its largest entry."""
    torques, Z, k, largest = joints.right, joints.Z, joints.torques.size, 0.0
    for j in range(k):
        torques[j] = 0.0
    for other in range(k):
        turned = along(joints, other, d)
        for j in range(k):
            torques[j] += joints.holds[other, j] * turned
    for i in range(joints.columns.shape[1]):
        x = d[i]
        for j in range(k):
            x -= Z[j, i] * torques[j]
        d[i] = x
        largest = max(largest, abs(x)) if np.isfinite(x) else np.inf
    return largest


@kernel(**PLAIN)
def leave(joints):
    """Eliminate the drives' own coordinates: the arm is under what is left. Returns whether that failed."""
    failed = False
    for j in range(joints.torques.size):
        torque, stiffness = condense(joints.constants[j], joints.r[j], joints.S[j])
        joints.left[j, 0], joints.left[j, 1] = torque, stiffness
        joints.u[joints.torques[j]] = -torque
        failed = failed or not np.isfinite(stiffness)
    return failed


@kernel(**PLAIN)
def follow(joints, j, d, size):
    """Fill the correction of the coordinates that `leave` eliminated; returns the largest so far."""
    base, r, S, turned = SLOTS * j, joints.r[j], joints.S[j], along(joints, j, d)
    if joints.slots[base + MOTOR] >= 0:
        turned = (r[MOTOR] - S[MOTOR_LINK] * turned) / S[MOTOR_MOTOR]
        size = put(d, joints.slots[base + MOTOR], turned, size)
    if joints.slots[base + CHARGE] >= 0:
        more = (r[CHARGE] - S[CHARGE_MOTOR] * turned) / S[CHARGE_CHARGE]
        size = put(d, joints.slots[base + CHARGE], more, size)
    if joints.slots[base + BRISTLE] >= 0:
        more = (r[BRISTLE] - S[BRISTLE_MOTOR] * turned) / S[BRISTLE_BRISTLE]
        size = put(d, joints.slots[base + BRISTLE], more, size)
    return size


@kernel(**PLAIN)
def put(d, place, value, size):
    """Put a value there; returns the largest so far."""
    d[place] = value
    return max(size, abs(value)) if np.isfinite(value) else np.inf


@kernel(**PLAIN)
def reading(joints, q, v, i):
    """Return reading i of the drives."""
    j, what = joints.readings[2 * i], joints.readings[2 * i + 1]
    place = joints.slots[SLOTS * j + MOTOR]
    return q[place] if what == -1 else v[place] if what == -2 else joints.seen[j, max(what, 0)]


@kernel(**INSIDE)
def reach(form, motion, cv):
    """Part of the correction that is taken; see `drives.reach`."""
    joints, part = form.set, 1.0
    for j in range(joints.torques.size):
        place = joints.slots[SLOTS * j + MOTOR]
        rate = motion.v[place] if place >= 0 else along(joints, j, motion.v)
        turned = motion.d[place] if place >= 0 else along(joints, j, motion.d)
        part = min(part, reach_of(joints.constants[j], rate, -cv * turned))
    if part < 1.0 or motion.traits[STRIDE] < np.inf:
        joints.outputs[1] = 0  # the correction may be shortened
    return part


def condensed(inner_solve: Any, stiffen: Any) -> Any:
    """Return the correction of a formulation whose joints can be stiffened."""

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction; see the module docstring."""
        joints = form.set
        ask(joints, motion, u, (ca, cv, cq))
        if leave(joints):
            return SINGULAR, np.inf
        for j in range(joints.torques.size):
            stiffen(form.inner, form.motion, joints.torques[j], joints.left[j, 1])
        status, size = inner_solve(form.inner, form.motion, joints.u, ca, cv, cq, fresh)
        for i in range(form.motion.d.size):
            motion.d[i] = form.motion.d[i]
        for j in range(joints.torques.size):
            size = follow(joints, j, motion.d, size)
        if joints.kinks[0] == 1:
            if cv == 0.0 or rough(joints, motion, u, (cq, cv, ca)):
                if joints.outputs[2] == 0:
                    joints.shrunk[0], joints.shrunk[1] = motion.number[SHRUNK], motion.number[FROM]
                    joints.outputs[2] = 1
                size = max(size, min(joints.care[0] * size, ROUGH)) if cv != 0.0 else joints.care[0] * size
            else:
                joints.outputs[1] = 1  # where the correction leads, if all of it is taken
            if joints.outputs[2] == 1:
                motion.number[SHRUNK] = 0.0  # what the second correction was does not tell what it will be
        return status, size

    return solve


def bordered(inner_solve: Any, divide: Any, stiffen: Any) -> Any:
    """Return the correction of a formulation with its joints at its border, but for what is in its factors."""

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction; see the module docstring."""
        joints, d, n = form.set, motion.d, form.motion.q.size
        ask(joints, motion, u, (ca, cv, cq))
        if leave(joints):
            return SINGULAR, np.inf
        if fresh:
            joints.outputs[BORDERED] = 0
            for j in range(joints.torques.size):
                joints.inside[j] = joints.left[j, 1] if joints.outputs[GROWS] == 1 else 0.0
                joints.held[j] = joints.inside[j]
                stiffen(form.inner, form.motion, joints.torques[j], joints.inside[j])
        new = fresh or form.motion.traits[KEEPS] == 0.0
        status, size = inner_solve(form.inner, form.motion, joints.u, ca, cv, cq, new)
        if status != DONE or not np.isfinite(size):
            return status, size
        for i in range(n):
            d[i] = form.motion.d[i]
        if joints.outputs[BORDERED] == 0 and not same(joints):
            joints.outputs[BORDERED] = 1
            for j in range(joints.torques.size):
                joints.held[j] = np.nan
                for i in range(n):
                    joints.Z[j, i] = joints.columns[j, i]
                divide(form.inner, form.motion, joints.Z[j])
        if joints.outputs[BORDERED] == 1:
            if not same(joints) and hold(joints):
                return SINGULAR, np.inf
            size = border(joints, d)
        for j in range(joints.torques.size):
            size = follow(joints, j, d, size)
        return DONE, size

    return solve


def driven(ops: Operations, stiff: bool) -> Operations:
    """Return the operations of a formulation with drives around its joints; stiff: they are in its tangent."""
    inner_measure, inner_finish, inner_limit = ops.measure, ops.finish, ops.limit
    inner_refresh, inner_store, inner_sense = ops.refresh, ops.store, ops.sense
    solve = condensed(ops.solve, ops.stiffen) if stiff else bordered(ops.solve, ops.divide, ops.stiffen or no_stiffness)

    @kernel(**INSIDE)
    def measure(form, motion, u, y):
        """Sensor readings, and those of the drives."""
        joints = form.set
        if joints.outputs[1] == 0:
            ask(joints, motion, u, (0.0, 0.0, 0.0))
        first, joints.outputs[1], joints.outputs[2] = joints.outputs[0], 0, 0
        inner_measure(form.inner, form.motion, joints.u, y[:first])
        for i in range(first, y.size):
            y[i] = reading(joints, motion.q, motion.v, i - first)

    @kernel(**INSIDE)
    def sense(form, motion, u, rows, y):
        """Some of them."""
        joints, first = form.set, form.set.outputs[0]
        ask(joints, motion, u, (0.0, 0.0, 0.0))
        for i in range(rows.size):
            if rows[i] < first:
                inner_sense(form.inner, form.motion, joints.u, rows[i : i + 1], y[i : i + 1])
            else:
                y[i] = reading(joints, motion.q, motion.v, rows[i] - first)

    @kernel(**INSIDE)
    def finish(form, motion, u, size):
        """The step stands. At a border the last correction of the arm was not what moved it: its size says nothing."""
        if form.set.outputs[1] == 0:
            ask(form.set, motion, u, (0.0, 0.0, 0.0))
        inner_finish(form.inner, form.motion, form.set.u, size if stiff else np.inf)
        form.set.outputs[1] = 1  # what follows a step is that it is measured
        if form.set.outputs[2] == 1:
            motion.number[SHRUNK], motion.number[FROM] = form.set.shrunk[0], form.set.shrunk[1]

    @kernel(**INSIDE)
    def refresh(form, motion):
        """Make ready to measure."""
        form.set.outputs[1] = 0
        inner_refresh(form.inner, form.motion)

    @kernel(**INSIDE)
    def limit(form, motion, tolerance, h):
        """Size of a correction that is accepted: that of the arm where its tangent is made anew; see `care`."""
        if stiff:
            accepted = inner_limit(form.inner, form.motion, tolerance, h)
            form.set.care[0] = max(accepted / tolerance, 1.0)
            return accepted
        extent = 1.0
        for i in range(form.motion.q.size):
            extent = max(extent, abs(motion.q[i]))
        return tolerance * extent

    @kernel(**INSIDE)
    def store(form, motion, record, k):
        """Record the coordinates: of the arm, then of the drives."""
        inner_store(form.inner, form.motion, record, k)
        if record.q.shape[0] > 1 and record.furthest.shape[1] == 0:
            n = form.motion.q.size
            behind = record.q.shape[1] - (motion.q.size - n)
            for i in range(motion.q.size - n):
                record.q[k, behind + i], record.v[k, behind + i] = motion.q[n + i], motion.v[n + i]

    return said(ops, stiff)._replace(
        measure=measure, solve=solve, finish=finish, refresh=refresh, limit=limit, store=store, sense=sense, reach=reach
    )


def said(ops: Operations, stiff: bool) -> Operations:
    """Return what there is to say of them but for the functions that are made; see `driven`."""
    return Operations(
        None, None, no_foresight, nothing, no_leap, None, None, None, None, None, never,
        keeps=ops.keeps or not stiff, prefers=ops.prefers if stiff else KEPT, swing=ops.swing, stride=ops.stride,
        far=ops.far, foreseen=ops.foreseen, pays=ops.pays,
    )
