"""Driven joints around the operations of any formulation (`drives` has one joint), for the common step.

The coordinates of the drives stand behind those of the arm, which sees the first part of the same memory as its state.
S_j = ca M_j + cv D_j + cq K_j of joint j are made anew in every call. With p_j = B_j^T d, the correction of the joint,
and e_j that of the drive's own coordinates,

    S d + sum B_j S_j[0] (p_j, e_j) = R,      S_j[1:] (p_j, e_j) = r_j[1:]

with R the residual of the arm under the torques of the drives.

e_j is eliminated: what is left of a joint is a torque, which the arm is under in place of that of the drive, and a
stiffness s_j. A formulation that makes its tangent anew (it has `stiffen`) is given both, so that a step costs little
more than one of the arm alone, and converges as that does.

One that keeps its factors has the joints at its border: with d0 = S^-1 R and Z_j = S^-1 B_j, d = d0 - sum Z_j s_j p_j,
a small system. Z_j is kept as long as the factors are, and a step is judged accordingly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .drive_places import LINK, MOTOR, READINGS, SLOTS
from .drives import drive, slots_of
from .drives import reach as reach_of
from .general import no_leap
from .groups import group
from .idle import never, no_foresight, nothing
from .jit import kernel
from .lu import factor_full, solve_full
from .operations import Operations
from .state import KEPT, MOTION, SHRUNK
from .tables import DONE, INSIDE, INT, MAT, PLAIN, SINGULAR, VEC


class Set(NamedTuple):
    """The driven joints of an arm: k joints, an arm of n numbers in the kernels and p inputs; `joints` makes it."""

    constants: np.ndarray  # (k, C), see `drives`
    columns: np.ndarray  # (k, n) joint angle by the numbers of the kernels
    spans: np.ndarray  # (2 k,) where the entries of each column that are not zero begin and end
    slots: np.ndarray  # (4 k,) where each slot stands in the state around, -1: nowhere, or the link
    outputs: np.ndarray  # (2,) how many the arm has; 1 while the joints have just been asked about this state
    own: np.ndarray  # (2 k,) inputs of each joint, or -1
    torques: np.ndarray  # (k,) input of the arm inside
    kept: np.ndarray  # (2 m,) inputs that stay: inside, around
    readings: np.ndarray  # (2 r,) joint and what is read: -1, -2 angle and rate of the motor
    kinks: np.ndarray  # (1,) 1 where a force has kinks, or all but kinks
    u: np.ndarray  # (p,) inputs of the arm inside
    local: np.ndarray  # (4, 4) position, rate, acceleration, inputs of a joint
    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    B: np.ndarray
    y: np.ndarray
    Y: np.ndarray
    r: np.ndarray  # (k, 4) residuals
    S: np.ndarray  # (4 k, 4)
    seen: np.ndarray  # (k, 3) readings
    Z: np.ndarray  # (k, n)
    A: np.ndarray  # (k, k)
    pivots: np.ndarray
    right: np.ndarray  # (k,)


SET = group((MAT, MAT, *(INT,) * 8, VEC, *(MAT,) * 5, VEC, *(MAT,) * 6, INT, VEC), Set)


class Around(NamedTuple):
    """The form of the arm inside, its state, and the drives."""

    inner: Any
    motion: Any
    set: Set


def around_type(form: Any) -> Any:
    """Return the type of `Around` for the type of a formulation's form."""
    return group((form, MOTION, SET), Around)


