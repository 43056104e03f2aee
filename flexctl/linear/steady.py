"""Linear plants about held joints and about steady rotation.

A joint that is held takes its coordinate out of the plant (`lock`); its torque is then a reaction.

An arm that spins is not at rest in any inertial coordinates, but it is in the frames that turn with its links. There,
with W the rates of the frames (dR/dt = R W), a deviation z has the inertial rate R (z' + W z) and the acceleration
R (z'' + 2 W z' + W^2 z), so that from the inertial tangent (M, D, K) at the deformed, spinning state

    M z'' + (D + 2 M W) z' + (K + D W + M W^2) z = B u

with the gyroscopic 2 M W, the centrifugal softening M W^2, and, in K, the stiffening by the axial forces. For an arm
that spins as a whole about joint 1 this is exact: the state is an equilibrium of the turning frame. When other joints
turn too, the plant is that of the moment (its matrices would change with the pose).

Drives around the joints turn with these: W is zero for their coordinates, and their inputs are what carries on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abilities import Spinning, Turned, kind_of, within
from ..errors import ConvergenceError, NotAvailable, require
from ..machine.given import LinearGiven, as_model, as_second_order, opened
from ..model import FloatArray, OperatingPoint, index_of, names
from ..support.checks import real_array, several
from ..support.kinds import SystemGiven
from . import SecondOrder, linearise


def lock(plant: LinearGiven, coordinates: Sequence[str]) -> SecondOrder:
    """Return the plant with these coordinates held; inputs that act on nothing else are left out.

    Parameters
    ----------
    plant : SecondOrder
        A plant in the coordinates of its model.
    coordinates : sequence of str
        Those to hold, e.g. ``["joint1", "joint2"]``.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible").linearise()
    >>> held = fx.lock(arm, ["joint1", "joint2"])
    >>> print(f"{held.modes(1).frequencies_hz[0]:.3f} Hz")
    3.808 Hz
    """
    plant, coordinates = as_second_order(plant), several("coordinates", coordinates, '["joint1"]')
    held = {index_of("coordinate", name, plant.coordinates) for name in coordinates}
    # a joint that a cylinder moves has its acceleration as a state of its own
    held |= {i for i, s in enumerate(plant.coordinates) if s.name in {f"{name}_acceleration" for name in coordinates}}
    keep = [i for i in range(len(plant.coordinates)) if i not in held]
    require(bool(keep), "every coordinate is held: nothing is left to move")
    inputs = [j for j in range(len(plant.inputs)) if np.any(plant.B[keep, j]) or np.any(plant.Du[:, j])]
    at = np.ix_(keep, keep)
    basis = np.eye(len(plant.coordinates))[:, keep]
    return replace(
        plant, M=plant.M[at], D=plant.D[at], K=plant.K[at], B=plant.B[np.ix_(keep, inputs)],
        Cq=plant.Cq[:, keep], Cv=plant.Cv[:, keep], Ca=plant.Ca[:, keep], Du=plant.Du[:, inputs],
        coordinates=tuple(plant.coordinates[i] for i in keep), inputs=tuple(plant.inputs[j] for j in inputs),
        basis=basis if plant.basis is None else plant.basis @ basis,
        provenance={**plant.provenance, "held": list(coordinates)},
    )


def steady_state(
    model: SystemGiven, rates: Sequence[float], angles: Sequence[float] | None = None, tolerance: float = 1e-11
) -> OperatingPoint:
    """Return the deformed state in which the arm turns with constant joint rates.

    Parameters
    ----------
    model : Plant, MechanicalModel, str or Path
        A plant, or its model, in inertial coordinates, such as "timoshenko_planar", without gravity; or with gravity
        along the axis of joint 1 if that joint alone turns.
    rates, angles : sequence of float
        Joint rates [rad/s] and angles [rad]; the angles of the reference pose by default.
    tolerance : float
        Accepted size of the last Newton correction relative to the pose.

    Raises
    ------
    ConvergenceError
        When there is no such state, e.g. beyond the speed at which an arm under thrust buckles.

    Examples
    --------
    >>> point = fx.steady_state(fx.load_plant("planar_2r_flexible").model, rates=[3.0, 0.0])
    >>> print(point.v[:2].round(3))
    [3. 0.]
    """
    model = as_model(model)
    if isinstance(model, Turned):
        return model.turned_as(steady_state(within(model), rates, angles, tolerance))
    _check(model, rates)
    phi = _angles(model, angles)
    q0, v0, a0 = model.rigid_motion(phi, rates, np.zeros(phi.size))
    W = model.turning(rates, phi)
    held = [index_of("coordinate", name, model.coordinates) for name in model.joints.values()]
    drives = [index_of("input", name, model.inputs) for name in model.joints]
    free = [i for i in range(q0.size) if i not in held]
    q, u, size = q0.copy(), np.zeros(len(model.inputs)), np.inf
    for _ in range(50):
        v, a = v0 + W @ (q - q0), a0 + W @ (W @ (q - q0))
        residual = model.mass(q) @ a + model.force(q, v)
        t = model.tangent(q, v, a, u, np.zeros(0))
        S = t.stiffness + t.damping @ W + t.mass @ W @ W
        step = np.linalg.solve(S[np.ix_(free, free)], residual[free])
        q[free] -= step
        size = float(np.abs(step).max(initial=0.0))
        if not size > tolerance * (1.0 + np.abs(q).max()):
            break
    if not size <= tolerance * (1.0 + np.abs(q).max()):
        message = f"no steady state at joint rates {list(rates)} rad/s: correction {size:.3g} m or rad; use lower rates"
        raise ConvergenceError(message, iteration=50, residual=size)
    v, a = v0 + W @ (q - q0), a0 + W @ (W @ (q - q0))
    u[drives] = (model.mass(q) @ a + model.force(q, v))[held]
    return OperatingPoint(q, v, a, u)


def spinning_plant(
    model: SystemGiven, rates: Sequence[float], angles: Sequence[float] | None = None, *, stiffening: bool = True,
    provenance: Mapping[str, Any] | None = None,
) -> SecondOrder:
    """Return the linear plant about steady joint rates [rad/s], in the frames that turn with the links.

    Coordinates, inputs and outputs mean the same as at rest, in frames that coincide with the base frame now: tip
    positions, accelerations and forces turn with the last link. With `stiffening` off the axial forces are left out, as
    in the conventional theory, which then loses its stiffness at high speed.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible")
    >>> plant = fx.spinning_plant(arm.model, rates=[3.0, 0.0])
    >>> print(fx.lock(plant, ["joint1", "joint2"]).modes(1).frequencies_hz.round(4))
    [3.8135]
    """
    system, model = opened(model), as_model(model)
    arm: Any = within(model) if isinstance(model, Turned) else model
    point = steady_state(arm, rates, angles)
    if not stiffening:
        q, v, a = arm.rigid_motion(_angles(arm, angles), rates, np.zeros(len(list(rates))))
        point = OperatingPoint(q, v, a, point.u)
    plant = linearise(system, model.turned_as(point) if isinstance(model, Turned) else point, provenance)
    known = names(plant.coordinates)  # those of drives turn with their joints
    here = [known.index(name) for name in names(arm.coordinates)]
    W = np.zeros((len(plant.coordinates),) * 2)
    W[np.ix_(here, here)] = arm.turning(rates, _angles(arm, angles))
    M, D = plant.M, plant.D
    return replace(
        plant, D=D + 2.0 * M @ W, K=plant.K + D @ W + M @ W @ W,
        Cv=plant.Cv + 2.0 * plant.Ca @ W, Cq=plant.Cq + plant.Cv @ W + plant.Ca @ W @ W,
        provenance={**plant.provenance, "joint_rates": [float(w) for w in rates]},
    )


def _angles(model: Any, angles: Sequence[float] | None) -> FloatArray:
    if angles is not None:
        return np.asarray(angles, float)
    return np.array(model.arm.reference_joints)


def _check(model: Any, rates: Sequence[float]) -> None:
    if not isinstance(model, Spinning) and isinstance(within(model), Spinning):
        raise NotAvailable(
            f"{kind_of(model)} with joints that follow a motion or a cylinder has no plant about steady rotation; give "
            'them drive = "torque", and hold them: fx.lock(fx.spinning_plant(model, rates), ["joint1", ..])'
        )
    if not isinstance(model, Spinning):
        raise NotAvailable(f"{kind_of(model)} has no frames that turn with its links")
    array = real_array("joint rates", several("joint rates", rates, "[6.0], one for every joint"))
    require(array.ndim == 1, f"joint rates have shape {array.shape}; write [6.0], one for every joint")
    rates = array.tolist()
    given, joints = len(rates), len(model.arm.joints)
    require(given == joints, f"{given} joint rates given; the arm has {joints} joints")
    require(len(model.joints) == joints, "a joint with a servo is not held at an angle; give it another drive")
    require(bool(np.isfinite(list(rates)).all()), f"joint rates {list(rates)} rad/s must be finite")
    gravity = model.arm.gravity
    along = not any(gravity[:2]) and not any(list(rates)[1:])  # an arm that turns as a whole about the vertical
    require(
        along or not any(gravity) or not any(rates),
        "under gravity only an arm that turns as a whole about a vertical first joint has a steady state; set gravity "
        "to zero, or along z with rates of joint 1 only",
    )
