"""Residual, tangent and output of `models.timoshenko_planar` for the time loop.

ints  = [n, N, joints, inputs, outputs, w], first coordinate of node e + 1 and phi of element e or -1 (N each), joints'
        coordinates and root elements, inputs' coordinates, and (kind, index, other) of the outputs
reals = [alpha, beta], then per element l, EA, kt G A, E I, rho A l, rho I l, lumped mass and inertia of node e + 1; per
        joint hub, rotor, kp, kv, link length; weight (n); lever of each input; (weight, scale) of each output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int64

from ....kernels.jit import entry, kernel
from ....kernels.model import OUTPUT, RESIDUAL, TANGENT

if TYPE_CHECKING:
    from .. import TimoshenkoPlanar

HEAD, COLUMNS, PER_JOINT = 6, 8, 5
WIDTH = 6


@kernel
def element_dof(e, ints, dof):
    """Coordinates x, y, theta, x, y, theta, phi of element e; -1 for what is fixed."""
    N = ints[1]
    left = ints[HEAD + e - 1] if e > 0 else -1
    right = ints[HEAD + e]
    for k in range(3):
        dof[k] = left + k if e > 0 else -1
        dof[3 + k] = right + k
    dof[6] = ints[HEAD + N + e]


@kernel
def gather(q, dof, local):
    """Local coordinates of an element; the joint turns its left end."""
    for k in range(6):
        local[k] = q[dof[k]] if dof[k] >= 0 else 0.0
    if dof[6] >= 0:
        local[2] += q[dof[6]]


@kernel
def gradients(local, l, strain, g):
    """(eps, gamma, kappa) and their derivatives, 3 x 6."""
    theta = 0.5 * (local[2] + local[5])
    c, s = np.cos(theta), np.sin(theta)
    dx, dy = (local[3] - local[0]) / l, (local[4] - local[1]) / l
    along, across = c * dx + s * dy, -s * dx + c * dy
    strain[0], strain[1], strain[2] = along - 1.0, across, (local[5] - local[2]) / l
    g[0, 3], g[0, 4], g[1, 3], g[1, 4] = c / l, s / l, -s / l, c / l
    g[0, 0], g[0, 1], g[1, 0], g[1, 1] = -c / l, -s / l, s / l, -c / l
    g[0, 2] = g[0, 5] = 0.5 * across
    g[1, 2] = g[1, 5] = -0.5 * along
    g[2, 2], g[2, 5] = -1.0 / l, 1.0 / l


@kernel
def joint_of(e, ints):
    """Number of the joint whose link begins with element e."""
    N, J = ints[1], ints[2]
    for j in range(J):
        if ints[HEAD + 2 * N + J + j] == e:
            return j
    return 0


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
    """M (a + alpha v) + elastic and damping forces + servo joints - weight - B u."""
    n, N, J, p = ints[0], ints[1], ints[2], ints[3]
    alpha, beta = reals[0], reals[1]
    per_joint = 2 + COLUMNS * N
    weight = per_joint + PER_JOINT * J
    dof, local, rate, acc = np.empty(7, np.int64), np.empty(6), np.empty(6), np.empty(6)
    strain, g, f = np.empty(3), np.zeros((3, 6)), np.empty(6)
    for i in range(n):
        out[i] = -reals[weight + i]
    for e in range(N):
        element_dof(e, ints, dof)
        gather(q, dof, local)
        gather(v, dof, rate)
        gather(a, dof, acc)
        l, m, mi = reals[2 + e], reals[2 + 4 * N + e], reals[2 + 5 * N + e]
        gradients(local, l, strain, g)
        for k in range(6):
            acc[k] += alpha * rate[k]
        f[:] = 0.0
        for k in range(3):
            slip = 0.0
            for j in range(6):
                slip += g[k, j] * rate[j]
            stress = l * reals[2 + (1 + k) * N + e] * (strain[k] + beta * slip)
            for j in range(6):
                f[j] += stress * g[k, j]
        for k in range(3):
            mass = (mi if k == 2 else m) / 6.0
            f[k] += mass * (2.0 * acc[k] + acc[k + 3])
            f[k + 3] += mass * (acc[k] + 2.0 * acc[k + 3]) + (reals[2 + (7 if k == 2 else 6) * N + e]) * acc[k + 3]
        if dof[6] >= 0:
            f[2] += reals[per_joint + joint_of(e, ints)] * acc[2]
            out[dof[6]] += f[2]
        for k in range(6):
            if dof[k] >= 0:
                out[dof[k]] += f[k]
    for j in range(J):
        i = ints[HEAD + 2 * N + j]
        out[i] += reals[per_joint + J + j] * (a[i] + alpha * v[i])
        out[i] += reals[per_joint + 2 * J + j] * q[i] + reals[per_joint + 3 * J + j] * v[i]
    for j in range(p):
        out[ints[HEAD + 2 * N + 2 * J + j]] -= reals[weight + n + j] * u[j]


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K."""
    N, J, w = ints[1], ints[2], ints[5]
    alpha, beta = reals[0], reals[1]
    per_joint = 2 + COLUMNS * N
    dof, local, rate = np.empty(7, np.int64), np.empty(6), np.empty(6)
    strain, g, turn, S = np.empty(3), np.zeros((3, 6)), np.zeros((3, 6)), np.empty((7, 7))
    ma = ca + cv * alpha
    out[:] = 0.0
    for e in range(N):
        element_dof(e, ints, dof)
        gather(q, dof, local)
        gather(v, dof, rate)
        l = reals[2 + e]
        gradients(local, l, strain, g)
        # second derivatives: eps,theta = gamma and gamma,theta = -(1 + eps), each once more by everything
        dtheta = 0.5 * (rate[2] + rate[5])
        slip = np.zeros(2)
        for k in range(2):
            for j in range(6):
                slip[k] += g[k, j] * rate[j]
        S[:] = 0.0
        if beta != 0.0:
            for j in range(6):
                turn[0, j], turn[1, j] = g[1, j] * dtheta, -g[0, j] * dtheta
            # the part of d(g v)/dtheta that comes from the translations: across and along relative velocity
            along, across = slip[0] - strain[1] * dtheta, slip[1] + (1.0 + strain[0]) * dtheta
            for j in (2, 5):
                turn[0, j] += 0.5 * across
                turn[1, j] += -0.5 * along
        for k in range(3):
            stiff = l * reals[2 + (1 + k) * N + e]
            for i in range(6):
                for j in range(6):
                    S[i, j] += stiff * g[k, i] * ((cq + cv * beta) * g[k, j] + cq * beta * turn[k, j])
        if cq != 0.0:
            normal = l * reals[2 + N + e] * (strain[0] + beta * slip[0]) * cq
            shear = l * reals[2 + 2 * N + e] * (strain[1] + beta * slip[1]) * cq
            for j in (2, 5):
                for i in range(6):
                    # H_eps = sym(gamma,q x theta,q), H_gamma = -sym(eps,q x theta,q)
                    x = 0.5 * (normal * g[1, i] - shear * g[0, i])
                    S[i, j] += x
                    if i != 2 and i != 5:
                        S[j, i] += x
        m, mi = reals[2 + 4 * N + e] / 6.0, reals[2 + 5 * N + e] / 6.0
        for k in range(3):
            mass = ma * (mi if k == 2 else m)
            S[k, k] += 2.0 * mass
            S[k, k + 3] += mass
            S[k + 3, k] += mass
            S[k + 3, k + 3] += 2.0 * mass + ma * reals[2 + (7 if k == 2 else 6) * N + e]
        if dof[6] >= 0:
            S[2, 2] += ma * reals[per_joint + joint_of(e, ints)]
            for k in range(6):
                S[6, k] = S[2, k]
                S[k, 6] = S[k, 2]
            S[6, 6] = S[2, 2]
        for i in range(7):
            for j in range(7):
                if dof[i] >= 0 and dof[j] >= 0:
                    out[2 * w + dof[i] - dof[j], dof[j]] += S[i, j]
    for j in range(J):
        i = ints[HEAD + 2 * N + j]
        out[2 * w, i] += ma * reals[per_joint + J + j] + cq * reals[per_joint + 2 * J + j]
        out[2 * w, i] += cv * reals[per_joint + 3 * J + j]