def joints(
    constants: np.ndarray, columns: np.ndarray, slots: np.ndarray, outputs: int, own: np.ndarray, torques: np.ndarray,
    kept: np.ndarray, readings: np.ndarray, inputs: int, kinks: bool,
) -> Set:
    """Return the set of driven joints with its scratch."""
    (k, n), zeros, s = columns.shape, np.zeros, SLOTS
    def whole(x: Any) -> np.ndarray:
        return np.ascontiguousarray(x, np.int64).ravel()

    filled = [np.append(np.flatnonzero(column), 0) for column in columns]
    spans = [(x[0], x[:-1].max(initial=-1) + 1) for x in filled]
    return Set(
        np.ascontiguousarray(constants), np.ascontiguousarray(columns), whole(spans), whole(slots), whole([outputs, 0]),
        whole(own), whole(torques), whole(kept), whole(readings), whole([kinks]),
        zeros(inputs), zeros((4, s)), zeros((s, s)), zeros((s, s)), zeros((s, s)), zeros((s, 2)), zeros(READINGS),
        zeros((0, 14)), zeros((k, s)), zeros((s * k, s)), zeros((k, READINGS)), zeros((k, n)),
        zeros((k, k)), zeros(k, np.int64), zeros(k),
    )


@kernel(**PLAIN)
def ask(joints, q, v, a, u, ca, cv, cq):
    """Evaluate all joints: residuals, S, readings; and the inputs of the arm."""
    joints.outputs[1] = 0
    for i in range(0, joints.kept.size, 2):
        joints.u[joints.kept[i]] = u[joints.kept[i + 1]]
    for j in range(joints.torques.size):
        x, local, top = joints.columns[j], joints.local, slots_of(joints.constants[j])
        for slot in range(MOTOR, top):
            place = joints.slots[SLOTS * j + slot]
            local[0, slot] = q[place] if place >= 0 else 0.0
            local[1, slot] = v[place] if place >= 0 else 0.0
            local[2, slot] = a[place] if place >= 0 else 0.0
        position, rate, acceleration = 0.0, 0.0, 0.0
        for i in range(joints.spans[2 * j], joints.spans[2 * j + 1]):
            position += x[i] * q[i]
            rate += x[i] * v[i]
            acceleration += x[i] * a[i]
        local[0, LINK], local[1, LINK], local[2, LINK] = position, rate, acceleration
        for i in range(2):
            at = joints.own[2 * j + i]
            local[3, i] = u[at] if at >= 0 else 0.0
        found = joints.r[j], joints.M, joints.D, joints.K, joints.B, joints.y, joints.Y
        drive(joints.constants[j], local, found)
        for i in range(READINGS):
            joints.seen[j, i] = joints.y[i]
        joints.u[joints.torques[j]] = -joints.r[j, LINK]
        for row in range(top):
            for slot in range(top):
                joints.S[SLOTS * j + row, slot] = (
                    ca * joints.M[row, slot] + cv * joints.D[row, slot] + cq * joints.K[row, slot]
                )


@kernel(**PLAIN)
def along(joints, j, d):
    """Return what the correction d of the arm turns joint j."""
    total = 0.0
    for i in range(joints.spans[2 * j], joints.spans[2 * j + 1]):
        total += joints.columns[j, i] * d[i]
    return total


@kernel(**PLAIN)
def border(joints, d):
    """Take what the stiffnesses of the joints hold back off the correction of the arm; returns whether that failed."""
    A, p, k = joints.A, joints.right, joints.torques.size
    for j in range(k):
        p[j] = along(joints, j, d)
        for other in range(k):
            A[j, other] = along(joints, j, joints.Z[other]) * joints.S[SLOTS * other, LINK]
        A[j, j] += 1.0
    if factor_full(A, joints.pivots) != 0:
        return True
    solve_full(A, joints.pivots, p)
    for j in range(k):
        torque = joints.S[SLOTS * j, LINK] * p[j]
        for i in range(joints.columns.shape[1]):
            d[i] -= joints.Z[j, i] * torque
    return False


@kernel(**PLAIN)
def condense(joints, j):
    """Eliminate the drive's own coordinates of joint j from S_j and its residual; returns whether that failed."""
    base = SLOTS * j
    for slot in range(SLOTS - 1, LINK, -1):
        if joints.slots[base + slot] >= 0:
            pivot = joints.S[base + slot, slot]
            if pivot == 0.0 or not np.isfinite(pivot):
                return True
            for row in range(slot):
                part = joints.S[base + row, slot] / pivot
                if part != 0.0:
                    joints.r[j, row] -= part * joints.r[j, slot]
                    for column in range(slot):
                        joints.S[base + row, column] -= part * joints.S[base + slot, column]
    return False


