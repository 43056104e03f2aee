"""How much every command may change whatever the payload within a range: proved from above, attained from below.

    u -> (1 + delta_i) u_i,   |delta_i| <= 30 % / mu, complex, any payload of the range

That is the skewed structured singular value: the range of payloads is taken as it stands, the commands are scaled. (The
ordinary one scales both; where it is below 1 it is at least as large.)

From below: on true plants, discretised exactly. The payload is searched, in frequency the grid follows the poles and
the largest maxima are polished; at each found value there is a perturbation that makes that very loop marginal.

From above: the range is cut into pieces. In a piece the payload is a real parameter of rank one for every direction in
which it acts, and what it changes of the damping is a complex block: modal damping is a function of the modes, and
these move with the payload; with the damping frozen the number below 1 is no bound (0.974 where 0.989 is attained, on
the LQG of the 0.96 m arm). Pieces are halved until they all bear what is claimed; once there are two dozen, the claim
is raised instead, and the bound lies farther above what is attained. Changes below 0.1 % of a mode's damping are left
out. A payload that changes more than mass and damping is refused.

At the payloads of every piece the bound must not lie below what is attained there, else `CrossedBounds` is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla

from ...errors import FlexctlError, NotAvailable
from ...frequency import loop_gain
from ...frequency.blocks import COMPLEX, REAL, attained, balanced_bound, norm_bound, scaled_bound
from ...frequency.evaluate import axis, on_axis
from ...laws.given import feedback_of
from ...linear import FirstOrder, SecondOrder
from ...linear.interconnect import closed_loop
from ...linear.seen import as_seen
from ...model import ComplexArray, FloatArray, Signal, index_of, names
from .loops import decaying, frequencies

if TYPE_CHECKING:
    from ...laws.controller import Controller

INPUT_UNCERTAINTY = 0.3
"""Relative complex uncertainty of every command at mu = 1."""
PIECES, HALVINGS, MOST = 4, 7, 24
"""Pieces to begin with, how often each is halved, and how many there may be: from then on the bound is raised."""
CLEARANCE = 1.005
"""The bound that is looked for first, in parts of what is attained."""
HOPELESS = 1e3
"""A piece that does not bear a bound of so much, in parts of what is attained, bears none: it must be halved."""
MOST_BEGIN, MOST_ASIDE = 12, 6
"""Pieces beyond which a bound that nothing is compared with is not examined, if one of them bears none: where the
scenario begins, and in another pose."""
CROSSING = 2e-3
"""By how much less than attained a bound may be before the two count as crossed: aliasing and left out damping."""
LEFT_OUT = 1e-3
"""Change of a mode's damping, in parts of it, that is left out."""

