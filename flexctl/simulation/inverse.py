"""Inverse dynamics along commanded joint motions: the torques that a rigid arm needs and those of the flexible arm.

    rigid:     tau = J(phi)^T (M a - weight) of the undeformed arm, algebraic in angles, rates and accelerations
    flexible:  the reactions of a run in which the joints follow the commands exactly; the arm vibrates meanwhile

Their difference is what a controller has to supply that computes its torques from rigid links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..abilities import RigidDynamics, joints_of, within
from ..errors import DefinitionError, NotAvailable
from ..machine.given import as_model, opened
from ..model import FloatArray
from ..motion.moves import Motion
from ..support.checks import table
from ..support.kinds import SystemGiven
from .response import Response
from .simulate import simulate


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Joint torques along a motion.

    Attributes
    ----------
    t : ndarray
        Times [s], nt.
    rigid, flexible : ndarray
        Torques [N m] (forces [N] of prismatic joints), nt x joints.
    joints : tuple of str
        Names of the joints, in the order of the columns.
    run : Response
        The run of the flexible arm.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", model={"elements": 2})
    >>> moves = dict.fromkeys(("joint1", "joint2"), fx.Cycloid(0.0, np.pi / 3, 2.5))
    >>> fx.inverse_dynamics(arm, moves, duration=2.5).joints
    ('joint1', 'joint2')
    """

    t: FloatArray
    rigid: FloatArray
    flexible: FloatArray
    joints: tuple[str, ...]
    run: Response

    def __repr__(self) -> str:
        return f"InverseDynamics({self.t.size} points to {self.t[-1]:g} s, joints {list(self.joints)})"


def inverse_dynamics(
    system: SystemGiven, motions: Mapping[str, Motion], *, duration: float, **options: Any
) -> InverseDynamics:
    """Return the torques of the rigid and of the flexible arm along commanded motions.

    Parameters
    ----------
    system : Plant or MechanicalModel
        An arm that knows its rigid motion, such as "timoshenko_planar", with every joint driven by torque or motion.
    motions : mapping
        The motion of every joint, by coordinate: ``{"joint1": Cycloid(0.0, 1.0, 2.5), "joint2": ...}``.
    duration : float
        Length of the run [s].
    **options
        Further arguments of `flexctl.simulate`: step, payload, scheme.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", model={"elements": 2})
    >>> moves = dict.fromkeys(("joint1", "joint2"), fx.Cycloid(0.0, np.pi / 3, 2.5))
    >>> torques = fx.inverse_dynamics(arm, moves, duration=2.5)
    >>> print(abs(torques.rigid).max(axis=0).round(1), "N m")
    [3.5 1.2] N m
    """
    system = opened(system)
    model = within(as_model(system))  # joints driven by motion
    if not isinstance(model, RigidDynamics):
        raise NotAvailable(f"{model.kind} has no rigid arm to compare with")
    torques = {joint: torque for torque, joint in joints_of(model).items()}
    motions = table("motions", motions, '{"joint1": fx.Cycloid(0.0, 1.0, 0.5)}')
    wanted = [f"joint{i + 1}" for i in range(len(model.arm.joints))]
    for joint in wanted:
        if joint not in torques:
            raise NotAvailable(f"{joint} has a servo: its torque is not free to be what the motion needs")
        if joint not in motions:
            raise DefinitionError(f"{joint} has no motion; give one for each of {wanted}")
    run = simulate(system, motions=motions, duration=duration, **options)
    parts = [np.column_stack([motions[joint](run.t)[k] for joint in wanted]) for k in range(3)]
    flexible = np.column_stack([run[torques[joint]] for joint in wanted])
    return InverseDynamics(run.t, model.rigid_torques(*parts), flexible, tuple(wanted), run)
