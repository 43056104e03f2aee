"""Loads of a motion along a path: every torque and reading of a flexible arm by the motion along it.

The joints follow theta(s), as the rigid arm's; s is the arc length. With q = pose(theta), the coordinates of the
straight links, the left side of the equations of motion is

    R = M q_s s'' + (M q_ss + h_2) s'^2 + h_1 s' + h_0,     h(q, q_s w) = h_0 + h_1 w + h_2 w^2

The torques do the work of R on every joint, tau = (dq/dtheta)^T R, and the links bend under the rest, slowly:

    K d = -(R - B tau)   with the joints held,     y = y(q, v, a) + (dy/dq) d

So every input and reading is c0(s) + c1(s) s' + c2(s) s'^2 + c3(s) s'': weight; joint friction, rates; inertia. Strain
and what the tip lags behind come out like that too. It is right as long as the motion is slow for the modes of the
arm, and the links bend little; the runs of `fastest_along` say whether it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..abilities import Posable, joints_of
from ..errors import NotAvailable, require, unknown
from ..machine.given import as_arm, as_model
from ..model import FloatArray, closure_forces, names
from ..motion.curves import Curve
from ..motion.kinematics import RigidArm

TERMS = 4
"""1, s', s'^2, s''."""
_STEP, _LONG = 1e-4, 1e-3
"""Of differences of poses, by angle [rad]: first derivatives, second ones; of fourth order both."""


@dataclass(frozen=True, eq=False)
class PathLoads:
    """Coefficients along one smooth piece of a path.

    Attributes
    ----------
    s : ndarray
        Arc lengths, from the piece's begin to its end [m].
    signals : dict
        Driven input or reading -> coefficients (s, 4) of 1, s', s'^2, s''.
    bend : ndarray
        Of the tip's displacement by bending, (s, 2, 4) [m].
    across : ndarray
        The same across the path, (s, 4) [m].
    lead : ndarray
        Of the joint angles that take this displacement away, (s, 2, 4) [rad].
    inertia : ndarray
        Of what twice differentiated is the torque for the bending and the lead, (s, 2, 4) [kg m^2 rad].
    """

    s: FloatArray
    signals: dict[str, FloatArray]
    bend: FloatArray
    across: FloatArray
    lead: FloatArray
    inertia: FloatArray


def path_loads(arm: Any, curve: Curve, elbow: int, piece: int, count: int) -> PathLoads:
    """Return the coefficients at `count` points of a smooth piece of a curve."""
    model = as_model(arm)
    driven = joints_of(model)
    turning = all(joint.revolute for joint in as_arm(arm).joints)
    if not isinstance(model, Posable) or len(driven) != 2 or not turning:
        raise NotAvailable(
            f"{model.kind} is not an arm of two turning links with a torque at each joint: what a motion along a path "
            "asks of it is not known"
        )
    rigid = RigidArm(arm)
    edges = (0.0, *curve.corners, curve.length)
    s = np.linspace(edges[piece], edges[piece + 1], count)
    points, along, curved = curve(s, np.full(count, piece))
    joints = rigid.inverse_motion(points, along, curved, elbow)
    at = [_at(model, *row) for row in zip(*joints, strict=True)]
    outputs = names(model.outputs)
    for name in ("tip_x", "tip_y"):
        require(name in outputs, f"{model.kind} has no output {name}")
    place = [outputs.index("tip_x"), outputs.index("tip_y")]
    u, y, bent, moved, mass = (np.array(part) for part in zip(*at, strict=True))
    bend = bent[:, place]
    lead = -np.linalg.solve(rigid.jacobian(joints.angles), bend)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=-1)
    signals = {name: u[:, j] for j, name in enumerate(driven)} | {name: y[:, i] for i, name in enumerate(outputs)}
    return PathLoads(
        s, signals, bend, np.einsum("ki,kij->kj", normal, bend), lead, moved + np.einsum("kij,kjl->kil", mass, lead)
    )


def check_signal(loads: PathLoads, name: str) -> None:
    """Raise unless a name is one of the signals."""
    if name not in loads.signals:
        raise unknown("limited input or output", name, loads.signals)


def _at(model: Any, angles: FloatArray, first: FloatArray, second: FloatArray) -> tuple[FloatArray, ...]:
    """Return coefficients of torques, readings, bending's part of the readings, and of M d and M at one point."""
    q, still = np.asarray(model.pose(angles), float), np.zeros(len(model.inputs))
    zero = np.zeros_like(q)
    turn = np.column_stack([_slope(model, angles, row) for row in np.eye(angles.size)])
    q_s, q_ss = turn @ first, _bow(model, angles, first) + turn @ second
    M = np.asarray(model.mass(q), float)
    left = _parts(lambda w: np.asarray(model.force(q, w * q_s), float)) + _inertial(M @ q_ss, M @ q_s)
    B = np.asarray(model.input_matrix(q), float)[:, [names(model.inputs).index(name) for name in joints_of(model)]]
    torques = np.linalg.solve(turn.T @ B, turn.T @ left)
    d = _bending(model, q, left - B @ torques)
    seen = model.output_tangent(q, zero, zero, still)
    rigid = _parts(lambda w: np.asarray(model.output(q, w * q_s, zero, still), float))
    rigid += _inertial(seen.acceleration @ q_ss, seen.acceleration @ q_s)
    bent = np.asarray(seen.position @ d, float)
    return torques, rigid + bent, bent, turn.T @ M @ d, turn.T @ M @ turn


