"""The chain of segments at rest: held at joint angles and bent by its weight.

    springs + kp (phi - command) = weight        with phi held where the joint is not a servo
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...model import FloatArray
from ..rest import settle

if TYPE_CHECKING:
    from . import FiniteSegment


def rest(model: FiniteSegment, angles: FloatArray) -> FloatArray:
    """Return the coordinates at rest."""
    return settle(model.pose(angles), lambda q, part: _correction(model, q, angles, part), angles)


def _correction(model: FiniteSegment, q: FloatArray, angles: FloatArray, part: float) -> FloatArray:
    """Return Newton's correction for a part of the weight; held joints do not move."""
    zero, joint = np.zeros(q.size), model.chain.joint
    weight, slope = model.weight(q)
    residual = model.force(q, zero) + (1.0 - part) * weight
    residual[joint] -= model.kp * angles
    K = model.tangent(q, zero, zero, np.zeros(len(model.inputs)), zero[:0]).stiffness + (1.0 - part) * slope
    free = np.ones(q.size, bool)
    free[joint] = model.kp > 0
    step = np.zeros(q.size)
    step[free] = np.linalg.solve(K[np.ix_(free, free)], residual[free])
    return step