NARROWER = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Scales of a range within which the loop is unstable."""
REFINED, NEAR = 2, 0.95
"""How often the grid is refined where a bound lies above this part of what is claimed."""

Family = Callable[[float], SecondOrder]


class CrossedBounds(FlexctlError, RuntimeError):
    """An upper bound lies below a value that is attained: the plant of the bound is not the plant."""


@dataclass(frozen=True, eq=False)
class PayloadBound:
    """The uncertainty that every command tolerates over a range of payloads.

    Attributes
    ----------
    low, high : float
        The range [kg].
    omega, mu : ndarray
        Frequencies [rad/s], and the largest value that is attained there at the payloads tried.
    largest : float
        The upper bound: every command may change by 30 % / largest. Where the loop is unstable within the range, this
        is above 1 and scales the range about its middle, too; inf where that is not stable either.
    lower : float
        The largest value attained at payloads with which the loop is stable.
    frequency, payload : float
        Where it is [rad/s], [kg].
    pieces : int
        Number of pieces into which the range was cut.
    where : str
        The pose, empty for that in which the scenario begins.
    unstable : float or None
        A payload of the range with which the loop is unstable [kg], if there is one.
    """

    low: float
    high: float
    omega: FloatArray
    mu: FloatArray
    largest: float
    lower: float
    frequency: float
    payload: float
    pieces: int
    where: str = ""
    unstable: float | None = None

    @property
    def worst_case_gain(self) -> float:
        """Upper bound of the gain from a disturbance of every command to what the law makes of it, over the range.

        For one command it is the peak of |T|; for several the structured singular value of T.
        """
        return self.largest / INPUT_UNCERTAINTY

    def __str__(self) -> str:
        at, bears = f"{1e3 * self.payload:.4g} g", 100 * INPUT_UNCERTAINTY / self.largest
        if self.unstable is not None:
            middle, half = 500.0 * (self.low + self.high), 500.0 * (self.high - self.low) / self.largest
            told = f"UNSTABLE at {1e3 * self.unstable:.4g} g, mu <= {self.largest:.4g}: stable with "
            return f"{told}{middle - half:.4g} to {middle + half:.4g} g and {bears:.3g} % at every command"
        verdict = "stable for all of it" if self.largest < 1 else "not shown to be stable for all of it"
        found = f"{self.lower:.4g} <= mu <= {self.largest:.4g} at {self.frequency:.4g} rad/s, {at}"
        return f"{found}: {verdict}, stable up to {bears:.3g} % at every command"


def payload_bound(
    family: Family, law: Controller | Any, low: float, high: float, where: str = "", most: int | None = None
) -> PayloadBound:
    """Return the bound for a linear law and payloads from low to high [kg].

    Parameters
    ----------
    family : callable
        Payload [kg] -> linear plant in the pose in question.
    law : Controller
        A linear law, sampled or continuous.
    low, high : float
        The range [kg].
    where : str
        Label of the pose.
    most : int, optional
        Number of pieces of the range at which to give up if one of them tolerates none; by default never.

    Raises
    ------
    NotAvailable
        Where the payload changes more than mass and damping, or more than `most` pieces would be needed.
    CrossedBounds
        Where the bound is below what is attained.
    """
    search = _Search(family, law)
    ends = np.linspace(low, high, PIECES + 1)
    tried = [search.at(float(p)) for p in ends]
    search.polish(ends)
    if all(np.isfinite(t.value) for t in (*tried, *search.found.values())):
        claimed, pieces = _claimed(search, ends, most)
        if np.isfinite(claimed):
            return _bound(search, low, high, claimed, pieces, where)
    return _bound(search, low, high, *_narrower(family, law, low, high, most), where)


def _narrower(family: Family, law: Any, low: float, high: float, most: int | None) -> tuple[float, int]:
    """Return the bound where the loop is unstable within the range: the range is scaled about its middle, too.

    That is the ordinary structured singular value m: stable for all payloads of the range times 1/m with 30 % / m.
    """
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    if not np.isfinite(_Search(family, law).at(middle).value):
        return np.inf, 0
    for m in NARROWER:
        search = _Search(family, law)
        ends = np.linspace(middle - half / m, middle + half / m, PIECES + 1)
        values = [search.at(float(p)).value for p in ends]
        if max(values) < m:
            try:
                claimed, pieces = _claimed(search, ends, most)
            except NotAvailable:  # that the loop is unstable within the range must be told all the same
                continue
            if claimed <= m:
                return m, pieces
    return np.inf, 0


def _bound(search: _Search, low: float, high: float, largest: float, pieces: int, where: str) -> PayloadBound:
    stable = [t for t in search.found.values() if np.isfinite(t.value)]
    unstable = [t.payload for t in search.found.values() if not np.isfinite(t.value)]
    worst = max(stable, key=lambda t: t.value, default=search.worst)
    omega = np.unique(np.concatenate([t.omega for t in search.found.values()]))
    curves = [np.interp(omega, t.omega, t.curve) for t in stable]
    mu = np.max(curves, axis=0) if curves else np.full(omega.size, np.nan)
    return PayloadBound(
        low, high, omega, mu, largest, worst.value, worst.frequency, worst.payload, pieces, where,
        min(unstable, key=lambda p: abs(p - 0.5 * (low + high)), default=None),
    )


def _claimed(search: _Search, ends: FloatArray, most: int | None = None) -> tuple[float, int]:
    """Return the bound that all pieces bear, and their number."""
    claim, count = CLEARANCE * search.worst.value, 0
    waiting = [(float(a), float(b), 0) for a, b in pairwise(ends)]
    while waiting:
        a, b, depth = waiting.pop(0 if most is not None else -1)  # the whole range first, if it may be given up
        piece, raised = _Piece.of(search, a, b), 0.02
        held = piece.bears(claim)
        if not held and depth < HALVINGS and count + len(waiting) < MOST:
            waiting += [(a, 0.5 * (a + b), depth + 1), (0.5 * (a + b), b, depth + 1)]
            many = most is not None and count + len(waiting) > most
            if many and not piece.bears(HOPELESS * search.worst.value):
                raise NotAvailable(
                    f"mu is at least {search.worst.value:.4g}; a bound from above needs more than {most} pieces of the "
                    "range of payloads, as with little damping; require mu to have it searched for"
                )
            continue
        while not held:  # as small as it gets, or as many as are worth the time
            claim, raised = claim * (1.0 + raised), 2.0 * raised
            held = piece.bears(claim)
            if not held and claim > HOPELESS * search.worst.value:
                raise NotAvailable(f"no bound found between payloads of {a:g} and {b:g} kg")
        for t in (search.at(a), search.at(0.5 * (a + b)), search.at(b)):
            if not np.isfinite(t.value):
                return np.inf, count
            piece.check(t)
            claim = max(claim, CLEARANCE * t.value)  # a payload that was not tried before
        count += 1
    return claim, count


@dataclass(frozen=True, eq=False)
class Attained:
    """The bound attained with one payload: its value, where it is [rad/s], and the curve; inf for an unstable loop."""

    payload: float
    value: float
    frequency: float
    omega: FloatArray
    curve: FloatArray


@dataclass(eq=False)
class _Search:
    """True plants with a law: what is attained with each payload, computed once."""

    family: Family
    law: Any
    found: dict[float, Attained] = field(default_factory=dict)
    plants: dict[float, SecondOrder] = field(default_factory=dict)
    views: dict[float, FirstOrder] = field(default_factory=dict)

    def plant(self, payload: float) -> SecondOrder:
        if payload not in self.plants:
            self.plants[payload] = self.family(payload)
        return self.plants[payload]

    @cached_property
    def feedback(self) -> FirstOrder:
        """The law's linear part."""
        return feedback_of(self.law)

    def seen(self, payload: float) -> FirstOrder:
        """Return the plant as the law sees it."""
        if payload not in self.views:
            self.views[payload] = as_seen(self.plant(payload), self.feedback.dt, names(self.feedback.inputs))
        return self.views[payload]

    def at(self, payload: float) -> Attained:
        if payload not in self.found:
            self.found[payload] = _attained(self.plant(payload), self.seen(payload), self.law, payload)
        return self.found[payload]

    @property
    def worst(self) -> Attained:
        return max(self.found.values(), key=lambda t: t.value)

    def polish(self, ends: FloatArray) -> None:
        """Look for the worst payload between those tried, by golden section."""
        step = float(ends[1] - ends[0])
        best = self.worst
        a, b = max(ends[0], best.payload - step), min(ends[-1], best.payload + step)
        if best.payload in (a, b):  # at an end of the range; does it fall from there?
            beside = self.at(float(best.payload + 0.05 * (a + b - 2.0 * best.payload)))
            if beside.value < best.value:
                return
        ratio = 0.5 * (np.sqrt(5.0) - 1.0)
        for _ in range(7):
            c, d = float(b - ratio * (b - a)), float(a + ratio * (b - a))
            a, b = (a, d) if self.at(c).value > self.at(d).value else (c, b)


