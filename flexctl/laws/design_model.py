"""What a design needs of a plant with one rigid-body mode: a few modes, and how the arm bends under a steady torque.

    eta'' + D eta' + diag(w_0 = 0, w_1, ..)^2 eta = b u,     y = rows eta

    u_ff = J r'',     y_ref = g r + q u_ff

J is the rigid inertia as the drive and the followed output see it, g what a measured output reads per unit of the
followed one when the arm is rigid, and q its quasi-static flexibility, over all modes: accelerating the arm bends it,
and a reference that leaves that out makes feedback fight the bending.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import require
from ..linear import FirstOrder, SecondOrder
from ..model import FloatArray, index_of, names
from ..modes import normal_modes
from .controller import LinearLaw


@dataclass(frozen=True, eq=False)
class DesignModel:
    """A plant reduced to its rigid mode and the first flexible ones; see the module docstring.

    Attributes
    ----------
    measures, drive, follow : str
        Measured outputs, input, followed output.
    omega, damping, b, rows, c : ndarray
        Modal frequencies [rad/s], modal damping matrix, input gains, rows of the measured outputs and of the followed.
    inertia : float
        J.
    gain, flexibility : ndarray
        g and q of each measured output.
    """

    measures: tuple[str, ...]
    drive: str
    follow: str
    omega: FloatArray
    damping: FloatArray
    b: FloatArray
    rows: FloatArray
    c: FloatArray
    inertia: float
    gain: FloatArray
    flexibility: FloatArray

    @cached_property
    def statespace(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A, B, C with the states (eta, eta') and the measured outputs."""
        k = self.omega.size
        A: FloatArray = np.block([[np.zeros((k, k)), np.eye(k)], [-np.diag(self.omega**2), -self.damping]])
        return A, np.concatenate([np.zeros(k), self.b])[:, None], np.hstack([self.rows, np.zeros_like(self.rows)])

    @property
    def reference(self) -> FloatArray:
        """Rows of y_ref on (r, r', r'')."""
        rows = np.zeros((len(self.measures), 3))
        rows[:, 0], rows[:, 2] = self.gain, self.flexibility * self.inertia
        return rows

    def law(self, K: FirstOrder, limit: float = np.inf) -> LinearLaw:
        """Return the sampled law u = J r'' + K (y - y_ref) from a sampled K with these measurements."""
        require(K.dt > 0, "the feedback must be sampled; discretise it first")
        back = -self.reference
        feedforward = np.array([[0.0, 0.0, self.inertia]])
        law = LinearLaw(
            K.dt, self.measures, (self.drive,), (self.follow,), A=K.A, By=K.B, Br=K.B @ back, C=K.C, Dy=K.D,
            Dr=K.D @ back + feedforward,
        )  # fmt: skip
        return law.limited(-limit, limit)


def design_model(
    plant: SecondOrder, modes: int, measures: tuple[str, ...], drive: str, follow: str
) -> DesignModel:
    """Return the design model of a plant.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with one rigid-body mode.
    modes : int
        Flexible modes to keep; the rest is spill-over, to be certified on the full plant.
    measures, drive, follow : str
        Outputs that read positions, strains or the like (no rates or accelerations), the input, the followed output.
    """
    normal = normal_modes(plant.M, plant.K)
    require(normal.rigid == 1, f"the plant has {normal.rigid} rigid-body modes; this design needs exactly one")
    require(1 <= modes < len(plant.M), f"modes = {modes} must lie between 1 and {len(plant.M) - 1}")
    outputs = [index_of("output", name, plant.outputs) for name in (*measures, follow)]
    column = index_of("input", drive, plant.inputs)
    moving = np.abs(plant.Cv[outputs]).max() + np.abs(plant.Ca[outputs]).max() + np.abs(plant.Du[outputs]).max()
    wrong = f"the design measures positions; one of {[*measures, follow]} reads rates, accelerations or the input"
    require(moving == 0, wrong)
    b, y = normal.shapes.T @ plant.B[:, column], plant.Cq[outputs] @ normal.shapes
    rigid = y[-1, 0] * b[0]
    wrong = f'"{drive}" does not move the rigid arm as "{follow}" reads it; the outputs are {names(plant.outputs)}'
    require(abs(rigid) > 0.0, wrong)
    J = float(1.0 / rigid)
    static = y[:-1, 1:] @ (b[1:] / normal.omega[1:] ** 2)
    keep = slice(0, modes + 1)
    shapes = normal.shapes[:, keep]
    return DesignModel(
        measures, drive, follow, normal.omega[keep], shapes.T @ plant.D @ shapes, b[keep], y[:-1, keep], y[-1, keep],
        J, y[:-1, 0] / y[-1, 0], static,
    )  # fmt: skip
