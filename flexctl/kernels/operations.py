"""The interface between a formulation and the common step (`stepper`, `dirk`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .idle import all_of_it

FORESEEN = 1e-3
"""Part of the tolerance below which a second correction is left out, where nothing else is said."""
PAYS = 0.05, 2.0
"""Rate of convergence from which on new factors pay, and how many times worse than at first it must be; chosen by time.
ANCF, of which settled steps took 23 % longer with these, says its own."""


class Operations(NamedTuple):
    """The parts that a formulation brings; all but the flags are compiled functions, `form` is its own group of arrays.

    Attributes
    ----------
    measure : (form, motion, u, y)
        Fill the sensor readings y; `refresh` has been called for the state.
    solve : (form, motion, u, ca, cv, cq, fresh) -> (status, size)
        Fill motion.d with S^-1 (M a + h + W lam - B u), S = ca M + cv D + cq K, motion.gap and motion.lift with what
        closures need, and return the largest entry. `fresh`: with a tangent made anew. Closures: cq = 0 or filtered
        means a jump, in which G a + bias = 0 holds in place of G v = 0.
    foresee, lead : (form, motion, h, scheme), (form, motion)
        Before and after the prediction: put prescribed joints on motion.target.
    leap : (form, motion) -> bool
        Set the prescribed accelerations to their right limits in motion.target; returns whether one jumped.
    finish : (form, motion, u, size)
        The step stands: torques of prescribed joints; afterwards the readings can be measured.
    refresh : (form, motion)
        Make ready to measure after coordinates have been changed from outside.
    limit : (form, motion, tolerance, h) -> float
        Size of a correction that is accepted.
    store : (form, motion, record, k)
        Record coordinates and the torques of prescribed joints at grid point k.
    sense : (form, motion, u, rows, y)
        Readings of some outputs of the state as it is, for continuous laws.
    linear : (form, motion) -> bool
        Whether one correction solves a step exactly.
    keeps : bool
        Whether `solve` can do with the tangent of an earlier call.
    prefers : float
        FULL or KEPT: what is faster.
    swing, stride : float
        Accelerations that move more than `swing` [rad or m] in one step are no good guess; a longer correction than
        `stride` is cut to it.
    far : float
        A correction above this part of the arm's size fails the step, which is then taken with more care.
    spans : bool
        Whether the kept factors of a step serve a jump, whose matrix is theirs over ca but for the damping.
    foreseen : float
        Part of `limit` below which a second correction is left out; less where errors of a step add up along a chain.
    pays : (float, float)
        Rate of convergence from which on new factors pay in place of kept ones, and how many times worse than with new
        ones: more where these take as long as many corrections.
    stiffen : (form, motion, k, value)
        Until it is set anew, what moves with input k has `value` times its column squared in S besides: what drives it.
    divide : (form, motion, x)
        Put S^-1 x in place of x, S as it was factored last; x has as many entries as motion.q. motion.d may be lost.
    reach : (form, motion, cv) -> float
        Part of a correction that is taken, up to where the friction of a joint turns round.
    begin, close : (form, motion)
        Of closures, for steps of SDIRK4: choose the coordinates that they give; put these where the others ask for.
    """

    measure: Any
    solve: Any
    foresee: Any
    lead: Any
    leap: Any
    finish: Any
    refresh: Any
    limit: Any
    store: Any
    sense: Any
    linear: Any
    keeps: bool
    prefers: float
    swing: float = np.inf
    stride: float = np.inf
    far: float = np.inf
    spans: bool = False
    foreseen: float = FORESEEN
    pays: tuple[float, float] = PAYS
    stiffen: Any = None
    divide: Any = None
    reach: Any = all_of_it
    begin: Any = None
    close: Any = None

    def traits(self, closed: bool) -> tuple[float, ...]:
        """Return what `Motion.traits` says of them; `closed`: closures tie the coordinates."""
        return (
            float(self.keeps), self.prefers, self.swing, self.stride, self.far, float(self.spans), self.foreseen,
            *self.pays, float(closed), 0.0, 0.0, 0.0, 0.0,
        )
