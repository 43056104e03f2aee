"""Operations (see `operations.Operations`) of formulations that have nothing to do there."""

from __future__ import annotations

from .jit import kernel
from .tables import INSIDE


@kernel(**INSIDE)
def nothing(form, motion):
    """The state alone is measured."""


@kernel(**INSIDE)
def no_foresight(form, motion, h, scheme):
    """Nothing is needed of the state before the step."""


@kernel(**INSIDE)
def no_stiffness(form, motion, k, value):
    """Nothing that drives an input has a place in the matrix."""


@kernel(**INSIDE)
def whole(form, motion, x):
    """There are no factors to ask."""


@kernel(**INSIDE)
def never(form, motion):
    """The arm is not linear."""
    return False


@kernel(**INSIDE)
def all_of_it(form, motion, cv):
    """No friction turns round on the way: the whole correction is taken."""
    return 1.0


@kernel(**INSIDE)
def no_feed(form, motion, feedback, acting, course, what, k, parts):
    """There is no continuous law."""
    return 0.0
