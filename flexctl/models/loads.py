"""Loads on links, the same in every formulation: names and signs of their inputs, and how they spread over elements.

A moment at the tip, `tip_torque` (in space `tip_torque_x`, `_y`, `_z`), stands behind the forces at the tip; it does
work on the turn of the tip's section and is fixed in the base frame. `[[actuator]]` tables follow in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require
from ..machine.arm import Actuator, Arm
from ..model import FloatArray, Signal

TIP_TORQUE = Signal("tip_torque", "N m", "on the tip's section")
X, Y, ALONG, ACROSS, MOMENT = range(5)
"""Kinds of loads in the plane: a dead force along x, y, a follower force along, across the link, a moment."""
POINT = 1e-9
"""Part of the length below which a load acts at a point."""


class Share(NamedTuple):
    """An element (counted within its link), and what its left and right end take of a load of 1."""

    element: int
    left: float
    right: float


class Push(NamedTuple):
    """A part of a load in the plane: number of its input, element of the arm, end of it (0, 1), kind and weight."""

    column: int
    element: int
    end: int
    kind: int
    weight: float


def plane_kind(actuator: Actuator) -> int:
    """Return which of X, Y, ALONG, ACROSS, MOMENT an actuator in the plane is."""
    if actuator.kind == "moment":
        return MOMENT
    return {"x": X, "y": Y}[actuator.axis] + (2 if actuator.follower else 0)


def covered(nodes: FloatArray, start: float, end: float) -> list[tuple[int, float, float, float]]:
    """Return (element, begin, end within it from 0 to 1, part of the load) of the elements between nodes s / L."""
    last = len(nodes) - 2
    if end - start < POINT:
        middle = 0.5 * (start + end)
        k = int(np.clip(np.searchsorted(nodes, middle) - 1, 0, last))
        at = float((middle - nodes[k]) / (nodes[k + 1] - nodes[k]))
        return [(k, at, at, 1.0)]
    found = []
    for k in range(last + 1):
        low, high, span = max(nodes[k], start), min(nodes[k + 1], end), nodes[k + 1] - nodes[k]
        if high > low:
            found.append((k, float((low - nodes[k]) / span), float((high - nodes[k]) / span),
                          float((high - low) / (end - start))))
    return found


def shares(nodes: FloatArray, start: float, end: float) -> list[Share]:
    """Return what the ends of elements take of a load, by shapes that are linear between them."""
    parts = covered(nodes, start, end)
    return [Share(k, part * (1.0 - 0.5 * (low + high)), part * 0.5 * (low + high)) for k, low, high, part in parts]


def pushes(arm: Arm, station: FloatArray, link: npt.NDArray[np.int64], first: int) -> list[Push]:
    """Return the parts of the tip's moment, input number `first`, and of the actuators behind it, in the plane.

    `station`, `link`: s / L of both ends of each element, N x 2, and its link.
    """
    found = [Push(first, len(link) - 1, 1, MOMENT, 1.0)]
    for column, actuator in enumerate(arm.actuators, first + 1):
        own, kind = np.flatnonzero(link == actuator.link - 1), plane_kind(actuator)
        nodes = np.append(station[own, 0], station[own[-1], 1])
        for share in shares(nodes, actuator.start, actuator.end):
            for end, weight in ((0, share.left), (1, share.right)):
                if weight:
                    found.append(Push(column, int(own[share.element]), end, kind, weight))
    return found


def turned(kind: int, c: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Return the direction (x, y) of a force on a section with this cosine and sine, and its derivative by the turn."""
    if kind in (X, Y):
        return (1.0, 0.0, 0.0, 0.0) if kind == X else (0.0, 1.0, 0.0, 0.0)
    return (c, s, -s, c) if kind == ALONG else (-s, c, -c, -s)


def load_signals(arm: Arm, taken: Sequence[Signal]) -> tuple[Signal, ...]:
    """Return the inputs of the actuators; refuse a name that an input has, and a force on what cannot move."""
    known = {signal.name for signal in taken}
    for actuator in arm.actuators:
        if actuator.name in known:
            raise DefinitionError(f'the name "{actuator.name}" is taken by the model; choose another for the actuator')
        fixed = actuator.link == 1 and arm.joints[0].revolute and not arm.links[0].kink
        moves = actuator.end > 0 or actuator.kind == "moment" or not fixed
        require(moves, f'actuator "{actuator.name}": a force on the root does nothing; give end above 0')
    return tuple(Signal(a.name, a.unit, _described(a)) for a in arm.actuators)


def _described(actuator: Actuator) -> str:
    way = "follower" if actuator.follower else "dead"
    what = f"{way} {actuator.kind} {'about' if actuator.kind == 'moment' else 'along'} {actuator.axis}"
    return f"{what}, link {actuator.link}, {actuator.start:g} L to {actuator.end:g} L"
