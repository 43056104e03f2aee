"""The compiled steps of driven joints around any formulation; see `kernels.driven`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import Stepping, steps_itself
from ...kernels import state
from ...kernels.around import loops_around
from ...kernels.driven import AROUND, Around, joints, said
from ...kernels.engine import Loops, Plan, Stepper
from ...kernels.groups import Row
from ...kernels.state import KEPT
from ...model import FloatArray

if TYPE_CHECKING:
    from .driven_joints import DrivenJoints

KINDS = ("ancf", "finite_segment", "timoshenko_planar", "timoshenko_spatial")
"""Formulations with operations of their own."""


@cache
def _made(kind: str) -> tuple[Loops, float]:
    """Return the loops of a formulation with drives around its joints, compiled when they are first used, and what
    "auto" means for its iteration.
    """
    if kind == "ancf":
        from ..ancf.kernel.operations import OPERATIONS
    elif kind == "finite_segment":
        from ..finite_segment.kernel import OPERATIONS
    elif kind == "timoshenko_planar":
        from ..timoshenko_planar.kernel.operations import OPERATIONS
    else:
        from ..timoshenko_spatial.kernel.operations import EXACT as OPERATIONS
    return loops_around(OPERATIONS), said(OPERATIONS, OPERATIONS.divide is None).prefers


def has_stepper(model: DrivenJoints) -> bool:
    """Whether the drives and the model inside run in compiled steps."""
    inner: Any = model.inner
    if inner.closures or model.analysis != "nonlinear":
        return False
    if isinstance(inner, Stepping):
        return model.kind in KINDS and steps_itself(inner)
    _parts_soon()
    return inner.compiled() is not None


def _parts_soon() -> None:
    """Let another process compile what loops call here, whichever they are, while the functions of the arm are."""
    from ...kernels import general
    from ...kernels.ahead import ahead

    around = loops_around(general.OPEN).parts
    if around:  # not where nothing is compiled
        ahead(*around[False][: state.SENSE], *general.LOOPS[False].parts[False][: state.SENSE])


class Driven(Stepper):
    """The common step around an arm that keeps its own state.

    Parameters
    ----------
    *arguments, **named
        As of `Stepper`.
    inside : Loops
        Those of the arm, which are not run: they say what it brings.
    """

    def __init__(self, *arguments: Any, inside: Loops, **named: Any) -> None:
        self.inside = inside
        super().__init__(*arguments, **named)

    def row_of_form(self) -> Any:
        """Return the row of which loops know where it begins."""
        if self.loops.form is None:
            return None
        inner = Row(self.form.inner, self.inside.form) if self.place is None else self.place.row
        self.inner_row = inner  # it lasts as long
        return Row(self.form._replace(inner=inner.begin), AROUND)

    def places(self, which: Any) -> list[tuple[state.Motion, tuple[Any, ...]]]:
        """Return each state of the run, that of the arm too, and what is called with it by its address."""
        return [*super().places(which), (self.form.motion, self.inside.parts.get(which, ()))]

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates now."""
        q, v, arm = self.motion.q, self.motion.v, self.place  # the stepper of the arm, which never steps
        if arm is None:
            return q.copy(), v.copy()
        n = arm.motion.q.size
        arm.motion.q[:], arm.motion.v[:] = q[:n], v[:n]
        found = arm.state()
        return np.concatenate([found[0], q[n:]]), np.concatenate([found[1], v[n:]])


def stepper(model: DrivenJoints, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a run; see `engine.Plan`."""
    inner: Any = model.inner
    n, broyden, grows = model.n, plan.scheme.newton == "broyden", False
    p, behind = len(inner.inputs), q.size - n
    if isinstance(inner, Stepping):
        own = inner.stepper(q[:n], v[:n], np.zeros(p), plan._replace(begins=False, commands={}, behind=behind), first)
        inside, columns = own.motion, _columns(own, model.columns)
        form, within, (made, prefers) = own.form, own.loops, _made(model.kind)
    else:
        from ...kernels import general
        from ...kernels.parts import soon

        within, made = general.LOOPS[False], loops_around(general.OPEN)
        soon(made, state.SDIRK if plan.scheme.stages > 1 else False)
        compiled = inner.compiled()
        inside = state.motion(q[:n], v[:n], 0, 0, gap=False, broyden=False, behind=behind)
        own, columns = None, model.columns.T
        pushed = np.zeros((p, n))
        pushed[model.replaced] = columns
        grows = all(np.ptp(np.flatnonzero(column)) <= compiled.bandwidth for column in columns if column.any())
        room = general.room(compiled, n, p, 0, len(inner.outputs), (), pushed)
        inside.traits[:] = within.traits
        form, prefers = general.form(compiled, room), KEPT
    size = inside.q.size
    motion = state.around(inside, q[n:], v[n:], broyden=broyden)
    places = model.places.copy()
    places[places >= 0] += size - n
    taken = [[*own_inputs, -1, -1][:2] for own_inputs in model.own]
    drives = joints(
        model.constants, columns, places, len(inner.outputs), np.array(taken), np.array(model.replaced),
        np.array(model.kept), np.array(model.readings), p, model.kinks, grows,
    )
    around = Around(form, inside, drives)
    return Driven(model, made, around, motion, u, plan, first, prefers=prefers, place=own, inside=within)


def _columns(own: Any, columns: FloatArray) -> FloatArray:
    """Return the columns of B by the numbers of the kernels, of which the coordinates are linear functions."""
    one_each = own.coordinates_of(np.eye(own.motion.q.size))
    return np.ascontiguousarray((one_each @ columns).T)
