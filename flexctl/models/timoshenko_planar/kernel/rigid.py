"""The commanded rigid arm and its axial forces."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .state import AX, LEFT, PULL


@kernel(**FAST)
def command_rigid_arm(beam, target, part, stiffening, frame, W):
    """Fill the frame of the commanded rigid arm (rows cos, sin, angle, rate) and its axial forces.

    `part` 2 or 3: accelerations before or after a jump.
    """
    n, E, P = beam.element.shape[1], beam.element, beam.node
    angle = rate = acceleration = 0.0
    i = 0
    W[AX, 0] = W[LEFT, 0] = 0.0
    c, s = 1.0, 0.0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            angle += target[i, 0]
            rate += target[i, 1]
            acceleration += target[i, part]
            c, s, i = np.cos(angle), np.sin(angle), i + 1
        frame[0, e], frame[1, e], frame[2, e], frame[3, e] = c, s, angle, rate
        W[AX, e + 1] = W[AX, e] + E[0, e] * (-acceleration * s - rate * rate * c)
        W[LEFT, e + 1] = W[LEFT, e] + E[0, e] * (acceleration * c - rate * rate * s)
    pull_x = pull_y = 0.0
    for e in range(n - 1, -1, -1):
        p = e + 1
        pull_x += E[5, e] * W[AX, e] + P[0, p] * W[AX, p] - P[2, p]
        pull_y += E[5, e] * W[LEFT, e] + P[0, p] * W[LEFT, p] - P[3, p]
        if p < n:
            pull_x += E[5, p] * W[AX, p + 1]
            pull_y += E[5, p] * W[LEFT, p + 1]
        W[PULL, e] = -(pull_x * frame[0, e] + pull_y * frame[1, e]) if stiffening else 0.0


@kernel(**FAST)
def put_on_rigid_arm(beam, state, target, frame, W):
    """Put the state onto the commanded rigid arm, with its rates; accelerations are in rows AX and LEFT."""
    n, E = beam.element.shape[1], beam.element
    i, alpha = 0, 0.0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            state.phi[i], state.rate[i], state.acceleration[i] = target[i, 0], target[i, 1], target[i, 3]
            alpha, i = alpha + target[i, 3], i + 1
        p, l, w = e + 1, E[0, e], frame[3, e]
        state.x[0, p], state.x[1, p] = state.x[0, e] + l * frame[0, e], state.x[1, e] + l * frame[1, e]
        state.v[0, p], state.v[1, p] = state.v[0, e] - l * w * frame[1, e], state.v[1, e] + l * w * frame[0, e]
        state.a[0, p], state.a[1, p] = W[AX, p], W[LEFT, p]
        state.x[2, p], state.v[2, p], state.a[2, p] = frame[2, e], w, alpha
