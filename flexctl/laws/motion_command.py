"""Joints that are driven by motion: the law is the command, which the joints follow exactly.

    a_i = r_i''      for every joint i, from rest at r_i(0)

Nothing is measured, so there is no loop: poles are those of the arm with its joints held, and what the move leaves in
them is up to the motion. Put it through a shaper (`flexctl.design.shaping`) made for these modes. `simulate` hands the
motions to the model, whose stepper prescribes the joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import NotAvailable, require
from ..model import FloatArray
from ..motion.moves import Motion


@dataclass(frozen=True)
class MotionCommand:
    """The law of the module's docstring.

    Attributes
    ----------
    joints : tuple of str
        Coordinates of the joints, ``("joint1", "joint2")``; the channel of each is called ``joint1_angle``.

    Examples
    --------
    >>> fx.MotionCommand(("joint1", "joint2")).follows
    ('joint1_angle', 'joint2_angle')
    """

    joints: tuple[str, ...]
    measures: tuple[str, ...] = ()
    sample_time: float = 0.0

    def __post_init__(self) -> None:
        require(bool(self.joints) and not self.measures, "a motion command names joints and measures nothing")

    @property
    def drives(self) -> tuple[str, ...]:
        """Accelerations of the joints."""
        return tuple(f"{joint}_acceleration" for joint in self.joints)

    @property
    def follows(self) -> tuple[str, ...]:
        """Angles of the joints."""
        return tuple(f"{joint}_angle" for joint in self.joints)

    def motions(self, references: Mapping[str, Motion]) -> dict[str, Motion]:
        """Return the motion of each joint by coordinate, from the references by channel."""
        return {joint: references[name] for joint, name in zip(self.joints, self.follows, strict=True)}

    def initial(self) -> tuple[()]:
        """Return no state."""
        return ()

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Refuse: the motions themselves are needed."""
        raise NotAvailable("a motion command has no step; give it to simulate")
