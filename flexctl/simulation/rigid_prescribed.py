"""Bending of an arm whose rigid motion is prescribed: equation (4.3) of Lee, Huggins and Book (1988).

    M_fr q_r'' + M_ff p'' + K_ff p = Q_f          as printed
    N^T (M q'' + h + K q) = 0                     projected

The driven joints follow their motions, the rigid arm (q_r, free joints such that the loops close) moves along, and the
bending p is linear about it: M, h and N are those of the moving rigid arm, Q_f its weight and its centrifugal and
Coriolis forces. As printed the equation has no closure forces, and every joint angle is prescribed; projected on the
null space N of the closures, without the driven joints, free joints give way as the links bend. What the closures
couple is lost in the printed form: RALF's elbow no longer carries the end of the actuating link along.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..abilities import kind_of, within
from ..errors import NotAvailable, require, unknown
from ..linear import independent_basis
from ..machine.given import as_model
from ..model import FloatArray
from ..models.assumed_modes.poses import follow
from ..motion.moves import Motion, Step
from ..support.kinds import SystemGiven
from .engines import first_order_hold
from .grid import samples, time_grid
from .response import Response

if TYPE_CHECKING:
    from ..models.assumed_modes import AssumedModes


def prescribed_response(
    system: SystemGiven, motions: Mapping[str, Motion], *, duration: float, step: float = 1e-3, projected: bool = True
) -> Response:
    """Return what the sensors read while an arm of assumed modes bends about its prescribed rigid motion.

    Parameters
    ----------
    system : Plant or AssumedModes
        The arm; every joint with a drive needs a torque or a motion drive.
    motions : mapping
        Motion of driven joints by coordinate, e.g. ``{"joint1": Cycloid(0.0, 1.0, 2.5)}``; the others stay put.
    duration, step : float
        Length of the run and of its steps [s]; bending is exact for forces that are linear within a step.
    projected : bool
        Whether closures and free joints take part; False is the equation as printed.

    Examples
    --------
    >>> arm = fx.load_plant("ralf")
    >>> moves = {f"joint{i}": fx.Swing(joint.angle, 0.03, 0.5) for i, joint in enumerate(arm.arm.joints[:2], 1)}
    >>> run = fx.prescribed_response(arm.model, moves, duration=0.1, step=1e-3)
    >>> print(f"{run.t[-1]:.1f} s")
    0.1 s
    """
    from ..models.assumed_modes import AssumedModes

    model = within(as_model(system))
    if not isinstance(model, AssumedModes):
        raise NotAvailable(f"{kind_of(model)} has no rigid arm with closures to follow")
    started = time.perf_counter()
    t, h, _ = time_grid(duration, step, None, [b for m in motions.values() for b in m.breakpoints])
    table = _table(model, motions, t, step)
    run = _Bending(model, projected)
    y = np.zeros((t.size, len(model.outputs)))
    for k in range(t.size):
        y[k] = run.advance(float(h[k - 1]) if k else 0.0, *table[k])
    provenance = {"model": model.kind, "method": "prescribed rigid motion", "step_s": float(h.max())}
    provenance |= {"projected": projected, "duration_s": duration, "wall_s": time.perf_counter() - started}
    return Response(t, y, np.zeros((t.size, 0)), np.zeros((t.size, 0)), model.outputs, (), provenance=provenance)


def _table(model: AssumedModes, motions: Mapping[str, Motion], t: FloatArray, step: float) -> FloatArray:
    """Return angles, rates and accelerations of the driven joints along the grid, nt x 3 x joints."""
    known = list(model.joints.values())
    for name in motions:
        if name not in known:
            raise unknown(f"commanded joint of {model.kind}", name, known)
    require(len(known) == len(model.driven), "a joint with a servo is not prescribed; give it another drive")
    here = {name: float(x) for name, x in zip(known, model.reference()[model.driven], strict=True)}
    rows = [samples(name, motions.get(name, Step(here[name], here[name])), t, step) for name in known]
    return np.moveaxis(np.array(rows), [0, 1, 2], [2, 1, 0])


class _Bending:
    """State of a run: the rigid arm, and bending against it, x = (z, z'), with the mass and the load that act on it."""

    def __init__(self, model: AssumedModes, projected: bool) -> None:
        self.model, self.q = model, model.reference()
        joints, n = len(model.arm.joints), self.q.size
        self.moving = [i for i in range(n) if i >= joints or (projected and i not in model.driven)]
        self.projected = projected and bool(model.pins)
        self.kept = list(range(len(self.moving)))
        if self.projected:
            elastic = [k for k, i in enumerate(self.moving) if i >= joints]
            G = model.closure_jacobian(self.q)[:, self.moving]
            self.kept = independent_basis(G, model.closures, elastic)[1]
        self.x, self.load = np.zeros(2 * len(self.kept)), np.zeros(len(self.kept))
        self.mass = np.zeros((len(self.kept), len(self.kept)))

    def _basis(self) -> FloatArray:
        """Return N: coordinates = N z; the dependent ones stay the same along the run."""
        model, count = self.model, len(self.moving)
        local = np.eye(count)[:, self.kept]
        if self.projected:
            G = model.closure_jacobian(self.q)[:, self.moving]
            dependent = [k for k in range(count) if k not in self.kept]
            local[dependent] = -np.linalg.solve(G[:, dependent], G[:, self.kept])
        N = np.zeros((self.q.size, len(self.kept)))
        N[self.moving] = local
        return N

    def advance(self, h: float, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> FloatArray:
        """Step by h [s] to these joint values and return the readings; h = 0 starts at rest."""
        model = self.model
        self.q, v, a = follow(model, self.q, angles, rates, accelerations)
        N, M = self._basis(), model.mass(self.q)
        M_z, D_z, K_z = (N.T @ part @ N for part in (M, model.C, model.tree.K))
        f, k = -N.T @ (M @ a + model.force(self.q, v)), len(self.kept)
        if h == 0.0:
            self.x = np.concatenate([np.linalg.solve(K_z, f), np.zeros(k)])
        else:
            mean = np.linalg.inv(0.5 * (M_z + self.mass))
            A = np.block([[np.zeros((k, k)), np.eye(k)], [-mean @ K_z, -mean @ D_z]])
            Phi, before, now = first_order_hold(A, np.vstack([np.zeros((k, k)), mean]), h)
            self.x = Phi @ self.x + before @ self.load + now @ f
        self.mass, self.load = M_z, f
        z, dz = self.x[:k], self.x[k:]
        ddz = np.linalg.solve(M_z, f - D_z @ dz - K_z @ z)
        u = np.zeros(len(model.inputs))
        return np.asarray(model.output(self.q + N @ z, v + N @ dz, a + N @ ddz, u))
