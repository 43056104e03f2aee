"""The systems of an optimal command: one plant in the loop of a law, or without one, affine in common sequences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..abilities import IsLinear
from ..errors import Caution, ConvergenceError, require
from ..laws.controller import LinearLaw
from ..linear import FirstOrder, SecondOrder
from ..linear.discrete import delay_outputs, zero_order_hold
from ..linear.interconnect import closed_loop
from ..linear.state_model import StateModel
from ..machine.given import as_linear, as_simulated, is_control, opened
from ..model import FloatArray, LinearMechanics, Signal, index_of, names

_HELD = 1e-6
"""Part of the target by which inputs that hold it may miss it."""
_SLOW, _OTHER = 1e-4, 0.01
"""Distance of z from 1 for rigid inertias, and the part by which they count as others."""


@dataclass(frozen=True, eq=False)
class AffineSystem:
    """One plant as the programme sees it: a sampled system from the sequences, and its response to the target."""

    name: str
    A: FloatArray
    B: FloatArray
    rows: Mapping[str, FloatArray]
    through: Mapping[str, FloatArray]
    base_in: FloatArray
    base_through: Mapping[str, float]

    def responses(self, names_: Sequence[str], total: int) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return base response and impulse responses (a row for every sequence) of outputs."""
        C = np.array([self.rows[name] for name in names_])
        p = self.B.shape[1]
        h, base = np.empty((total, len(names_), p)), np.empty((total, len(names_)))
        x, z = self.B.copy(), np.zeros(len(self.A))
        h[0] = np.array([self.through[name] for name in names_])
        shift = np.array([self.base_through[name] for name in names_])
        for k in range(total):
            if k:
                h[k] = C @ x
                x = self.A @ x
            base[k] = C @ z + shift
            z = self.A @ z + self.base_in
        return {name: (base[:, i], h[:, i].T) for i, name in enumerate(names_)}


def through_loop(
    name: str, plant: Any, core: LinearLaw, delay: int, moves: Mapping[str, float], way: FloatArray
) -> AffineSystem:
    """Return the loop from v and the target to the outputs and the commands that act."""
    held = zero_order_hold(plant, core.sample_time)
    for signal in (*core.measures, *moves):
        index_of("output", signal, held.outputs)
    columns = [index_of("input", drive, held.inputs) for drive in core.drives]
    held = replace(held, B=held.B[:, columns], D=held.D[:, columns], inputs=tuple(held.inputs[j] for j in columns))
    given = tuple(Signal(f"reference:{c}{kind}") for c in core.follows for kind in ("", ":rate", ":acceleration"))
    A, By, Br = core.A + core.Bu @ core.C, core.By + core.Bu @ core.Dy, core.Br + core.Bu @ core.Dr
    states = tuple(Signal(f"law{i + 1}") for i in range(len(A)))
    feedback = FirstOrder(
        A, np.hstack([By, Br]), core.C, np.hstack([core.Dy, core.Dr]), states,
        (*(Signal(m) for m in core.measures), *given), tuple(Signal(d) for d in core.drives), core.sample_time,
    )
    loop = closed_loop(held, delay_outputs(feedback, delay))
    grown = float(np.abs(loop.poles()).max())
    require(grown < 1.0, f"the loop is unstable on {name} (|z| = {grown:.6f}): no command can compensate for that")
    count = 3 * len(core.follows)
    jump = np.zeros(count)
    jump[::3] = [moves.get(c, 0.0) for c in core.follows]
    v, base = loop.B[:, 2:count:3] @ way, loop.B[:, :count] @ jump
    labels = names(loop.outputs)
    direct, shift = loop.D[:, 2:count:3] @ way, loop.D[:, :count] @ jump
    return AffineSystem(
        name, loop.A, v, dict(zip(labels, loop.C, strict=True)), dict(zip(labels, direct, strict=True)), base,
        dict(zip(labels, shift.tolist(), strict=True)),
    )