def _attained(plant: SecondOrder, view: FirstOrder, law: Any, payload: float) -> Attained:
    feedback = feedback_of(law)
    z = closed_loop(view, feedback).poles()
    omega = frequencies(plant, z, feedback.dt)
    if not decaying(z, feedback.dt):
        k = int(np.argmax(np.abs(z) if feedback.dt else z.real))
        at = abs(np.angle(z[k])) / feedback.dt if feedback.dt else abs(z[k].imag)
        return Attained(payload, np.inf, float(at), omega, np.full(omega.size, np.nan))
    evaluate = on_axis(loop_gain(view, law))

    def curve(at: FloatArray) -> FloatArray:
        L = np.moveaxis(evaluate(axis(at)), 2, 0)
        return INPUT_UNCERTAINTY * attained(np.asarray(np.linalg.solve(np.eye(L.shape[1]) + L, L), complex))

    omega, values = polished(curve, omega)
    k = int(np.argmax(values))
    return Attained(payload, float(values[k]), float(omega[k]), omega, values)


def polished(curve: Callable[[FloatArray], FloatArray], omega: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the grid and the values on it with the largest maxima found to 1e-6 by golden section, all at once."""
    values = curve(omega)
    inner = np.flatnonzero((values[1:-1] >= values[:-2]) & (values[1:-1] >= values[2:])) + 1
    inner = inner[values[inner] > 0.9 * values.max()]
    a, b, ratio = omega[inner - 1], omega[inner + 1], 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(20 if inner.size else 0):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        both = curve(np.concatenate([c, d]))
        higher = both[: c.size] > both[c.size :]
        a, b = np.where(higher, a, c), np.where(higher, d, b)
    middle = 0.5 * (a + b)
    omega, values = np.append(omega, middle), np.append(values, curve(middle) if middle.size else middle)
    omega, first = np.unique(omega, return_index=True)
    return omega, values[first]


@dataclass(frozen=True, eq=False)
class _Piece:
    """The loop in the middle of a piece of the range, with everything that the payload changes in it as blocks."""

    omega: FloatArray
    sizes: tuple[int, ...]
    kinds: tuple[int, ...]
    commands: int
    response: Callable[[FloatArray], ComplexArray]
    M: ComplexArray

    @classmethod
    def of(cls, search: _Search, low: float, high: float) -> _Piece:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        plant, feedback = search.plant(middle), feedback_of(search.law)
        e = _directions(plant, search.plant(high), half, search.plant(low))
        v = _dampings(plant, [search.plant(p) for p in (low, high)])
        extended = _extended(plant, np.sqrt(half) * e, v)
        response = _loop(search.seen(middle), extended, feedback, e.shape[1] + v.shape[1])
        grids = [search.at(p).omega for p in (low, middle, high)]
        omega = np.unique(np.concatenate(grids))
        n = len(feedback.outputs)
        sizes = (*[1] * e.shape[1], *([v.shape[1]] if v.shape[1] else []), *[1] * n)
        kinds = (*[REAL] * e.shape[1], *([COMPLEX] if v.shape[1] else []), *[COMPLEX] * n)
        return cls(omega, sizes, kinds, n, response, response(omega))

    def bears(self, claim: float) -> bool:
        """Whether every payload of the piece is stable with 30 % / claim at every command."""
        omega, M = self.omega, self.M
        for _ in range(1 + REFINED):
            scaled = _scaled(M, self.commands, claim)
            close = norm_bound(scaled, self.sizes)
            open_ = np.flatnonzero(close > 1.0)
            close[open_] = balanced_bound(scaled[open_], self.sizes)
            open_ = open_[close[open_] > NEAR]
            # a few at a time, the likeliest first: one that fails is enough
            open_ = open_[np.argsort(-close[open_], kind="stable")]
            for chunk in np.array_split(open_, max(1, open_.size // 20)):
                if not chunk.size:
                    continue
                close[chunk] = scaled_bound(scaled[chunk], self.sizes, self.kinds)
                if close[chunk].max() > 1.0:
                    return False
            beside = np.unique(np.clip(np.flatnonzero(close > NEAR)[:, None] + [-1, 0], 0, omega.size - 2))
            if not beside.size:
                break
            omega = np.unique(np.concatenate([omega[beside], omega[beside + 1], *_between(omega, beside)]))
            M = self.response(omega)
        return True

    def check(self, at: Attained) -> None:
        """Raise where the bound is below what is attained with a payload of the piece."""
        less = (1.0 - CROSSING) * at.value
        M = _scaled(self.response(np.array([at.frequency])), self.commands, less)
        if scaled_bound(M, self.sizes, self.kinds)[0] < 1.0:
            raise CrossedBounds(
                f"the bound of mu is below {less:.5g} at {at.frequency:.5g} rad/s, but {at.value:.5g} is attained with "
                f"a payload of {1e3 * at.payload:.4g} g: the plant of the bound does not contain that plant. Please "
                "report it; a certificate would be wrong"
            )


def _between(omega: FloatArray, left: Any) -> list[FloatArray]:
    """Return two frequencies between each of these points of a grid and its neighbour."""
    return [(1.0 - part) * omega[left] + part * omega[left + 1] for part in (0.33, 0.67)]


def _scaled(M: ComplexArray, commands: int, claim: float) -> ComplexArray:
    scaled = M.copy()
    scaled[:, -commands:, :] /= claim
    return scaled


def _directions(middle: SecondOrder, other: SecondOrder, change: float, low: SecondOrder) -> FloatArray:
    """Return e with mass matrix = that of the middle + dm (e e'), a column for every direction."""
    _same_but_mass(middle, other)
    size, directions = np.linalg.eigh((other.M - middle.M) / change)
    kept = np.flatnonzero(np.abs(size) > 1e-9 * np.abs(size).max(initial=0.0))
    if kept.size > 3 or np.any(size[kept] < 0):
        raise NotAvailable("the payload does not act as a point mass: no bound")
    if np.abs(other.M - 2.0 * middle.M + low.M).max() > 1e-9 * np.abs(middle.M).max():
        raise NotAvailable("the mass matrix is not linear in the payload: no bound")
    return np.asarray(directions[:, kept] * np.sqrt(size[kept]))


def _same_but_mass(one: SecondOrder, other: SecondOrder) -> None:
    if not np.array_equal(one.M, one.M.T):
        raise NotAvailable("the mass matrix is not symmetric: no bound")
    if one.M.shape != other.M.shape or one.coordinates != other.coordinates:
        raise NotAvailable("the payload adds coordinates: no bound")
    if np.abs(other.K - one.K).max() > 1e-9 * np.abs(one.K).max():
        raise NotAvailable("the payload changes the stiffness (gravity): no bound")
    for what, a, b in (("inputs act", one.B, other.B), *(
        ("outputs read", getattr(one, key), getattr(other, key)) for key in ("Cq", "Cv", "Ca", "Du")
    )):
        if np.abs(a - b).max(initial=0.0) > 1e-9 * np.abs(a).max(initial=1.0):
            raise NotAvailable(f"the payload changes what the {what}: no bound")


def _dampings(middle: SecondOrder, others: list[SecondOrder]) -> FloatArray:
    """Return v with v Delta v', |Delta| <= 1, a cover of how the damping matrices differ from the middle one.

    In modes of the middle plant, each entry in parts of the dampings of its two modes; no columns if none change.
    """
    if all(np.array_equal(other.D, middle.D) for other in others):
        return np.zeros((len(middle.M), 0))
    _, modes = sla.eigh(middle.K, middle.M)
    own = np.abs(np.diag(modes.T @ middle.D @ modes))
    weight = np.sqrt(np.maximum(own, 1e-6 * own.max(initial=0.0)))
    changes = [modes.T @ (other.D - middle.D) @ modes / np.outer(weight, weight) for other in others]
    if any(np.abs(c - c.T).max() > 1e-6 * max(np.abs(c).max(), 1.0) for c in changes):
        raise NotAvailable("the damping that the payload changes is not symmetric: no bound")
    # |c y| <= size of its eigenvalue for every change c: what is left out is that small, cross terms included
    squares, basis = np.linalg.eigh(sum((c @ c for c in changes), np.zeros_like(changes[0])))
    basis = basis[:, squares > LEFT_OUT**2]
    if not basis.shape[1]:
        return np.zeros((len(middle.M), 0))
    parts = [basis.T @ c @ basis for c in changes]
    spread = np.sqrt(np.maximum(np.diag(sum((_magnitude(p) for p in parts), np.zeros_like(parts[0]))), 1e-12))
    # ends of the piece bound what is between them but for its curvature, of the order of the piece's square
    norm = 1.1 * max(np.linalg.norm(p / np.outer(spread, spread), 2) for p in parts)
    return np.asarray(middle.M @ modes @ (weight[:, None] * basis * spread) * np.sqrt(norm))


def _magnitude(matrix: FloatArray) -> FloatArray:
    """Return |matrix|: the same eigenvectors, the magnitudes of the eigenvalues."""
    size, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.abs(size)) @ vectors.T)