@kernel(**PLAIN)
def follow(joints, j, d, size):
    """Fill the correction of the coordinates that `condense` eliminated; returns the largest so far."""
    base, local = SLOTS * j, joints.local
    local[0, LINK] = along(joints, j, d)
    for slot in range(MOTOR, SLOTS):
        local[0, slot] = 0.0
        if joints.slots[base + slot] >= 0:
            left = joints.r[j, slot]
            for column in range(slot):
                left -= joints.S[base + slot, column] * local[0, column]
            local[0, slot] = left / joints.S[base + slot, slot]
            d[joints.slots[base + slot]] = local[0, slot]
            size = max(size, abs(local[0, slot])) if np.isfinite(local[0, slot]) else np.inf
    return size


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
    return part


@kernel(**INSIDE)
def ready(form, motion, u, ca, cv, cq):
    """Ask the joints for their part of the tangent; let the arm know the time, and how old its factors are."""
    ask(form.set, motion.q, motion.v, motion.a, u, ca, cv, cq)
    inside = form.motion
    for i in range(inside.number.size):
        inside.number[i] = motion.number[i]


def condensed(inner_solve: Any, stiffen: Any) -> Any:
    """Return the correction of a formulation whose joints can be stiffened."""

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction; see the module docstring."""
        ready(form, motion, u, ca, cv, cq)
        joints, inside = form.set, form.motion
        for j in range(joints.torques.size):
            if condense(joints, j):
                return SINGULAR, np.inf
            joints.u[joints.torques[j]] = -joints.r[j, LINK]
            stiffen(form.inner, joints.torques[j], joints.S[SLOTS * j, LINK])
        status, size = inner_solve(form.inner, inside, joints.u, ca, cv, cq, fresh)
        for i in range(inside.d.size):
            motion.d[i] = inside.d[i]
        for j in range(joints.torques.size):
            size = follow(joints, j, motion.d, size)
        return status, size

    return solve


def bordered(inner_solve: Any, keeps: bool, divide: Any) -> Any:
    """Return the correction of a formulation with its joints at its border."""
    yields = kernel(**INSIDE)(by_difference(inner_solve, keeps) if divide is None else by_factors(divide))

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction; see the module docstring."""
        ready(form, motion, u, ca, cv, cq)
        joints, inside = form.set, form.motion
        for j in range(joints.torques.size):
            if condense(joints, j):
                return SINGULAR, np.inf
            joints.u[joints.torques[j]] = -joints.r[j, LINK]
        n, d, largest = inside.q.size, inside.d, 0.0
        status, size = inner_solve(form.inner, inside, joints.u, ca, cv, cq, fresh or not keeps)
        if status != DONE or not np.isfinite(size):
            return status, size
        for i in range(n):
            motion.d[i] = d[i]
        if fresh:
            status = yields(form, motion, ca, cv, cq)
        if status != DONE or border(joints, motion.d):
            return max(status, SINGULAR), np.inf
        for i in range(n):
            largest = max(largest, abs(motion.d[i])) if np.isfinite(motion.d[i]) else np.inf
        for j in range(joints.torques.size):
            largest = follow(joints, j, motion.d, largest)
        return DONE, largest

    return solve


def by_factors(divide: Any) -> Any:
    """Return what fills Z_j, where the factors can be asked."""

    def yields(form, motion, ca, cv, cq):
        """Fill what a torque in each joint moves."""
        joints = form.set
        for j in range(joints.torques.size):
            for i in range(joints.columns.shape[1]):
                joints.Z[j, i] = joints.columns[j, i]
            divide(form.inner, joints.Z[j])
        return DONE

    return yields