def holding(plants: Iterable[Any], drives: Sequence[str], moves: Mapping[str, float]) -> FloatArray:
    """Return the inputs that hold the target: against springs and weight; zero of an arm that rests anywhere.

    Where nothing holds it they are zero too. Of several plants they are the mean.
    """
    found = []
    for plant in plants:
        given = as_linear(plant)
        one = given.first_order() if isinstance(given, SecondOrder) else given
        columns = [index_of("input", drive, one.inputs) for drive in drives]
        rows = [index_of("output", name, one.outputs) for name in moves]
        whole = np.block([[one.A, one.B[:, columns]], [one.C[rows], one.D[np.ix_(rows, columns)]]])
        wanted = np.append(np.zeros(len(one.A)), list(moves.values()))
        size = np.abs(whole).max(axis=1)
        size[size == 0.0] = 1.0
        whole, wanted = whole / size[:, None], wanted / size
        z = np.linalg.lstsq(whole, wanted, rcond=None)[0]
        holds = np.abs(whole @ z - wanted).max() <= _HELD * np.abs(wanted).max()
        found.append(z[len(one.A) :] if holds else np.zeros(len(drives)))
    return np.asarray(np.mean(found, axis=0), float)


def without_loop(name: str, plant: Any, drives: Sequence[str], dt: float, held_by: FloatArray) -> AffineSystem:
    """Return the plant from what its inputs are beside those that hold the target, to outputs and inputs."""
    held = zero_order_hold(plant, dt)
    columns = [index_of("input", drive, held.inputs) for drive in drives]
    n, p = len(held.A), len(drives)
    B = held.B[:, columns]
    labels = [*names(held.outputs), *drives]
    rows = np.vstack([held.C, np.zeros((p, n))])
    direct = np.vstack([held.D[:, columns], np.eye(p)])
    return AffineSystem(
        name, held.A, B, dict(zip(labels, rows, strict=True)), dict(zip(labels, direct, strict=True)), B @ held_by,
        dict(zip(labels, (direct @ held_by).tolist(), strict=True)),
    )


def tell_of_linearised(plants: Mapping[str, Any]) -> None:
    """Warn of plants that are not linear: the bound is that of their linear plants, and of no arm."""
    apart = [str(name) for name, given in plants.items() if not _is_linear(given)]
    if apart:
        warnings.warn(
            f"{', '.join(apart)}: not linear; the bound is that of the linear plant about rest, which a large move "
            "leaves. fx.optimal_command finds what the arm itself can do, by runs of it",
            Caution, stacklevel=3,
        )


def of_other_inertia(systems: Sequence[AffineSystem], follows: Sequence[str]) -> ConvergenceError | None:
    """Return the error for plants that one torque takes to different places, None where it does not.

    By (z - 1)^2 H(z) near z = 1: what is left there of an arm is its rigid inertia.
    """
    for name in follows:
        gains = np.array([
            _SLOW**2 * one.rows[name] @ np.linalg.solve((1.0 + _SLOW) * np.eye(len(one.A)) - one.A, one.B)
            for one in systems
        ])
        j = int(np.ptp(gains, axis=0).argmax())
        if np.ptp(gains[:, j]) > _OTHER * np.abs(gains).max():
            told = ", ".join(f"{one.name} {x / gains[0, j]:.4g}" for one, x in zip(systems, gains[:, j], strict=True))
            return ConvergenceError(
                f"one torque takes {name} of these plants to different places (relative to the first: {told}): their "
                "rigid inertia is not the same. Ask for the bound of each plant alone, or close a loop around them "
                "(fx.optimal_command)"
            )
    return None


def _is_linear(given: Any) -> bool:
    if is_control(given) or isinstance(given, IsLinear | SecondOrder | FirstOrder):
        return True
    return isinstance(as_simulated(opened(given)), LinearMechanics | StateModel)
