"""Rest poses under weight by Newton's iteration; where it fails, as for an arm so soft that it hangs, in steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..errors import ConvergenceError
from ..machine.arm import Arm
from ..model import FloatArray

Correction = Callable[[FloatArray, float], FloatArray]
"""Newton's correction at a pose for a part of the weight."""


def commanded_joints(arm: Arm, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Return joint variables and rates at the start: those commanded, by name, or else those of the definition."""
    variables, rates = np.array(arm.reference_joints), np.zeros(len(arm.joints))
    for i in range(variables.size):
        variables[i], rates[i] = commands.get(f"joint{i + 1}", (variables[i], 0.0))
    return variables, rates


def settle(start: FloatArray, correction: Correction, variables: FloatArray) -> FloatArray:
    """Return the pose at which the correction for all of the weight vanishes; joints stand at these variables."""
    for parts in (np.ones(1), np.geomspace(1e-2, 1.0, 20), np.geomspace(1e-6, 1.0, 300)):
        found = _by_steps(start, correction, parts)
        if found is not None:
            return found
    message = f"no rest pose at joint variables {variables.tolist()} found: the arm is too soft for its weight"
    raise ConvergenceError(message)


def _by_steps(start: FloatArray, correction: Correction, parts: FloatArray) -> FloatArray | None:
    q = start
    for part in parts:
        for _ in range(25):
            step = correction(q, float(part))
            size = float(np.abs(step).max())
            if not size < 1.0:
                return None
            q = q - step
            if size <= 1e-12 * (1.0 + np.abs(q).max()):
                break
        else:
            return None
    return q
