"""The rigid planar arm: where its tip is, which joint angles put it there, and the torques that move it so.

    p(theta) = sum_i L_i (cos Theta_i, sin Theta_i),     Theta_i = theta_1 + .. + theta_i
    p' = J theta',     p'' = J theta'' + J' theta'       hence theta' = J^-1 p',  theta'' = J^-1 (p'' - J' theta')
    tau = d(p_all)/d(theta)^T (M a - weight)             inverse dynamics of the straight links

Angles in rad, each from the previous link, counter-clockwise positive; the base frame's origin is the first joint. The
inverse exists for two links: the tip must lie in the annulus |L1 - L2| < r < L1 + L2, and `elbow` +1 or -1 is the sign
of theta_2. (Tian et al., equations 19 and 20, have arccos, which loses the sign of an angle, and miss the first link's
rate in that of the second angle.) Mass, joints and payload are those of the arm, weight included; rotary inertia too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, NotAvailable, require
from ..machine.given import ArmGiven, as_arm
from ..model import FloatArray
from ..models.timoshenko_planar.mesh import build_mesh, gravity_load, mass_matrix
from ..models.timoshenko_planar.rigid import rigid_motion


class JointMotion(NamedTuple):
    """Angles [rad], rates [rad/s] and accelerations [rad/s^2], each (.., joints)."""

    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray


class RigidArm:
    """The straight links of an arm; every function takes and returns arrays with leading axes (time) of any number.

    Parameters
    ----------
    arm : Plant, Arm, str or Path
        A planar serial arm; two links for `inverse` and `inverse_motion`.
    """

    def __init__(self, arm: ArmGiven) -> None:
        self.arm = arm = as_arm(arm)
        self.lengths = np.array([link.length for link in arm.links])
        # one element per piece: exact for a straight link
        self.mesh = build_mesh(arm, [1 + len(link.next_sections) for link in arm.links])
        self.M, self.weight = mass_matrix(self.mesh, arm), gravity_load(self.mesh, arm)

    @property
    def reach(self) -> tuple[float, float]:
        """Least and largest distance of the tip from the first joint [m]."""
        total, longest = float(self.lengths.sum()), float(self.lengths.max())
        return max(0.0, 2.0 * longest - total), total

    def tip(self, angles: npt.ArrayLike) -> FloatArray:
        """Return the tip (.., 2) [m]."""
        turn = np.cumsum(np.asarray(angles, float), axis=-1)
        return np.stack([np.cos(turn) @ self.lengths, np.sin(turn) @ self.lengths], axis=-1)

    def jacobian(self, angles: npt.ArrayLike) -> FloatArray:
        """Return d(tip)/d(angles), (.., 2, joints) [m/rad]."""
        turn = np.cumsum(np.asarray(angles, float), axis=-1)
        lever = np.stack([-self.lengths * np.sin(turn), self.lengths * np.cos(turn)], axis=-2)
        return np.asarray(np.cumsum(lever[..., ::-1], axis=-1)[..., ::-1])

    def tip_acceleration(self, angles: FloatArray, rates: FloatArray) -> FloatArray:
        """Return J' theta', the acceleration of the tip (.., 2) [m/s^2] at constant joint rates."""
        turn, w = np.cumsum(angles, axis=-1), np.cumsum(rates, axis=-1)
        return np.stack([-(w**2 * np.cos(turn)) @ self.lengths, -(w**2 * np.sin(turn)) @ self.lengths], axis=-1)

    def margin(self, points: npt.ArrayLike) -> FloatArray:
        """Return how far points (.., 2) lie inside the reach [m]: distance to its nearer edge, negative outside."""
        least, most = self.reach
        r = np.linalg.norm(np.asarray(points, float), axis=-1)
        return np.asarray(np.minimum(r - least, most - r) if least > 0 else most - r)

    def inverse(self, points: npt.ArrayLike, elbow: int = 1) -> FloatArray:
        """Return the angles (.., 2) that put the tip on points (.., 2) [m]; theta_2 has the sign `elbow`.

        Raises
        ------
        DefinitionError
            When a point is out of reach, or on its edge, where the arm is stretched or folded and loses a direction.
        """
        self.check_inverse(elbow)
        p = np.asarray(points, float)
        outside = np.argwhere(~(self.margin(p) > 0.0))
        if outside.size or p.shape[-1:] != (2,):
            raise self.unreachable(p[tuple(outside[0])] if p.shape[-1:] == (2,) else p)
        L1, L2 = self.lengths
        c = (np.sum(p**2, axis=-1) - L1**2 - L2**2) / (2.0 * L1 * L2)
        s = elbow * np.sqrt((1.0 - c) * (1.0 + c))
        return np.stack(
            [np.arctan2(p[..., 1], p[..., 0]) - np.arctan2(L2 * s, L1 + L2 * c), np.arctan2(s, c)], axis=-1
        )

    def inverse_motion(
        self, points: npt.ArrayLike, velocities: npt.ArrayLike, accelerations: npt.ArrayLike, elbow: int = 1
    ) -> JointMotion:
        """Return the motion of the joints from that of the tip (each (.., 2); m, m/s, m/s^2)."""
        angles = self.inverse(points, elbow)
        J = self.jacobian(angles)
        rates = np.asarray(np.linalg.solve(J, np.asarray(velocities, float)[..., None])[..., 0], float)
        rest = np.asarray(accelerations, float) - self.tip_acceleration(angles, rates)
        return JointMotion(angles, rates, np.asarray(np.linalg.solve(J, rest[..., None])[..., 0], float))

    def torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the joint torques (.., joints) [N m] of a motion: inverse dynamics."""
        theta, w, alpha = (np.asarray(x, float) for x in (angles, rates, accelerations))
        _, _, a = rigid_motion(self.mesh, theta, w, alpha)
        force = a @ self.M - self.weight
        zero = np.zeros_like(theta)
        unit = np.eye(theta.shape[-1])
        columns = [rigid_motion(self.mesh, theta, np.broadcast_to(row, theta.shape), zero)[1] for row in unit]
        return np.stack([np.sum(column * force, axis=-1) for column in columns], axis=-1)

    def inertia(self, angles: npt.ArrayLike) -> FloatArray:
        """Return the mass matrix of the joints (joints, joints) [kg m^2] in one pose."""
        theta = np.asarray(angles, float)
        zero = np.zeros_like(theta)
        columns = np.column_stack([rigid_motion(self.mesh, theta, row, zero)[1] for row in np.eye(theta.size)])
        return np.asarray(columns.T @ self.M @ columns)

    def unreachable(self, point: FloatArray, where: str = "") -> DefinitionError:
        """Return the error for a point out of reach."""
        least, most = self.reach
        shown = ", ".join(f"{x:.4g}" for x in np.ravel(point))
        r = float(np.linalg.norm(point))
        return DefinitionError(
            f"the point ({shown}) m{where} is {r:.4g} m from the first joint, and the arm reaches {least:.4g} to "
            f"{most:.4g} m (its edges excluded); move the path or make it smaller"
        )

    def check_inverse(self, elbow: int = 1) -> None:
        """Raise unless the arm has an inverse with this elbow."""
        if self.lengths.size != 2:
            raise NotAvailable(f"inverse kinematics is known for 2 links; this arm has {self.lengths.size}")
        require(elbow in (1, -1), f"elbow = {elbow} must be +1 (theta_2 positive) or -1")
