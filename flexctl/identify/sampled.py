"""A plant as an experiment sees it: linear about rest, with the dry friction of its joints, sampled and delayed.

    M a + D v + K q = B u - sum of b_j F_j(b_j' v)          b_j: motor side of a joint that rubs
    y[k] = C x[k] + D u[k - late]                           late = 1: sensors read before the input jumps

Modes far above the Nyquist frequency follow statically. What is not linear beside dry friction (large turns, play,
limits of an amplifier) is in the full model alone (`full_model`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..errors import DefinitionError, require, unknown
from ..linear import FirstOrder, SecondOrder, linearise
from ..linear.realise import first_order, modal_coordinates
from ..model import ComplexArray, FloatArray, Signal, index_of, names
from ..models.wrappers.driven_joints import DrivenJoints
from . import friction_kernel as kernel

KEPT = 2.0
"""Modes up to so many times the Nyquist frequency move by themselves; those above follow statically."""
LARGEST = 120
SMALL = 24
"""States up to which nothing is left out."""
SUBSTEPS, FINER = 1, 8
"""Steps in a sample; parts of a step, and of each of these again, where friction without bristles turns."""
FINE = 32
"""Steps in a sample of synthetic records and predictions: more than a search takes, which sees their error else."""
TURN = 3e-4
"""Change of friction without bristles in a step, as a part of its Coulomb level, from which on the step is divided."""
BRISTLED = 4
"""Times as many steps where there are bristles, which are not divided where they turn."""


@dataclass(frozen=True, eq=False)
class Rubbing:
    """A linear plant with friction forces as further inputs and the rates they act on as further outputs."""

    plant: SecondOrder
    laws: FloatArray
    rates: int
    forces: int


def rubbing(plant: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Rubbing:
    """Return the plant (a `Plant`) linear about rest between some inputs and outputs, its dry friction apart."""
    model = plant.model
    lin = linearise(model, None, plant.identity)
    for kind, wanted, known in (("input", inputs, lin.inputs), ("output", outputs, lin.outputs)):
        for name in wanted:
            if name not in names(known):
                raise unknown(f"{kind} of {plant.name} (rename the record's)", name, names(known))
    joints = [
        (j, joint.friction_law) for j, joint in enumerate(_drives(model).values()) if joint.friction_law is not None
    ]
    columns = np.zeros((len(lin.coordinates), len(joints)))
    laws = np.zeros((len(joints), 7))
    for k, (j, law) in enumerate(joints):
        require(lin.basis is None, f"{plant.name} has loops: dry friction in its joints is not identified")
        row = model.pick[j, 1 if model.constants[j, 1] else 0]
        known_names = names(model.coordinates)
        columns[:, k] = [row[known_names.index(s.name)] if s.name in known_names else 0.0 for s in lin.coordinates]
        laws[k] = (
            law.coulomb,
            law.breakaway,
            law.stribeck_rate,
            law.creep_rate if law.kind == "tanh" else 1e-3,
            law.bristle_stiffness,
            law.bristle_damping,
            0.0 if law.kind == "tanh" else 1.0,
        )
    u = [index_of("input", name, lin.inputs) for name in inputs]
    y = [index_of("output", name, lin.outputs) for name in outputs]
    force = tuple(Signal(f"friction{k + 1}") for k in range(len(joints)))
    n, nf = len(lin.coordinates), len(joints)
    zero = np.zeros((nf, n))
    Du = np.zeros((len(y) + nf, len(u) + nf))
    Du[: len(y), : len(u)] = lin.Du[np.ix_(y, u)]
    whole = replace(
        lin,
        B=np.hstack([lin.B[:, u], -columns]),
        Cq=np.vstack([lin.Cq[y], zero]),
        Cv=np.vstack([lin.Cv[y], columns.T]),
        Ca=np.vstack([lin.Ca[y], zero]),
        Du=Du,
        inputs=(*(lin.inputs[i] for i in u), *force),
        outputs=(*(lin.outputs[i] for i in y), *(Signal(f"rate{k + 1}") for k in range(nf))),
    )
    return Rubbing(whole, laws, nf, nf)


def _drives(model: Any) -> dict[str, Any]:
    return dict(model.drives) if isinstance(model, DrivenJoints) else {}


@dataclass(frozen=True, eq=False)
class Sampled:
    """The plant in first order form, with what is needed to sample it."""

    plant: FirstOrder
    laws: FloatArray
    ny: int
    p: int

    @property
    def has_feed(self) -> bool:
        """Whether inputs act on an output at once."""
        return bool(np.abs(self.plant.D[: self.ny, : self.p]).max(initial=0.0) > 0.0)

    def response(self, omega: FloatArray, dt: float, held: bool, delay: int, late: int) -> ComplexArray:
        """Return the frequency response of the sampled plant without dry friction, (outputs, inputs, lines)."""
        A, B = self.plant.A, self.plant.B[:, : self.p]
        C, D = self.plant.C[: self.ny], self.plant.D[: self.ny, : self.p]
        if dt == 0.0:
            return _resolvent(A, B, C, np.asarray(1j * omega, complex)) + D[:, :, None]
        Phi, G0, G1 = holds(A, B, dt)
        z = np.asarray(np.exp(1j * omega * dt), complex)
        # linear between samples: the state that is sampled is x - G1 u
        drive, ahead = (G0 + G1, 0.0) if held else (Phi @ G1 + G0, (C @ G1)[:, :, None])
        H = _resolvent(Phi, drive, C, z) + ahead
        return np.asarray((H + D[:, :, None] * z**-late) * z**-delay)

    def outputs(
        self,
        u: FloatArray,
        dt: float,
        held: bool,
        delay: int,
        late: int,
        substeps: int = SUBSTEPS,
        start: FloatArray | None = None,
    ) -> FloatArray:
        """Return the outputs at the samples, from rest (or a state), under inputs that come `delay` samples late."""
        if start is None:  # from rest nothing happens before the input comes
            return self.shifted(self.undelayed(u, dt, held, substeps), u, delay, late)
        late_u = delayed(u, delay)
        return self.shifted(self.undelayed(late_u, dt, held, substeps, start), late_u, 0, late)

    def shifted(self, y: FloatArray, u: FloatArray, delay: int, late: int) -> FloatArray:
        """Return the outputs with delay and feed-through from those of `undelayed`."""
        feed = np.asarray(self.plant.D)[: self.ny, : self.p]
        return np.asarray(delayed(y, delay) + delayed(u, delay + late) @ feed.T)

    def undelayed(
        self, u: FloatArray, dt: float, held: bool, substeps: int = SUBSTEPS, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the outputs without delay and without the feed-through of inputs."""
        bristled, turns = (bool((self.laws[:, kernel.LAW] == kind).any()) for kind in (1.0, 0.0))
        m, parts = (substeps * (BRISTLED if bristled else 1) if len(self.laws) else 1), FINER if turns else 1
        h = dt / m / np.array([1.0, parts, parts**2])
        A, B = self.plant.A, self.plant.B
        sets = [holds(A, B, float(length)) for length in (h if turns else h[:1])]
        Phi, G0, G1 = (np.ascontiguousarray([sets[min(i, len(sets) - 1)][k] for i in range(3)]) for k in range(3))
        C, D = self.plant.C, np.asarray(self.plant.D)
        y = np.empty((len(u), self.ny))
        x = np.zeros(len(A)) if start is None else np.array(start, float)
        cut = np.ascontiguousarray
        form = kernel.Form(
            cut(Phi.transpose(0, 2, 1)), cut(G0[:, :, : self.p]), cut(G1[:, :, : self.p]), cut(G0[:, :, self.p :]),
            cut(G1[:, :, self.p :]), cut(C[self.ny :]), cut(C[: self.ny]), cut(D[: self.ny, self.p :]),
            cut(self.laws), h,
        )
        kernel.run(form, m, parts, TURN, cut(u), held, x, y)
        return y


