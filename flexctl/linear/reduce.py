"""Fewer states: modal and balanced truncation, the rigid part kept apart and exact.

    G(s) = G_rigid(s) + G_flexible(s),   |G_flexible - G_reduced| <= 2 (sigma_{r+1} + ... + sigma_n) at every frequency

Modal truncation leaves out modes, and the peaks of what it leaves out bound its error (`modal_bounds`). Both keep the
rigid part to the last digit.

A double integrator has no Gramian, and rounding that moves the pair off zero makes `control.balred` up to 19 % wrong.
So the rigid part is split off first, without rounding where the plant is in modal coordinates, the stable rest is
balanced (slycot's square-root method on well-scaled coordinates; Moore 1981, bound by Glover 1984), and the rigid part
is put back. sigma are the Hankel singular values of the flexible part.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import ConvergenceError, DefinitionError, require, unknown
from ..machine.given import LinearGiven, as_linear
from ..model import ComplexArray, FloatArray, Signal
from ..support.checks import whole
from . import FirstOrder, SecondOrder
from .balance import balanced, check_same
from .realise import first_order
from .split import Split, as_first_order, move_poles, split_by, split_rigid, split_zero_poles

__all__ = ["Reduced", "Split", "balanced_truncation", "modal_bounds", "modal_truncation", "split_rigid"]

# Modes damped less than this ratio count as undamped: rounding of an eigenvalue is of that size.
_UNDAMPED = 1e-10


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced plant and how good it is.

    Attributes
    ----------
    plant : FirstOrder
        The reduced plant, rigid states first.
    error_bound : float
        Twice the sum of the Hankel singular values left out: the largest singular value of the error stays below it at
        every frequency. Units mix when the plant has several outputs.
    hankel : ndarray
        Hankel singular values of the flexible part, descending.
    """

    plant: FirstOrder
    error_bound: float
    hankel: FloatArray

    def __str__(self) -> str:
        return f"{len(self.plant.states)} states, error at most {self.error_bound:.3g} at every frequency"


def modal_truncation(
    plant: LinearGiven, modes: int | None = None, static_correction: bool = False,
    tolerance: float | None = None,
) -> FirstOrder:
    """Return the plant with its rigid and unstable part and its `modes` lowest flexible modes.

    With `static_correction` the modes left out follow statically (feed-through), which makes the low-frequency
    response exact. A plant that is already first order keeps real poles below its last mode as well. In place of
    `modes`, `tolerance` asks for the fewest modes whose error bound (`modal_bounds`) is below this share of the
    sum over all flexible modes.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> fx.modal_truncation(plant, 2).A.shape
    (6, 6)
    """
    plant = as_linear(plant)
    if modes is None or tolerance is not None:
        plant = as_first_order(plant)
        modes = _fewest(plant, static_correction, modes, tolerance)
    if isinstance(plant, SecondOrder):
        return first_order(plant, "modal", modes, static_correction)
    require(plant.dt == 0, "modal truncation is for continuous plants; reduce first, then discretise")
    require(modes >= 0, f"modes = {modes} is negative")
    split, poles = split_zero_poles(plant)
    split, poles = move_poles(split, _unstable, poles, "unstable")
    pairs = np.sort(np.abs(poles[poles.imag > 0]))
    require(modes <= pairs.size, f"modes = {modes}; this plant has {pairs.size} flexible modes")
    if modes == pairs.size:
        return plant
    limit = _last_kept(pairs, modes)
    parts = split_by(split.flexible, lambda p: np.asarray(np.abs(p) <= limit), "mode")
    check_same(Split(split.rigid, parts.join()).join(), plant, "the sum of slow and fast modes")
    rest, kept = parts.flexible, replace(parts.rigid, D=parts.flexible.D)
    if static_correction:
        kept = replace(kept, D=rest.D - rest.C @ np.linalg.solve(rest.A, rest.B))
    return _noted(Split(split.rigid, kept).join(), "modal truncation")


