"""The exact modes of a `TransferMatrixArm`: as a plant, and as shapes.

    H(sigma) = sum over modes of c b^T / (sigma + omega^2),   sigma = s^2

c and b are read from the residues, means of H (sigma + omega^2) over small circles around the poles of the undamped
arm: exact to rounding for as many points as taken here. Modes have unit modal mass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotAvailable, require
from ...machine.arm import Sensor
from ...model import FloatArray, Signal, index_of
from .channels import springy
from .roots import axis

if TYPE_CHECKING:
    from ...linear import SecondOrder
    from . import TransferMatrixArm
    from .drives import Winding

U, W, GAP_U, GAP_W, GAP_THETA = 0, 1, 6, 7, 8  # rows of the states of a sweep
FREE = ("torque", "free")  # drives that leave a joint free to turn
POINTS = 32  # on a circle; the error is (radius / distance to the next pole)^POINTS


@dataclass(frozen=True, eq=False)
class ModeShape:
    """An undamped mode of unit modal mass, as displacements in kg^-0.5.

    Attributes
    ----------
    omega : float
        Natural frequency [rad/s].
    position, displacement : ndarray
        x, y of stations along the arm at rest [m] and their displacement, (links, stations, 2).
    deflection : ndarray
        Displacement along and across each link from the tangent at its root, (links, stations, 2).
    joints : ndarray
        Joint angles.
    """

    omega: float
    position: FloatArray
    displacement: FloatArray
    deflection: FloatArray
    joints: FloatArray


def modal_plant(model: TransferMatrixArm, count: int) -> SecondOrder:
    """Return the plant of the rigid and the lowest `count` flexible modes, exact but for the modes left out."""
    from ...linear import SecondOrder  # a higher layer, needed here only

    require(count >= 0, f"count = {count} modes is negative")
    omega, B, C = _modes(model, count)
    turning = [model.arm.joints[i] for i in model.chain.drives]
    damping, columns = np.diag(_damping(model, omega)), []
    for joint, b in zip(turning, B.T, strict=False):
        damping = damping + (joint.servo_damping + joint.friction) * np.outer(b, b)
        if joint.drive == "servo":
            columns += [joint.servo_stiffness * b, joint.servo_damping * b]
        elif joint.drive != "free":
            columns.append(b)
    inputs = np.column_stack([*columns, *B.T[len(turning) :]]) * model.levers
    power = _powers(model)[:, None]
    Cq, Cv, Ca = (np.where(power == k, C, 0.0) for k in range(3))
    rigid = model.rigid_modes
    names = [f"rigid{i + 1}" for i in range(rigid)] + [f"mode{i + 1}" for i in range(count)]
    plant = SecondOrder(
        np.eye(omega.size), damping, np.diag(omega**2), inputs, Cq, Cv, Ca, np.zeros((len(C), inputs.shape[1])),
        tuple(Signal(name, "kg^0.5 m") for name in names), model.inputs, model.outputs,
        provenance={"model": "transfer_matrix"},
    )
    for number, b in zip(model.chain.drives, B.T, strict=False):
        if number in model.windings:
            plant = _with_current(plant, number, b, model.windings[number])
    return plant


def _with_current(plant: SecondOrder, number: int, b: FloatArray, winding: Winding) -> SecondOrder:
    """Return the plant with the current of a winding as a coordinate: L i' + R i = V - N Ke b'v, torque N Kt b i."""
    n, column = len(plant.coordinates), index_of("input", f"joint{number + 1}_voltage", plant.inputs)
    M, D, K = (np.pad(matrix, (0, 1)) for matrix in (plant.M, plant.D, plant.K))
    D[n, n], D[n, : b.size] = winding.inductance, winding.emf * b
    K[n, n], K[: b.size, n] = winding.resistance, -winding.gain * b
    B = np.pad(plant.B, ((0, 1), (0, 0)))
    B[:, column] = np.eye(n + 1)[n]  # the voltage acts on the winding alone
    Cq, Cv, Ca = (np.pad(matrix, ((0, 0), (0, 1))) for matrix in (plant.Cq, plant.Cv, plant.Ca))
    current = Signal(f"joint{number + 1}_current", "A")
    return replace(
        plant, M=M, D=D, K=K, B=B, Cq=Cq, Cv=Cv, Ca=Ca, coordinates=(*plant.coordinates, current)
    )


def mode_shapes(model: TransferMatrixArm, count: int, stations: int = 41) -> tuple[ModeShape, ...]:
    """Return the shapes of the lowest `count` flexible modes at so many stations per link, of unit modal mass."""
    require(stations >= 2, f"stations = {stations}: a link has at least its two ends")
    omega, B, _ = _modes(model, count)
    arm, links = model.arm, len(model.arm.links)
    at = np.arange(stations) / (stations - 1)
    numbered = [(i, k, float(x)) for i in range(links) for k, x in enumerate(at)]
    sensors = tuple(Sensor(f"at{i}_{k}", "displacement", x, i + 1) for i, k, x in numbered)
    fine = model.undamped().like(replace(model.undamped().arm, sensors=sensors))
    found = fine.sweep(axis(omega[model.rigid_modes :]), free=True)
    place = np.array([[fine.chain.places[i, x] for x in at] for i in range(links)])
    angle = fine.chain.angle
    along = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])  # axis, component, link
    length = np.array([link.length for link in arm.links])
    root = fine.chain.ends - length[:, None] * along[0].T
    position = root[:, None] + (length[:, None] * at)[:, :, None] * along[0].T[:, None]
    shapes = []
    for k in range(count):
        states = found.states[place, :, 0, k]
        local = states[:, :, [U, W]]
        moved = np.einsum("lsa,acl->lsc", local, along)
        joints = np.zeros(links, complex)
        joints[list(fine.chain.drives)] = found.turns[:, 0, k]
        deflection = states[:, :, [GAP_U, GAP_W]]
        for i, joint in enumerate(arm.joints):
            if springy(joint):  # its angle is that of the link's side, its twist no deflection
                joints[i] += states[i, 0, GAP_THETA]
                deflection[i, :, 1] -= states[i, 0, GAP_THETA] * length[i] * at
        seen = np.array([*found.turns[:, 0, k], *moved[-1, -1]])  # what the inputs act on
        b = B[model.rigid_modes + k, : seen.size]
        scale = (seen.conj() @ b) / (seen.conj() @ seen)
        parts = (moved, deflection, joints)
        shapes.append(ModeShape(float(omega[model.rigid_modes + k]), position, *((scale * x).real for x in parts)))
    return tuple(shapes)


def _powers(model: TransferMatrixArm) -> FloatArray:
    return np.array([model.derivatives(o.name) for o in model.outputs], float)


def _damping(model: TransferMatrixArm, omega: FloatArray) -> FloatArray:
    damping = model.arm.damping
    if damping.kind == "rayleigh":
        return damping.alpha + damping.beta * omega**2
    return 2.0 * damping.ratio * omega if damping.kind == "modal" else np.zeros_like(omega)


def _modes(model: TransferMatrixArm, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return frequencies, gains of joint torques and tip loads (modes x p), and output rows; rigid modes first."""
    joints = model.arm.joints
    if any(j.drive == "motion" for j in joints) or any(j.damping > 0 for j in joints):
        raise NotAvailable("modes of unit mass: not with motion-driven joints or dampers beside joint springs")
    plain = _driven(model.undamped())
    omega, rigid = plain.natural_frequencies(count + 1), plain.rigid_modes
    # angle or displacement that each input works on, but for the moment at the tip: its section has no output
    driven = [(i + 1, "motor_angle" if springy(plain.arm.joints[i]) else "angle") for i in plain.chain.drives]
    moved = [f"joint{number}_{side}" for number, side in driven] + ["tip_x", "tip_y"]
    own = [index_of("output", name, plain.outputs) for name in moved]
    B, C = [np.zeros((0, len(own) + 1 + len(plain.arm.actuators)))], [np.zeros((0, len(plain.outputs)))]
    if rigid:
        free = [k for k, i in enumerate(plain.chain.drives) if plain.arm.joints[i].drive == "torque"]
        R = _residue(plain, 0.0, 0.25 * omega[0] ** 2)
        factor = np.linalg.cholesky(R[np.ix_([own[k] for k in free], free)])
        B.append(np.linalg.solve(factor, R[[own[k] for k in free]]))
        C.append(np.linalg.solve(factor, R[:, free].T))
    gaps = np.diff(omega**2, prepend=0.0)
    for k in range(count):
        R = _residue(plain, -(omega[k] ** 2), 0.3 * min(gaps[k], gaps[k + 1]))
        best = int(np.argmax(np.diag(R[own])))
        size = np.sqrt(R[own[best], best])
        C.append(R[:, best][None] / size)
        B.append(R[own[best]][None] / size)
    return np.append(np.zeros(rigid), omega[:count]), np.concatenate(B), np.concatenate(C).T


def _driven(model: TransferMatrixArm) -> TransferMatrixArm:
    """Return the model with a torque at every free joint too, by which its motion is seen."""
    joints = tuple(replace(j, drive="torque") if j.drive == "free" else j for j in model.arm.joints)
    return model if joints == model.arm.joints else model.like(replace(model.arm, joints=joints))


def _residue(model: TransferMatrixArm, centre: float, radius: float) -> FloatArray:
    """Return the residue in sigma per joint torque and tip load, of angles and displacements."""
    turn = np.exp(2j * np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    s = np.sqrt(centre + radius * turn)
    H = model.transfer(s) / s ** _powers(model)[:, None, None]
    residue: FloatArray = np.mean(H * radius * turn, axis=2).real
    columns, at = [], 0
    for joint in (model.arm.joints[i] for i in model.chain.drives):
        servo = joint.drive == "servo"
        columns.append(residue[:, at] / (joint.servo_stiffness if servo else 1.0))
        at += 2 if servo else 1
    return np.column_stack([*columns, residue[:, at:]])
