"""The data of a step of the spatial arm: constants, scratch arrays, and the meaning of their rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, int64

from ....kernels.groups import group
from ....kernels.tables import INT, MAT, VEC


class Beam(NamedTuple):
    """Constants of an arm, J joints, N elements, B bodies; `models.timoshenko_spatial.stepper.beam` makes them."""

    element: np.ndarray  # (N, ELEMENT) l (sliding: share of d), EA, GA, GJ, EI2, EI3, rho A, rho J (3), 1 - xi (2)
    kind: np.ndarray  # (N, 3) link, 1 in a kink, joint whose variable is the length of the segment or -1
    joint: np.ndarray  # (J, JOINT) rotor, kp, kv, turn, twist, length of a rigid kink, of a flexible one, of the link
    prismatic: np.ndarray  # 1 where the joint slides
    roots: np.ndarray  # first element of each link
    body: np.ndarray  # (B, 13) mass, centre from its joint's point or its node (3), inertia about the centre (9)
    holder: np.ndarray  # (B, 2) node, link
    numbers: np.ndarray  # alpha, beta, size of the arm, gravity (3), 1 where loads follow the arm
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    inputs: np.ndarray  # for each input: joint j, or J + axis (tip force)
    outputs: np.ndarray  # (outputs, 4) kind, place, other, axis
    damping: np.ndarray  # (6 N, 6 N) stresses times length per rate of the strains, symmetric; or empty
    loads: np.ndarray  # per part of a load: input, node, link, place in r, axis, 1 for a moment plus 2 for a follower
    weights: np.ndarray  # of these parts
    undeformed: np.ndarray  # (N, 2) cosine and sine of the turn of each element against that with which it is compared


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    frame: np.ndarray  # (J, FRAME), see `fill_frames`
    node: np.ndarray  # (N + 1, NODE), see `fill_section`
    left: np.ndarray  # (N, LEFT): place, rate, acceleration of the left end, then its force and moment
    block: np.ndarray  # (N, BLOCK) element tangents, see `element_tangent`
    factor: np.ndarray  # (N, FACTOR), see `eliminate`
    chain: np.ndarray  # (J, CHAIN), see `_chain`
    w: np.ndarray  # rows of 8: E and r, S and q, D^-1 of both
    r: np.ndarray  # residual, then correction, in the order of the state
    border: np.ndarray  # (J + 1, ..) columns of the free lengths in the order of the state, then of the left ends
    pull: np.ndarray  # (N) axial forces of the rigid arm
    body: np.ndarray  # (B, 10) force and moment of each body, and its centre from the joint, in base axes
    ahead: np.ndarray  # (3 J,) see `foresee`
    every: np.ndarray  # the numbers of all outputs
    strain: np.ndarray  # (N, 12) rates of the strains, then stresses times length of modal damping


class State(NamedTuple):
    """The part of `kernels.state.Motion` that most kernels need: passing all of it takes longer to compile."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`: six numbers of nodes 0 .. N, then the joint variables."""

    beam: Beam
    work: Work
    mode: int
    stiffening: bool


TABLE = int64[:, ::1]


BEAM = group((MAT, TABLE, MAT, INT, INT, MAT, TABLE, VEC, VEC, INT, TABLE, MAT, INT, VEC, MAT), Beam)


WORK = group((MAT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, MAT, VEC, MAT, VEC, INT, MAT), Work)


FORM = group((BEAM, WORK, int64, boolean), Form)


NONLINEAR, LINEAR, QUASI_STATIC = 0, 1, 2


RETRACTED = 4.0


# joint frames: entries of a row
R0, W0, A0 = 0, 9, 12


FRAME = 16


# nodes: entries of a row
QUAT, TURN, SPIN, SPUN, INVERSE = 0, 4, 13, 16, 19


NODE = 20


# element blocks: entries of a row; a symmetric 3 x 3 block is 00 01 02 11 12 22
AA, U1, U2, K11, K12, K22, SIXTH = 0, 6, 15, 24, 30, 39, 45


BLOCK = 48


# elements: entries of a row
LEN, EA, GA, GJ, EI2, EI3, RHO, RHOJ, PAST = 0, 1, 2, 3, 4, 5, 6, 7, 10


ELEMENT = 12


# left ends: entries of a row
XX, VV, ACC, ROOT, TIP = 0, 3, 6, 9, 12


LEFT = 15


# joints: entries of a row
COLUMN, OWN, AXIS, KINK, POINT, RIGID, DRIVE = 0, 6, 7, 10, 13, 16, 19


CHAIN = 20


# bodies: entries of a row
ARM, SPINNING, PUSH = 0, 3, 12


BODY = 15


# strains: the stresses follow the rates
STRESS = 6


FACTOR = 72


def work(elements: int, joints: int, bodies: int, outputs: int) -> Work:
    """Return scratch arrays for an arm with so many elements, joints, bodies and outputs."""
    N, J = elements, joints
    node = np.zeros((N + 1, NODE))
    node[:, QUAT] = node[:, TURN] = node[:, TURN + 4] = node[:, TURN + 8] = 1.0
    length = 6 * (N + 1) + 13 * J
    return Work(
        np.zeros((J, FRAME)), node, np.zeros((N, LEFT)), np.zeros((N, BLOCK)), np.zeros((N, FACTOR)),
        np.zeros((J, CHAIN)), np.zeros(144), np.zeros(length), np.zeros((2 * J, length)), np.zeros(N),
        np.zeros((bodies, BODY)), np.zeros(3 * J), np.arange(outputs),
        np.zeros((N, 2 * STRESS)),
    )