def _fewest(plant: FirstOrder, static_correction: bool, modes: int | None, tolerance: float | None) -> int:
    """Return the number of modes that a tolerance asks for."""
    if tolerance is None or modes is not None:
        raise DefinitionError("give either modes or tolerance")
    require(0 < tolerance < 1, f"tolerance = {tolerance} must lie between 0 and 1")
    return int(np.argmax(modal_bounds(plant, static_correction) <= tolerance * modal_bounds(plant)[0]))


def _last_kept(pairs: FloatArray, modes: int) -> float:
    """Return the size of the poles [rad/s] that are kept, between the last mode kept and the first left out."""
    if modes == pairs.size:
        return np.inf
    return float(pairs[0] * 0.999999 if modes == 0 else np.sqrt(pairs[modes - 1] * pairs[modes]))


def modal_bounds(plant: LinearGiven, static_correction: bool = False) -> FloatArray:
    """Return, for every number of flexible modes kept from 0 to all, a bound of the error of modal truncation.

    The largest singular value of the error stays below it at every frequency. A pair of poles p with the residue
    R = C v w B is at most |R| (1/|Re p| + 1/|Im p|); those of the modes left out are added. Units mix when the plant
    has several outputs. For a SecondOrder whose damping couples the modes it is that of its first-order form.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01}).linearise()
    >>> bounds = fx.modal_bounds(plant)
    >>> bool(bounds[0] > bounds[1] > bounds[2])
    True
    """
    plant = as_linear(plant)
    plant = as_first_order(plant)
    require(plant.dt == 0, "modal truncation is for continuous plants; reduce first, then discretise")
    flexible = _stable_split(plant).flexible
    poles, V = np.linalg.eig(flexible.A) if len(flexible.A) else (np.zeros(0), flexible.A)
    residues = np.linalg.norm(flexible.C @ V, axis=0) * np.linalg.norm(np.linalg.solve(V, flexible.B), axis=1)
    turning = poles.imag > 0
    peaks = np.where(turning, residues / np.abs(poles.real), 0.0)
    peaks[turning] += residues[turning] / poles.imag[turning]
    peaks[poles.imag == 0] = (residues / np.abs(poles))[poles.imag == 0]
    pairs, size = np.sort(np.abs(poles[turning])), np.abs(poles)
    left = np.array([peaks[size > _last_kept(pairs, k)].sum() for k in range(pairs.size + 1)])
    return left * (2.0 if static_correction else 1.0)


def _unstable(poles: ComplexArray) -> npt.NDArray[np.bool_]:
    return np.asarray(poles.real > _UNDAMPED * np.abs(poles))


def _outside(poles: ComplexArray) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(poles) > 1.0)


def _noted(plant: FirstOrder, method: str) -> FirstOrder:
    return replace(plant, provenance={**plant.provenance, "reduction": method})


