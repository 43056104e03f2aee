"""What moves each joint of a serial arm during a run, and the commands it follows: shared by the compiled steppers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arm import Arm
from ..errors import DefinitionError
from ..model import FloatArray


class Drives(NamedTuple):
    """For each joint how it is driven (as the kernels number it), and at every grid time four numbers of its command.

    These are angle, rate, and acceleration before and after a jump; zeros where nothing is commanded.
    """

    kind: npt.NDArray[np.int64]
    command: FloatArray


def joint_drives(arm: Arm, commands: Mapping[str, FloatArray], times: int, kernels: Any) -> Drives:
    """Return what drives the joints of an arm.

    Parameters
    ----------
    arm : Arm
        A serial arm.
    commands : mapping
        For each commanded joint ("joint1", ..) its angle, rate, and two accelerations, 4 x times.
    times : int
        Length of the time grid.
    kernels : module
        Has the numbers TORQUE, SERVO and PRESCRIBED.
    """
    kind = np.full(len(arm.joints), kernels.TORQUE, np.int64)
    command = np.zeros((times, 4 * kind.size))
    for i, joint in enumerate(arm.joints):
        given = commands.get(f"joint{i + 1}")
        if given is not None:
            command[:, 4 * i : 4 * i + 4] = given.T
        if joint.drive == "servo":
            kind[i] = kernels.SERVO
        elif given is not None:
            kind[i] = kernels.PRESCRIBED
    return Drives(kind, command)


def check_analysis(arm: Arm, analysis: str, commands: Mapping[str, FloatArray]) -> None:
    """Refuse the analyses that follow the commanded rigid arm where a joint has no command."""
    for i in range(len(arm.joints)):
        if analysis != "nonlinear" and f"joint{i + 1}" not in commands:
            raise DefinitionError(
                f'analysis = "{analysis}" follows the commanded rigid arm, and joint{i + 1} has no command; give '
                'it one in simulate(.., motions={..}), or use analysis = "nonlinear"'
            )
