"""Torques of the rigid arm fed forward along commanded joint motions.

    u = what the law asks for + tau(t),     tau = inverse dynamics of the straight links, weight included

Where joints have motors, tau is the current or the voltage that makes this torque (`models.wrappers.motor_commands`).
tau comes in reference channels of its own, `<joint>_feedforward` (see `references`), because it depends on the motion
of all joints: a law that adds J r'' for itself knows neither the other poses of the arm nor centrifugal and Coriolis
torques. `fed_forward` makes a law add it. A law with an observer receives the command less tau, as if the plant had
taken tau away already, and its own J r'' in place of it:

    u = C x + Dy y + Dr r - J r'' + tau,     x+ = A x + By y + Br r + Bu (u - tau + J r'')

What the links bend under tau is not in it; see `flexctl.design.design_model` for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abilities import RigidDynamics, RigidTip, within
from ..errors import DefinitionError, NotAvailable, require
from ..machine.given import as_model
from ..model import FloatArray, names
from ..models.wrappers.motor_commands import has_motors, motor_commands
from ..motion.moves import Motion
from ..support.kinds import AnyLaw, SystemGiven
from .controller import LinearLaw, is_wrapper


@dataclass(frozen=True, eq=False)
class RigidReference:
    """One number of the rigid arm while its joints move as commanded, as a reference channel.

    Attributes
    ----------
    model : MechanicalModel
        A model with `rigid_torques` or `rigid_tip`.
    motions : tuple of Motion
        Of all joints, from the base outwards.
    kind : str
        "torque" [N m] (force [N] of a sliding joint), weight included; "command", the same of joints with motors as
        their current [A] or voltage [V], back EMF and viscous friction included; or "tip" [m].
    index : int
        The joint or the axis, from 0.
    """

    model: Any
    motions: tuple[Motion, ...]
    kind: str
    index: int

    @property
    def duration(self) -> float:
        """Time after which every joint stays [s]."""
        return max(float(motion.duration) for motion in self.motions)

    @property
    def target(self) -> float:
        """Value in the end."""
        return float(self(self.duration + 1.0)[0])

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of all motions [s]."""
        return tuple(sorted({b for motion in self.motions for b in motion.breakpoints}))

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the value at times t [s]; rate and acceleration, which no law asks for, are zero."""
        t = np.asarray(t, float)
        every, zero = _all_of_it(self.model, self.motions, self.kind, t.shape, t.tobytes()), np.zeros(t.shape)
        return np.asarray(every[..., self.index]), zero, zero


@lru_cache(maxsize=8)  # the channels of all joints ask for the same times one after the other
def _all_of_it(
    model: Any, motions: tuple[Motion, ...], kind: str, shape: tuple[int, ...], times: bytes
) -> FloatArray:
    """Return the torques of all joints, or the tip, at times given by their bytes."""
    t = np.frombuffer(times).reshape(shape)
    parts = [np.asarray(motion(t)) for motion in motions]
    q, v, a = (np.stack([part[k] for part in parts], axis=-1) for k in range(3))
    if kind == "command":
        return motor_commands(model, within(model).rigid_torques(q, v, a), v, a)
    found: FloatArray = model.rigid_torques(q, v, a) if kind == "torque" else model.rigid_tip(q)
    return found


def is_torque(motion: Motion) -> bool:
    """Whether a reference is the torque of a rigid arm: before the move begins it is what carries the weight."""
    return isinstance(motion, RigidReference) and motion.kind in ("torque", "command")


def channel(drive: str) -> str:
    """Return the reference channel of an input: joint1_torque -> joint1_feedforward."""
    return f"{drive.rsplit('_', 1)[0]}_feedforward"


def references(
    system: SystemGiven, motions: Mapping[str, Motion], law: AnyLaw = None, known: SystemGiven = None
) -> dict[str, Motion]:
    """Return the references of a run along joint motions: joint angles, torques that the law feeds forward, rigid tip.

    Parameters
    ----------
    system : Plant or MechanicalModel
        The arm that is run.
    motions : mapping
        The motion of every joint, by coordinate: ``{"joint1": Cycloid(0.0, 1.0, 2.5), "joint2": ...}``.
    law : Controller, optional
        Only the channels that it follows and those that the arm measures are returned.
    known : Plant or MechanicalModel, optional
        The arm as the law knows it, whose torques are fed forward, e.g. without a payload; the same by default.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible")
    >>> law = fx.servo_law(fx.design_servos(arm.model))
    >>> moves = dict.fromkeys(("joint1", "joint2"), fx.Cycloid(0.0, 1.0, 2.5))
    >>> list(fx.references(arm, moves, law))
    ['joint1_angle', 'joint2_angle', 'tip_x', 'tip_y']
    """
    around = as_model(system if known is None else known)
    model, thought = _bare(system), within(around)
    wanted = [f"joint{i + 1}" for i in range(len(model.arm.joints))]
    for joint in wanted:
        if joint not in motions:
            raise DefinitionError(f"{joint} has no motion; give one for each of {wanted}")
    every = tuple(motions[joint] for joint in wanted)
    outputs, follows = names(model.outputs), () if law is None else law.follows
    found: dict[str, Motion] = {}
    for i, joint in enumerate(wanted):
        for name in (f"{joint}_angle", f"{joint}_extension"):
            found |= {name: every[i]} if name in outputs else {}
        if f"{joint}_feedforward" in follows:
            if not isinstance(thought, RigidDynamics):
                raise NotAvailable(f"{thought.kind} has no rigid arm whose torques could be fed forward")
            moved = (around, every, "command", i) if has_motors(around) else (thought, every, "torque", i)
            found[f"{joint}_feedforward"] = RigidReference(*moved)
    if isinstance(model, RigidTip):
        tips = [name for name in ("tip_x", "tip_y", "tip_z") if name in outputs]
        found |= {name: RigidReference(model, every, "tip", i) for i, name in enumerate(tips)}
    return found


def _bare(system: Any) -> Any:
    """Return the model of the arm, where joints are driven by motion the one inside."""
    return within(as_model(system))


def fed_forward(law: AnyLaw, inertia: FloatArray | None = None) -> Any:
    """Return the law with the torques of `references` added to its commands.

    Parameters
    ----------
    law : LinearLaw, or one in wrappers
        Drives joint torques or forces.
    inertia : ndarray, optional
        J by which the law feeds the accelerations of its channels forward itself [commands x channels], which is taken
        out; 0 by default.

    Examples
    --------
    >>> servos = fx.design_servos(fx.load_plant("planar_2r_flexible").model)
    >>> fx.fed_forward(fx.servo_law(servos)).follows
    ('joint1_angle', 'joint2_angle', 'joint1_feedforward', 'joint2_feedforward')
    """
    if is_wrapper(law):
        return replace(law, law=fed_forward(law.law, inertia))
    if not isinstance(law, LinearLaw):
        raise NotAvailable(f"torques cannot be fed forward through a {type(law).__name__}; add them before")
    channels = tuple(channel(drive) for drive in law.drives)
    taken = set(channels) & set(law.follows)
    require(not taken, f"the law follows {sorted(taken)} already")
    k, f = len(law.drives), len(law.follows)
    J = np.zeros((k, f)) if inertia is None else np.asarray(inertia, float)
    require(J.shape == (k, f), f"inertia has shape {J.shape}; {k} commands and {f} channels ask for {(k, f)}")
    own, added = np.kron(J, [[0.0, 0.0, 1.0]]), np.kron(np.eye(k), [[1.0, 0.0, 0.0]])
    return replace(
        law, follows=(*law.follows, *channels), Dr=np.hstack([law.Dr - own, added]),
        Br=np.hstack([law.Br + law.Bu @ own, -law.Bu @ added]),
    )
