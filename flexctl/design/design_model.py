"""The model of a free-jointed arm on which laws are designed: a few modes, and how it bends under steady torques.

    eta'' + D eta' + diag(0 .. 0, w_1, ..)^2 eta = b u,     y = rows eta,     followed outputs  z = c eta

    u_ff = J r'' + d r',     y_ref = g r + q J r''

There are as many rigid-body modes as inputs and followed outputs. J is the inertia of the rigid arm as inputs and
followed outputs see it, d what viscous friction and back EMF at the joints take (zero for a bare arm, which is not bent
by it either), g what a measured output reads per followed one when the arm is rigid, and q its quasi-static
flexibility, over all modes: accelerating the arm bends it, and a reference that leaves that out makes feedback fight
the bending.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import require
from ..laws.controller import Delayed, LinearLaw
from ..linear import FirstOrder, SecondOrder
from ..linear.conversion import discretise
from ..linear.modes import normal_modes
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, index_of, names


@dataclass(frozen=True, eq=False)
class DesignModel:
    """A plant reduced to its rigid modes and the first flexible ones: what most laws are designed on.

    It also holds how the arm bends under the steady torques of a motion: a reference then does not fight the bending.

    Attributes
    ----------
    measures, drives, follows : tuple of str
        Measured outputs, inputs, followed outputs.
    omega, damping, b, rows, c : ndarray
        Modal frequencies [rad/s], modal damping matrix, input gains, rows of the measured outputs and of the followed.
    inertia, drag, gain, flexibility : ndarray
        J, d, g and q.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> model = fx.design_model(plant, 0, "joint1_angle", "joint1_torque", "joint1_angle")
    >>> print(model.inertia.round(4))
    [[0.0498]]
    """

    measures: tuple[str, ...]
    drives: tuple[str, ...]
    follows: tuple[str, ...]
    omega: FloatArray
    damping: FloatArray
    b: FloatArray
    rows: FloatArray
    c: FloatArray
    inertia: FloatArray
    drag: FloatArray
    gain: FloatArray
    flexibility: FloatArray

    @cached_property
    def statespace(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A, B, C with the states (eta, eta') and the measured outputs."""
        k = self.omega.size
        A: FloatArray = np.block([[np.zeros((k, k)), np.eye(k)], [-np.diag(self.omega**2), -self.damping]])
        return A, np.vstack([np.zeros_like(self.b), self.b]), np.hstack([self.rows, np.zeros_like(self.rows)])

    @property
    def inertial(self) -> FloatArray:
        """Rows of J r'' on (r, r', r'') of each followed output: the part of u_ff that bends the arm."""
        return np.asarray(np.kron(self.inertia, [[0.0, 0.0, 1.0]]), float)

    @property
    def feedforward(self) -> FloatArray:
        """Rows of u_ff on (r, r', r'') of each followed output."""
        found: FloatArray = self.inertial + np.kron(self.drag, [[0.0, 1.0, 0.0]])
        return found

    @property
    def remainder(self) -> FloatArray:
        """Part of `flexibility` that the modes left out of the model bend: they follow a torque without delay."""
        k = len(self.drives)
        return np.asarray(self.flexibility - self.rows[:, k:] @ (self.b[k:] / self.omega[k:, None] ** 2), float)

    @property
    def reference(self) -> FloatArray:
        """Rows of y_ref on (r, r', r'') of each followed output."""
        return np.asarray(np.kron(self.gain, [[1.0, 0.0, 0.0]]), float) + self.flexibility @ self.inertial

    def law(self, K: FirstOrder, limit: float = np.inf) -> LinearLaw:
        """Return the sampled law u = J r'' + K (y - y_ref) from a sampled K with these measurements."""
        require(K.dt > 0, "the feedback must be sampled; discretise it first")
        back = -self.reference
        law = LinearLaw(
            K.dt, self.measures, self.drives, self.follows, A=K.A, By=K.B, Br=K.B @ back, C=K.C, Dy=K.D,
            Dr=K.D @ back + self.feedforward,
        )
        return law.limited(-limit, limit)


Names = str | tuple[str, ...]


def sampled_loop(
    model: DesignModel, K: FirstOrder, kind: str, modes: int, sample_time: float, limit: float
) -> tuple[Delayed, dict[str, Any]]:
    """Return the law of a continuous K, sampled by Tustin's rule and a sample late, and what the design assumed."""
    law = Delayed(model.law(discretise(K, sample_time), limit), 1)
    return law, {"design": kind, "modes": modes, "sample_time": sample_time, "delay": 1, "limit": limit}