def sampled(plant: Any, inputs: Sequence[str], outputs: Sequence[str], nyquist: float) -> Sampled:
    """Return a `Plant` between inputs and outputs, its modes up to `KEPT` times the Nyquist frequency [rad/s]."""
    found = rubbing(plant, inputs, outputs)
    lin = found.plant
    keep = _moving(lin, KEPT * nyquist)
    if keep is None:
        whole = first_order(lin)
    else:
        reduced = first_order(lin, modes=keep, static_correction=True)
        # rates are those of the modes that move: a force must not act on a rate at once
        D = reduced.D.copy()
        D[len(outputs) :] = 0.0
        whole = replace(reduced, D=D)
    require(
        len(whole.states) <= LARGEST,
        f"{plant.name} has {len(whole.states)} states below {KEPT:g} times the Nyquist "
        f"frequency; at most {LARGEST} are identified: take a coarser mesh",
    )
    return Sampled(whole, found.laws, len(outputs), len(inputs))


def _moving(lin: SecondOrder, highest: float) -> int | None:
    """Return the number of flexible modes up to a frequency [rad/s], None where all are to be kept."""
    size = len(lin.coordinates)
    if 2 * size <= SMALL or not math.isfinite(highest):
        return None
    try:
        eigenvalues = np.diag(modal_coordinates(lin).K)
    except DefinitionError:  # massless dampers, which have no modes
        return None
    keep = int(np.sum((eigenvalues > 0.0) & (eigenvalues <= highest**2)))
    return keep if 2 * keep + 4 < 2 * len(eigenvalues) else None


def holds(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Phi, G0, G1 of x+ = Phi x + G0 u + G1 u+ for inputs that are linear over h; their sum is the hold."""
    n, p = B.shape
    block = np.zeros((n + 2 * p, n + 2 * p))
    block[:n, :n], block[:n, n : n + p] = A * h, B * h
    block[n : n + p, n + p :] = np.eye(p)
    E = sla.expm(block)
    G1 = E[:n, n + p :]
    return np.ascontiguousarray(E[:n, :n]), np.asarray(E[:n, n : n + p] - G1), np.asarray(G1)


def _resolvent(A: FloatArray, B: FloatArray, C: FloatArray, s: ComplexArray) -> ComplexArray:
    """Return C (s I - A)^-1 B by the Schur form of A, back substitution at all s at once."""
    T, Z = sla.schur(A.astype(complex), output="complex")
    b, c = Z.conj().T @ B, C @ Z
    n = len(A)
    X = np.zeros((n, B.shape[1], s.size), complex)
    for i in range(n - 1, -1, -1):
        right = b[i][:, None] + np.einsum("k,kps->ps", T[i, i + 1 :], X[i + 1 :])
        X[i] = right / (s - T[i, i])
    return np.asarray(np.einsum("yn,nps->yps", c, X))


def delayed(u: FloatArray, samples: int) -> FloatArray:
    """Return inputs so many samples later; nothing acts before the record."""
    if samples == 0:
        return np.ascontiguousarray(u)
    return np.ascontiguousarray(np.vstack([np.zeros((samples, u.shape[1])), u[:-samples]]))