def by_difference(inner_solve: Any, keeps: bool) -> Any:
    """Return what fills Z_j by corrections under other torques."""

    def yields(form, motion, ca, cv, cq):
        """Fill what a torque in each joint moves."""
        joints, inside = form.set, form.motion
        for j in range(joints.torques.size):
            at = joints.torques[j]
            joints.u[at] += 1.0
            status, size = inner_solve(form.inner, inside, joints.u, ca, cv, cq, not keeps)
            joints.u[at] -= 1.0
            if status != DONE or not np.isfinite(size):
                return max(status, SINGULAR)
            for i in range(inside.q.size):
                joints.Z[j, i] = motion.d[i] - inside.d[i]
        return DONE

    return yields


def driven(ops: Operations) -> Operations:
    """Return the operations of a formulation with drives around its joints."""
    inner_measure, inner_finish, inner_limit = ops.measure, ops.finish, ops.limit
    inner_refresh, inner_store, inner_sense = ops.refresh, ops.store, ops.sense
    stiff = ops.stiffen is not None
    solve = condensed(ops.solve, ops.stiffen) if stiff else bordered(ops.solve, ops.keeps, ops.divide)

    @kernel(**INSIDE)
    def measure(form, motion, u, y):
        """Sensor readings, and those of the drives."""
        joints = form.set
        if joints.outputs[1] == 0:
            ask(joints, motion.q, motion.v, motion.a, u, 1.0, 0.0, 0.0)
        first, joints.outputs[1] = joints.outputs[0], 0
        inner_measure(form.inner, form.motion, joints.u, y[:first])
        for i in range(first, y.size):
            y[i] = reading(joints, motion.q, motion.v, i - first)

    @kernel(**INSIDE)
    def sense(form, motion, u, rows, y):
        """Some of them."""
        joints, first = form.set, form.set.outputs[0]
        ask(joints, motion.q, motion.v, motion.a, u, 1.0, 0.0, 0.0)
        for i in range(rows.size):
            if rows[i] < first:
                inner_sense(form.inner, form.motion, joints.u, rows[i : i + 1], y[i : i + 1])
            else:
                y[i] = reading(joints, motion.q, motion.v, rows[i] - first)

    @kernel(**INSIDE)
    def finish(form, motion, u, size):
        """The step stands. At a border the last correction of the arm was not what moved it: its size says nothing."""
        ask(form.set, motion.q, motion.v, motion.a, u, 1.0, 0.0, 0.0)
        inner_finish(form.inner, form.motion, form.set.u, size if stiff else np.inf)
        form.set.outputs[1] = 1  # what follows a step is that it is measured
        if form.set.kinks[0] == 1:  # what the second correction was does not tell what it will be
            motion.number[SHRUNK] = 0.0

    @kernel(**INSIDE)
    def refresh(form, motion):
        """Make ready to measure."""
        form.set.outputs[1] = 0
        inner_refresh(form.inner, form.motion)

    @kernel(**INSIDE)
    def limit(form, motion, tolerance, h):
        """Size of a correction that is accepted: that of the arm where all is smooth and the tangent made anew."""
        if stiff:
            accepted = inner_limit(form.inner, form.motion, tolerance, h)
            return min(accepted, tolerance) if form.set.kinks[0] == 1 else accepted
        extent = 1.0
        for i in range(form.motion.q.size):
            extent = max(extent, abs(motion.q[i]))
        return tolerance * extent

    @kernel(**INSIDE)
    def store(form, motion, record, k):
        """Record the coordinates: of the arm, then of the drives."""
        inner_store(form.inner, form.motion, record, k)
        if record.q.shape[0] > 1:
            n = form.motion.q.size
            behind = record.q.shape[1] - (motion.q.size - n)
            for i in range(motion.q.size - n):
                record.q[k, behind + i], record.v[k, behind + i] = motion.q[n + i], motion.v[n + i]

    return Operations(
        measure, solve, no_foresight, nothing, no_leap, finish, refresh, limit, store, sense, never,
        keeps=ops.keeps or not stiff, prefers=ops.prefers if stiff else KEPT, swing=ops.swing, stride=ops.stride,
        far=ops.far, foreseen=ops.foreseen, reach=reach,
    )
