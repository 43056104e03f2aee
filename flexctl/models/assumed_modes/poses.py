"""Poses of `assumed_modes`: undeformed with the loops closed, at rest under the weight, at the start of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConvergenceError, DefinitionError, require
from ...model import FloatArray, index_of
from .. import continuation
from ..continuation import Equations, Factors, largest

if TYPE_CHECKING:
    from . import AssumedModes

ROUNDING = 1e-9
"""Gap of a closure relative to the arm up to which Newton's iteration closes it."""


def pose(model: AssumedModes, angles: FloatArray) -> FloatArray:
    """Return the undeformed arm with these angles of the driven joints."""
    driven, defined = model.driven, np.array(model.arm.assembled or [joint.angle for joint in model.arm.joints])
    count = len(driven)
    require(angles.shape == (count,), f"joint values of shape {angles.shape} given; the arm has {count} driven joints")
    require(bool(np.isfinite(angles).all()), f"joint angles {angles.tolist()} rad must be finite")
    if not model.pins:
        return _free_links_follow(model, np.zeros(model.tree.size), defined, angles)
    first = np.zeros(model.tree.size)
    turned = np.zeros(defined.size)
    for i, angle in enumerate(defined):  # the angles against the base, for free joints
        turned[i] = angle + (turned[model.tree.parent[i]] if model.tree.parent[i] >= 0 else 0.0)
        first[i] = turned[i] if model.arm.joints[i].drive == "free" else angle
    return _led(model, _led(model, first, defined[driven]), angles)