def balanced_truncation(
    plant: LinearGiven,
    order: int | None = None,
    tolerance: float | None = None,
    scales: Mapping[str, float] | None = None,
) -> Reduced:
    """Return the plant with its stable flexible part reduced by balanced truncation; the rigid part stays as it is.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        Every flexible mode must be damped. Rigid-body modes and unstable poles are kept.
    order : int, optional
        States of the result, the kept ones included.
    tolerance : float, optional
        In place of `order`: fewest states whose error bound is below this share of the largest Hankel singular value,
        hence below this relative error of the flexible part's peak gain.
    scales : mapping, optional
        Typical sizes of inputs and outputs by name, e.g. ``{"tip": 0.1, "strain": 1e-4}``, 1 by default; without them
        outputs of small numbers are neglected. Bound and Hankel values then belong to the scaled plant.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01}).linearise()
    >>> fx.balanced_truncation(plant, order=4).plant.A.shape
    (4, 4)
    """
    plant = as_linear(plant)
    require((order is None) != (tolerance is None), "give either order or tolerance")
    plant = as_first_order(plant)
    split = _stable_split(plant)
    u, y = _scales(split.flexible, scales or {})
    kept, stable = len(split.rigid.states), len(split.flexible.states)
    if order is not None:
        order = whole("order", order)
        require(
            kept <= order <= kept + stable,
            f"order = {order} is not between {kept} (rigid, unstable) and {kept + stable}",
        )
    if tolerance is not None:
        require(0 < tolerance < 1, f"tolerance = {tolerance} must lie between 0 and 1")
    scaled = replace(split.flexible, B=split.flexible.B * u, C=split.flexible.C / y[:, None])
    A, B, C, hankel = _balance(scaled, None if order is None else order - kept, tolerance)
    states = tuple(Signal(f"balanced{i + 1}") for i in range(A.shape[0]))
    flexible = replace(split.flexible, A=A, B=B / u, C=C * y[:, None], states=states)
    bound = 2.0 * float(hankel[A.shape[0] :].sum())
    reduced = _noted(Split(split.rigid, flexible).join(), "balanced truncation")
    check_same(reduced, plant, "the result of balanced truncation", bound * np.outer(y, 1.0 / u))
    return Reduced(reduced, bound, hankel)


def _stable_split(plant: FirstOrder) -> Split:
    """Return rigid and unstable poles, and the stable rest; refuse undamped modes."""
    split, poles = split_zero_poles(plant)
    rates = np.log(poles[poles != 0.0]) / plant.dt if plant.dt else poles
    undamped = rates[np.abs(rates.real) <= _UNDAMPED * np.abs(rates)]
    if undamped.size:
        frequency = float(np.abs(undamped).min())
        raise DefinitionError(
            f"the mode at {frequency:.6g} rad/s ({frequency / (2 * np.pi):.6g} Hz) is undamped and has no Gramian; add "
            "damping, e.g. plant.with_modal_damping(0.005), or use modal_truncation"
        )
    return move_poles(split, _outside if plant.dt else _unstable, poles, "unstable")[0]


def _scales(plant: FirstOrder, scales: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
    known = {s.name for s in (*plant.inputs, *plant.outputs)}
    for name, value in scales.items():
        if name not in known:
            raise unknown("signal", name, known)
        require(bool(np.isfinite(value)) and value > 0, f'scale of "{name}" = {value} must be positive')
    return tuple(np.array([float(scales.get(s.name, 1.0)) for s in group]) for group in (plant.inputs, plant.outputs))  # type: ignore[return-value]


def _balance(
    plant: FirstOrder, order: int | None, tolerance: float | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, B, C of the reduced plant and all Hankel singular values."""
    import slycot

    n, p, ny = plant.A.shape[0], plant.B.shape[1], plant.C.shape[0]
    if min(n, p, ny) == 0:
        return plant.A[:0, :0], plant.B[:0], plant.C[:, :0], np.zeros(n)
    A, scale, _ = balanced(plant.A)
    B, C = plant.B / scale[:, None], plant.C * scale
    try:
        with warnings.catch_warnings():  # an order above the minimal one is reduced to it, which is what is wanted
            warnings.simplefilter("ignore", slycot.exceptions.SlycotResultWarning)
            # never job "N": slycot 0.7 gives it no integer workspace, and it writes over foreign memory
            r, Ar, Br, Cr, hankel = slycot.ab09ad(
                "D" if plant.dt else "C", "B", "N", n, p, ny, A, B, C, n if order is None else max(order, 1)
            )
    except slycot.exceptions.SlycotArithmeticError as error:
        raise ConvergenceError(f"balancing failed: {error}") from error
    # a balanced form is cut by taking its first states
    if order is not None:
        r = min(r, order)
    if tolerance is not None:
        tail = 2.0 * np.concatenate([np.cumsum(hankel[::-1])[::-1], [0.0]])
        r = min(r, int(np.argmax(tail <= tolerance * hankel[0])))
    return Ar[:r, :r], Br[:r], Cr[:, :r], hankel