def _extended(plant: SecondOrder, e: FloatArray, v: FloatArray) -> SecondOrder:
    """Return the plant with forces along e and v, and accelerations along e and velocities along v, after its own."""
    k, r, n = e.shape[1], v.shape[1], len(plant.M)
    mass, damping = ([f"{what}{i + 1}" for i in range(m)] for what, m in (("payload_", k), ("damping_", r)))
    rows = np.zeros((k + r, n))
    return replace(
        plant, B=np.hstack([plant.B, e, v]), Cq=np.vstack([plant.Cq, rows]),
        Cv=np.vstack([plant.Cv, np.zeros((k, n)), v.T]), Ca=np.vstack([plant.Ca, e.T, np.zeros((r, n))]),
        Du=np.pad(plant.Du, ((0, k + r), (0, k + r))),
        inputs=(*plant.inputs, *(Signal(f"{x}_force", "N") for x in (*mass, *damping))),
        outputs=(*plant.outputs, *(Signal(f"{x}_motion") for x in (*mass, *damping))),
    )


def _loop(
    plant: FirstOrder, extended: SecondOrder, feedback: Any, extra: int
) -> Callable[[FloatArray], ComplexArray]:
    """Return omega -> M, from what the blocks put out to what they take in: the extra channels, then the commands."""
    reads = [index_of("plant output", name, plant.outputs) for name in names(feedback.inputs)]
    drives = [index_of("plant input", name, plant.inputs) for name in names(feedback.outputs)]
    ny, nu, dt = len(plant.outputs), len(plant.inputs), feedback.dt
    whole, seen = on_axis(extended), on_axis(plant)

    def response(omega: FloatArray) -> ComplexArray:
        s = axis(omega)
        P, G = (np.moveaxis(evaluate(s), 2, 0) for evaluate in (whole, seen))
        G = G[:, reads][:, :, drives]
        K = np.moveaxis(feedback.transfer(np.exp(s * dt) if dt else s), 2, 0)
        hold = ((1.0 - np.exp(-s * dt)) / (s * dt) if dt else np.ones_like(s))[:, None, None]
        own = P[:, ny : ny + extra][:, :, nu : nu + extra]
        driven = P[:, ny : ny + extra][:, :, drives] * hold
        read = np.concatenate([P[:, reads][:, :, nu : nu + extra], G], axis=2)
        command = np.linalg.solve(np.eye(len(drives)) - K @ G, K @ read)
        through = command.copy()
        through[:, :, extra:] += np.eye(len(drives))
        motion = driven @ through
        motion[:, :, :extra] += own
        return np.asarray(np.concatenate([motion, INPUT_UNCERTAINTY * command], axis=1))

    return response