@kernel
def chord(kind, root, end, q, v, ints):
    """Angle (kind 8) or rate of the line from the begin of element `root` to the end of element `end`."""
    dof, a, b = np.empty(7, np.int64), np.empty(6), np.empty(6)
    element_dof(root, ints, dof)
    gather(q, dof, a)
    element_dof(end, ints, dof)
    gather(q, dof, b)
    dx, dy, psi = b[3] - a[0], b[4] - a[1], a[2]
    if kind == 8:
        c, s = np.cos(psi), np.sin(psi)
        return psi + np.arctan2(c * dy - s * dx, c * dx + s * dy)
    gather(v, dof, b)
    element_dof(root, ints, dof)
    gather(v, dof, a)
    return (dx * (b[4] - a[1]) - dy * (b[3] - a[0])) / (dx * dx + dy * dy)


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Sensor readings; the kinds are those of `timoshenko_planar.sensors`."""
    n, N, J, p, ny = ints[0], ints[1], ints[2], ints[3], ints[4]
    channel = HEAD + 2 * N + 2 * J + p
    lengths = 2 + COLUMNS * N + 4 * J
    factors = 2 + COLUMNS * N + PER_JOINT * J + n + p
    dof, local, other = np.empty(7, np.int64), np.empty(6), np.empty(6)
    for row in range(ny):
        kind, i, k = ints[channel + 3 * row], ints[channel + 3 * row + 1], ints[channel + 3 * row + 2]
        w, scale = reals[factors + 2 * row], reals[factors + 2 * row + 1]
        if kind == 0:
            y[row] = q[i]
        elif kind == 1:
            y[row] = v[i]
        elif kind == 2:
            y[row] = a[i]
        elif kind == 3 or kind == 4:
            total, angle = q[ints[HEAD + N - 1] + kind - 3], 0.0
            for j in range(J):
                angle += q[ints[HEAD + 2 * N + j]]
                total -= reals[lengths + j] * (np.cos(angle) if kind == 3 else np.sin(angle))
            y[row] = total
        elif kind == 5:
            element_dof(i, ints, dof)
            gather(q, dof, local)
            element_dof(k, ints, dof)
            gather(q, dof, other)
            y[row] = scale * (
                (1.0 - w) * (local[5] - local[2]) / reals[2 + i] + w * (other[5] - other[2]) / reals[2 + k]
            )
        elif kind == 6:
            element_dof(i, ints, dof)
            gather(q, dof, local)
            element_dof(k, ints, dof)
            gather(q, dof, other)
            dx, dy = (1.0 - w) * local[0] + w * local[3] - other[0], (1.0 - w) * local[1] + w * local[4] - other[1]
            y[row] = scale * q[dof[6]] - np.sin(other[2]) * dx + np.cos(other[2]) * dy
        elif kind > 7:
            y[row] = chord(kind, k, i, q, v, ints)
            if w >= 0.0:
                y[row] -= chord(kind, int64(w), k - 1, q, v, ints)
        else:
            element_dof(i, ints, dof)
            gather(q, dof, local)
            gather(a, dof, other)
            theta = (1.0 - w) * local[2] + w * local[5]
            ax, ay = (1.0 - w) * other[0] + w * other[3], (1.0 - w) * other[1] + w * other[4]
            y[row] = -np.sin(theta) * ax + np.cos(theta) * ay


def pack(model: TimoshenkoPlanar) -> tuple[np.ndarray, np.ndarray]:
    """Return the constants of a model in the order stated above."""
    mesh, arm, sensors = model.mesh, model.arm, model.sensors
    N, J, p, ny = mesh.length.size, mesh.joint.size, len(model.inputs), len(model.outputs)
    mass, inertia = np.zeros(N + 1), np.zeros(N + 1)
    mass[mesh.root] += [joint.mass for joint in arm.joints]
    inertia[mesh.root] += [joint.housing_inertia for joint in arm.joints]
    mass[N] += arm.payload.mass
    inertia[N] += arm.payload.inertia
    ints = [
        [mesh.size, N, J, p, ny, WIDTH], mesh.node[1:, 0], mesh.dof[:, 6], mesh.joint, mesh.root, model.rows,
        [x for c in sensors.channels for x in (c.kind, c.place, c.other)],
    ]
    reals = [
        [model.alpha, model.beta], mesh.length, mesh.EA, mesh.GA, mesh.EI, mesh.rhoA * mesh.length,
        mesh.rhoI * mesh.length, mass[1:], inertia[1:], [j.hub_inertia for j in arm.joints],
        [j.rotor_inertia for j in arm.joints], model.kp, model.kv, sensors.lengths, model.weight,
        [model.B[row, j] for j, row in enumerate(model.rows)],
        [x for c in sensors.channels for x in (c.weight, c.scale)],
    ]
    return np.concatenate([np.asarray(r, float) for r in reals]), np.concatenate(
        [np.asarray(i, np.int64) for i in ints]
    )
