"""A linear plant with other natural frequencies, damping ratios and gains.

The plant is taken apart into its modes, A = V diag(lambda) W', and a pair of complex poles becomes

    z'' + 2 zeta omega z' + omega^2 z = b u,   y = c z + d z'

with states chosen so that the inputs act on z'' alone, as forces act on a mode of a structure; frequency and damping
ratio are changed there, with b, c and d as they are. Where several inputs cannot act so all at once they act so as
nearly as possible. Real poles, rigid modes and feed-through stay. A sampled plant is changed as the continuous one
behind its hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from ..abilities import sample_time_of
from ..errors import NotAvailable, require
from ..machine.given import LinearGiven, as_first_order, as_linear
from ..model import ComplexArray, FloatArray, index_of
from . import FirstOrder, LinearPlant, SecondOrder
from .balance import balanced
from .eigen import damping_in_modes, is_modal, normal_modes
from .modes import has_normal_modes, modes

PARALLEL = 1e6
"""Condition of the eigenvectors beyond which modes cannot be separated."""
SAME = 1e-6
"""A pole and its mode agree to this part."""


@dataclass(frozen=True)
class Mode:
    """A flexible mode: natural frequency [rad/s] and damping ratio [1], negative where it grows."""

    omega: float
    damping: float

    @property
    def pole(self) -> complex:
        """The pole with Im > 0 [rad/s]."""
        return complex(-self.damping * self.omega, self.omega * np.sqrt(1.0 - self.damping**2))


def flexible(plant: LinearGiven) -> list[Mode]:
    """Return the flexible modes of a plant, by frequency, as `plant.modes()` numbers them."""
    found = modes(plant)
    size = np.abs(found.poles)
    return [Mode(float(w), float(-p.real / w)) for w, p in zip(size, found.poles, strict=True)]


def with_modes(plant: LinearGiven, changes: Mapping[int, Mode]) -> LinearPlant:
    """Return the plant with some flexible modes (from 0) changed.

    A plant of mass, damping and stiffness whose modes damping does not couple stays one: its accelerations follow too.
    Any other is changed in first order.

    Raises
    ------
    NotAvailable
        Where the modes cannot be separated: poles that (nearly) coincide with parallel eigenvectors.
    """
    plant = as_linear(plant)
    own, dt = flexible(plant), sample_time_of(plant)
    for number, mode in changes.items():
        require(0 <= number < len(own), f"mode {number + 1}: the plant has {len(own)} flexible modes")
        proper = np.isfinite([mode.omega, mode.damping]).all() and mode.omega > 0 and abs(mode.damping) < 1.0
        told = f"{mode.omega / (2 * np.pi):g} Hz with damping {mode.damping:g}"
        require(bool(proper), f"mode {number + 1} at {told}: frequency > 0 and damping between -1 and 1")
        near = dt == 0 or mode.pole.imag < np.pi / dt
        require(bool(near), f"mode {number + 1} at {told} is above the Nyquist frequency of the plant")
    pairs = [(own[i], mode) for i, mode in changes.items()]
    mechanical = _mechanical(plant, pairs) if isinstance(plant, SecondOrder) else None
    return mechanical or _changed(as_first_order(plant), [a.pole for a, _ in pairs], [b.pole for _, b in pairs])


def _mechanical(plant: SecondOrder, pairs: Sequence[tuple[Mode, Mode]]) -> SecondOrder | None:
    """Return M, D, K with other normal modes, or None where damping couples them."""
    if not has_normal_modes(plant):
        return None
    normal = normal_modes(plant.M, plant.K)
    if not is_modal(damping_in_modes(plant.D, normal)):
        return None
    D, K = plant.D.copy(), plant.K.copy()
    for old, new in pairs:
        k = int(np.nanargmin(np.abs(normal.omega - old.omega)))
        if abs(normal.omega[k] - old.omega) > SAME * old.omega:
            return None
        momentum = plant.M @ normal.shapes[:, k]
        K += (new.omega**2 - old.omega**2) * np.outer(momentum, momentum)
        D += 2.0 * (new.damping * new.omega - old.damping * old.omega) * np.outer(momentum, momentum)
    return replace(plant, D=D, K=K, provenance={**plant.provenance, "modes_changed": len(pairs)})


def _changed(plant: FirstOrder, old: list[complex], new: list[complex]) -> FirstOrder:
    if not old:
        return plant
    found = balanced(plant.A)
    values, V = sla.eig(found.A)
    dt = plant.dt
    wanted = [np.exp(p * dt) if dt else p for p in old]
    distance = np.abs(values[None, :] - np.array(wanted)[:, None])
    at = [int(k) for k in distance.argmin(axis=1)]
    size = np.maximum(np.abs(wanted), 1e-300)
    if len(set(at)) < len(at) or np.any(distance.min(axis=1) > SAME * size):
        raise NotAvailable("the modes of this plant coincide: their frequencies cannot be changed one by one")
    # left vectors of the pairs alone: W' V = 1, whatever the other poles are (a double integrator is no matter)
    L = sla.eig(found.A.conj().T)
    left = [_partner(L, values[k], V[:, k]) for k in at]
    A, B, C = found.A.copy(), plant.B / found.scale[:, None], plant.C * found.scale
    for k, w, was, now in zip(at, left, old, new, strict=True):
        A, B = _moved(A, B, (V[:, k], w), complex(values[k]), was, now, dt)
    note = {**plant.provenance, "modes_changed": len(old)}
    return replace(plant, A=A, B=B * 1.0, C=C, provenance=note)


def _partner(left: tuple[ComplexArray, ComplexArray], value: complex, v: ComplexArray) -> ComplexArray:
    """Return the left eigenvector of a pole with w' v = 1."""
    values, W = left
    w = W[:, int(np.abs(values.conj() - value).argmin())]
    scale = complex(w.conj() @ v)
    if abs(scale) * PARALLEL < np.linalg.norm(w) * np.linalg.norm(v):
        raise NotAvailable("the modes of this plant coincide: their frequencies cannot be changed one by one")
    return np.asarray(w / np.conj(scale), complex)


