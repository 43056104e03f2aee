"""The data of a step of the ANCF arm: constants and scratch arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....kernels.groups import group
from ....kernels.jit import kernel
from ....kernels.tables import INT, MAT, PLAIN, VEC


class Beam(NamedTuple):
    """Constants of an arm: N elements, J links, B = N + J blocks, n coordinates; `models.ancf.stepper` makes them."""

    element: np.ndarray  # (N, 18) L, 1/L, nine stiffnesses of `legendre_stiffness`, seven masses
    lump: np.ndarray  # (B, 2) mass and inertia at a block
    load: np.ndarray  # (6 B,) weight
    joint: np.ndarray  # (J, 5) rotor inertia, kp, kv, link length, angle of a clamped base
    gains: np.ndarray  # lever of each joint and tip-force input, then 6 numbers of each output
    push: np.ndarray  # (followers n, n) matrices H, B = H q
    dead: np.ndarray  # (dead forces, n) columns of B
    weights: np.ndarray  # of the moments in `turns`
    damping: np.ndarray  # (15 N, 15 N) stresses of all elements per rate of their strains; or empty
    numbers: np.ndarray  # alpha, beta, size of the arm
    sizes: np.ndarray  # n, N, J, inputs before the tip's moment, followers, outputs
    place: np.ndarray  # (6 B,) coordinate of each number of a block, -1: zero, or a root's r_y
    links: np.ndarray  # (3 J,) root block, coordinate of phi and f (-1: clamped) of each link
    lefts: np.ndarray  # left block of each element, minus one minus the link where a link begins
    inputs: np.ndarray  # coordinate of each joint and tip-force input, then (kind, place, other) of each output
    pushed: np.ndarray  # input of each follower, then of each dead force
    turns: np.ndarray  # for each moment: input, first coordinate of the r_y and coordinate of the phi it turns, or -1
    costs: np.ndarray  # of the square of the turn within each element


BEAM = group((MAT, MAT, VEC, MAT, VEC, *(MAT, MAT, VEC, MAT, VEC), *(INT,) * 7, VEC), Beam)


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    blocks: np.ndarray  # (5, 6 B) positions, rates, accelerations, the same plus alpha times rates, forces
    section: np.ndarray  # (J, 18) see `fill_section`
    strain: np.ndarray  # (4, 16) strains, their rates, stresses, spare
    vector: np.ndarray  # (2, 16)
    modal: np.ndarray  # (2, 15 N) strain rates of all elements, stresses of `Beam.damping`
    gradients: np.ndarray  # (240,) derivatives of the strains by the numbers of an element, see `sweep.gradients`
    matrix: np.ndarray  # (12, 16) of an element; columns 12 .. 15 by e, phi, f of a root's section
    root: np.ndarray  # (16, 16)
    band: np.ndarray  # (n + 20, 32)
    columns: np.ndarray  # (n + 20, 24) see `factorise`
    pivots: np.ndarray  # (4, 40) rows of the band
    right: np.ndarray  # (n + 36,) with 16 numbers before it and 20 behind: residual and correction
    every: np.ndarray  # the numbers of all outputs


WORK = group((*(MAT,) * 5, VEC, *(MAT,) * 5, VEC, INT), Work)


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`, whose correction is a part of work.right."""

    beam: Beam
    work: Work


FORM = group((BEAM, WORK), Form)


# Helpers have no signatures: they are compiled within the functions that use them, and are in the cache with these. No
# reference counts, no allocation.
FAST: dict[str, Any] = {**PLAIN, "fastmath": {"contract", "nsz", "arcp", "reassoc"}}


# What takes Beam or Work, which are handed on as one pointer each.
INSIDE: dict[str, Any] = FAST


@kernel(**INSIDE)
def left_of(beam, e):
    l = beam.lefts[e]
    return 6 * (l if l >= 0 else beam.links[3 * (-1 - l)])


@kernel(**INSIDE)
def end_of(beam, l):
    """First number of the end block of a link."""
    return (6 * beam.links[3 * l + 3] if l + 1 < beam.sizes[2] else beam.place.size) - 6


def work(n: int, blocks: int, links: int, outputs: int) -> Work:
    """Return scratch arrays."""
    zeros = np.zeros
    return Work(
        zeros((5, 6 * blocks)), zeros((links, 18)), zeros((4, 16)), zeros((2, 16)),
        zeros((2, 15 * (blocks - links))), zeros(240), zeros((12, 16)), zeros((16, 16)),
        zeros((n + 20, 32)), zeros((n + 20, 24)), zeros((4, 40)), zeros(n + 36), np.arange(outputs),
    )
