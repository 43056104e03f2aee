"""The drives of a serial arm's joints in a run and the commands they follow, for the compiled steppers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, NotAvailable
from ..kernels import state
from ..kernels.engine import Loops, Plan, Stepper
from ..kernels.tables import Course, Law
from ..machine.arm import Arm
from ..model import FloatArray, MechanicalModel

IntArray = npt.NDArray[np.int64]


def driven(arm: Arm, q: FloatArray, v: FloatArray, place: IntArray, size: int, plan: Plan) -> state.Motion:
    """Return the state of a run, with what drives the joints of a serial arm.

    Parameters
    ----------
    arm : Arm
        A serial arm.
    q, v : ndarray
        Coordinates and rates.
    place : ndarray of int
        Where each coordinate stands in the state of the kernels.
    size : int
        How many numbers that has.
    plan : Plan
        The run; its commands name commanded joints ("joint1", ..).
    """
    J, times = len(arm.joints), plan.tables.t.size
    broyden = plan.scheme.newton == "broyden"
    motion = state.motion(np.zeros(size), np.zeros(size), 0, J, gap=False, broyden=broyden, behind=plan.behind)
    motion.q[place], motion.v[place] = q, v
    command = np.zeros((times, 4 * J))
    for i, joint in enumerate(arm.joints):
        given = plan.commands.get(f"joint{i + 1}")
        if given is not None:
            command[:, 4 * i : 4 * i + 4] = given.T
        if joint.drive == "servo":
            motion.drive[i] = state.SERVO
        elif given is not None:
            motion.drive[i] = state.PRESCRIBED
    return motion._replace(command=command)


class Static(Stepper):
    """A quasi-static run: the deformation at every grid point, without a step."""

    def __init__(
        self, model: MechanicalModel, run: Any, form: Any, motion: state.Motion, u: FloatArray, plan: Plan,
        place: IntArray, parts: tuple[Any, ...] = (),
    ) -> None:
        self.model, self.form, self.motion, self.plan, self.place, self.run = model, form, motion, plan, place, run
        self.loops = Loops(())
        self.loops.parts[False] = parts  # what `run` calls by its address
        self.u, self.held = u.copy(), np.zeros(u.size)

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Fill the record from grid point `first` to `last`."""
        if law.drives.size:
            raise NotAvailable("a quasi-static run has no rates for a controller; use analysis nonlinear or linear")
        course = Course(self.plan.tables, self.plan.record, np.array([first, last]))
        self.link(self.run, False)
        self.check(self.run(self.form, self.motion, course), float(self.plan.tables.h[first]))


def check_analysis(arm: Arm, analysis: str, commands: Mapping[str, FloatArray]) -> None:
    """Refuse the analyses that follow the commanded rigid arm where a joint has no command."""
    for i in range(len(arm.joints)):
        if analysis != "nonlinear" and f"joint{i + 1}" not in commands:
            raise DefinitionError(
                f'analysis = "{analysis}" follows the commanded rigid arm, and joint{i + 1} has no command; give '
                'it one in simulate(.., motions={..}), or use analysis = "nonlinear"'
            )
