"""The states of `finite_segment` as its compiled steps record them."""

from __future__ import annotations

from ...kernels.furthest import VALUE, surpasses
from ...kernels.jit import kernel
from ...kernels.joints import record_torques
from ...kernels.tables import FAST, INSIDE


@kernel(**FAST)
def relative(x, k):
    """Return a body's angle, or rate, less that of the body before it."""
    return x[k] - x[k - 1] if k > 0 else x[k]


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    seg = form.segments
    record_torques(seg.inputs, motion, record, k)
    if record.furthest.shape[1] > 0:
        keep_furthest(seg, motion, record, k)
    elif record.q.shape[0] > 1:
        put_row(seg, motion, record, k)


@kernel(**INSIDE)
def put_row(seg, motion, record, k):
    """Put coordinates and rates into a row of the record."""
    for p in range(motion.q.size):
        record.q[k, p], record.v[k, p] = motion.q[p], motion.v[p]
    for i in range(seg.joints.size):
        p = seg.joints[i]
        record.q[k, p], record.v[k, p] = relative(motion.q, p), relative(motion.v, p)


@kernel(**FAST)
def any_between(x, most):
    """Whether two neighbours differ by more than this."""
    found = False
    for p in range(1, x.size):
        found = found | (abs(x[p] - x[p - 1]) > most)  # all are looked at: the loop vectorises, that of the largest not
    return found


@kernel(**FAST)
def most_between(x):
    """Return the largest difference between neighbours."""
    most = 0.0
    for p in range(1, x.size):
        most = max(most, abs(x[p] - x[p - 1]))
    return most


@kernel(**INSIDE)
def keep_furthest(seg, motion, record, k):
    """Keep the state if a segment turns further against the one before than any of its link did."""
    for i in range(seg.joints.size):
        last = seg.joints[i + 1] if i + 1 < seg.joints.size else motion.q.size
        bodies = motion.q[seg.joints[i] : last]
        if any_between(bodies, record.furthest[VALUE, i]) and surpasses(record, i, most_between(bodies), k):
            put_row(seg, motion, record, i)
