"""Prescribed joints: put on their command, jump with it, and show the torque that they need."""

from __future__ import annotations

from .jit import kernel
from .state import PRESCRIBED
from .tables import INSIDE


@kernel(**INSIDE)
def any_prescribed(drive):
    """Whether a joint is prescribed."""
    some = False
    for j in range(drive.size):
        some = some or drive[j] == PRESCRIBED
    return some


@kernel(**INSIDE)
def put_on_command(motion, i, place):
    """Put joint i, whose variable is coordinate `place`, where it is commanded."""
    target = motion.target
    motion.q[place], motion.v[place], motion.a[place] = target[i, 0], target[i, 1], target[i, 2]
    motion.shifted[place] = target[i, 2]


@kernel(**INSIDE)
def jump_with_command(motion, i, place):
    """Set the acceleration of joint i to its right limit; returns whether it jumped."""
    change = motion.target[i, 3] - motion.a[place]
    motion.a[place] += change
    motion.shifted[place] += change
    return change != 0.0


@kernel(**INSIDE)
def put_all_on_command(motion):
    """`put_on_command` for all prescribed joints, whose variables are the last coordinates."""
    base = motion.q.size - motion.drive.size
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            put_on_command(motion, i, base + i)


@kernel(**INSIDE)
def jump_all_with_command(motion):
    """`jump_with_command` for all prescribed joints, whose variables are the last coordinates."""
    jump, base = False, motion.q.size - motion.drive.size
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            jump = jump_with_command(motion, i, base + i) or jump
    return jump


@kernel(**INSIDE)
def record_torques(inputs, motion, record, k):
    """Record at grid point k, in place of the inputs of prescribed joints, the torques that they need.

    inputs: number of the joint on which each input acts; what acts elsewhere has numbers beyond.
    """
    drive = motion.drive
    for j in range(inputs.size):
        i = inputs[j]
        if i < drive.size and drive[min(i, drive.size - 1)] == PRESCRIBED:
            record.u[k, j] = motion.torque[i]