def require_mass(plant: SecondOrder) -> None:
    """Refuse a plant with states without mass, which has no normal modes to design on."""
    without = [x.name for x, m in zip(plant.coordinates, np.diag(plant.M), strict=True) if not m > 0]
    winding = any(name.endswith("_current") for name in without)
    if winding:
        remedy = (
            "design for motors without inductance (motor.NAME.inductance = 0) and look at the loop with it "
            "(fx.Design(law, plant))"
        )
    else:
        remedy = "design for an arm whose joints are driven by torque; cylinders have servos of their own (laws.valve)"
    kind = "windings" if winding else "hydraulic drives"
    require(not without, f"the plant has states without mass, as {kind} have ({', '.join(without[:4])}); {remedy}")


def design_model(plant: LinearGiven, modes: int, measures: Names, drives: Names, follows: Names) -> DesignModel:
    """Return the design model of a plant.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as `drives` and `follows` have names.
    modes : int
        Flexible modes to keep; the rest is spill-over, to be certified on the full plant.
    measures, drives, follows : str or tuple of str
        Outputs that read positions, strains or the like (no rates or accelerations), inputs, followed outputs.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> model = fx.design_model(plant, 2, ("joint1_angle", "chord1_angle"), ("joint1_torque",), ("chord1_angle",))
    >>> print((model.omega / (2 * np.pi)).round(2))
    [ 0.   11.74 31.86]
    """
    plant = as_second_order(plant)
    measures, drives, follows = (x if isinstance(x, tuple) else (x,) for x in (measures, drives, follows))
    outputs = [index_of("output", name, plant.outputs) for name in (*measures, *follows)]
    columns = [index_of("input", name, plant.inputs) for name in drives]
    require_mass(plant)
    normal = normal_modes(plant.M, plant.K)
    k = normal.rigid
    same = k == len(drives) == len(follows)
    counts = f"the plant has {k} rigid-body modes, {len(drives)} inputs and {len(follows)} followed outputs are named"
    free = "" if k else '; joints with drive = "motion" or "servo" leave no mode free: set joint.N.drive = "torque"'
    if 0 < k < len(drives) and not same:
        free = (
            "; weight or springs hold the other joints: design on the arm without them, as "
            'plant.with_({"gravity.x": 0.0, "gravity.y": 0.0, "gravity.z": 0.0}), feed the weight forward '
            "(fx.references), and look at the loop on the plant with them (fx.Design(law, plant))"
        )
    require(k > 0 and same, f"{counts}; this design needs as many of each{free}")
    require(0 <= modes <= len(plant.M) - k, f"modes = {modes} must lie between 0 and {len(plant.M) - k}")
    through = np.abs(plant.Du[np.ix_(outputs, columns)]).max()
    moving = np.abs(plant.Cv[outputs]).max() + np.abs(plant.Ca[outputs]).max() + through
    wrong = f"the design measures positions; one of {[*measures, *follows]} reads rates, accelerations or the input"
    require(moving == 0, wrong)
    b, y = normal.shapes.T @ plant.B[:, columns], plant.Cq[outputs] @ normal.shapes
    rows, c = y[: len(measures)], y[len(measures) :]
    rigid = c[:, :k] @ b[:k]
    wrong = f"{list(drives)} do not move the rigid arm as {list(follows)} read it; outputs are {names(plant.outputs)}"
    require(bool(np.linalg.cond(rigid) < 1e12), wrong)
    static = rows[:, k:] @ (b[k:] / normal.omega[k:, None] ** 2)
    keep = slice(0, modes + k)
    shapes = normal.shapes[:, keep]
    damping, inertia = shapes.T @ plant.D @ shapes, np.asarray(np.linalg.inv(rigid), float)
    drag = inertia @ c[:, :k] @ damping[:k, :k] @ np.linalg.inv(c[:, :k])
    slow = np.abs(drag) <= 1e-9 * np.abs(inertia).max() * np.sqrt(np.abs(plant.D).max() + 1e-300)
    return DesignModel(
        measures, drives, follows, normal.omega[keep], damping, b[keep], rows[:, keep], c[:, keep],
        inertia, np.where(slow, 0.0, drag), rows[:, :k] @ np.asarray(np.linalg.inv(c[:, :k]), float), static,
    )
