"""The compiled stepper of `ancf`; see `models.ancf.kernel.operations` for how it steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sla

from ...kernels.engine import Plan, Stepper
from ...model import FloatArray
from ..bodies import inner_bodies, lumped
from ..joint_drives import driven
from . import element
from .kernel import state as kernels
from .kernel.element import strains as strains_of
from .kernel.element import vectors
from .kernel.operations import LOOPS, OPERATIONS
from .mesh import body_block
from .sensors import DISPLACEMENT, TRANSVERSE

if TYPE_CHECKING:
    from . import Ancf


def beam(model: Ancf) -> kernels.Beam:
    """Return the constants of a model as the kernels want them."""
    mesh, arm, n = model.mesh, lumped(model.arm), model.mesh.size
    stuff, m, L = mesh.stuff, mesh.mass, mesh.stuff.length
    masses = np.array([
        13 / 35 * m, 9 / 70 * m, 11 / 210 * m * L, 13 / 420 * m * L, m * L**2 / 105, m * L**2 / 140,
        m * stuff.second_moment / stuff.area / 3,
    ]).T
    rows = np.column_stack([L, 1 / L, element.legendre_stiffness(stuff, model.law), masses])
    lump = np.zeros((len(mesh.place), 2))
    lump[mesh.roots, 0] += [j.mass for j in arm.joints]
    lump[mesh.roots, 1] += [j.hub_inertia for j in arm.joints]
    lump[mesh.roots[1:] - 1, 1] += [j.housing_inertia for j in arm.joints[1:]]
    lump[-1] += arm.payload.mass, arm.payload.inertia
    for body in inner_bodies(arm):
        lump[body_block(mesh, body)] += body.mass, body.inertia
    lengths = [link.length for link in arm.links]
    base = [model.base] + [0.0] * (len(lengths) - 1)
    joint = np.column_stack([model.rotor, model.kp, model.kv, lengths, base])
    gains, records = list(model.drives.levers), list(model.drives.rows)
    for c in model.sensors.channels:
        weights = np.zeros(4)
        if c.kind in (DISPLACEMENT, TRANSVERSE):
            weights = element.shape(c.xi, float(L[c.place]))[[0, 1, 3, 4]]
        gains += [c.xi, c.scale, *weights]
        records += [c.kind, c.place, c.other]
    loads = model.drives
    push = np.array([H for _, H in loads.pushes]).reshape(-1, n)
    dead = np.array([column for _, column in loads.dead]).reshape(-1, n)
    turns = [x for turn in loads.turns for x in turn[:3]]
    weights = np.array([turn.weight for turn in loads.turns])
    pushed = [column for column, _ in (*loads.pushes, *loads.dead)]
    place = mesh.place.copy()
    place[mesh.roots, 4:] = -1
    free = [np.where(x < n, x, -1) for x in (place.ravel(), mesh.joint, mesh.stretch)]
    links = np.column_stack([mesh.roots, free[1], free[2]]).ravel()
    lefts = mesh.left.copy()
    lefts[mesh.root] = -1 - np.arange(mesh.root.size)
    sizes = [n, len(rows), len(lengths), loads.torque, len(loads.pushes), len(model.outputs)]
    return kernels.Beam(
        np.ascontiguousarray(rows), lump, np.ascontiguousarray(model.load), np.ascontiguousarray(joint),
        np.array(gains, float), np.ascontiguousarray(push), np.ascontiguousarray(dead), weights,
        _damping(model),
        np.array([model.alpha, model.beta, max(1.0, sum(lengths))]),
        *(np.ascontiguousarray(x, np.int64) for x in (sizes, free[0], links, lefts, records, pushed, turns)),
        np.ascontiguousarray(mesh.costs),
    )


def _damping(model: Ancf) -> FloatArray:
    """Return the modal damping per rate of the kernel's strain numbers, or nothing.

    Those and the model's are both linear in the products of the coordinates: one kind is a matrix times the other,
    which a few deformations give.
    """
    if model.modal is None:
        return np.zeros((0, 0))
    samples = np.random.default_rng(0).standard_normal((60, 12))
    inverses = []
    for inverse, N in zip(1.0 / model.mesh.stuff.length, model.forms.N, strict=True):
        p, strains = np.zeros(10), np.zeros((len(samples), 15))
        for x, row in zip(samples, strains, strict=True):
            vectors.py_func(x, 0, inverse, p)
            strains_of.py_func(p, inverse, row)
        x = samples.reshape(-1, 6, 2) - samples[:, None, :2] * np.array([1.0, 0, 0, 1, 0, 0])[:, None]
        products = 0.5 * np.einsum("cij,six,sjx->sc", N, x, x)
        inverses.append(np.linalg.pinv(np.linalg.lstsq(products, strains, rcond=1e-12)[0]))
    T = sla.block_diag(*inverses)
    return np.ascontiguousarray(T @ model.modal.C @ T.T)


def stepper(model: Ancf, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a run; see `engine.Plan`."""
    joints, n = len(model.arm.joints), q.size
    motion = driven(model.arm, q, v, np.arange(n), n, plan)
    work = kernels.work(n, len(model.mesh.place), joints, len(model.outputs))
    motion = motion._replace(d=work.right[16 : 16 + n], lift=work.right[16:16])
    form = kernels.Form(beam(model), work)
    return Stepper(model, LOOPS, form, motion, u, plan, first, prefers=OPERATIONS.prefers)
