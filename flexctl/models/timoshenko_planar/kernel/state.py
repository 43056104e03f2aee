"""The data of a step of the planar arm: constants, its state as rows, scratch arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, int64

from ....kernels.groups import group
from ....kernels.state import Motion
from ....kernels.tables import INT, MAT, VEC


class Beam(NamedTuple):
    """Constants of an arm, J joints, N elements; `models.timoshenko_planar.stepper.beam` makes them."""

    element: np.ndarray  # rows l, 1/l, EA, kt GA, EI/l, m/6, j/6 with m = rho A l, j = rho I l
    node: np.ndarray  # rows mass on the diagonal, lumped inertia, weight x, weight y; nodes 0 .. N
    joint: np.ndarray  # rows hub, rotor, kp, kv, link length
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    numbers: np.ndarray  # alpha, beta, size of the arm, 1 where forces follow the arm
    damping: np.ndarray  # (N, Q, M) of all elements per rate of their strains, transposed, 3 N x 3 N; or empty
    roots: np.ndarray  # first element of each link
    inputs: np.ndarray  # for each input: joint j, or J (tip x), J + 1 (tip y); the loads follow
    outputs: np.ndarray  # for each output: kind, index, other; a coordinate is row (N + 1) + node, a joint -1 - j
    loads: np.ndarray  # for each part of a load: input, node, joint at its left end or -1, kind (`models.loads`)
    weights: np.ndarray  # of these parts


class View(NamedTuple):
    """The state of `kernels.state.Motion` as rows x, y, theta of nodes 0 .. N, then the joints; `view` makes it."""

    x: np.ndarray
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray  # residual, then correction
    phi: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    shifted: np.ndarray
    own: np.ndarray  # residual, then correction, of the joints


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    rows: np.ndarray  # (ROWS, N + 1)
    frame: np.ndarray  # (4, N + 1) cos, sin, angle, rate of the commanded rigid arm
    joint: np.ndarray  # (J, 7), see `eliminate`
    every: np.ndarray  # the numbers of all outputs


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`."""

    beam: Beam
    nodes: View
    work: Work
    mode: int
    stiffening: bool


BEAM = group((MAT, MAT, MAT, VEC, VEC, MAT, INT, INT, INT, INT, VEC), Beam)


VIEW = group((*(MAT,) * 4, *(VEC,) * 5), View)


WORK = group((MAT, MAT, MAT, INT), Work)


FORM = group((BEAM, VIEW, WORK, int64, boolean), Form)


NONLINEAR, LINEAR, QUASI_STATIC = 0, 1, 2


# rows of the work array
TL, COS, SIN, AL, GA, NN, QQ, FX, FY, MO, MB, AXX, AXY, AYY, BX, BY, RR, KB, AX, LEFT, PULL = range(21)


GG, ZZ, DR, DS, ROWS = 21, 30, 33, 36, 39


def work(nodes: int, joints: int, outputs: int) -> Work:
    """Return scratch arrays for an arm with so many nodes (the base included), joints and outputs."""
    rows = np.zeros((ROWS, nodes)), np.zeros((4, nodes)), np.zeros((joints, 7))
    return Work(*rows, np.arange(outputs))


def view(motion: Motion, nodes: int) -> View:
    """Return the state of a run as rows of the nodes, then joints."""
    rows = [x[: 3 * nodes].reshape(3, nodes) for x in (motion.q, motion.v, motion.a, motion.d)]
    own = [x[3 * nodes :] for x in (motion.q, motion.v, motion.a, motion.shifted, motion.d)]
    return View(*rows, *own)
