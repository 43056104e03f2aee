"""A track whose joints lead by what the links bend, so that the tip is on the path where the links are not straight.

    theta_led(t) = theta(t) + lead(t),     tau(t) = rigid torques along theta + d^2/dt^2 of the inertia that lead and
                                           bending move

Joints alone lead: chords that stand as those of the rigid arm have their ends where those of the rigid arm are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abilities import Restable
from ..errors import require
from ..machine.given import as_model
from ..model import FloatArray
from .kinematics import JointMotion
from .moves import Motion
from .retimed import Retimed
from .track import Channel, Track


@dataclass(frozen=True, eq=False)
class LedTrack(Track):
    """A track with the lead of its joints; `flexctl.fastest_track` makes it.

    Attributes
    ----------
    times : ndarray
        Samples of the two following [s].
    lead : ndarray
        What the joints are ahead of the rigid arm's, (times, 2) [rad]; zeros: nothing.
    inertia : ndarray
        What twice differentiated is added to the torques, (times, 2) [kg m^2 rad].
    unsmoothed : float
        Time of the motion before it was averaged [s].
    bound : float
        Time that no motion of the slowly bending arm within the same limits beats [s]; nan where that is not known.
    planned : mapping
        Limited signal -> its largest size, before the motion was averaged; the two scores of the tip always.
    """

    times: FloatArray | None = None
    lead: FloatArray | None = None
    inertia: FloatArray | None = None
    unsmoothed: float = np.nan
    bound: float = np.nan
    planned: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from scipy.interpolate import make_interp_spline

        super().__post_init__()
        require(isinstance(self.path.law, Retimed), "the law of the path must be a Retimed")
        for name in ("lead", "inertia"):
            given = getattr(self, name)
            spline = None if given is None or not np.any(given) else make_interp_spline(self.times, given, k=5)
            object.__setattr__(self, f"_{name}", spline)

    def joints(self, t: npt.ArrayLike) -> JointMotion:
        """Return the motion of the joints at times t [s], with their lead."""
        found = super().joints(t)
        return JointMotion(*(part + self._spline("_lead", t, k) for k, part in enumerate(found)))

    def torques(self, t: npt.ArrayLike) -> FloatArray:
        """Return the torques at times t [s], (.., 2) [N m]."""
        rigid = self.rigid.torques(*super().joints(t))
        return np.asarray(rigid + self._spline("_inertia", t, 2), float)

    def channels(self, feedforward: bool = True) -> dict[str, Motion]:
        """Return all channels of a track; chords do not lead."""
        found = super().channels(feedforward)
        plain = Track(self.arm, self.path, self.elbow, self.settled)
        return found | {f"chord{i + 1}_angle": Channel(plain, "angle", i) for i in range(2)}

    def start(self, system: Any, moving: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates at rest where the path begins, under its weight if the arm has one."""
        model = as_model(system)
        if isinstance(model, Restable) and any(self.rigid.arm.gravity):
            q = np.asarray(model.rest(self.joints(0.0).angles), float)
            return q, np.zeros_like(q)
        return super().start(system, moving)

    def _spline(self, name: str, t: npt.ArrayLike, order: int) -> Any:
        spline = getattr(self, name)
        if spline is None:
            return 0.0
        t, end = np.asarray(t, float), self.path.duration
        moving = (t >= 0.0) & (t <= end)
        found = spline(np.clip(t, 0.0, end), nu=order)
        return found if order == 0 else np.where(moving[..., None], found, 0.0)
