"""Laws that act together: the sum of linear laws with one control period."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from ..errors import require
from ..model import FloatArray
from .controller import LinearLaw


def together(*laws: LinearLaw, limit: float = np.inf) -> LinearLaw:
    """Return the law whose command is the sum of the commands, limited as a whole.

    Signals of the same name are shared. The laws must have no limits of their own and one control period.

    Examples
    --------
    >>> angles = ("joint1_angle", "chord1_angle")
    >>> one, other = (fx.LinearLaw(1e-3, (y,), ("joint1_torque",), Dy=[[-3.0]]) for y in angles)
    >>> fx.together(one, other).measures
    ('joint1_angle', 'chord1_angle')
    """
    require(bool(laws), "give at least one law")
    period = laws[0].sample_time
    for law in laws:
        require(law.sample_time == period, f"control periods {period:g} s and {law.sample_time:g} s differ")
        free = bool(np.isinf(law.lower).all() and np.isinf(law.upper).all())
        require(free, "a limited law cannot be added to another; limit the sum")
    measures = tuple(dict.fromkeys(name for law in laws for name in law.measures))
    drives = tuple(dict.fromkeys(name for law in laws for name in law.drives))
    follows = tuple(dict.fromkeys(name for law in laws for name in law.follows))
    y = [_place(law.measures, measures, 1) for law in laws]
    u = [_place(law.drives, drives, 1) for law in laws]
    r = [_place(law.follows, follows, 3) for law in laws]
    # without limits a law's own command is known; the sum's limits are then seen by none of them
    own = [(law.A + law.Bu @ law.C, law.By + law.Bu @ law.Dy, law.Br + law.Bu @ law.Dr) for law in laws]
    direct = [(F @ law.Dy @ E.T, F @ law.Dr @ G.T) for law, F, E, G in zip(laws, u, y, r, strict=True)]
    law = LinearLaw(
        period, measures, drives, follows,
        A=sla.block_diag(*(A for A, _, _ in own)) if any(A.size for A, _, _ in own) else np.zeros((0, 0)),
        By=np.vstack([By @ E.T for (_, By, _), E in zip(own, y, strict=True)]),
        Br=np.vstack([Br @ E.T for (_, _, Br), E in zip(own, r, strict=True)]),
        start=np.vstack([law.start @ E.T for law, E in zip(laws, y, strict=True)]),
        C=np.hstack([F @ law.C for law, F in zip(laws, u, strict=True)]),
        Dy=np.sum([Dy for Dy, _ in direct], axis=0), Dr=np.sum([Dr for _, Dr in direct], axis=0),
    )
    return law.limited(-limit, limit)


def _place(own: tuple[str, ...], all_names: tuple[str, ...], size: int) -> FloatArray:
    """Return E with (all signals) = E (own signals), `size` numbers per signal."""
    E = np.zeros((len(all_names), len(own)))
    for j, name in enumerate(own):
        E[all_names.index(name), j] = 1.0
    return np.asarray(np.kron(E, np.eye(size)), float)
