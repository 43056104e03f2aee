"""Driven joints around a model that brings compiled functions, without closures; see `driven` and `general`."""

from __future__ import annotations

from typing import Any

from numba import float64, types

from .dirk import dirk
from .driven import SET, Around, driven
from .feedback import FEEDBACK
from .general import OPEN, ROOM, Form
from .jit import entry, kernel
from .model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from .state import GAUGE, MOTION, SCHEME, SDIRK
from .stepper import stepper
from .tables import ACTING, COURSE, PLAIN

OPERATIONS = driven(OPEN)


def _entry(loop: Any, feeds: bool) -> Any:
    inner = kernel(**PLAIN)(loop)
    pointers = [types.FunctionType(f) for f in (RESIDUAL, TANGENT, OUTPUT, CLOSURE)]
    law = FEEDBACK if feeds else types.none
    found = types.UniTuple(float64, 4)(*pointers, ROOM, MOTION, SET, MOTION, law, ACTING, COURSE, SCHEME, GAUGE)

    def outer(
        residual, tangent, output, closure, room, inside, joints, motion, feedback, acting, course, scheme, gauge
    ):
        form = Around(Form(residual, tangent, output, closure, room), inside, joints)
        return inner(form, motion, feedback, acting, course, scheme, gauge)

    return entry(found, error_model="numpy", _nrt=False)(outer)


LOOPS = {feeds: _entry(stepper(OPERATIONS, feeds=feeds), feeds) for feeds in (False, True)}
LOOPS[SDIRK] = _entry(dirk(OPERATIONS), False)  # type: ignore[index]
