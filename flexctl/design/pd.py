"""Joint PD with the quasi-static hub reference.

    u = kp (r_h - theta) + kd (r_h' - s theta / (tf s + 1)) + J r'' + d r',     r_h = r + q_h J r''

J is the inertia of the rigid arm, d what viscous friction and back EMF take of it (zero for a bare arm), and q_h the
quasi-static hub flexibility, sum of c_i b_i / w_i^2 over the flexible modes: accelerating the arm bends it, and the hub
runs ahead by q_h times the torque. With r_h = r the PD fights the bending and takes nearly twice as long over a move.
"""

from __future__ import annotations

import numpy as np

from ..errors import require
from ..laws.controller import LinearLaw
from ..linear.modes import normal_modes
from ..machine.given import LinearGiven, as_second_order
from ..model import index_of
from ..support.checks import positive
from .design_model import design_model, require_mass


def rigid_and_bending(plant: LinearGiven, measure: str, drive: str) -> tuple[float, float]:
    """Return J [kg m^2] and q_h [rad/(N m)]: the rigid inertia and quasi-static flexibility from `drive` to `measure`.

    Raises
    ------
    DefinitionError
        Unless the plant has exactly one rigid-body mode.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> inertia, bending = fx.rigid_and_bending(plant, "joint1_angle", "joint1_torque")
    >>> print(f"{inertia:.4f} kg m^2")
    0.0498 kg m^2
    """
    plant = as_second_order(plant)
    require_mass(plant)
    modes = normal_modes(plant.M, plant.K)
    require(modes.rigid == 1, f"the plant has {modes.rigid} rigid-body modes; this law needs exactly one")
    row, column = index_of("output", measure, plant.outputs), index_of("input", drive, plant.inputs)
    b, c = modes.shapes.T @ plant.B[:, column], plant.Cq[row] @ modes.shapes
    moves = abs(c[0] * b[0]) > 0.0
    require(moves, f'"{drive}" does not turn the rigid arm as "{measure}" reads it; name the joint\'s torque and angle')
    flexibility = np.sum(c[1:] * b[1:] / modes.omega[1:] ** 2) + plant.Du[row, column]
    return float(1.0 / (c[0] * b[0])), float(flexibility)


def joint_pd(
    plant: LinearGiven, *, kp: float, kd: float, filter_time: float, sample_time: float, measure: str = "joint1_angle",
    drive: str = "joint1_torque", follow: str = "chord1_angle", limit: float = np.inf,
) -> LinearLaw:
    """Return the sampled law.

    Parameters
    ----------
    plant : SecondOrder
        Where J and q_h come from.
    kp, kd : float
        Gains [N m/rad], [N m s/rad].
    filter_time : float
        Time constant tf of the rate filter [s]; the filter is discretised exactly (step invariant).
    sample_time : float
        Control period [s].
    measure, drive, follow : str
        Joint angle output, torque input, reference channel (an angle).
    limit : float
        Largest torque [N m].

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> fx.joint_pd(plant, kp=6.8, kd=0.034, filter_time=0.16e-3, sample_time=1e-3, limit=0.3)
    LinearLaw(2 states, ['joint1_angle'] -> ['joint1_torque'], every 0.001 s)
    """
    plant = as_second_order(plant)
    positive("sample_time", sample_time, "s")
    positive("filter_time", filter_time, "s")
    J, q_h = rigid_and_bending(plant, measure, drive)
    # states: filtered angle, last commanded acceleration (for the rate of r_h)
    decay = float(np.exp(-sample_time / filter_time))
    A = np.array([[decay, 0.0], [0.0, 0.0]])
    By = np.array([[1.0 - decay], [0.0]])
    Br = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    C = np.array([[kd / filter_time, -kd * q_h * J / sample_time]])
    Dy = np.array([[-kp - kd / filter_time]])
    drag = float(design_model(plant, 0, (measure,), (drive,), (measure,)).drag[0, 0])
    Dr = np.array([[kp, kd + drag, (kp * q_h + kd * q_h / sample_time + 1.0) * J]])
    start = np.array([[1.0], [0.0]])
    law = LinearLaw(
        sample_time, (measure,), (drive,), (follow,), A=A, By=By, Br=Br, C=C, Dy=Dy, Dr=Dr, start=start
    )
    return law.limited(-limit, limit)
