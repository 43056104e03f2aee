"""One sweep along a chain of beam pieces, masses and joints at complex frequencies.

`exact.transfer_matrix` has the equations.

The states z = (u, w, theta, N, Q, M) that the outboard part allows at a section are z = Z y + G v: Z is 6 x 3, v the
inputs. Going inwards every element maps Z and G, and column operations keep them well conditioned: three rows, those
that grow fastest, become unit rows of Z and zero rows of G, and the decay exp(-lambda h) goes into the coefficients,
outer y = C y - E v. Nothing overflows, nothing that grows is ever subtracted, and there is no impedance to become
infinite at a resonance of a part. Going outwards again the coefficients give the states.

A piece is carried in one of two forms: where |lambda h| <= 2 by the power series of its transfer matrix, every entry of
which is exact to rounding however low the frequency; beyond by waves, each pair exp(+-lambda x) by itself. A pair with
|lambda h| <= 2 beside a fast one (axial motion, bending near the cut-off frequency) is carried by cosh and sinh.

Lengths are in units of l, forces of E0 / l^2: 1 / l is the largest wave number and not less than 1 / (arm length).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, types

from ....kernels.arrays import CCUBE, CHYPER, CVEC, INT, MAT, RCVEC, RVEC, VEC
from ....kernels.groups import group
from ....kernels.jit import entry, kernel
from ....kernels.vectors import put_matrix
from .columns import Array, eliminate, hold_base, release, state_of, through_joint
from .piece import DRIVE, LOAD, MASS, MOTION, PIECE, SPRING, TURN, At, drift_near, inwards_far, inwards_near, is_near


class Chain(NamedTuple):
    """n elements from the base outwards.

    Attributes
    ----------
    kind, values : ndarray (n), (n, 7)
        PIECE h, rho A, rho I, 1/EA, 1/(kt G A), 1/EI, beta; MASS m, J; TURN cos, sin; SPRING stiffness, damping; DRIVE
        rotor inertia, stiffness, damping, torque per rate of a winding times R, R, L; MOTION number of its input; LOAD
        its parts along, across, about the link.
    probe : ndarray (n + 1)
        Where in `Answer.states` the section before each element is reported, or -1.
    """

    kind: np.ndarray
    values: np.ndarray
    probe: np.ndarray


class Answer(NamedTuple):
    """Results at all frequencies.

    Attributes
    ----------
    states : ndarray (probes, 9, p, len(s))
        In units of l and E0: u, w, theta, N, Q, M and the displacement (u, w, theta) from the tangent of the link's
        root. Inputs: tip force along and across the last link, tip moment, then drives and loads from the tip inwards.
    turns : ndarray (drives, p, len(s))
        Joint angles, from the base outwards.
    phase, size : ndarray (len(s))
        The characteristic function in these units over its modulus, and the logarithm of that.
    """

    states: np.ndarray
    turns: np.ndarray
    phase: np.ndarray
    size: np.ndarray


class Path(NamedTuple):
    """Matrices that the sweep inwards leaves at each element for the sweep outwards."""

    Z: np.ndarray
    C: np.ndarray
    E: np.ndarray
    turn: np.ndarray
    short: np.ndarray


CHAIN = group((INT, MAT, INT), Chain)
ANSWER = group((CHYPER, CCUBE, CVEC, VEC), Answer)


@entry(types.void(CHAIN, boolean, float64, RCVEC, RVEC, float64, ANSWER), error_model="numpy")
def sweep(chain: Chain, free: bool, alpha: float, s: Array, unit: Array, E0: float, answer: Answer) -> None:
    """Solve the chain at every s.

    Parameters
    ----------
    chain : Chain
        Its elements.
    free : bool
        Whether the vibration without inputs is wanted (s at a natural frequency) instead of the forced ones.
    alpha : float
        Damping by mass [1/s].
    s, unit : ndarray
        Complex frequencies [rad/s] and the unit of length l of each [m].
    E0 : float
        Unit of bending stiffness [N m^2].
    answer : Answer
        Result.
    """
    kind, values, (states, turns, phase, size) = chain.kind, chain.values, answer
    n, p = kind.size, states.shape[2]
    Z = np.zeros((n + 1, 6, 3 + p), np.complex128)
    C, E = np.zeros((n, 3, 3), np.complex128), np.zeros((n, 3, p), np.complex128)
    turn, short = np.zeros((n, 3 + p), np.complex128), np.zeros(n, np.bool_)
    U, base, E1 = np.zeros((4, 4), np.complex128), np.zeros((6, 3 + p), np.complex128), np.zeros((3, p), np.complex128)
    weight, growth, work = np.zeros(6), np.zeros(6, np.complex128), np.zeros(3, np.int64)
    y, nothing = np.zeros((3, p), np.complex128), np.zeros(6)
    path, torque = Path(Z, C, E, turn, short), 0.0 if free else 1.0
    for f in range(s.size):
        x, l = s[f], unit[f]
        sigma = x * x + alpha * x
        at = At(x, sigma, l, E0)
        columns = 4 if free else 6
        Z[n] = 0.0
        for i in range(3):
            Z[n, i, i] = 1.0
        if not free:
            Z[n, 3, 3] = Z[n, 4, 4] = Z[n, 5, 5] = 1.0
        direction, logarithm = 1.0 + 0j, 0.0
        for k in range(n - 1, -1, -1):
            v, z, w = values[k], Z[k + 1], Z[k]
            w[:] = 0.0
            if kind[k] == PIECE:
                short[k] = is_near(v, at)
                if short[k]:
                    inwards_near(v, at, z, w, columns, U)
                    a, b = eliminate(w, 6, nothing, columns, C[k], E[k], work)
                else:
                    a, b = inwards_far(v, at, z, w, columns, C[k], E[k], (work, weight, growth))
                direction *= a
                logarithm += b
                continue
            if kind[k] == DRIVE:
                columns += 0 if free else 1
                Zk = (v[1] + x * v[2] + sigma * v[0] + x * v[3] / (v[4] + x * v[5])) * l / E0
                factor = release(z, Zk, columns, torque, C[k], E[k], turn[k])
                through_joint(z, Zk, columns, torque, C[k], E[k], turn[k], w)
                direction *= factor / abs(factor)
                logarithm += np.log(abs(factor))
                continue
            for i in range(6):
                for j in range(columns):
                    w[i, j] = z[i, j]
            if kind[k] == MASS:
                m, J = sigma * v[0] * l * l * l / E0, sigma * v[1] * l / E0
                for j in range(columns):
                    w[3, j] -= m * z[0, j]
                    w[4, j] -= m * z[1, j]
                    w[5, j] -= J * z[2, j]
            elif kind[k] == TURN:
                for j in range(columns):
                    for i in (0, 3):
                        w[i, j], w[i + 1, j] = v[0] * z[i, j] - v[1] * z[i + 1, j], v[1] * z[i, j] + v[0] * z[i + 1, j]
            elif kind[k] == SPRING:
                soft = E0 / (l * (v[0] + x * v[1]))
                for j in range(columns):
                    w[2, j] -= soft * z[5, j]
            elif kind[k] == MOTION and not free:
                w[2, columns] -= 1.0
                columns += 1
            elif kind[k] == LOAD and not free:
                for i in range(3):
                    w[3 + i, columns] += v[i]
                columns += 1
        a, b = hold_base(Z[0], columns, free, base, E1, y, work)
        phase[f], size[f] = direction * a, logarithm + b
        outwards(chain, at, free, path, y, states[..., f], turns[..., f])


@kernel(error_model="numpy")
def outwards(chain: Chain, at: At, free: bool, path: Path, y: Array, states: Array, turns: Array) -> None:
    """Report the states from the base, where the coefficients are y, to the tip."""
    kind, values, probe = chain
    Z, C, E, turn, short = path
    s, l, E0 = at.s, at.l, at.E0
    n, p = kind.size, y.shape[1]
    old, gap, drift = np.zeros((3, p), np.complex128), np.zeros((3, p), np.complex128), np.zeros(3, np.complex128)
    inner, outer = np.zeros((6, p), np.complex128), np.zeros((6, p), np.complex128)
    U = np.zeros((4, 4), np.complex128)
    joint = 0
    state_of(Z[0], y, inner)
    for k in range(n + 1):
        if probe[k] >= 0:
            for j in range(p):
                for i in range(6):
                    states[probe[k], i, j] = inner[i, j]
                for i in range(3):
                    states[probe[k], 6 + i, j] = gap[i, j]
        if k == n:
            break
        v = values[k]
        if kind[k] == DRIVE or kind[k] == PIECE:
            put_matrix(y, old)
            for i in range(3):
                for j in range(p):
                    y[i, j] = C[k, i, 0] * old[0, j] + C[k, i, 1] * old[1, j] + C[k, i, 2] * old[2, j] - E[k, i, j]
        state_of(Z[k + 1], y, outer)
        if kind[k] == DRIVE:
            for j in range(p):
                t = turn[k]
                turns[joint, j] = t[3 + j] + t[0] * old[0, j] + t[1] * old[1, j] + t[2] * old[2, j]
            joint += 1
        elif kind[k] == MOTION:
            for j in range(p):
                turns[joint, j] = 1.0 if not free and j == int(v[0]) else 0.0
            joint += 1
        elif kind[k] == TURN:
            gap[:] = 0.0
        elif kind[k] == SPRING:
            soft = E0 / (l * (v[0] + s * v[1]))
            for j in range(p):
                gap[2, j] += soft * outer[5, j]
        elif kind[k] == PIECE:
            h = v[0] / l
            for j in range(p):
                if short[k]:
                    drift_near(v, at, inner[:, j], drift, U)
                else:
                    drift[0] = outer[0, j] - inner[0, j]
                    drift[1] = outer[1, j] - inner[1, j] - h * inner[2, j]
                    drift[2] = outer[2, j] - inner[2, j]
                gap[1, j] += h * gap[2, j] + drift[1]
                gap[0, j] += drift[0]
                gap[2, j] += drift[2]
        put_matrix(outer, inner)