def _moved(
    A: FloatArray, B: FloatArray, pair: tuple[ComplexArray, ComplexArray], value: complex, was: complex, now: complex,
    dt: float,
) -> tuple[FloatArray, FloatArray]:
    """Return A and B with one pair of poles moved, its forces and sensors as they are."""
    v, w = pair
    b = w.conj() @ B  # what the inputs do to the complex coordinate of the pair
    held = (value - 1.0) / was if dt else 1.0  # of the continuous pair behind its hold
    b = b / held
    # z = 2 Re(k eta) and z' = 2 Re(k was eta) of the complex coordinate eta, with 2 Re(k b) = 0 as near as may be
    total = complex(np.sum(b * b))
    turn = 1j * np.exp(-0.5j * np.angle(total)) if total != 0.0 else 1.0
    # the same z and z' belong to other coordinates of the new pair: k eta + conj = z, k now eta + conj = z'
    T_old = np.array([[turn, np.conj(turn)], [turn * was, np.conj(turn * was)]])
    k = turn * was.imag / now.imag
    T_new = np.array([[k, np.conj(k)], [k * now, np.conj(k * now)]])
    P = np.column_stack([v, v.conj()]) @ np.linalg.inv(T_old)  # columns: states per z and z'
    Q = T_old @ np.vstack([w.conj(), w])  # rows: z and z' of the states
    z_new = np.exp(now * dt) if dt else now
    block_old = T_old @ np.diag([value, np.conj(value)]) @ np.linalg.inv(T_old)
    block_new = T_new @ np.diag([z_new, np.conj(z_new)]) @ np.linalg.inv(T_new)
    A = A + np.real(P @ (block_new - block_old) @ Q)
    if dt:
        force = T_old @ np.vstack([b, b.conj()])  # what acts on z and z', continuous
        held_new = (z_new - 1.0) / now
        hold_old = T_old @ np.diag([held, np.conj(held)]) @ np.linalg.inv(T_old)
        hold_new = T_new @ np.diag([held_new, np.conj(held_new)]) @ np.linalg.inv(T_new)
        B = B + np.real(P @ (hold_new - hold_old) @ force)
    return A, B


def with_gains(plant: LinearPlant, inputs: Mapping[str, float], outputs: Mapping[str, float]) -> LinearPlant:
    """Return the plant with inputs and outputs multiplied by factors, by name."""
    into, out_of = np.ones(len(plant.inputs)), np.ones(len(plant.outputs))
    for name, factor in inputs.items():
        into[index_of("input", name, plant.inputs)] = factor
    for name, factor in outputs.items():
        out_of[index_of("output", name, plant.outputs)] = factor
    B, rows = plant.B * into, out_of[:, None]
    if isinstance(plant, FirstOrder):
        return replace(plant, B=B, C=plant.C * rows, D=plant.D * into * rows)
    Cq, Cv, Ca, Du = plant.Cq * rows, plant.Cv * rows, plant.Ca * rows, plant.Du * into * rows
    return replace(plant, B=B, Cq=Cq, Cv=Cv, Ca=Ca, Du=Du)