def _parts(f: Any) -> FloatArray:
    """Return the coefficients of f(w), a quadratic function: (.., 4), the last one zero."""
    none, ahead, behind = f(0.0), f(1.0), f(-1.0)
    return np.stack([none, 0.5 * (ahead - behind), 0.5 * (ahead + behind) - none, np.zeros_like(none)], axis=-1)


def _inertial(squared: FloatArray, accelerated: FloatArray) -> FloatArray:
    nothing = np.zeros_like(squared)
    return np.stack([nothing, nothing, squared, accelerated], axis=-1)


def _bending(model: Any, q: FloatArray, load: FloatArray) -> FloatArray:
    """Return how the arm bends slowly with its joints held, where the left side of its equations is `load`."""
    zero, m = np.zeros_like(q), len(model.closures)
    K = np.asarray(model.tangent(q, zero, zero, np.zeros(len(model.inputs)), np.zeros(m)).stiffness, float)
    held = [names(model.coordinates).index(x) for x in joints_of(model).values()]
    free = np.setdiff1d(np.arange(q.size), held)
    G, W = np.asarray(model.closure_jacobian(q))[:, free], np.asarray(closure_forces(model, q))[free]
    whole = np.block([[K[np.ix_(free, free)], W], [G, np.zeros((m, m))]])
    d = np.zeros(load.shape)
    d[free] = np.linalg.solve(whole, np.vstack([-load[free], np.zeros((m, load.shape[1]))]))[: free.size]
    return d


def _slope(model: Any, angles: FloatArray, along: FloatArray) -> FloatArray:
    """Return the first derivative of the pose along a direction."""
    two, one, less, least = (np.asarray(model.pose(angles + k * _STEP * along)) for k in (2, 1, -1, -2))
    return np.asarray((8.0 * (one - less) - (two - least)) / (12.0 * _STEP), float)


def _bow(model: Any, angles: FloatArray, along: FloatArray) -> FloatArray:
    """Return the second derivative of the pose along a direction, whose size may be any."""
    size = float(np.abs(along).max())
    if size == 0.0:
        return np.zeros(len(model.coordinates))
    h = _LONG / size
    two, one, here, less, least = (np.asarray(model.pose(angles + k * h * along)) for k in (2, 1, 0, -1, -2))
    return np.asarray((16.0 * (one + less) - 30.0 * here - (two + least)) / (12.0 * h * h), float)
