"""Loads of a chain of rigid segments: the tip's moment, and forces and moments along the links.

A segment is rigid, so that forces that are spread over it act as their resultant in the middle of what they cover. A
segment turns as much as the link does between the stretches of beam for which the springs on either side stand, with
"base" and "half" in its middle; in between angles are linear, and a moment turns two segments by its shares (all on
one, moments within a link were first order: 3 % off with 20 segments). Forces at a distance x from the inboard end of
body k do work on theta_k by x R', and on every body before it by l R'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Actuator, Arm
from ...model import FloatArray, Signal
from ..loads import MOMENT, POINT, TIP_TORQUE, covered, load_signals, plane_kind, shares, turned

Array = npt.NDArray[Any]


class Part(NamedTuple):
    """A part of a load: its input, the body, the distance from its inboard end [m], the kind and the weight."""

    column: int
    body: int
    distance: float
    kind: int
    weight: float


class SegmentLoads:
    """The inputs behind the forces at the tip, in the angles of the bodies.

    Attributes
    ----------
    signals : tuple of Signal
        The inputs.
    parts : list of Part
        What acts on each body.
    """

    def __init__(self, chain: Any, arm: Arm, taken: tuple[Signal, ...]) -> None:
        self.chain, self.first = chain, len(taken)
        self.signals = (TIP_TORQUE, *load_signals(arm, (*taken, TIP_TORQUE)))
        self.parts = [Part(self.first, chain.length.size - 1, 0.0, MOMENT, 1.0)]
        for column, actuator in enumerate(arm.actuators, self.first + 1):
            for body, distance, weight in (_turned if actuator.kind == "moment" else _bodies)(chain, actuator):
                self.parts.append(Part(column, body, distance, plane_kind(actuator), weight))

    def columns(self, theta: Array) -> Array:
        """Return the moments on the bodies per unit of each input, n x inputs."""
        n, l = theta.size, self.chain.length
        B = np.zeros((n, len(self.signals)), theta.dtype)
        for part in self.parts:
            column = B[:, part.column - self.first]
            if part.kind == MOMENT:
                column[part.body] += part.weight
                continue
            k = part.body
            x, y, _, _ = turned(part.kind, np.cos(theta[k]), np.sin(theta[k]))
            levers = np.append(l[:k], part.distance)
            column[: k + 1] += part.weight * levers * (y * np.cos(theta[: k + 1]) - x * np.sin(theta[: k + 1]))
        return B

    def slope(self, theta: FloatArray, u: FloatArray) -> FloatArray:
        """Return d(moments on the bodies)/d(angles)."""
        n, l = theta.size, self.chain.length
        K = np.zeros((n, n))
        for part in self.parts:
            if part.kind == MOMENT or u[part.column] == 0.0:
                continue
            k, f = part.body, part.weight * u[part.column]
            x, y, dx, dy = turned(part.kind, np.cos(theta[k]), np.sin(theta[k]))
            levers, c, s = np.append(l[:k], part.distance), np.cos(theta[: k + 1]), np.sin(theta[: k + 1])
            i = np.arange(k + 1)
            K[i, i] -= f * levers * (x * c + y * s)
            K[i, k] += f * levers * (dy * c - dx * s)
        return K


def _bodies(chain: Any, actuator: Actuator) -> list[tuple[int, float, float]]:
    """Return (body, distance from its inboard end [m], part of the load); ends of a link are its end sections."""
    link, middle = actuator.link - 1, 0.5 * (actuator.start + actuator.end)
    if actuator.end - actuator.start < POINT and not POINT < middle < 1.0 - POINT:
        body = int(chain.root[link] if middle < 0.5 else np.flatnonzero(chain.link == link)[-1])
        return [(body, float(chain.length[body]) * (middle > 0.5), 1.0)]
    own = np.flatnonzero((chain.link == link) & (chain.length > 0))
    parts = covered(np.append(chain.station[own, 0], 1.0), actuator.start, actuator.end)
    return [(int(own[k]), 0.5 * (low + high) * float(chain.length[own[k]]), part) for k, low, high, part in parts]


def _turned(chain: Any, actuator: Actuator) -> list[tuple[int, float, float]]:
    """Return (body, 0, part of the moment)."""
    link = actuator.link - 1
    bodies = np.arange(chain.root[link], np.flatnonzero(chain.link == link)[-1] + 1)
    if bodies.size == 1:
        return [(int(bodies[0]), 0.0, 1.0)]
    half = 0.5 * chain.span[bodies[1:]] / np.sum(chain.length[bodies])
    at = np.append(chain.place[bodies[1]] - half[0], chain.place[bodies[1:]] + half)
    # what lies before the first or behind the last of them, with "paper", turns these
    before, behind = int(at[0] > POINT), int(at[-1] < 1.0 - POINT)
    at = np.concatenate([np.zeros(before), at, np.ones(behind)])
    bodies = np.concatenate([bodies[:before], bodies, bodies[bodies.size - behind :]])
    parts = []
    for share in shares(at, actuator.start, actuator.end):
        sides = enumerate((share.left, share.right), share.element)
        parts += [(int(bodies[k]), 0.0, weight) for k, weight in sides if weight]
    return parts
