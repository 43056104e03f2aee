"""The compiled stepper of `ancf`; see `_kernels.ancf` for how it steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla

from ..model import Compiled, FloatArray
from . import ancf_element as element
from ._kernels import ancf as kernels
from ._kernels import loop
from .ancf_sensors import DISPLACEMENT, POSITION, RATE, TRANSVERSE
from .joint_drives import joint_drives

if TYPE_CHECKING:
    from .ancf import Ancf


def beam(model: Ancf) -> kernels.Beam:
    """Return the constants of a model as the kernels want them."""
    mesh, arm, n = model.mesh, model.arm, model.mesh.size
    stuff, m, L = mesh.stuff, mesh.mass, mesh.stuff.length
    masses = np.array([
        13 / 35 * m, 9 / 70 * m, 11 / 210 * m * L, 13 / 420 * m * L, m * L**2 / 105, m * L**2 / 140,
        m * stuff.second_moment / stuff.area / 3,
    ]).T  # fmt: skip
    rows = np.column_stack([L, 1 / L, element.legendre_stiffness(stuff, model.law), masses])
    lump = np.zeros((len(mesh.place), 2))
    lump[mesh.roots, 0] += [j.mass for j in arm.joints]
    lump[mesh.roots, 1] += [j.hub_inertia for j in arm.joints]
    lump[mesh.roots[1:] - 1, 1] += [j.housing_inertia for j in arm.joints[1:]]
    lump[-1] += arm.payload.mass, arm.payload.inertia
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
    push = np.array(model.drives.pressures).reshape(-1, n)
    place = mesh.place.copy()
    place[mesh.roots, 4:] = -1
    free = [np.where(x < n, x, -1) for x in (place.ravel(), mesh.joint, mesh.stretch)]
    links = np.column_stack([mesh.roots, free[1], free[2]]).ravel()
    lefts = mesh.left.copy()
    lefts[mesh.root] = -1 - np.arange(mesh.root.size)
    sizes = [n, len(rows), len(lengths), model.drives.torque, len(model.drives.pressures), len(model.outputs)]
    return kernels.Beam(
        np.ascontiguousarray(rows), lump, np.ascontiguousarray(model.load), np.ascontiguousarray(joint),
        np.array(gains, float), np.ascontiguousarray(push), _damping(model),
        np.array([model.alpha, model.beta, max(1.0, sum(lengths))]),
        *(np.ascontiguousarray(x, np.int64) for x in (sizes, free[0], links, lefts, records)),
    )  # fmt: skip


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
            kernels._vectors.py_func(x, 0, inverse, p)
            kernels._strains.py_func(p, inverse, row)
        x = samples.reshape(-1, 6, 2) - samples[:, None, :2] * np.array([1.0, 0, 0, 1, 0, 0])[:, None]
        products = 0.5 * np.einsum("cij,six,sjx->sc", N, x, x)
        inverses.append(np.linalg.pinv(np.linalg.lstsq(products, strains, rcond=1e-12)[0]))
    T = sla.block_diag(*inverses)
    return np.ascontiguousarray(T @ model.modal.C @ T.T)


def compiled(model: Ancf) -> Compiled:
    """Return the functions of the general loop."""
    reals, ints = kernels.pack(beam(model))
    residual, tangent, output = (f.load() for f in (kernels.residual, kernels.tangent, kernels.output))
    return Compiled(residual, tangent, output, reals, ints, kernels.WIDTH, False)


NEWTON = {"auto": kernels.KEPT, "modified": kernels.KEPT, "full": kernels.FULL, "broyden": kernels.BROYDEN}


class AncfStepper:
    """State of a run; the counterpart of `engines.Implicit`.

    Parameters
    ----------
    model : Ancf
        The arm.
    scheme, q, v, u, tables, record, first
        As for the engines.
    commands : mapping
        For each commanded joint ("joint1", ..) its angle, rate, and acceleration before and after jumps at the times of
        the tables, 4 x nt.
    """

    def __init__(
        self, model: Ancf, scheme: Any, q: FloatArray, v: FloatArray, u: FloatArray, tables: loop.Tables,
        record: loop.Record, first: int, commands: Mapping[str, FloatArray],
    ) -> None:  # fmt: skip
        joints, blocks, n = len(model.arm.joints), len(model.mesh.place), q.size
        self.model, self.tables, self.record = model, tables, record
        self.u, self.held = u.copy(), np.zeros(u.size)
        self.beam = beam(model)
        self.method = kernels.Method(
            scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, scheme.tolerance,
            float(min(scheme.iterations, 32)), NEWTON[scheme.newton], float(scheme.settle), float(scheme.error),
        )  # fmt: skip
        self.drive, self.command = joint_drives(model.arm, commands, tables.t.size, kernels)
        self.state_ = kernels.State(
            q.copy(), v.copy(), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(joints), np.zeros(6), np.zeros(4)
        )
        self.scratch = kernels.work(n, blocks, joints, len(model.outputs))
        self.known: tuple[Any, Any] = (None, None)
        self._run(loop.no_law(), np.zeros((1, 1)), first, first)  # sets the accelerations

    @property
    def counts(self) -> dict[str, int]:
        """Steps, iterations, factorisations of the iteration matrix, and steps taken again, so far."""
        labels = ("steps", "iterations", "factorisations", "rejected")
        return dict(zip(labels, (int(x) for x in self.state_.counts), strict=True))

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y = np.zeros(len(self.model.outputs))
        kernels.measure(self.beam, self.state_, self.scratch, self.u, y)
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        return self.state_.q, self.state_.v

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> tuple[float, float, float, float]:
        """Step from grid point `first` to `last`, recording; returns (status, time, iteration, last correction)."""
        return self._run(law, memory, first, last)

    def _run(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> tuple[float, float, float, float]:
        if law is not self.known[0]:
            self.known = law, self._feedback(law)
        target = np.zeros((self.drive.size, 3))
        found: tuple[float, float, float, float] = kernels.RUN[law.continuous == 1](
            loop.control, self.beam, self.state_, self.known[1], self.scratch, self.drive, self.command, target, self.u,
            self.held, memory, law, first, last, self.method, self.tables, self.record,
        )  # fmt: skip
        return found

    def _feedback(self, law: loop.Law) -> kernels.Feedback | None:
        if not law.continuous:
            return None
        kinds = [self.model.sensors.channels[i].kind for i in law.measures]
        blocks = any(kind not in (POSITION, RATE) for kind in kinds)
        return kernels.feedback(law, blocks, self.state_.q.size, self.u.size)