def _led(model: AssumedModes, q: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the pose to which the loops can be followed from q, keeping the way they are put together."""
    loops = Loops(model, q, angles)
    if np.array_equal(angles, q[model.driven]) and largest(loops.gap) <= ROUNDING * loops.reach:
        return _closed(model, q)
    found = continuation.follow(loops, 1e-12, 4000)
    if found.complete:
        return _closed(model, loops.pose(found.last.x, 1.0))
    gap = np.abs(model.closure(loops.pose(found.last.x, 1.0)))
    there = loops.pose(found.last.x, found.last.s)[model.driven]
    raise DefinitionError(
        f'closure "{model.closures[int(np.argmax(gap))]}" stays open by {gap.max():.3g} m at joint angles '
        f"{angles.tolist()} rad: its loop can be followed to {np.round(there, 4).tolist()} rad only, where it "
        "stretches out; change the angles of the joints, or free more of them"
    )


class Loops(Equations):
    """The gaps of the closures with driven joints on their way and free ones to follow; x is the angles of these.

    A gap at the start closes on the way.
    """

    def __init__(self, model: AssumedModes, q: FloatArray, angles: FloatArray) -> None:
        self.model, self.q, self.angles = model, q, angles
        self.free = [i for i in range(len(model.arm.joints)) if i not in model.driven]
        self.reach = sum(link.length for link in model.arm.links)
        self.begin, self.count, self.gap = q[self.free], len(self.free), model.closure(q)
        self.speed = largest(angles - q[model.driven])

    def pose(self, x: FloatArray, s: float) -> FloatArray:
        """Return the coordinates."""
        q, driven = self.q.copy(), self.model.driven
        q[self.free] = x
        q[driven] = self.angles if s == 1.0 else q[driven] + s * (self.angles - q[driven])
        return q

    def residual(self, x: FloatArray, s: float) -> FloatArray:
        """Return the gaps less what is left of those at the start."""
        return np.asarray(self.model.closure(self.pose(x, s)) - (1.0 - s) * self.gap)

    def jacobian(self, x: FloatArray, s: float) -> Factors:
        """Return the derivatives of the gaps with respect to the free angles, and to s."""
        G, driven = self.model.closure_jacobian(self.pose(x, s)), self.model.driven
        return Factors(G[:, self.free], G[:, driven] @ (self.angles - self.q[driven]) + self.gap)

    def settled(self, x: FloatArray, J: Factors) -> bool:
        """Whether the loops are closed."""
        return largest(self.residual(x, 1.0)) <= ROUNDING * self.reach


def _free_links_follow(model: AssumedModes, q: FloatArray, defined: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the open tree: free joints keep their angle against the link that carries them."""
    given = defined.copy()
    given[model.driven] = angles
    turned = np.zeros(given.size)
    for i, angle in enumerate(given):
        turned[i] = angle + (turned[model.tree.parent[i]] if model.tree.parent[i] >= 0 else 0.0)
        q[i] = turned[i] if model.arm.joints[i].drive == "free" else angle
    return q


def _closed(model: AssumedModes, q: FloatArray) -> FloatArray:
    """Return the pose with the loops closed by the free joints (Newton)."""
    free = [i for i in range(len(model.arm.joints)) if i not in model.driven]
    q, reach = q.copy(), sum(link.length for link in model.arm.links)
    for _ in range(30):
        gap = model.closure(q)
        if np.abs(gap).max() <= 1e-15 * reach:
            return q
        step, *_ = np.linalg.lstsq(model.closure_jacobian(q)[:, free], -gap, rcond=1e-12)
        q[free] += step
        if np.abs(step).max(initial=0.0) <= 4e-16 * (1.0 + np.abs(q).max()):
            break
    gap = np.abs(model.closure(q))
    if not gap.max() <= 1e-12 * reach:
        raise DefinitionError(
            f'closure "{model.closures[int(np.argmax(gap))]}" stays open by {gap.max():.3g} m at joint angles '
            f"{[float(q[i]) for i in model.driven]} rad; change the angles of the joints, or free more of them"
        )
    return q


def rest(model: AssumedModes, angles: FloatArray) -> FloatArray:
    """Return the arm at rest under its weight, driven joints held at (servos: commanded to) these angles."""
    from ...linear.equilibrium import equilibrium  # a higher layer, needed here only

    q = pose(model, angles)
    if not model.tree.gravity:
        return q
    named = [f"joint{i + 1}" for i in model.driven]
    u = np.zeros(len(model.inputs))
    for name, angle in zip(named, angles, strict=True):
        if name in model.commands:
            u[index_of("input", model.commands[name][0], model.inputs)] = angle
    hold = {name: float(x) for name, x in zip(named, angles, strict=True) if name in model.joints.values()}
    return equilibrium(model, hold=hold, balance=list(model.joints), load=u, guess=q).q


def start(model: AssumedModes, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Return coordinates and rates where commanded joints begin."""
    angles = np.array([model.arm.joints[i].angle for i in model.driven])
    v = np.zeros(model.tree.size)
    for k, i in enumerate(model.driven):
        angles[k], v[i] = commands.get(f"joint{i + 1}", (angles[k], 0.0))
    bent = len(commands) == angles.size and model.tree.gravity != 0
    q = rest(model, angles) if bent else pose(model, angles)
    return q, rates(model, q, v)


def rates(model: AssumedModes, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return the rates with those of the free joints such that the loops stay closed and the links do not bend.

    In a tree without closures free links keep their angle against the link that carries them.
    """
    free = [i for i in range(len(model.arm.joints)) if i not in model.driven]
    v = v.copy()
    if not model.pins:
        for i in free:
            v[i] = model.tree.slope(model.tree.parent[i], model.arm.links[i].root) @ model.tree.T @ v
        return v
    G = model.closure_jacobian(q)
    v[free] -= np.linalg.lstsq(G[:, free], G @ v, rcond=1e-12)[0]
    if np.abs(G @ v).max() > 1e-9 * (1.0 + np.abs(v).max()) * np.abs(G).max():
        raise ConvergenceError(f"the loops of {model.kind} do not let the driven joints turn at these rates")
    return v


def follow(
    model: AssumedModes, q: FloatArray, angles: FloatArray, rates_: FloatArray, accelerations: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rigid arm near pose q with these angles, rates and accelerations of the driven joints."""
    free = [i for i in range(len(model.arm.joints)) if i not in model.driven]
    q, v, a = q.copy(), np.zeros(q.size), np.zeros(q.size)
    q[model.driven], v[model.driven], a[model.driven] = angles, rates_, accelerations
    if not model.pins:
        for x in (v, a):
            x[:] = rates(model, q, x)
        return pose(model, angles), v, a
    q = _closed(model, q)
    v, G = rates(model, q, v), model.closure_jacobian(q)
    a[free] -= np.linalg.lstsq(G[:, free], G @ a + model.closure_bias(q, v), rcond=1e-12)[0]
    return q, v, a
